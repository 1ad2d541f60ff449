package budget

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Limit is how much host memory there is for us, and who says so.
type Limit struct {
	Bytes  Bytes
	Source string // for a person: MemTotal, or the cgroup file that is lower
}

// Detect reads the host memory that this process may use: the machine's
// MemTotal, lowered by the memory.max and memory.high of the process's cgroup
// and of every cgroup above it (version 2), or by memory.limit_in_bytes
// (version 1). root is the file system that holds proc and sys, os.DirFS("/")
// outside tests. Cgroup files that cannot be read set no limit; proc/meminfo
// must be there.
func Detect(root fs.FS) (Limit, error) {
	total, err := memTotal(root)
	if err != nil {
		return Limit{}, err
	}
	best := Limit{Bytes: total, Source: "MemTotal"}
	for _, file := range cgroupFiles(root) {
		if v, ok := readLimit(root, file); ok && v < best.Bytes {
			best = Limit{Bytes: v, Source: "/" + file}
		}
	}
	return best, nil
}

func memTotal(root fs.FS) (Bytes, error) {
	raw, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read total memory: %w", err)
	}
	for _, line := range strings.Split(string(raw), "\n") {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
			if kb, err := strconv.ParseInt(f[1], 10, 53); err == nil && kb > 0 {
				return Bytes(kb) * KiB, nil
			}
		}
	}
	return 0, fmt.Errorf("read total memory: no MemTotal line in /proc/meminfo; set the memory budget in the configuration")
}

// cgroupFiles lists the files that may lower the limit. A line of
// proc/self/cgroup is "ID:CONTROLLERS:PATH"; version 2 has ID 0 and no
// controllers. Inside a container the path may lead out of the mounted tree
// ("/../x"), then only the root of the mount is left to read.
func cgroupFiles(root fs.FS) []string {
	raw, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var out []string
	for _, line := range strings.Split(string(raw), "\n") {
		f := strings.SplitN(line, ":", 3)
		switch {
		case len(f) != 3:
		case f[0] == "0" && f[1] == "":
			out = append(out, climb("sys/fs/cgroup", f[2], "memory.max", "memory.high")...)
		case hasController(f[1], "memory"):
			out = append(out, climb("sys/fs/cgroup/memory", f[2], "memory.limit_in_bytes")...)
		}
	}
	return out
}

func hasController(list, name string) bool {
	for _, c := range strings.Split(list, ",") {
		if c == name {
			return true
		}
	}
	return false
}

func climb(mount, group string, names ...string) []string {
	var out []string
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		for _, n := range names {
			out = append(out, path.Join(mount, dir, n))
		}
		if dir == "/" {
			return out
		}
	}
}

func readLimit(root fs.FS, file string) (Bytes, bool) {
	raw, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	return Bytes(v), err == nil && v > 0
}
