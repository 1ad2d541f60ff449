package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cuzk/server"
)

type statusFlags struct {
	adminFlags
	watch time.Duration
}

func newStatusCmd() *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what a running daemon does",
		Long: `Status asks the daemon on this machine what it does: whether it accepts jobs, how
much memory is in use, each device with the proof that it makes or the reason why
it makes none, the kinds of proofs with their queues, and the keys with where they
are: hot (a device has it), warm (mapped), cold (on disk), missing.

With --watch it shows that again and again until Ctrl-C.`,
		Example: `  cuzk status

  # every two seconds
  cuzk status --watch

  # for programs
  cuzk status --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return showStatus(cmd, &f) },
	}
	f.register(cmd)
	cmd.Flags().DurationVar(&f.watch, "watch", 0, "show it again after each `interval`")
	cmd.Flags().Lookup("watch").NoOptDefVal = "2s"
	return cmd
}

func showStatus(cmd *cobra.Command, f *statusFlags) error {
	u := newUI(cmd)
	a, err := f.open(u)
	if err != nil {
		return err
	}
	for {
		var v server.StatusView
		if err := a.get(cmd.Context(), "/api/status", &v); err != nil {
			return err
		}
		if f.json {
			err = u.json(&v)
		} else {
			err = printStatus(u, &v, f.watch > 0)
		}
		if err != nil || f.watch <= 0 || !pause(cmd.Context(), f.watch) {
			return err
		}
	}
}

// pause waits; false if the context is done.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// clearScreen begins a page anew on a terminal.
const clearScreen = "\x1b[H\x1b[2J"

func printStatus(u *ui, v *server.StatusView, again bool) error {
	if again && u.moving {
		fmt.Fprint(u.out, clearScreen)
	}
	state := "accepts jobs"
	if v.Refusing != "" {
		state = "refuses jobs: " + v.Refusing
	}
	head := [][]string{
		{"daemon", state + ", up " + age(time.Duration(v.UptimeMs)*time.Millisecond)},
		{"version", v.Build.Version + ", commit " + v.Build.Commit()},
		{"memory", share(v.Host)}, {"payloads", share(v.Spool)},
	}
	if v.Pinned.Limit > 0 {
		head = append(head, []string{"pinned", share(v.Pinned)})
	}
	if v.Unsaved > 0 {
		head = append(head, []string{"results", fmt.Sprintf("%d wait for the job store", v.Unsaved)})
	}
	for _, rows := range [][][]string{head, deviceRows(v), kindRows(v), keyRows(v)} {
		if len(rows) == 0 {
			continue
		}
		if err := u.table(append(rows, nil)); err != nil {
			return err
		}
	}
	return nil
}

func deviceRows(v *server.StatusView) [][]string {
	rows := [][]string{{"DEVICE", "NAME", "STATE", "MEMORY", "NOW"}}
	for _, d := range v.Devices {
		now := "idle: " + d.Reason
		if d.State != "in-service" {
			now = d.Reason
		}
		for i, w := range d.Work {
			if i == 0 {
				now = ""
			} else {
				now += ", "
			}
			now += fmt.Sprintf("%s %s partition %d", w.Kind, w.Job, w.Partition)
		}
		memory := "the host's"
		if d.Memory.Limit > 0 {
			memory = share(d.Memory)
		}
		rows = append(rows, []string{d.ID, d.Name, d.State, memory, now})
	}
	return rows
}

func kindRows(v *server.StatusView) [][]string {
	rows := [][]string{{"KIND", "WAITING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMED OUT"}}
	for _, k := range v.Kinds {
		rows = append(rows, []string{k.Name, fmt.Sprint(k.Pending), fmt.Sprint(k.InProgress), fmt.Sprint(k.Completed), fmt.Sprint(k.Failed), fmt.Sprint(k.Cancelled), fmt.Sprint(k.TimedOut)})
	}
	return rows
}

// keyRows leaves out the keys that are not there.
func keyRows(v *server.StatusView) [][]string {
	rows := [][]string{{"KEY", "TIER", "SIZE", "ON"}}
	for _, k := range v.Keys {
		if k.Tier == "missing" {
			continue
		}
		var on []string
		for _, r := range k.Resident {
			text := r.Device
			switch {
			case r.State == "loading" && r.Percent > 0:
				text += fmt.Sprintf(" (loading, %d%%)", r.Percent)
			case r.State != "loaded":
				text += " (" + r.State + ")"
			}
			on = append(on, text)
		}
		rows = append(rows, []string{k.ID, k.Tier, bytes(k.Bytes), strings.Join(on, ", ")})
	}
	if len(rows) == 1 {
		return [][]string{{"no key is there: \"cuzk params fetch\" gets the published ones"}}
	}
	return rows
}

// share is how much of a pool is used.
func share(p server.PoolView) string {
	if p.Limit == 0 {
		return bytes(p.Used)
	}
	return fmt.Sprintf("%s of %s", bytes(p.Used), bytes(p.Limit))
}

// age is a duration as people say it.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}
