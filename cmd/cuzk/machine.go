package main

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"cuzk"
	"cuzk/cuda"
)

// machineFacts says what a measurement was made on.
type machineFacts struct {
	Card       string `json:"card,omitempty"`
	UUID       string `json:"uuid,omitempty"`
	CardMemory int64  `json:"card_memory_bytes,omitempty"`
	SMs        int    `json:"sms,omitempty"`
	Driver     string `json:"driver,omitempty"`
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	Memory     int64  `json:"memory_bytes"`
	Commit     string `json:"commit"` // of the program; "+" behind it means changed files
	Go         string `json:"go"`
}

// thisMachine reads what the system tells.
func thisMachine() machineFacts {
	root := os.DirFS("/")
	return machineFacts{
		CPU: fieldOf(root, "proc/cpuinfo", "model name"), Cores: runtime.GOMAXPROCS(0),
		Memory: kilobytes(root, "proc/meminfo", "MemTotal"), Commit: cuzk.ThisBuild().Commit(), Go: runtime.Version(),
	}
}

// card adds a device.
func (m *machineFacts) card(d cuda.Device) {
	m.Card, m.UUID, m.CardMemory, m.SMs = d.Name, d.UUID, d.Memory, d.SMs
	if release, err := cuda.DriverRelease(); err == nil {
		m.Driver = release
	}
}

// lines are the facts for a table.
func (m *machineFacts) lines() [][]string {
	out := [][]string{}
	if m.Card != "" {
		out = append(out, []string{"card", fmt.Sprintf("%s, %d SMs, %s, %s", m.Card, m.SMs, bytes(m.CardMemory), m.UUID)}, []string{"driver", m.Driver})
	}
	return append(out, []string{"host", fmt.Sprintf("%d cores, %s, %s", m.Cores, m.CPU, bytes(m.Memory))},
		[]string{"program", fmt.Sprintf("commit %s, %s", m.Commit, m.Go)})
}

// fieldOf is what stands behind "name:" in a file of the proc file system; empty if
// it is not there.
func fieldOf(root fs.FS, file, name string) string {
	raw, _ := fs.ReadFile(root, file)
	for line := range strings.Lines(string(raw)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// kilobytes is such a field in bytes; 0 if it is not there.
func kilobytes(root fs.FS, file, name string) int64 {
	text, unit, _ := strings.Cut(fieldOf(root, file, name), " ")
	n, _ := strconv.ParseInt(text, 10, 53)
	if unit == "kB" {
		n *= 1024
	}
	return n
}

// peakMemory is the most that this process held resident, since it began or since
// forgetPeak; 0 where the system does not tell.
func peakMemory() int64 { return kilobytes(os.DirFS("/"), "proc/self/status", "VmHWM") }

// forgetPeak begins a new peak. Where the system does not permit that the old one
// stays, which is more, never less.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}
