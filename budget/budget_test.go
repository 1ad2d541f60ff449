package budget

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

func TestReserveIsWholeOrNothing(t *testing.T) {
	l := New(10*GiB, 4*GiB)
	l.AddDevice("gpu0", 16*GiB)
	a, err := l.Reserve(Need{Host: 2 * GiB, Pinned: 3 * GiB, Device: 10 * GiB, On: "gpu0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve(Need{Host: GiB, Device: 7 * GiB, On: "gpu0"}); !errors.Is(err, ErrFull) {
		t.Fatalf("want full, got %v", err)
	}
	if l.Host().Used != 5*GiB || l.Pinned().Used != 3*GiB || l.Device("gpu0").Used != 10*GiB {
		t.Fatalf("used %v %v %v", l.Host(), l.Pinned(), l.Device("gpu0"))
	}
	a.Shrink(Need{Host: GiB, Pinned: 8 * GiB, Device: 10 * GiB})
	if l.Host().Used != 4*GiB || a.Need().Host != GiB || a.Need().Pinned != 3*GiB {
		t.Fatalf("after shrink: %v, lease %v", l.Host(), a.Need())
	}
	a.Release()
	a.Release()
	if l.Host().Used != 0 || l.Host().Peak != 5*GiB || l.Device("gpu0").Used != 0 {
		t.Fatalf("after release: %v %v", l.Host(), l.Device("gpu0"))
	}
}

func TestImpossibleNeedsCarryTheNumbers(t *testing.T) {
	l := New(10*GiB, 4*GiB)
	l.AddDevice("gpu0", 16*GiB)
	for _, c := range []struct {
		need Need
		want string
	}{
		{Need{Host: 11 * GiB}, "needs 11GiB of host memory, the limit is 10GiB"},
		{Need{Host: 7 * GiB, Pinned: 4 * GiB}, "needs 11GiB of host memory, the limit is 10GiB"},
		{Need{Pinned: 5 * GiB}, "needs 5GiB of pinned memory, the limit is 4GiB"},
		{Need{Device: 17 * GiB, On: "gpu0"}, "needs 17GiB of memory of device gpu0, the limit is 16GiB"},
		{Need{Device: 1, On: "gpu9"}, "needs 1B of memory of device gpu9, the limit is 0B"},
	} {
		_, err := l.Reserve(c.need)
		var imp *Impossible
		if !errors.As(err, &imp) || err.Error() != c.want {
			t.Errorf("%v: got %v, want %s", c.need, err, c.want)
		}
	}
	for _, bad := range []Need{{Host: -1}, {Pinned: -1}, {Host: 1 << 62, Pinned: 1 << 62}, {Device: -1, On: "gpu0"}} {
		if _, err := l.Reserve(bad); err == nil {
			t.Errorf("%v was reserved", bad)
		}
	}
}

func TestLedgerNeverLeavesItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := New(1000, 400)
		l.AddDevice("a", 300)
		var held []*Lease
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "give") {
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				held[i].Shrink(Need{Host: Bytes(rapid.IntRange(0, 200).Draw(t, "keep"))})
				held[i].Release()
				held = append(held[:i], held[i+1:]...)
			} else if s, err := l.Reserve(drawNeed(t)); err == nil {
				held = append(held, s)
			}
			checkSums(t, l, held)
		}
	})
}

func drawNeed(t *rapid.T) Need {
	size := rapid.IntRange(0, 500)
	return Need{Host: Bytes(size.Draw(t, "host")), Pinned: Bytes(size.Draw(t, "pinned")),
		Device: Bytes(size.Draw(t, "device")), On: "a"}
}

func checkSums(t *rapid.T, l *Ledger, held []*Lease) {
	var n Need
	for _, s := range held {
		n = n.Plus(s.Need())
	}
	if l.Host().Used != n.Host+n.Pinned || l.Pinned().Used != n.Pinned || l.Device("a").Used != n.Device {
		t.Fatalf("ledger %v %v %v differs from the leases %v", l.Host(), l.Pinned(), l.Device("a"), n)
	}
	for _, p := range []Pool{l.Host(), l.Pinned(), l.Device("a")} {
		if p.Used < 0 || p.Used > p.Limit {
			t.Fatalf("pool out of its limits: %v", p)
		}
	}
}

func TestBytesText(t *testing.T) {
	for in, want := range map[string]Bytes{
		"0": 0, "17": 17, "17B": 17, "128GiB": 128 * GiB, "128G": 128 * GiB, "1TiB": TiB, "1.5 GiB": 3 * GiB / 2,
		"1GB": 1e9, "0.5MB": 5e5, "4KiB": 4096, "3kB": 3000, "9007199254740993": 9007199254740993,
	} {
		if got, err := ParseBytes(in); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "GiB", "-1", "1e3", "0x10", "10 apples", "50PiB", "9e99GiB", "NaN", "Inf", "16777216TiB", "1_000"} {
		if got, err := ParseBytes(bad); err == nil {
			t.Errorf("%q accepted as %v", bad, got)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"128GiB", "1.5G", "17", "-3", "1e9MB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := ParseBytes(s)
		if err != nil {
			return
		}
		raw, _ := b.MarshalText()
		if back, err := ParseBytes(string(raw)); b < 0 || err != nil || back != b {
			t.Fatalf("%q is %d, written %s, read %d, %v", s, b, raw, back, err)
		}
	})
}

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

func TestDetect(t *testing.T) {
	mem := file("MemTotal:       134217728 kB\nMemFree:        1 kB\n")
	const huge = "9223372036854771712\n"
	for _, c := range []struct {
		name string
		fs   fstest.MapFS
		want Limit
	}{
		{"no cgroup", fstest.MapFS{"proc/meminfo": mem}, Limit{128 * GiB, "MemTotal"}},
		{"v2 own limit", fstest.MapFS{"proc/meminfo": mem, "proc/self/cgroup": file("0::/system.slice/cuzk.service\n"),
			"sys/fs/cgroup/system.slice/cuzk.service/memory.max": file("8589934592\n")},
			Limit{8 * GiB, "/sys/fs/cgroup/system.slice/cuzk.service/memory.max"}},
		{"v2 limit of a parent", fstest.MapFS{"proc/meminfo": mem, "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/memory.high": file("4294967296\n")},
			Limit{4 * GiB, "/sys/fs/cgroup/a/memory.high"}},
		{"v2 inside a container", fstest.MapFS{"proc/meminfo": mem, "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("1073741824\n")}, Limit{GiB, "/sys/fs/cgroup/memory.max"}},
		{"v2 path out of the mount", fstest.MapFS{"proc/meminfo": mem, "proc/self/cgroup": file("0::/../x\n"),
			"sys/fs/cgroup/memory.max": file("1073741824\n")}, Limit{GiB, "/sys/fs/cgroup/memory.max"}},
		{"v1", fstest.MapFS{"proc/meminfo": mem, "proc/self/cgroup": file("11:cpu,memory:/docker/1\n10:pids:/\n"),
			"sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": file("2147483648\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          file(huge)},
			Limit{2 * GiB, "/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes"}},
		{"v1 unlimited", fstest.MapFS{"proc/meminfo": mem, "proc/self/cgroup": file("11:memory:/\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file(huge)}, Limit{128 * GiB, "MemTotal"}},
		{"higher than the machine", fstest.MapFS{"proc/meminfo": mem, "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("1099511627776\n")}, Limit{128 * GiB, "MemTotal"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := Detect(c.fs); err != nil || got != c.want {
				t.Fatalf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}

func TestDetectWithoutMemTotal(t *testing.T) {
	for _, fsys := range []fstest.MapFS{{}, {"proc/meminfo": file("MemFree: 1 kB\n")}, {"proc/meminfo": file("MemTotal: x kB\n")}} {
		if got, err := Detect(fsys); err == nil || !strings.Contains(err.Error(), "total memory") {
			t.Errorf("got %v, %v", got, err)
		}
	}
}
