package main

import "testing"

// TestTakeFillsRounds takes rounds of four of ten witnesses.
func TestTakeFillsRounds(t *testing.T) {
	c := make(chan made)
	go func() {
		defer close(c)
		for i := range 10 {
			c <- made{index: i}
		}
	}()
	at := 0
	for _, want := range []int{4, 4, 2, 0} {
		ms := take(c, 4)
		if len(ms) != want {
			t.Fatalf("%d from %d on, want %d", len(ms), at, want)
		}
		for _, m := range ms {
			if m.index != at {
				t.Errorf("number %d, want %d", m.index, at)
			}
			at++
		}
	}
}

func TestMiddle(t *testing.T) {
	if middle(nil) != 0 || middle([]float64{3}) != 3 || middle([]float64{9, 1, 5}) != 5 {
		t.Error("medians are wrong")
	}
}

// TestFullReportStages puts stages of all partitions and runs together.
func TestFullReportStages(t *testing.T) {
	line := func(h float64) partitionLine {
		return partitionLine{Stages: []fullStep{{"witness", 0.01}, {"h", h}}}
	}
	r := &fullReport{Runs: []fullRun{{Wall: 3, Partitions: []partitionLine{line(1), line(2)}}, {Wall: 5, Partitions: []partitionLine{line(4)}}, {Wall: 4}}}
	rows := r.stages()
	if len(rows) != 3 || rows[2][0] != "h" || rows[2][1] != "2.00 s" || rows[2][2] != "1.00 s" || rows[2][3] != "4.00 s" {
		t.Errorf("%q", rows)
	}
	if w := r.walls(); w[1] != "4.00 s, median of 3 runs from 3.00 s to 5.00 s" {
		t.Errorf("%q", w)
	}
}
