package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"cuzk/budget"
	"cuzk/srs"
)

// memory looks at how much there is and what sets the limit.
func (d *doctor) memory() {
	l, err := budget.Detect(d.root)
	if err != nil {
		d.say("memory", stateWarn, err.Error(), "set memory.total_budget")
		return
	}
	from := l.Source
	if from == "MemTotal" {
		from = "all that the machine has"
	} else {
		from = "limited by " + from
	}
	m := d.conf.Memory
	total := m.TotalBudget.Or(max(l.Bytes-m.SafetyMargin, l.Bytes/2))
	text := fmt.Sprintf("%v, %s; the daemon may use %v", l.Bytes, from, total)
	switch {
	case total > l.Bytes:
		d.say("memory", stateBad, text+", which is more than there is", "lower memory.total_budget, or set it to auto")
	case total < 4*budget.GiB:
		d.say("memory", stateBad, text+": too little for any proof of 32 GiB sectors", "raise the limit, or lower memory.safety_margin")
	case total < 24*budget.GiB:
		d.say("memory", stateWarn, text+": WinningPoSt fits; whether other proofs do, each request is told", "64 GiB and more let witnesses be made ahead")
	default:
		d.say("memory", stateOK, text)
	}
	d.swap()
}

// swap warns of memory that is slower than it looks.
func (d *doctor) swap() {
	if n := d.meminfo("SwapTotal"); n > 0 {
		d.say("memory", stateNote, fmt.Sprintf("%v of swap space: witnesses that are swapped out are slower than witnesses made again", budget.Bytes(n)),
			"set MemorySwapMax=0 in the unit, or vm.swappiness=1")
	}
}

// meminfo reads a line of /proc/meminfo in bytes; 0 if it is not there.
func (d *doctor) meminfo(name string) int64 {
	raw, _ := fs.ReadFile(d.root, "proc/meminfo")
	for _, line := range strings.Split(string(raw), "\n") {
		f := strings.Fields(line)
		if len(f) >= 2 && f[0] == name+":" {
			n, _ := strconv.ParseInt(f[1], 10, 53)
			if len(f) == 3 {
				n *= 1024
			}
			return n
		}
	}
	return 0
}

// hugepages looks at the two kinds of them.
func (d *doctor) hugepages() {
	raw, err := fs.ReadFile(d.root, "sys/kernel/mm/transparent_hugepage/enabled")
	mode := ""
	if _, rest, ok := strings.Cut(string(raw), "["); ok {
		mode, _, _ = strings.Cut(rest, "]")
	}
	switch {
	case err != nil || mode == "":
		d.say("hugepages", stateNote, "the kernel does not tell whether it makes transparent hugepages")
	case mode == "never":
		d.say("hugepages", stateWarn, "transparent hugepages are off: large vectors are slower to fill", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
	default:
		d.say("hugepages", stateOK, "transparent hugepages: "+mode)
	}
	if n := d.meminfo("HugePages_Total"); n > 0 {
		size := budget.Bytes(n * d.meminfo("Hugepagesize"))
		d.say("hugepages", stateNote, fmt.Sprintf("%v are set aside as static hugepages, which the daemon does not use", size), "lower vm.nr_hugepages if nothing else does")
	}
}

// enoughFiles is for 1,000 idle connections, keys, the store and the spool.
const enoughFiles = 4096

// system looks at limits that have nothing to do with proofs until they are hit.
func (d *doctor) system() {
	if n := d.limit(); n < enoughFiles {
		d.say("limits", stateWarn, fmt.Sprintf("%d open files are permitted", n), fmt.Sprintf("LimitNOFILE=%d in the unit, or ulimit -n", 16*enoughFiles))
	} else {
		d.say("limits", stateOK, fmt.Sprintf("%d open files are permitted", n))
	}
	raw, _ := fs.ReadFile(d.root, "proc/sys/vm/overcommit_memory")
	if strings.TrimSpace(string(raw)) == "2" {
		d.say("limits", stateWarn, "the kernel does not overcommit memory (vm.overcommit_memory is 2), so mapped keys count as memory", "vm.overcommit_memory=0")
	}
}

// keys looks at the directory of keys.
func (d *doctor) keys() {
	dir := d.conf.ParamsDir()
	found, err := d.list(dir)
	switch {
	case errors.Is(err, srs.ErrKeyMissing):
		d.say("keys", stateBad, fmt.Sprintf("no directory %s", dir), "set srs.params_dir, or: cuzk params fetch --size 32GiB")
		return
	case err != nil:
		d.say("keys", stateBad, err.Error(), "give the daemon's user the right to read the directory")
		return
	}
	d.out = append(d.out, found...)
	d.disk("keys", dir, 0)
}

// keyFindings says which keys are there, by sector size.
func keyFindings(dir string) ([]finding, error) {
	rows, err := srs.List(dir, srs.Options{})
	if err != nil {
		return nil, err
	}
	var have, wrong, insecure []string
	for _, r := range rows {
		name := r.ID.String() + r.Part
		switch {
		case r.Insecure():
			insecure = append(insecure, name)
		case r.State == srs.WrongSize || r.State == srs.Mismatch:
			wrong = append(wrong, name)
		case r.State != srs.Missing && r.Part == srs.Params:
			have = append(have, r.ID.String())
		}
	}
	var out []finding
	if len(have) == 0 && len(insecure) == 0 {
		out = append(out, finding{"keys", stateBad, "none in " + dir + ": nothing can be proved", "cuzk params fetch --size 32GiB"})
	}
	if len(have) > 0 {
		out = append(out, finding{"keys", stateOK, fmt.Sprintf("in %s: %s", dir, strings.Join(have, ", ")), ""})
	}
	if len(wrong) > 0 {
		out = append(out, finding{"keys", stateBad, "damaged or not whole: " + strings.Join(wrong, ", "), "cuzk params fetch, with the names of the circuits"})
	}
	if len(insecure) > 0 {
		out = append(out, finding{"keys", stateNote, fmt.Sprintf("%d INSECURE key files, used only with srs.insecure", len(insecure)), ""})
	}
	return out, nil
}

// diskSpace is what a file system has left and is made of.
type diskSpace struct {
	free, total int64
	kind        string // tmpfs, nfs; empty for others
}

// Numbers of file systems, from statfs(2).
const (
	tmpfsMagic = 0x01021994
	nfsMagic   = 0x6969
)

func spaceOf(dir string) (diskSpace, error) {
	for {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if errors.Is(err, unix.ENOENT) && filepath.Dir(dir) != dir {
			dir = filepath.Dir(dir) // it will be made
			continue
		}
		if err != nil {
			return diskSpace{}, fmt.Errorf("%s: %w", dir, err)
		}
		kinds := map[int64]string{tmpfsMagic: "tmpfs", nfsMagic: "nfs"}
		return diskSpace{int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), kinds[int64(st.Type)]}, nil
	}
}

// state looks at the directory of the job store.
func (d *doctor) state() {
	dir := d.conf.StateDir()
	if err := writable(dir); err != nil {
		d.say("state", stateBad, fmt.Sprintf("%s cannot be written: %v", dir, err), "set daemon.state_dir, or give the daemon's user the right to it")
		return
	}
	d.disk("state", dir, int64(d.conf.Jobs.MinFreeDisk))
	s, err := d.space(dir)
	if err == nil && s.free < int64(d.conf.Jobs.SpoolLimit) && s.free >= int64(d.conf.Jobs.MinFreeDisk) {
		d.say("state", stateNote, fmt.Sprintf("payloads may take %v (jobs.spool_limit), more than is free", d.conf.Jobs.SpoolLimit), "lower it, or make room")
	}
	switch s.kind {
	case "tmpfs":
		d.say("state", stateWarn, dir+" is in memory: jobs do not survive a reboot, and their payloads take memory that no budget counts", "set daemon.state_dir to a directory on a disk")
	case "nfs":
		d.say("state", stateWarn, dir+" is on a network: locks and flushes of the job store may not be what they promise", "set daemon.state_dir to a directory on a disk of this machine")
	}
}

// disk says how much is free; less than need is bad.
func (d *doctor) disk(check, dir string, need int64) {
	s, err := d.space(dir)
	switch {
	case err != nil:
		d.say(check, stateWarn, fmt.Sprintf("free space is unknown: %v", err))
	case s.free < need:
		d.say(check, stateBad, fmt.Sprintf("%s of %s are free for %s, less than %s", bytes(s.free), bytes(s.total), dir, bytes(need)), "make room, or lower jobs.min_free_disk")
	default:
		d.say(check, stateOK, fmt.Sprintf("%s of %s are free for %s", bytes(s.free), bytes(s.total), dir))
	}
}

// writable tries whether a file can be made in the directory, or the directory
// in the first one above it that is there. Nothing is left behind.
func writable(dir string) error {
	for {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", dir)
		}
		return unix.Access(dir, unix.W_OK|unix.X_OK)
	}
}

// trySocket tells whether a socket could be made: somebody who answers on it is
// in the way, a file that nobody answers on is not.
func trySocket(path string) error {
	if c, err := net.Dial("unix", path); err == nil {
		return errors.Join(unix.EADDRINUSE, c.Close())
	}
	return writable(filepath.Dir(path))
}

// fileLimit is how many files may be open.
func fileLimit() uint64 {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0
	}
	return r.Max // the runtime raises the soft limit to the hard one
}
