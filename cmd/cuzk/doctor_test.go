package main

import (
	stdbytes "bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"cuzk/cuda"
	"cuzk/internal/config"
	"cuzk/srs"
)

const memory256 = "MemTotal:       268435456 kB\nSwapTotal:             0 kB\nHugePages_Total:       0\n"

// healthy is a machine on which nothing is wrong.
func healthy(t *testing.T) *doctor {
	t.Helper()
	l, err := config.Load(config.Sources{File: "cuzk.toml", UID: 0, Environ: []string{"CUZK_DAEMON_STATE_DIR=" + t.TempDir()},
		Read: func(string) ([]byte, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	card := cuda.Device{UUID: "GPU-1", Name: "H200", PCI: "0000:01:00.0", Memory: 150e9, Major: 9}
	return &doctor{
		root: fstest.MapFS{"proc/meminfo": {Data: []byte(memory256)},
			"sys/kernel/mm/transparent_hugepage/enabled": {Data: []byte("always [madvise] never\n")}},
		conf:    l,
		devices: func() ([]cuda.Device, error) { return []cuda.Device{card}, nil },
		release: func() (string, error) { return "580.1", nil },
		health: func(string) (cuda.Health, error) {
			return cuda.Health{MemoryUsed: 1e9, Celsius: 40, Milliwatts: 90000}, nil
		},
		space:  func(string) (diskSpace, error) { return diskSpace{free: 2e12, total: 4e12}, nil },
		listen: func(string, string) error { return nil },
		limit:  func() uint64 { return 1 << 20 },
		list:   func(string) ([]finding, error) { return []finding{{"keys", stateOK, "all", ""}}, nil },
	}
}

func TestDoctorFindsNothingWrong(t *testing.T) {
	d := healthy(t)
	d.examine()
	for _, f := range d.out {
		if f.State != stateOK {
			t.Errorf("%+v", f)
		}
	}
	var out stdbytes.Buffer
	if err := d.report(makeUI(&out, &out), false); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"ok       driver        NVIDIA 580.1\n", "ok       device        H200, GPU-1, 139.7 GiB, compute capability 9.0, PCI 0000:01:00.0, 40 °C, 90 W\n",
		"ok       memory        256GiB, all that the machine has; the daemon may use 251GiB\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestDoctorFinds(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for _, c := range []struct {
		name        string
		spoil       func(*doctor)
		state, text string
		do          string
	}{
		{"no driver", func(d *doctor) {
			d.devices = func() ([]cuda.Device, error) { return nil, fmt.Errorf("%w: open libcuda.so.1", cuda.ErrNoDriver) }
		}, stateWarn, "no GPU can be used, so the processor proves: no CUDA driver: open libcuda.so.1", "install its driver"},
		{"no driver, none but GPUs wanted", func(d *doctor) {
			d.conf.Scheduler.CPU = "never"
			d.devices = func() ([]cuda.Device, error) { return nil, cuda.ErrNoDriver }
		}, stateBad, "no GPU can be used", "scheduler.cpu"},
		{"driver that is broken", func(d *doctor) {
			d.devices = func() ([]cuda.Device, error) { return nil, errors.New("cuInit: 999") }
		}, stateBad, "does not answer: cuInit: 999", "dmesg"},
		{"old device", func(d *doctor) {
			d.devices = func() ([]cuda.Device, error) {
				return []cuda.Device{{Name: "K80", UUID: "GPU-2", Major: 3, Minor: 7}}, nil
			}
		}, stateBad, "compute capability 3.7, PCI : too old", "gpus.devices"},
		{"device that others use", func(d *doctor) {
			d.health = func(string) (cuda.Health, error) { return cuda.Health{MemoryUsed: 100e9}, nil }
		}, stateWarn, "others use 93.1 GiB of its memory", "nvidia-smi"},
		{"hot device", func(d *doctor) {
			d.health = func(string) (cuda.Health, error) { return cuda.Health{Celsius: 91}, nil }
		}, stateWarn, "91 °C, 0 W: hot", "cooling"},
		{"device that is not there", func(d *doctor) { d.conf.GPUs.Devices = []string{"GPU-9"} }, stateBad, "gpus.devices names GPU-9", "cuzk devices"},
		{"device by number", func(d *doctor) { d.conf.GPUs.Devices = []string{"0"} }, stateNote, "which may change", "UUID"},
		{"little memory", func(d *doctor) {
			d.root = fstest.MapFS{"proc/meminfo": file(memory256), "proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("8589934592\n")}
		}, stateWarn, "8GiB, limited by /sys/fs/cgroup/memory.max; the daemon may use 4GiB: WinningPoSt fits", "64 GiB and more"},
		{"almost no memory", func(d *doctor) {
			d.root = fstest.MapFS{"proc/meminfo": file("MemTotal: 4194304 kB\n")}
		}, stateBad, "the daemon may use 2GiB: too little", "raise the limit"},
		{"more than there is", func(d *doctor) { d.conf.Memory.TotalBudget = config.Size{Bytes: 1 << 40} }, stateBad, "more than there is", "lower memory.total_budget"},
		{"swap", func(d *doctor) {
			d.root = fstest.MapFS{"proc/meminfo": file(strings.Replace(memory256, "SwapTotal:             0", "SwapTotal:       8388608", 1))}
		}, stateNote, "8GiB of swap space", "MemorySwapMax"},
		{"no hugepages", func(d *doctor) {
			d.root = fstest.MapFS{"proc/meminfo": file(memory256), "sys/kernel/mm/transparent_hugepage/enabled": file("always madvise [never]\n")}
		}, stateWarn, "hugepages are off", "echo madvise"},
		{"static hugepages", func(d *doctor) {
			d.root = fstest.MapFS{"proc/meminfo": file(strings.Replace(memory256, "HugePages_Total:       0", "HugePages_Total:  512\nHugepagesize:  2048 kB", 1))}
		}, stateNote, "1GiB are set aside", "nr_hugepages"},
		{"few files", func(d *doctor) { d.limit = func() uint64 { return 1024 } }, stateWarn, "1024 open files", "LimitNOFILE"},
		{"no overcommit", func(d *doctor) {
			d.root = fstest.MapFS{"proc/meminfo": file(memory256), "proc/sys/vm/overcommit_memory": file("2\n")}
		}, stateWarn, "does not overcommit", "vm.overcommit_memory=0"},
		{"no directory of keys", func(d *doctor) {
			d.list = func(string) ([]finding, error) { return nil, srs.ErrKeyMissing }
		}, stateBad, "no directory /var/tmp/filecoin-proof-parameters", "cuzk params fetch"},
		{"state in memory", func(d *doctor) {
			d.space = func(string) (diskSpace, error) { return diskSpace{2e12, 4e12, "tmpfs"}, nil }
		}, stateWarn, "is in memory: jobs do not survive", "daemon.state_dir"},
		{"state on a network", func(d *doctor) {
			d.space = func(string) (diskSpace, error) { return diskSpace{2e12, 4e12, "nfs"}, nil }
		}, stateWarn, "on a network", "daemon.state_dir"},
		{"full disk", func(d *doctor) {
			d.space = func(string) (diskSpace, error) { return diskSpace{1e9, 4e12, ""}, nil }
		}, stateBad, "less than 2.0 GiB", "make room"},
		{"state that cannot be made", func(d *doctor) { d.conf.Daemon.StateDir = "/proc/version/state" }, stateBad, "cannot be written", "daemon.state_dir"},
		{"port in use", func(d *doctor) { d.listen = func(string, string) error { return unix.EADDRINUSE } }, stateWarn, "daemon.listen: 127.0.0.1:9820 is in use", "ss -ltnp"},
		{"port that is forbidden", func(d *doctor) { d.listen = func(string, string) error { return unix.EACCES } }, stateBad, "cannot listen on 127.0.0.1:9820: permission denied", "another address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := healthy(t)
			c.spoil(d)
			d.examine()
			var out stdbytes.Buffer
			if err := d.report(makeUI(&out, &out), false); (c.state == stateBad) != (err != nil) {
				t.Errorf("report: %v", err)
			}
			for _, f := range d.out {
				if f.State == c.state && strings.Contains(f.Text, c.text) && strings.Contains(f.Do, c.do) {
					return
				}
			}
			t.Errorf("no %s %q in\n%s", c.state, c.text, out.String())
		})
	}
}

// TestDoctorOnThisMachine runs the real checks; what they find depends on the
// machine, that they end does not.
func TestDoctorOnThisMachine(t *testing.T) {
	d := newDoctor()
	d.configure("")
	d.examine()
	seen := map[string]bool{}
	for _, f := range d.out {
		seen[f.Check] = true
		if f.Text == "" || f.State == stateBad && f.Do == "" && f.Check != "configuration" {
			t.Errorf("%+v", f)
		}
	}
	for _, want := range []string{"configuration", "driver", "memory", "hugepages", "limits", "keys", "address"} {
		if !seen[want] {
			t.Errorf("nothing is said of %s", want)
		}
	}
}

func TestKeyFindings(t *testing.T) {
	dir := t.TempDir()
	id, err := srs.ParseID("window-2KiB")
	if err != nil {
		t.Fatal(err)
	}
	got, err := keyFindings(dir)
	if err != nil || len(got) != 1 || got[0].State != stateBad {
		t.Errorf("%+v, %v", got, err)
	}
	whole := filepath.Join(dir, id.FileName(srs.Params))
	err = errors.Join(os.WriteFile(whole, nil, 0o600), os.Truncate(whole, id.Shape().ParamsBytes()),
		os.WriteFile(filepath.Join(dir, id.FileName(srs.VK)), []byte("half"), 0o600),
		os.WriteFile(filepath.Join(dir, id.InsecureFileName(srs.VK)), []byte("x"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	got, err = keyFindings(dir)
	if err != nil || len(got) != 3 || !strings.Contains(got[0].Text, "window-2KiB") || got[1].State != stateBad || !strings.Contains(got[2].Text, "INSECURE") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAddressesThatAreInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := tryListen("tcp", l.Addr().String()); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(t.TempDir(), "s")
	if err := tryListen("unix", path); err != nil {
		t.Errorf("got %v", err)
	}
	s, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := tryListen("unix", path); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("got %v", err)
	}
	_ = s.Close()
}
