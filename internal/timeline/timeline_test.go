package timeline

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"cuzk/event"
)

func TestSoundRunIsProven(t *testing.T) {
	r := read(t, sampleRun().buf.String(), Options{}).Check()
	if !r.Proven() || r.Regions != 2 || r.Verdict() != "proven: none of 2 exclusive regions overlapped with another of its device" {
		t.Fatalf("%s: %v, %v", r.Verdict(), r.Overlaps, r.Doubts)
	}
	if len(r.Devices) != 1 {
		t.Fatalf("devices %+v", r.Devices)
	}
	d := r.Devices[0]
	want := map[string]time.Duration{NoWork: 6 * time.Second, NoWitness: 4 * time.Second, NoKey: time.Second,
		NoMemory: time.Second, InProof: time.Second, Unexplained: 2 * time.Second}
	if d.Name != "H200" || d.Up != 20*time.Second || d.Busy != 5*time.Second {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff(want, d.Idle); diff != "" {
		t.Error(diff)
	}
	if d.Gaps[0] != (Gap{2 * time.Second, 6 * time.Second, NoWitness}) {
		t.Errorf("longest gap %+v", d.Gaps[0])
	}
}

func TestOverlapIsFound(t *testing.T) {
	r := &recorder{}
	r.at(0, event.Record{Type: event.DaemonStarted})
	r.at(1, in(gpuA, "j1", 0)).at(2, in(gpuB, "j1", 1)).at(3, in(gpuA, "j2", 5))
	r.at(4, out(gpuA, "j1", 0)).at(5, out(gpuA, "j2", 5)).at(6, out(gpuB, "j1", 1))
	rep := read(t, r.buf.String(), Options{}).Check()
	if len(rep.Overlaps) != 1 || rep.Proven() {
		t.Fatalf("got %v", rep.Overlaps)
	}
	want := gpuA + ": prove of job j1 partition 0 [1.000s to 4.000s] and prove of job j2 partition 5 [3.000s to 5.000s] share 1.000s"
	if got := rep.Overlaps[0].String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestClockDoesNotDecide: the order of the records does, whatever the clock says.
func TestClockDoesNotDecide(t *testing.T) {
	overlap := &recorder{} // set back in the middle
	overlap.at(0, event.Record{Type: event.DaemonStarted})
	overlap.at(100, in(gpuA, "j1", 0)).at(10, in(gpuA, "j1", 1)).at(11, out(gpuA, "j1", 0)).at(12, out(gpuA, "j1", 1))
	if r := read(t, overlap.buf.String(), Options{}).Check(); len(r.Overlaps) != 1 {
		t.Errorf("a clock hid an overlap: %s", r.Verdict())
	}
	sound := &recorder{} // all at one moment
	sound.at(0, event.Record{Type: event.DaemonStarted})
	sound.at(5, in(gpuA, "j1", 0)).at(5, out(gpuA, "j1", 0)).at(5, in(gpuA, "j1", 1)).at(5, out(gpuA, "j1", 1))
	if r := read(t, sound.buf.String(), Options{}).Check(); !r.Proven() {
		t.Errorf("a clock made an overlap: %s, %v", r.Verdict(), r.Overlaps)
	}
}

func TestWhatIsMissingIsADoubt(t *testing.T) {
	lines := strings.SplitAfter(sampleRun().buf.String(), "\n")
	for name, c := range map[string]struct{ text, want string }{
		"a record":       {strings.Join(append(append([]string{}, lines[:8]...), lines[9:]...), ""), "line 9: records 9 to 9 are missing"},
		"the beginning":  {strings.Join(lines[5:], ""), "line 1: the run begins with record 6"},
		"half of a line": {strings.Join(lines[:15], "") + lines[15][:40], "line 16: cut short"},
		"garbage":        {strings.Join(lines[:3], "") + "{garbage}\n" + strings.Join(lines[3:], ""), "line 4: no record"},
		"an end": {strings.ReplaceAll(sampleRun().buf.String(), `"type":"region.in"`, `"type":"other"`),
			"line 16: region " + gpuA + " prove j1 0 0 ended without having begun"},
	} {
		t.Run(name, func(t *testing.T) {
			r := read(t, c.text, Options{}).Check()
			if r.Proven() || len(r.Doubts) == 0 || r.Doubts[0] != c.want || len(r.Overlaps) > 0 {
				t.Errorf("%s: %q", r.Verdict(), r.Doubts)
			}
		})
	}
}

// TestKilledDaemonOverlapsWithNothing: what was open when a process died ended
// with it.
func TestKilledDaemonOverlapsWithNothing(t *testing.T) {
	r := &recorder{}
	r.at(0, event.Record{Type: event.DaemonStarted}).at(1, event.Record{Type: event.JobAccepted, Job: "j1"}).at(2, in(gpuA, "j1", 0))
	r.restart()
	r.at(60, event.Record{Type: event.DaemonStarted}).at(61, event.Record{Type: event.JobRecovered, Job: "j1"})
	r.at(62, in(gpuA, "j1", 0)).at(63, out(gpuA, "j1", 0)).at(64, event.Record{Type: event.JobEnded, Job: "j1"})
	l := read(t, r.buf.String(), Options{})
	rep := l.Check()
	if !rep.Proven() || l.Runs != 2 || !l.Spans[0].Open || l.Spans[0].To != 2*time.Second {
		t.Fatalf("%s, %v, %v", rep.Verdict(), rep.Overlaps, rep.Doubts)
	}
	if d := rep.Devices[0]; d.Up != 6*time.Second || d.Busy != time.Second {
		t.Errorf("the time between the runs counts: %+v", d)
	}
}

// TestOverlapsAgainstDefinition compares with counting holders record by record.
func TestOverlapsAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &recorder{}
		r.at(0, event.Record{Type: event.DaemonStarted})
		held := map[string][]int{}
		pairs, next := 0, 0
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			device := rapid.SampledFrom([]string{gpuA, gpuB}).Draw(t, "device")
			second := float64(rapid.IntRange(0, 30).Draw(t, "clock"))
			if h := held[device]; len(h) > 0 && rapid.Bool().Draw(t, "out") {
				i := rapid.IntRange(0, len(h)-1).Draw(t, "which")
				r.at(second, out(device, "j", h[i]))
				held[device] = append(append([]int{}, h[:i]...), h[i+1:]...)
				continue
			}
			pairs += len(held[device])
			r.at(second, in(device, "j", next))
			held[device] = append(held[device], next)
			next++
		}
		l, err := Read(&r.buf, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(l.Check().Overlaps); got != pairs {
			t.Fatalf("%d overlaps, want %d", got, pairs)
		}
	})
}

// TestIdleTimeAddsUp: busy and idle make up the time that the daemon ran.
func TestIdleTimeAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &recorder{}
		r.at(0, event.Record{Type: event.DaemonStarted}).at(0, event.Record{Type: event.DeviceState, Device: gpuA, Name: "x"})
		second := 0.0
		for k := range rapid.IntRange(0, 20).Draw(t, "steps") {
			second += float64(rapid.IntRange(0, 5).Draw(t, "pause"))
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				r.at(second, in(gpuA, "j", k)).at(second+1, out(gpuA, "j", k))
				second++
			case 1:
				r.at(second, event.Record{Type: event.DeviceIdle, Device: gpuA, Reason: rapid.SampledFrom([]string{NoKey, NoWork, ""}).Draw(t, "why")})
			case 2:
				r.at(second, stage(event.StageBegan, event.Synthesise, "j", k, ""))
			case 3:
				r.at(second, event.Record{Type: event.JobAccepted, Job: strconv.Itoa(k)})
			case 4:
				r.restart()
				r.at(second, event.Record{Type: event.DaemonStarted})
			}
		}
		l, err := Read(&r.buf, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range l.Check().Devices {
			sum := d.Busy
			for _, v := range d.Idle {
				sum += v
			}
			if sum != d.Up {
				t.Fatalf("%+v: %v of %v", d, sum, d.Up)
			}
		}
	})
}

func raceLog(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/two-gpu-race.log")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestTwoGPURaceIsFound reads a log of the shape that the field's race left, and
// finds the uses of one device under two locks.
func TestTwoGPURaceIsFound(t *testing.T) {
	l := read(t, raceLog(t), Options{})
	r := l.Check()
	if len(r.Overlaps) == 0 || r.Overlaps[0].Device != "gpu0" {
		t.Fatalf("%s: %v", r.Verdict(), r.Overlaps)
	}
	first := r.Overlaps[0]
	a, _ := first.A.Partition.Index()
	b, _ := first.B.Partition.Index()
	if a != 0 || b != 1 || first.A.Worker != "0" || first.B.Worker != "2" {
		t.Errorf("first overlap %v", first)
	}
	for _, o := range r.Overlaps {
		if o.A.lock == o.B.lock || o.Shared <= 0 {
			t.Errorf("%v: one lock, or no time", o)
		}
	}
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[1], "no call ran on gpu1") {
		t.Errorf("notes %q", r.Notes)
	}
	if r.Devices[0].Idle[NoWitness] < 28*time.Second {
		t.Errorf("the device waited for the first witness: %+v", r.Devices[0])
	}
}

// TestCertainRegionsAreInsideTheTruth: in the log the locks were held for 5.4 s,
// up to 1.45 s before GPU_END; no certain region may leave these times.
func TestCertainRegionsAreInsideTheTruth(t *testing.T) {
	truth := map[string]interval{}
	for _, m := range regexp.MustCompile(`TIMELINE,(\d+),GPU_END,[^,]*,worker=\d+,partition=(\d+)`).FindAllStringSubmatch(raceLog(t), -1) {
		ms, _ := strconv.Atoi(m[1])
		end := time.Duration(ms-1450) * time.Millisecond
		truth[m[2]] = interval{end - 5400*time.Millisecond, end}
	}
	l := read(t, raceLog(t), Options{})
	if len(truth) != 10 || len(l.certain) < 8 {
		t.Fatalf("%d times, %d regions", len(truth), len(l.certain))
	}
	for _, s := range l.certain {
		if w := truth[s.Partition.String()]; s.From < w.from || s.To > w.to {
			t.Errorf("%v is outside %v to %v", s, w.from, w.to)
		}
	}
}

// TestSeparateDevicesDoNotRace reads the same log as of a daemon that passed the
// device to each call.
func TestSeparateDevicesDoNotRace(t *testing.T) {
	r := read(t, raceLog(t), Options{Separate: true}).Check()
	if !r.Proven() || len(r.Devices) != 2 {
		t.Errorf("%s: %v, %v", r.Verdict(), r.Overlaps, r.Doubts)
	}
	// Four workers of one device share a lock: nothing to find either.
	if r := read(t, raceLog(t), Options{WorkersPerDevice: 4}).Check(); !r.Proven() {
		t.Errorf("%s: %v, %v", r.Verdict(), r.Overlaps, r.Doubts)
	}
}

// TestUncertainRaceIsADoubt: calls that are short against the tail prove
// nothing, but are not passed over.
func TestUncertainRaceIsADoubt(t *testing.T) {
	const log = "TIMELINE,100,GPU_START,j,worker=0,partition=0\nTIMELINE,150,GPU_START,j,worker=2,partition=1\n" +
		"TIMELINE,1900,GPU_END,j,worker=0,partition=0,gpu_ms=1800\nTIMELINE,1950,GPU_END,j,worker=2,partition=1,gpu_ms=1800\n"
	r := read(t, log, Options{}).Check()
	if r.Proven() || len(r.Overlaps) > 0 || len(r.Doubts) != 1 || !strings.HasPrefix(r.Doubts[0], "1 pairs of calls") {
		t.Errorf("%s: %q", r.Verdict(), r.Doubts)
	}
}

func TestRustLinesThatDoNotFit(t *testing.T) {
	for text, want := range map[string]string{
		"TIMELINE,x,GPU_START,j,worker=0":     "no TIMELINE line",
		"TIMELINE,5,GPU_END,j,worker=0":       "ended without having begun",
		"TIMELINE,5,GPU_DANCE,j,worker=0":     "unknown event",
		"Mar 02 h cuzk[1]: TIMELINE,5,GPU_EN": "no TIMELINE line",
	} {
		l := read(t, "TIMELINE,1,SYNTH_START,j,kind=winning-post\n"+text+"\n", Options{})
		if len(l.Doubts) == 0 || !strings.Contains(l.Doubts[0], want) {
			t.Errorf("%s: %q", text, l.Doubts)
		}
	}
	two := read(t, "TIMELINE,90000,GPU_START,j,worker=0,partition=1\nTIMELINE,100,GPU_START,j,worker=0,partition=1\nTIMELINE,9000,GPU_END,j,worker=0,partition=1\n", Options{})
	if two.Runs != 2 || len(two.Check().Overlaps) > 0 {
		t.Errorf("%d runs, %v", two.Runs, two.Check().Overlaps)
	}
}

func TestNoLog(t *testing.T) {
	for _, text := range []string{"", "hello\n", "{\"level\":\"info\"}\n"} {
		if _, err := Read(strings.NewReader(text), Options{}); !errors.Is(err, ErrNoLog) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Read(strings.NewReader(sampleRun().buf.String()+raceLog(t)), Options{}); err == nil || !strings.Contains(err.Error(), "both") {
		t.Errorf("got %v", err)
	}
	if _, err := Read(strings.NewReader(strings.Repeat("x", maxLine+2)), Options{}); err == nil {
		t.Error("a line without end was read")
	}
}

// TestSVG: well-formed, nothing from outside, overlaps in red, text escaped.
func TestSVG(t *testing.T) {
	r := sampleRun()
	r.at(21, in(gpuA, "<script>", 0)).at(22, in(gpuA, "j9", 1)).at(23, out(gpuA, "<script>", 0)).at(24, out(gpuA, "j9", 1))
	for _, text := range []string{r.buf.String(), raceLog(t)} {
		var b bytes.Buffer
		if err := read(t, text, Options{}).WriteSVG(&b, 1200); err != nil {
			t.Fatal(err)
		}
		if err := wellFormed(b.Bytes()); err != nil {
			t.Fatal(err)
		}
		s := b.String()
		if strings.Contains(s, "<script") || strings.Contains(strings.ReplaceAll(s, "http://www.w3.org/2000/svg", ""), "http") {
			t.Error("a resource from outside, or text that was not escaped")
		}
		if !strings.Contains(s, `class="bad"`) || !strings.Contains(s, "OVERLAPS") {
			t.Error("the overlap is not shown")
		}
	}
}

func wellFormed(raw []byte) error {
	d := xml.NewDecoder(bytes.NewReader(raw))
	for {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestTrace(t *testing.T) {
	l := read(t, sampleRun().buf.String(), Options{})
	var b bytes.Buffer
	if err := l.WriteTrace(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		TraceEvents []struct {
			Name, Ph string
			Ts, Dur  float64
			Tid      int
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	n, last := 0, map[int]float64{}
	for _, e := range got.TraceEvents {
		if e.Ph != "X" {
			continue
		}
		n++
		if e.Ts < last[e.Tid] {
			t.Errorf("%+v begins before the one in its row ends", e)
		}
		last[e.Tid] = e.Ts + e.Dur
	}
	if n != len(l.Spans) {
		t.Errorf("%d of %d spans", n, len(l.Spans))
	}
}

func TestOnlyOneJob(t *testing.T) {
	r := sampleRun()
	r.at(21, in(gpuA, "j2", 0)).at(22, out(gpuA, "j2", 0))
	for _, s := range read(t, r.buf.String(), Options{}).Only("j2").Spans {
		if s.Job == "j1" {
			t.Errorf("%v", s)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sampleRun().buf.String(), true)
	f.Add("TIMELINE,1,GPU_START,j,worker=0,partition=3\nTIMELINE,99999999999,GPU_END,j,worker=0,partition=3", false)
	f.Add("{\"seq\":1,\"at\":\"2026-01-02T00:00:00Z\",\"type\":\"region.in\",\"job\":\"\\u0001\\ud800\"}\n", true)
	f.Add(`{"seq":18446744073709551615,"at":"0001-01-02T00:00:00Z","type":"region.in"}`, true)
	f.Fuzz(func(t *testing.T, text string, separate bool) {
		l, err := Read(strings.NewReader(text), Options{Separate: separate})
		if err != nil {
			return
		}
		r := l.Check()
		for _, d := range r.Devices {
			if d.Busy < 0 || d.Up < d.Busy {
				t.Fatalf("%+v", d)
			}
		}
		if err := l.WriteSVG(io.Discard, 1000); err != nil && len(l.Spans) <= MaxSpans {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := l.WriteSVG(&b, 500); err == nil {
			if err := wellFormed(b.Bytes()); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.WriteTrace(io.Discard); err != nil {
			t.Fatal(err)
		}
	})
}
