package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"cuzk/internal/atomicfile"
	"cuzk/srs"
)

const notesSuffix = ".json"

// errDisk marks errors of the local file: no gateway can do better.
var errDisk = errors.New("write partial file")

// download is one file on its way.
type download struct {
	o     Options
	row   srs.Row
	path  string // of the partial file
	file  *os.File
	meter *meter

	mu    sync.Mutex
	notes notes
	next  []bool // parts that a connection works on
}

// notes say which parts of the partial file are whole, for the next run.
type notes struct {
	CID  string `json:"cid"`
	Size int64  `json:"size"`
	Part int64  `json:"part"` // bytes of a part; the last may be shorter
	Have []bool `json:"have"`
}

// begin opens the partial file, reads its notes and takes its lock.
func begin(dir string, r srs.Row, o Options) (*download, error) {
	d := &download{o: o, row: r, path: partialName(dir, r)}
	if err := Room(dir, []srs.Row{r}, o); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	d.file = f
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s is locked", ErrBusy, d.path), f.Close())
	}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return d, nil
}

// open takes over what an earlier run left, if it is of the same file.
func (d *download) open() error {
	d.notes = d.readNotes()
	info, err := d.file.Stat()
	if err != nil {
		return err
	}
	if d.notes.Have == nil || info.Size() != d.row.Want {
		return d.reset()
	}
	d.next = make([]bool, len(d.notes.Have))
	copy(d.next, d.notes.Have)
	d.meter = newMeter(d.row.File, d.row.Want, d.done())
	return nil
}

// readNotes returns notes without parts if there are none that fit.
func (d *download) readNotes() notes {
	var n notes
	raw, err := os.ReadFile(d.path + notesSuffix)
	if err != nil || json.Unmarshal(raw, &n) != nil {
		return notes{}
	}
	if n.CID != d.row.Published.CID || n.Size != d.row.Want || n.Part <= 0 || int64(len(n.Have)) != parts(n.Size, n.Part) {
		return notes{}
	}
	return n
}

func parts(size, part int64) int64 { return (size + part - 1) / part }

// reset throws away what is there and reserves the disk space of the whole
// file.
func (d *download) reset() error {
	d.notes = notes{CID: d.row.Published.CID, Size: d.row.Want, Part: d.o.Part, Have: make([]bool, parts(d.row.Want, d.o.Part))}
	d.next = make([]bool, len(d.notes.Have))
	d.meter = newMeter(d.row.File, d.row.Want, 0)
	if err := os.Remove(d.path + notesSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := d.file.Truncate(0); err != nil {
		return err
	}
	err := atomicfile.Reserve(d.file, d.row.Want)
	if errors.Is(err, unix.ENOSPC) {
		return errors.Join(fmt.Errorf("%w for %d bytes", ErrNoSpace, d.row.Want), d.file.Truncate(0))
	}
	if err != nil {
		return err
	}
	return d.file.Truncate(d.row.Want)
}

// span is the range of a part.
func (d *download) span(k int) (from, to int64) {
	from = int64(k) * d.notes.Part
	return from, min(from+d.notes.Part, d.notes.Size)
}

// take gives out a part that nobody has and nobody works on.
func (d *download) take() (int, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, busy := range d.next {
		if !busy {
			d.next[k] = true
			return k, true
		}
	}
	return 0, false
}

// put gives a part back that was not finished.
func (d *download) put(k int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next[k] = d.notes.Have[k]
}

// finish makes a part durable and notes it. Data goes to the disk before the
// note, so a note never promises more than is there.
func (d *download) finish(k int) error {
	if err := d.file.Sync(); err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes.Have[k] = true
	raw, err := json.Marshal(d.notes)
	if err == nil {
		err = os.WriteFile(d.path+notesSuffix+"~", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(d.path+notesSuffix+"~", d.path+notesSuffix)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	return nil
}

// done counts the bytes of whole parts.
func (d *download) done() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var n int64
	for k, have := range d.notes.Have {
		if have {
			from, to := d.span(k)
			n += to - from
		}
	}
	return n
}

// prefix counts the bytes before the first part that is missing.
func (d *download) prefix() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, have := range d.notes.Have {
		if !have {
			from, _ := d.span(k)
			return from
		}
	}
	return d.notes.Size
}

func (d *download) whole() bool { return d.done() == d.row.Want }
