package engine_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cuzk/backend/fake"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
)

// unlike starts an engine with a card of 140 GiB and one of 23 GiB. The key of
// PoRep is resident on the large one, 83 GiB; on the small one 20 GiB of it are,
// and the rest is streamed, which takes longer. WindowPoSt needs the large card.
func unlike(t *testing.T, cpu sched.CPUPolicy) (r *rig, big, small *fake.Device) {
	big, small = fake.GPU("big", 140*budget.GiB, time.Second), fake.GPU("small", 23*budget.GiB, 3*time.Second)
	r = start(t, []*fake.Device{big, small, fake.CPU(20 * time.Second)}, func(c *engine.Config) {
		c.Sched.CPU, c.Pinned = cpu, 48*budget.GiB
		for _, k := range c.Kinds {
			f := k.(*fake.Kind)
			need := func(key, pinned budget.Bytes) budget.Placement {
				return budget.Placement{Able: true, Key: budget.Need{Device: key, Pinned: pinned}}
			}
			switch f.ID {
			case "porep-c2":
				f.Work.Own = map[string]budget.Placement{"big": need(83*budget.GiB, 0), "small": need(20*budget.GiB, 30*budget.GiB)}
			case "window-post":
				f.Work.Own = map[string]budget.Placement{"big": need(100*budget.GiB, 0), "small": need(40*budget.GiB, 0)}
			}
		}
	})
	return r, big, small
}

// TestUnlikeCards: each card gets the part of a key that it has room for, and
// both prove; a job that fits one only goes there.
func TestUnlikeCards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, big, small := unlike(t, sched.CPUNever)
		r.proved(r.submit("porep-c2", "", engine.Options{}), "porep-c2", "", 10)
		s, err := r.Status(t.Context())
		r.must(err)
		used := map[string]budget.Bytes{}
		for _, d := range s.Devices {
			used[d.ID] = d.Pool.Used
		}
		if used["big"] != 83*budget.GiB || used["small"] != 20*budget.GiB || s.Pinned.Used != 30*budget.GiB {
			t.Errorf("in use: %v, pinned %v", used, s.Pinned.Used)
		}
		if big.Proofs() < 6 || small.Proofs() < 2 || big.Proofs()+small.Proofs() != 10 {
			t.Errorf("the large card proved %d, the small one %d", big.Proofs(), small.Proofs())
		}
		before := small.Proofs()
		r.proved(r.submit("window-post", "", engine.Options{}), "window-post", "", 1)
		r.proved(r.submit("winning-post", "", engine.Options{}), "winning-post", "", 1)
		if small.Proofs() > before+1 {
			t.Errorf("the small card proved %d", small.Proofs()-before)
		}
	})
}

// TestLargestCardIsLost: what fits the small one goes on there, what does not is
// refused with the reason and the numbers, or proved by the processor.
func TestLargestCardIsLost(t *testing.T) {
	for _, cpu := range []sched.CPUPolicy{sched.CPUNever, sched.CPUFallback} {
		t.Run(string(cpu), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, big, _ := unlike(t, cpu)
				big.Next(fake.None, fake.Vanish)
				r.proved(r.submit("porep-c2", "", engine.Options{}), "porep-c2", "", 10)
				a, err := r.Submit(t.Context(), request("window-post", ""), engine.Options{})
				if cpu == sched.CPUFallback {
					r.must(err)
					r.proved(a.ID, "window-post", "", 1)
					return
				}
				if !errors.Is(err, sched.ErrOutOfService) || !strings.Contains(err.Error(), "big, which could prove it, is lost") ||
					!strings.Contains(err.Error(), "needs 40GiB of memory of device small, the limit is 23GiB") {
					t.Errorf("got %v", err)
				}
				r.proved(r.submit("winning-post", "", engine.Options{}), "winning-post", "", 1)
				r.must(r.ReturnDevice(t.Context(), "big"))
				r.proved(r.submit("window-post", "", engine.Options{}), "window-post", "", 1)
			})
		})
	}
}

// TestKeysAreGrouped: jobs of two keys that do not fit on the card together come
// by turns; the keys do not.
func TestKeysAreGrouped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake.GPU("gpu0", 80*budget.GiB, time.Second)
		d.LoadTime = 30 * time.Second
		r := start(t, []*fake.Device{d}, func(c *engine.Config) { c.Sched.CPU, c.Sched.KeyHold = sched.CPUNever, 5*time.Minute })
		var ids []string
		for i := range 20 {
			kind := []string{"porep-c2", "snap-update"}[i%2]
			ids = append(ids, r.submit(kind, "parts=4", engine.Options{RequestID: string(rune('a' + i))}))
			time.Sleep(time.Millisecond)
		}
		for _, id := range ids {
			r.ends(id, job.Completed, "")
		}
		loads := 0
		for _, rec := range r.hub.Recent() {
			if rec.Type == event.KeyLoading {
				loads++
			}
		}
		if loads != 2 {
			t.Errorf("keys were loaded %d times, two are enough", loads)
		}
	})
}
