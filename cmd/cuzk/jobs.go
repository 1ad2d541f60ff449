package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cuzk/server"
)

type jobsFlags struct {
	adminFlags
	all bool
}

func newJobsCmd() *cobra.Command {
	var f jobsFlags
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "List the jobs of a running daemon",
		Long: `Jobs lists what the daemon on this machine was asked for: the jobs that wait or
run, the oldest first, and with --all those that have ended lately, the newest
first. A job that ended is kept for jobs.keep_proofs.`,
		Example: `  cuzk jobs

  # those that have ended too
  cuzk jobs --all

  # for programs
  cuzk jobs --all --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return listJobs(cmd, &f) },
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, "list jobs that have ended too")
	return cmd
}

func listJobs(cmd *cobra.Command, f *jobsFlags) error {
	u := newUI(cmd)
	a, err := f.open(u)
	if err != nil {
		return err
	}
	jobs := []server.JobView{}
	if err := a.get(cmd.Context(), "/api/jobs", &jobs); err != nil {
		return err
	}
	if f.all {
		var recent []server.JobView
		if err := a.get(cmd.Context(), "/api/jobs/recent", &recent); err != nil {
			return err
		}
		for _, j := range recent {
			if j.Ended != nil {
				jobs = append(jobs, j)
			}
		}
	}
	if f.json {
		return u.json(jobs)
	}
	if len(jobs) == 0 {
		u.note("no jobs")
		return nil
	}
	rows := [][]string{{"JOB", "REQUEST", "KIND", "CLASS", "STATE", "DONE", "SINCE", "TOOK", "WHY"}}
	for _, j := range jobs {
		rows = append(rows, jobRow(&j))
	}
	return u.table(rows)
}

func jobRow(j *server.JobView) []string {
	done := ""
	if n := len(j.Partitions); n > 0 {
		done = fmt.Sprintf("%d of %d", count(j, "done"), n)
	}
	why := j.Message
	if j.Failure != "" {
		why = j.Failure + ": " + j.Message
	}
	return []string{j.ID, orElse(j.Request, "-"), j.Kind, j.Class, j.State, done, age(time.Since(j.Submitted)), took(ms(j.TotalMs)), clip(why, 60)}
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// clip keeps a table's line short.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}

func count(j *server.JobView, state string) (n int) {
	for _, p := range j.Partitions {
		if p.State == state {
			n++
		}
	}
	return n
}

type jobFlags struct {
	adminFlags
	cancel bool
}

func newJobCmd() *cobra.Command {
	var f jobFlags
	cmd := &cobra.Command{
		Use:   "job ID",
		Short: "Show one job of a running daemon",
		Long: `Job shows what the daemon on this machine knows of a job: what was asked and when,
its state, how long each step took or has taken until now, and, while it lives,
each of its partitions: queued, making (its witness), ready (waits for a device),
proving, checking, done. The bars are in proportion to the longest.

With --cancel the job is ended first.`,
		Example: `  cuzk job 06a1x3w9k2m4p7qz

  cuzk job 06a1x3w9k2m4p7qz --cancel`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return showJob(cmd, &f, args[0]) },
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.cancel, "cancel", false, "end the job")
	return cmd
}

func showJob(cmd *cobra.Command, f *jobFlags, id string) error {
	u := newUI(cmd)
	a, err := f.open(u)
	if err != nil {
		return err
	}
	path := "/api/jobs/" + url.PathEscape(id)
	if f.cancel {
		var was struct {
			Running bool `json:"was_running"`
		}
		if err := a.do(cmd.Context(), http.MethodPost, path+"/cancel", &was); err != nil {
			return err
		}
		if !was.Running {
			u.note("the job had ended before")
		}
	}
	var j server.JobView
	if err := a.get(cmd.Context(), path, &j); err != nil {
		return err
	}
	if f.json {
		return u.json(&j)
	}
	return printJob(u, &j)
}

func printJob(u *ui, j *server.JobView) error {
	rows := [][]string{
		{"job", j.ID}, {"request", orElse(j.Request, "-")}, {"kind", j.Kind + ", " + j.Class}, {"state", j.State},
		{"submitted", j.Submitted.Local().Format(time.DateTime) + ", " + age(time.Since(j.Submitted)) + " ago"},
		{"payload", bytes(j.Bytes)},
	}
	if j.Message != "" {
		rows = append(rows, []string{"why", j.Failure + ": " + j.Message})
	}
	if err := u.table(append(rows, nil)); err != nil {
		return err
	}
	stages := [][]string{}
	longest := max(j.QueueMs, j.KeyMs, j.SynthMs, j.ProveMs, j.TotalMs, 1)
	for _, s := range []struct {
		name string
		ms   int64
	}{{"queued", j.QueueMs}, {"waited for key", j.KeyMs}, {"witness", j.SynthMs}, {"proof", j.ProveMs}, {"in all", j.TotalMs}} {
		stages = append(stages, []string{s.name, took(ms(s.ms)), bar(s.ms, longest)})
	}
	if len(j.Partitions) > 0 {
		stages = append(append(stages, nil), partitionRows(j)...)
	}
	return u.table(stages)
}

func partitionRows(j *server.JobView) [][]string {
	longest := int64(1)
	for _, p := range j.Partitions {
		longest = max(longest, p.SynthMs+p.ProveMs)
	}
	var rows [][]string
	for _, p := range j.Partitions {
		note := p.State
		if p.Device != "" {
			note += " on " + p.Device
		}
		if p.Tries > 0 {
			note += fmt.Sprintf(", failed %d times", p.Tries)
		}
		rows = append(rows, []string{fmt.Sprintf("partition %d", p.Index), note,
			bar(p.SynthMs, longest) + strings.Repeat("=", len(bar(p.ProveMs, longest)))})
	}
	return append(rows, []string{"", "", "- witness, = proof"})
}

// barWidth is the length of the longest bar.
const barWidth = 40

func bar(n, longest int64) string { return strings.Repeat("-", int(n*barWidth/longest)) }
