package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cuzk/internal/timeline"
)

func newTimelineCmd() *cobra.Command {
	return group(&cobra.Command{
		Use:   "timeline",
		Short: "Draw a run from its log, and prove that no device was used twice at a time",
		Long: `Timeline reads the daemon's event log (events.jsonl in its state directory, see
logging.events) or the TIMELINE lines in the output of the Rust daemon. "-" is
standard input. A log holds every stage of every partition and every exclusive use
of a device, each with the device's UUID.`,
	}, newTimelineCheckCmd(), newTimelineRenderCmd())
}

// logFlags say what a log of the Rust daemon does not.
type logFlags struct{ o timeline.Options }

func (f *logFlags) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.o.WorkersPerDevice, "rust-workers", 2, "the Rust daemon's gpus.gpu_workers_per_device")
	cmd.Flags().BoolVar(&f.o.Separate, "rust-separate", false, "the Rust daemon was of 2026-03-06 or later and passed the device to each call")
}

// read reads a log.
func (f *logFlags) read(cmd *cobra.Command, path string) (*timeline.Log, error) {
	var in io.Reader = cmd.InOrStdin()
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, badInput(err)
		}
		defer file.Close()
		in = file
	}
	l, err := timeline.Read(in, f.o)
	if err != nil {
		return nil, badInput(fmt.Errorf("log %s: %w", path, err))
	}
	return l, nil
}

func newTimelineCheckCmd() *cobra.Command {
	var f logFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Prove from a log that no two uses of one device overlapped; explain idle time",
		Long: `Check proves from a log that no two exclusive regions of one physical device
overlapped, or names those that did, with the partitions whose proofs they put in
doubt. A log from which records are missing proves nothing; check says what is
missing. Then it says how each device spent its time, and why it was idle.

The Rust daemon's log has no lock events. What it writes bounds the use of a
device from outside; an overlap is reported if it follows from the bounds in every
case, and a doubt if it follows in some. Before 2026-03-06 all calls with one
circuit ran on the first device while each took the lock of its worker's device;
--rust-separate says that the log is of a later version.

The exit code is 0 if the log is a proof, and 1 if it is not.`,
		Example: `  cuzk timeline check /var/lib/cuzk/events.jsonl

  # with the part of the log that was set aside when it became long
  cd /var/lib/cuzk; cat events.jsonl.1 events.jsonl | cuzk timeline check -

  # the output of the Rust daemon, one worker a device
  journalctl -u cuzk -o cat | cuzk timeline check --rust-workers 1 -`,
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := f.read(cmd, args[0])
			if err != nil {
				return err
			}
			return reportTimeline(newUI(cmd), l, asJSON)
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// reportTimeline says what a check found.
func reportTimeline(u *ui, l *timeline.Log, asJSON bool) error {
	r := l.Check()
	show := showReport
	if asJSON {
		show = func(u *ui, l *timeline.Log, r *timeline.Report) error { return u.json(reportJSON(l, r)) }
	}
	if err := show(u, l, r); err != nil {
		return err
	}
	if !r.Proven() {
		return errReported
	}
	return nil
}

func showReport(u *ui, l *timeline.Log, r *timeline.Report) error {
	const most = 20 // overlaps that are listed
	lines := []string{fmt.Sprintf("%d records over %v, %d regions, %d runs", l.Lines, l.Length.Round(time.Millisecond), r.Regions, l.Runs)}
	lines = append(lines, r.Verdict())
	for i, o := range r.Overlaps {
		if i == most {
			lines = append(lines, fmt.Sprintf("overlap: and %d more", len(r.Overlaps)-most))
			break
		}
		lines = append(lines, "overlap: "+o.String())
	}
	if p := suspects(r); p != "" {
		lines = append(lines, "in doubt: the proofs of "+p)
	}
	for _, d := range r.Doubts {
		lines = append(lines, "doubt: "+d)
	}
	for _, n := range r.Notes {
		lines = append(lines, "note: "+n)
	}
	for _, line := range lines {
		if err := u.say("%s", line); err != nil {
			return err
		}
	}
	return showDevices(u, r)
}

// suspects lists the partitions that took part in overlaps.
func suspects(r *timeline.Report) string {
	seen := map[string][]int{}
	for _, o := range r.Overlaps {
		for _, s := range []*timeline.Span{o.A, o.B} {
			if k, ok := s.Partition.Index(); ok && !slices.Contains(seen[s.Job], k) {
				seen[s.Job] = append(seen[s.Job], k)
			}
		}
	}
	var out []string
	for job, parts := range seen {
		sort.Ints(parts)
		out = append(out, fmt.Sprintf("job %s partitions %s", job, strings.Trim(fmt.Sprint(parts), "[]")))
	}
	sort.Strings(out)
	return strings.Join(out, "; ")
}

func showDevices(u *ui, r *timeline.Report) error {
	for _, d := range r.Devices {
		name := d.ID
		if d.Name != "" {
			name = d.Name + " " + d.ID
		}
		if err := u.say("\n%s: busy %v of %v, %s", name, d.Busy.Round(time.Millisecond), d.Up.Round(time.Millisecond), percent(d.Busy, d.Up)); err != nil {
			return err
		}
		rows := [][]string{{"IDLE", "TIME", "SHARE"}}
		for _, why := range byTime(d.Idle) {
			rows = append(rows, []string{why, d.Idle[why].Round(time.Millisecond).String(), percent(d.Idle[why], d.Up)})
		}
		for i, g := range d.Gaps[:min(len(d.Gaps), 3)] {
			rows = append(rows, []string{fmt.Sprintf("longest gap %d: %s", i+1, g.Reason),
				(g.To - g.From).Round(time.Millisecond).String(), "at " + g.From.Round(time.Millisecond).String()})
		}
		if err := u.table(rows); err != nil {
			return err
		}
	}
	return nil
}

func percent(a, b time.Duration) string {
	return fmt.Sprintf("%.1f%%", 100*float64(a)/float64(max(b, 1)))
}

// byTime lists the reasons, the one that took most time first.
func byTime(idle map[string]time.Duration) []string {
	var out []string
	for why := range idle {
		out = append(out, why)
	}
	sort.Slice(out, func(i, j int) bool {
		if idle[out[i]] != idle[out[j]] {
			return idle[out[i]] > idle[out[j]]
		}
		return out[i] < out[j]
	})
	return out
}

// timelineReport is the JSON form of a check.
type timelineReport struct {
	Proven   bool             `json:"proven"`
	Verdict  string           `json:"verdict"`
	Records  int              `json:"records"`
	Regions  int              `json:"regions"`
	Overlaps []string         `json:"overlaps"`
	Doubts   []string         `json:"doubts"`
	Notes    []string         `json:"notes"`
	Devices  []timelineDevice `json:"devices"`
}

type timelineDevice struct {
	Device string             `json:"device"`
	Name   string             `json:"name,omitempty"`
	UpS    float64            `json:"up_s"`
	BusyS  float64            `json:"busy_s"`
	IdleS  map[string]float64 `json:"idle_s"` // by reason
}

func reportJSON(l *timeline.Log, r *timeline.Report) timelineReport {
	out := timelineReport{Proven: r.Proven(), Verdict: r.Verdict(), Records: l.Lines, Regions: r.Regions,
		Overlaps: []string{}, Doubts: append([]string{}, r.Doubts...), Notes: append([]string{}, r.Notes...), Devices: []timelineDevice{}}
	for _, o := range r.Overlaps {
		out.Overlaps = append(out.Overlaps, o.String())
	}
	for _, d := range r.Devices {
		t := timelineDevice{d.ID, d.Name, d.Up.Seconds(), d.Busy.Seconds(), map[string]float64{}}
		for why, v := range d.Idle {
			t.IdleS[why] = v.Seconds()
		}
		out.Devices = append(out.Devices, t)
	}
	return out
}

func newTimelineRenderCmd() *cobra.Command {
	var f logFlags
	var format, job string
	var width int
	cmd := &cobra.Command{
		Use:   "render FILE",
		Short: "Draw a log as an SVG picture or a Chrome trace",
		Long: `Render writes a picture of a run to standard output: a row for each device and
each stage, a colour for each job, idle times in grey, failures and overlapping
regions with a red frame. An SVG picture opens in any browser and tells all about
a bar under the mouse; a Chrome trace opens in chrome://tracing or Perfetto, which
also hold long runs.`,
		Example: `  cuzk timeline render /var/lib/cuzk/events.jsonl > run.svg

  # one job
  cuzk timeline render --job 01jc4x7h2m8q9r5t events.jsonl > job.svg

  # for Perfetto
  cuzk timeline render --format chrome events.jsonl > run.json`,
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "svg" && format != "chrome" {
				return usageError("--format: %q is neither svg nor chrome", format)
			}
			l, err := f.read(cmd, args[0])
			if err != nil {
				return err
			}
			if job != "" {
				l = l.Only(job)
			}
			return render(cmd.OutOrStdout(), l, format, width)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&format, "format", "svg", "svg or chrome")
	cmd.Flags().StringVar(&job, "job", "", "only this `job`")
	cmd.Flags().IntVar(&width, "width", 1600, "width of the SVG picture in pixels")
	return cmd
}

func render(w io.Writer, l *timeline.Log, format string, width int) error {
	if format == "chrome" {
		return l.WriteTrace(w)
	}
	if len(l.Spans) > timeline.MaxSpans {
		return hint(badInput(l.WriteSVG(io.Discard, width)), "choose one with --job, or --format chrome")
	}
	return l.WriteSVG(w, width)
}
