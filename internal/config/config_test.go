package config

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cuzk/budget"
)

var rewrite = flag.Bool("rewrite", false, "write the generated pages")

// load loads from a file's text.
func load(toml string, env []string, flags map[string]string) (*Loaded, error) {
	return Load(Sources{File: "cuzk.toml", Environ: env, Flags: flags, UID: 1000,
		Read: func(string) ([]byte, error) { return []byte(toml), nil }})
}

func TestNoConfigurationWorks(t *testing.T) {
	l, err := Load(Sources{Environ: []string{"HOME=/home/x"}, UID: 1000,
		Read: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
	if err != nil {
		t.Fatal(err)
	}
	if l.File != "" || len(l.Warnings) > 0 || l.StateDir() != "/home/x/.local/state/cuzk" ||
		l.EventsFile() != "/home/x/.local/state/cuzk/events.jsonl" || l.ParamsDir() != "/var/tmp/filecoin-proof-parameters" {
		t.Errorf("%+v", l)
	}
}

func TestPrecedence(t *testing.T) {
	const file = "[daemon]\nlisten = \"127.0.0.1:1\"\n[scheduler]\nwitnesses = 3\nmax_attempts = 4\n[memory]\nsafety_margin=\"1GiB\"\n"
	env := []string{"CUZK_DAEMON_LISTEN=127.0.0.1:2", "CUZK_SCHEDULER_WITNESSES=5", "CUZK_SRS_PRELOAD=porep-32GiB, winning-2k"}
	l, err := load(file, env, map[string]string{"daemon.listen": "127.0.0.1:3"})
	if err != nil {
		t.Fatal(err)
	}
	if l.Daemon.Listen != "127.0.0.1:3" || l.Scheduler.Witnesses != 5 || l.Scheduler.MaxAttempts != 4 ||
		l.Memory.SafetyMargin != budget.GiB || !slices.Equal(l.SRS.Preload, []string{"porep-32GiB", "winning-2k"}) {
		t.Errorf("%+v", l.Config)
	}
	for key, want := range map[string]string{"daemon.listen": "flag --listen", "scheduler.witnesses": "environment CUZK_SCHEDULER_WITNESSES",
		"scheduler.max_attempts": "cuzk.toml:5:1", "jobs.keep_proofs": "default"} {
		if got := l.Origin(key); got != want {
			t.Errorf("%s from %q, want %q", key, got, want)
		}
	}
}

// problem is the one problem of an error.
func problem(t *testing.T, err error) *Problem {
	t.Helper()
	var p Problems
	if !errors.As(err, &p) || len(p) != 1 {
		t.Fatalf("got %v, want one problem", err)
	}
	return p[0]
}

func TestMistakesInFile(t *testing.T) {
	for _, c := range []struct{ name, toml, where, text, hint string }{
		{"unknown key", "[daemon]\n\nlistn = \"x\"\n", "cuzk.toml:3:1", "unknown setting", "did you mean daemon.listen?"},
		{"other section", "[daemon]\nparams_dir = \"/x\"\n", "cuzk.toml:2:1", "unknown setting", "did you mean srs.params_dir?"},
		{"top level", "listen = \"x\"\n", "cuzk.toml:1:1", "unknown setting", "did you mean daemon.listen?"},
		{"unknown section", "[daemn]\n", "cuzk.toml:1:2", "unknown setting", "reference"},
		{"nothing near", "[daemon]\nqwertyuiop = 1\n", "cuzk.toml:2:1", "unknown setting", "reference"},
		{"inline table", "scheduler = { witneses = 3 }\n", "cuzk.toml:1:15", "unknown setting", "did you mean scheduler.witnesses?"},
		{"dotted", "scheduler.witnesses = \"many\"\n", "cuzk.toml:1:11", "\"many\" is not a whole number", "explain scheduler.witnesses"},
		{"syntax", "[daemon]\nlisten = unix\n", "cuzk.toml:2:10", "", ""},
		{"twice", "[daemon]\nlisten = \"unix:///a\"\nlisten = \"unix:///b\"\n", "cuzk.toml:3:1", "listen", ""},
		{"size", "[memory]\ntotal_budget = \"128 lots\"\n", "cuzk.toml:2:1", "want a number with a unit", "explain"},
		{"negative size", "[memory]\nsafety_margin = -1\n", "cuzk.toml:2:1", "-1 is not a size", "explain"},
		{"duration", "[jobs]\nkeep_proofs = \"3 fortnights\"\n", "cuzk.toml:2:1", "is not a duration such as", "explain"},
		{"out of range", "[scheduler]\nwitnesses = 0\n", "cuzk.toml:2:1", "0 is outside 1 to 256", "explain"},
		{"choice", "[logging]\nlevel = \"loud\"\n", "cuzk.toml:2:1", "\"loud\" is not one of debug, info, warn, error", "explain"},
		{"table for value", "[daemon.listen]\n", "cuzk.toml:1:9", "a table is not text", "explain"},
		{"list for value", "[daemon]\nlisten = []\n", "cuzk.toml:2:1", "a list is not text", "explain"},
		{"old and new", "[daemon]\nadmin_listen = \"\"\nstatus_listen = \"\"\n", "cuzk.toml:3:1", "daemon.admin_listen is set too, at cuzk.toml:2:1", "keep one"},
		{"plaintext", "[daemon]\nlisten = \"0.0.0.0:9820\"\n", "cuzk.toml:2:1", "other machines can reach", "explain"},
		{"half of tls", "[daemon]\ntls_key = \"/k\"\n", "cuzk.toml:2:1", "belong together", "explain"},
		{"same port", "[daemon]\nadmin_listen = \"127.0.0.1:9820\"\n", "cuzk.toml:2:1", "the same as daemon.listen", "explain"},
		{"relative", "[daemon]\nstate_dir = \"state\"\n", "cuzk.toml:2:1", "is not an absolute path", "explain"},
		{"circuit", "[srs]\npreload = [\"porep-3g\"]\n", "cuzk.toml:2:1", "unknown circuit", "explain"},
		{"gateway", "[fetch]\ngateways = [\"proofs.filecoin.io\"]\n", "cuzk.toml:2:1", "is not an address", "explain"},
		{"device", "[gpus]\ndevices = [\"first\"]\n", "cuzk.toml:2:1", "neither a UUID", "explain"},
		{"device twice", "[gpus]\ndevices = [1, \"1\"]\n", "cuzk.toml:2:1", "twice", "explain"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(c.toml, []string{"HOME=/h"}, nil)
			p := problem(t, err)
			if p.Where != c.where || !strings.Contains(p.Text, c.text) || !strings.Contains(p.Hint, c.hint) {
				t.Errorf("got %q: %q (%q)", p.Where, p.Text, p.Hint)
			}
		})
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	_, err := load("[daemon]\na = 1\nlisten = 2\n", []string{"CUZK_MEMORY_TOTAL_BUDGET=much"}, map[string]string{"synthesis.threads": "-1"})
	var p Problems
	if !errors.As(err, &p) || len(p) != 4 {
		t.Fatalf("got %v", err)
	}
	if want := "configuration: cuzk.toml:2:1: daemon.a: unknown setting; and 3 more"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if p[3].Where != "flag --threads" || p[2].Where != "environment CUZK_MEMORY_TOTAL_BUDGET" {
		t.Errorf("got %v, %v", p[2], p[3])
	}
}

// TestFileOfTheRustDaemon reads a file with each of its keys: nothing is an
// error, and what lost its meaning is said.
func TestFileOfTheRustDaemon(t *testing.T) {
	raw, err := os.ReadFile("testdata/rust.toml")
	if err != nil {
		t.Fatal(err)
	}
	l, err := load(string(raw), []string{"HOME=/h"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if l.ParamsDir() != "/data/zk/params" || l.Daemon.AdminListen != "127.0.0.1:9821" || !slices.Equal(l.GPUs.Devices, []string{"0", "1"}) ||
		l.Memory.PinnedBudget.Bytes != 50*budget.GiB || len(l.SRS.Preload) != 4 {
		t.Errorf("%+v", l.Config)
	}
	for key := range FormerKeys() {
		if !slices.ContainsFunc(l.Warnings, func(w string) bool { return strings.Contains(w, ": "+key+" ") }) {
			t.Errorf("no warning about %s in %q", key, l.Warnings)
		}
	}
	if want := "cuzk.toml:20:1: gpus.gpu_threads has no effect: "; !slices.ContainsFunc(l.Warnings, func(w string) bool { return strings.HasPrefix(w, want) }) {
		t.Errorf("no %q in %q", want, l.Warnings)
	}
}

func TestFormerNamesAreSettings(t *testing.T) {
	for key, f := range formerKeys {
		if f.Now != "" && Find(f.Now) == nil || f.Now == "" && f.Why == "" || Find(key) != nil {
			t.Errorf("%s: %+v", key, f)
		}
	}
}

func TestEnvironmentNamesThatNothingReads(t *testing.T) {
	l, err := load("", []string{"HOME=/h", "CUZK_DAEMON_LISTN=x", "CUZK_SERVICE_HOST=10.0.0.1", "CUDA_VISIBLE_DEVICES=1", "RUST_LOG=debug",
		"FIL_PROOFS_USE_GPU_COLUMN_BUILDER=1", "FIL_PROOFS_PARAMETER_CACHE=/keys", "CUZK_CONFIG=x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"CUDA_VISIBLE_DEVICES has no effect", "CUZK_DAEMON_LISTN is not read; did you mean CUZK_DAEMON_LISTEN?",
		"CUZK_SERVICE_HOST is not read", "FIL_PROOFS_USE_GPU_COLUMN_BUILDER has no effect", "RUST_LOG has no effect"}
	if len(l.Warnings) != len(want) || l.ParamsDir() != "/keys" {
		t.Fatalf("got %q", l.Warnings)
	}
	for i, w := range want {
		if !strings.Contains(l.Warnings[i], w) {
			t.Errorf("got %q, want %q", l.Warnings[i], w)
		}
	}
}

func TestFileThatMustBeThere(t *testing.T) {
	gone := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	for _, s := range []Sources{{File: "x.toml"}, {Environ: []string{"CUZK_CONFIG=x.toml"}}} {
		s.Read = gone
		_, err := Load(s)
		if p := problem(t, err); p.Where != "x.toml" || !strings.Contains(p.Hint, "config init") {
			t.Errorf("got %v", p)
		}
	}
}

func TestStateDir(t *testing.T) {
	for _, c := range []struct {
		env  []string
		uid  int
		want string
	}{
		{[]string{"STATE_DIRECTORY=/var/lib/cuzk-a:/b"}, 0, "/var/lib/cuzk-a"},
		{nil, 0, "/var/lib/cuzk"},
		{[]string{"HOME=/h", "XDG_STATE_HOME=/s"}, 7, "/s/cuzk"},
	} {
		l, err := Load(Sources{Environ: c.env, UID: c.uid, Read: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
		if err != nil || l.StateDir() != c.want {
			t.Errorf("%v: got %s, %v", c.env, l.StateDir(), err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for text, local := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "localhost:9820": true, "unix:///run/x": true,
		":9820": false, "0.0.0.0:1": false, "10.1.2.3:1": false, "prover.example:1": false} {
		a, err := ParseAddress(text)
		if err != nil || a.Local() != local {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
	for _, bad := range []string{"", "9820", "unix://x", "host:http", "1.2.3.4:70000"} {
		if a, err := ParseAddress(bad); err == nil {
			t.Errorf("%q accepted as %+v", bad, a)
		}
	}
}

func TestDurations(t *testing.T) {
	for in, want := range map[string]time.Duration{"90": 90 * time.Second, "5m": 5 * time.Minute, "12h": 12 * time.Hour, "3d": 72 * time.Hour,
		"1.5d": 36 * time.Hour, "0": 0, "1h30m": 90 * time.Minute} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "-1", "-5m", "5 minutes", "1e3d", "NaNd", "99999999d", "5x"} {
		if got, err := ParseDuration(bad); err == nil {
			t.Errorf("%q accepted as %v", bad, got)
		}
	}
}

// TestTextFormsAreReadBack: what the pages show is what the file may hold.
func TestTextFormsAreReadBack(t *testing.T) {
	for _, s := range Settings() {
		c := Default()
		if _, err := load("["+s.Section()+"]\n"+s.Name()+" = "+s.Text(&c)+"\n", []string{"HOME=/h"}, nil); err != nil {
			t.Errorf("%s = %s: %v", s.Key, s.Text(&c), err)
		}
		if len(s.Doc) < 20 || !strings.HasSuffix(s.Doc, ".") || s.Type() == "number" && s.Unit == "" {
			t.Errorf("%s: needs a meaning in sentences, and a number its unit: %q", s.Key, s.Doc)
		}
	}
}

// TestExampleChangesNothing: with and without the comment signs.
func TestExampleChangesNothing(t *testing.T) {
	var bare []string
	for _, line := range strings.Split(Example(), "\n") {
		if s, ok := strings.CutPrefix(line, "# "); ok && strings.Contains(s, " = ") && Find(keyIn(s)) != nil {
			line = s
		}
		bare = append(bare, line)
	}
	for _, text := range []string{Example(), strings.Join(bare, "\n")} {
		l, err := load(text, []string{"HOME=/h"}, nil)
		if err != nil || len(l.Warnings) > 0 {
			t.Fatal(err, l.Warnings)
		}
		want := Default()
		want.SRS.Preload, l.SRS.Preload, want.GPUs.Devices, l.GPUs.Devices = nil, nil, nil, nil // empty or nil
		if !reflect.DeepEqual(l.Config, want) {
			t.Errorf("got %+v, want %+v", l.Config, want)
		}
	}
	if n := strings.Count(strings.Join(bare, "\n"), "\n# listen = "); n > 0 {
		t.Error("the test did not take the comment signs away")
	}
}

// keyIn finds the setting that has a name, whatever its section.
func keyIn(line string) string {
	name, _, _ := strings.Cut(line, " = ")
	for _, s := range Settings() {
		if s.Name() == name {
			return s.Key
		}
	}
	return ""
}

// TestGeneratedPages compares the pages that are kept in the repository.
func TestGeneratedPages(t *testing.T) {
	for path, want := range map[string]string{"../../packaging/cuzk.toml": Example(), "../../docs/configuration.md": Reference()} {
		if *rewrite {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is stale: go test ./internal/config -rewrite", path)
		}
	}
}

func TestExplain(t *testing.T) {
	l, err := load("[daemon]\nstate_dir = \"/s\"\n", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"daemon.state_dir": `now          "/s" (cuzk.toml:2:1)`,
		"srs.param_cache":  "srs.param_cache was a key of the Rust daemon and is now called srs.params_dir",
		"gpus.gpu_threads": "has no effect: ",
		"scheduler":        "witnesses            2",
		"logging.level":    "one of debug, info, warn, error",
	} {
		if got, err := Explain(key, l); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v\n%s", key, err, got)
		}
	}
	var p *Problem
	if _, err := Explain("scheduler.witness", nil); !errors.As(err, &p) || p.Hint != "did you mean scheduler.witnesses?" {
		t.Errorf("got %v", err)
	}
}

func FuzzReadTOML(f *testing.F) {
	raw, err := os.ReadFile("testdata/rust.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte("a.b.c = {x=[{}]}\n[[daemon]]\n"))
	f.Add([]byte(Example()))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := load(string(data), []string{"HOME=/h"}, nil)
		if err != nil {
			return
		}
		for _, s := range Settings() { // what was accepted can be written and read
			back := Default()
			if e, err := readTOML("x", []byte("x = "+s.Text(&l.Config))); err != nil || s.set(&back, e[0].value) != nil {
				t.Fatalf("%s = %s: %v", s.Key, s.Text(&l.Config), err)
			}
		}
	})
}
