package sched

import (
	"fmt"
	"testing"
	"time"

	"cuzk/budget"
	"cuzk/job"
)

// mixed are the four kinds on a card of 140 GiB, with about their sizes.
var mixed = map[string]Job{
	"porep":   {Key: "porep", Class: job.Normal, Partitions: 10, Work: onCard(68*budget.MiB, 83*budget.GiB)},
	"snap":    {Key: "snap", Class: job.Normal, Partitions: 16, Work: onCard(39*budget.MiB, 71*budget.GiB)},
	"window":  {Key: "window", Class: job.High, Partitions: 1, Work: onCard(3900*budget.MiB, 99*budget.GiB)},
	"winning": {Key: "winning", Class: job.Critical, Partitions: 1, Work: onCard(12*budget.MiB, 3500*budget.MiB)},
}

func onCard(witness, key budget.Bytes) Work {
	return Work{Witness: witness, Synth: witness, GPU: Placement{Able: true, Key: budget.Need{Device: key}}}
}

// TestMixedLoad: all kinds for two hours, PoReps and updates as fast as the cards
// can take them. Every job ends; a WinningPoSt begins after at most the partitions
// that run, once its key is there; a WindowPoSt after a load at most; the cards
// work.
func TestMixedLoad(t *testing.T) {
	for _, cards := range []int{1, 2, 3} {
		if testing.Short() && cards != 2 {
			continue
		}
		t.Run(fmt.Sprint(cards), func(t *testing.T) {
			w := newClockwork(Config{CPU: CPUNever, AgeStep: 30 * time.Minute, KeyHold: 5 * time.Minute, Reserve: 2 * budget.GiB})
			for i := range cards {
				w.card(fmt.Sprint("gpu", i), 139*budget.GiB, proveTime)
			}
			sent := map[string]Time{}
			send := func(kind string, every, until Time) {
				for at := every; at < until; at += every {
					j := mixed[kind]
					j.ID = fmt.Sprint(kind, "-", at/1e9)
					sent[j.ID] = at
					w.in(at, Submit{j})
				}
			}
			const hours = 2 * time.Hour
			send("porep", 50*time.Second/Time(cards), hours)
			send("snap", 90*time.Second/Time(cards), hours)
			send("window", 10*time.Minute, hours)
			send("winning", 37*time.Second, hours)
			w.run(hours + 20*time.Minute)
			worst := map[string]Time{}
			for id, at := range sent {
				if w.ended[id] == 0 {
					t.Errorf("job %s has not ended", id)
				}
				kind := kindOf(id)
				if kind != "winning" || at > 2*time.Minute { // its key is loaded for the first
					worst[kind] = max(worst[kind], w.begun[id]-at)
				}
			}
			t.Logf("%d cards: longest waits %v, %d loads", cards, worst, w.loads)
			if worst["winning"] > 2*time.Second || worst["window"] > 2*loadTime || worst["porep"] > 20*time.Minute || worst["snap"] > 20*time.Minute {
				t.Errorf("longest waits %v", worst)
			}
		})
	}
}

func kindOf(id string) string {
	for kind := range mixed {
		if len(id) > len(kind) && id[:len(kind)+1] == kind+"-" {
			return kind
		}
	}
	return ""
}
