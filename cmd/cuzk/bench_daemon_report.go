package main

import (
	"context"
	"errors"
	"fmt"

	"cuzk/api/cuzkv1"
	"cuzk/internal/loadtest"
)

// daemonReport is what the commands that measure a daemon print, in JSON as it
// stands.
type daemonReport struct {
	*loadtest.Report
	Machine machineFacts `json:"machine"` // that the command runs on
	Daemon  daemonFacts  `json:"daemon"`
}

// daemonFacts says what was measured.
type daemonFacts struct {
	Address  string       `json:"address,omitempty"` // empty: in the command's own process
	Insecure bool         `json:"insecure"`          // own keys, whose secrets are known
	Version  string       `json:"version"`
	Commit   string       `json:"commit"`
	Devices  []deviceFact `json:"devices"`
}

type deviceFact struct {
	Name   string `json:"name"`
	Memory uint64 `json:"memory_bytes"`
}

// report prints a measurement; problems make the command fail.
func (f *benchDaemonFlags) report(ctx context.Context, u *ui, r *loadtest.Report) error {
	d := daemonReport{Report: r, Machine: thisMachine(), Daemon: f.cases.facts(ctx)}
	err := error(nil)
	if f.json {
		err = u.json(d)
	} else {
		err = d.say(u)
	}
	if r.Counts.Problems > 0 {
		err = errors.Join(err, fmt.Errorf("%s: %s", plural(r.Counts.Problems, "problem"), r.Problems[0]))
	}
	return err
}

// facts asks the daemon what it is.
func (f *caseFlags) facts(ctx context.Context) (d daemonFacts) {
	d = daemonFacts{Address: f.remote.addr, Insecure: f.local != nil, Devices: []deviceFact{}}
	if text, err := f.daemon.Metrics(ctx); err == nil {
		d.Version, d.Commit = loadtest.Program(text)
	}
	s, err := f.main.API().GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	if err != nil {
		return d
	}
	for _, g := range s.GetGpus() {
		d.Devices = append(d.Devices, deviceFact{g.GetName(), g.GetVramTotalBytes()})
	}
	return d
}

func (d *daemonReport) say(u *ui) error {
	err := u.table(d.head())
	if len(d.Rows) > 0 {
		err = errors.Join(err, u.say(""), u.table(d.times()))
	}
	if c := d.Critical; c != nil {
		err = errors.Join(err, u.say(""), u.table(criticalRows(c)))
	}
	for _, p := range d.Problems {
		err = errors.Join(err, u.say("problem: %s", p))
	}
	return err
}

// head is what stands above the times.
func (d *daemonReport) head() [][]string {
	where := "in this process, INSECURE keys"
	if d.Daemon.Address != "" {
		where = "at " + d.Daemon.Address
	}
	rows := append([][]string{{"daemon", fmt.Sprintf("%s, %s, commit %s", where, d.Daemon.Version, d.Daemon.Commit)}}, d.devices()...)
	rows = append(rows, d.Machine.lines()...)
	for _, w := range d.First {
		rows = append(rows, []string{"first proof", fmt.Sprintf("%s %s, of it its key %s", w.Name, seconds(w.Wall), seconds(w.Key))})
	}
	c := d.Counts
	rows = append(rows,
		[]string{"requests", fmt.Sprintf("%d sent, %d at a time, in %s", c.Sent, d.Concurrency, seconds(d.Wall))},
		[]string{"proofs", fmt.Sprintf("%d, %d of them verified here, %d failed", c.Proved, c.Verified, c.Failed)},
		[]string{"rate", fmt.Sprintf("%.0f proofs an hour, %.0f partitions an hour", d.PerHour, d.PartsHour)})
	if d.Mode == "stress" {
		rows = append(rows, []string{"faults", fmt.Sprintf("%d cancelled, %d wrong and refused, %d clients killed", c.Cancelled, c.Wrong, c.Left)},
			[]string{"lost", fmt.Sprintf("%d", c.Problems)})
	}
	if c.Refused > 0 {
		rows = append(rows, []string{"refused for now", fmt.Sprintf("%d, sent again", c.Refused)})
	}
	if m := d.Memory; m.Most > 0 {
		rows = append(rows, []string{"daemon's memory", fmt.Sprintf("%s before, %s at most, %s after%s", bytes(m.Before), bytes(m.Most), bytes(m.After), d.shared())})
	}
	if s := d.Status; s.N > 0 {
		rows = append(rows, []string{"GetStatus", fmt.Sprintf("p50 %s, p99 %s of %s, %d failed", seconds(s.Median), seconds(s.P99), plural(s.N, "call"), d.Unseen)})
	}
	return rows
}

// shared says when a process's memory is not the daemon's alone.
func (d *daemonReport) shared() string {
	if d.Daemon.Address == "" {
		return ", this command's own included"
	}
	return ""
}

func (d *daemonReport) devices() (rows [][]string) {
	for _, x := range d.Daemon.Devices {
		text := x.Name
		if x.Memory > 0 {
			text += ", " + bytes(int64(x.Memory))
		}
		rows = append(rows, []string{"proves on", text})
	}
	return rows
}

// times is a line for each time of each row.
func (d *daemonReport) times() [][]string {
	out := [][]string{{"PROOFS", "TIME", "N", "MEDIAN", "P90", "P99", "LEAST", "MOST"}}
	for _, r := range d.Rows {
		for _, t := range []struct {
			name string
			loadtest.Quantiles
		}{{"queue wait", r.Queue}, {"synthesis", r.Synthesis}, {"proving", r.Prove}, {"total", r.Total}, {"seen by client", r.Client}} {
			out = append(out, []string{r.Name, t.name, fmt.Sprint(t.N), seconds(t.Median), seconds(t.P90), seconds(t.P99), seconds(t.Min), seconds(t.Max)})
		}
	}
	return out
}

func criticalRows(c *loadtest.Critical) [][]string {
	verdict := "which is more than one partition"
	if c.Within {
		verdict = "within one partition"
	}
	return [][]string{
		{"critical proofs", fmt.Sprintf("%d, made while others waited; %d of %d had not ended when the last was sent", c.Passed, c.Overtaken, c.Fill)},
		{"their worst wait", fmt.Sprintf("%s, %s", seconds(c.Worst), verdict)},
		{"longest other partition", seconds(c.Partition)},
	}
}
