package job

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Spool keeps payloads as files named by their digest. A file appears whole or
// not at all (written aside, synced, renamed), is checked when read, and goes
// when the last job that holds it lets go. Safe for concurrent use.
type Spool struct {
	dir   string
	limit int64

	mu    sync.Mutex
	used  int64
	files map[Digest]*payload
	left  error // what the sweep could not remove
}

type payload struct {
	size  int64
	holds int
	ready chan struct{} // closed when the file is there, or err is set
	err   error
}

const tempSuffix = ".partial"

// OpenSpool opens the spool in a folder, which is made if need be, and removes
// what no digest of keep names: files of ended jobs, half-written ones; see
// [Spool.Left]. limit bounds the sum of payloads in bytes; 0 means no bound. Each
// digest of keep is held once for every time that it is named.
func OpenSpool(dir string, limit int64, keep []Digest) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open payload spool: %w", err)
	}
	s := &Spool{dir: dir, limit: limit, files: map[Digest]*payload{}}
	done := make(chan struct{})
	close(done)
	for _, d := range keep {
		if f := s.files[d]; f != nil {
			f.holds++
			continue
		}
		f := &payload{holds: 1, ready: done}
		if info, err := os.Stat(s.path(d)); err == nil {
			f.size = info.Size()
		}
		s.files[d] = f
		s.used += f.size
	}
	return s, s.sweep()
}

func (s *Spool) path(d Digest) string { return filepath.Join(s.dir, d.String()) }

func (s *Spool) sweep() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("sweep payload spool: %w", err)
	}
	for _, e := range entries {
		d, err := ParseDigest(strings.TrimSuffix(e.Name(), tempSuffix))
		if err != nil || !strings.HasSuffix(e.Name(), tempSuffix) && s.files[d] != nil {
			continue // not ours, or still needed
		}
		if err := os.Remove(filepath.Join(s.dir, e.Name())); err != nil {
			s.left = errors.Join(s.left, fmt.Errorf("sweep payload spool: %w", err))
		}
	}
	return nil
}

// Left is what could not be removed when the spool was opened; nil if nothing.
// It takes disk space and does no other harm.
func (s *Spool) Left() error { return s.left }

// Put stores a request, if it is not there already, and holds it. The error
// wraps [ErrSpool] if the bound, the disk or another limit of the system is
// reached, and [ErrTooLarge] for a request above [MaxRequest].
func (s *Spool) Put(r *Request) (Digest, error) {
	d := r.Digest()
	return d, s.PutAs(d, r)
}

// PutAs is [Spool.Put] of a request whose digest is known.
func (s *Spool) PutAs(d Digest, r *Request) error {
	size := r.Size()
	if size > MaxRequest {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, size, int64(MaxRequest))
	}
	f, mine, err := s.claim(d, size)
	if err != nil {
		return err
	}
	if mine {
		f.err = s.write(d, r)
		close(f.ready)
	}
	<-f.ready
	if f.err != nil {
		s.Release(d)
		return fmt.Errorf("store payload %s: %w", d, f.err)
	}
	return nil
}

// claim holds an entry; mine tells that the caller must write the file.
func (s *Spool) claim(d Digest, size int64) (f *payload, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[d]; f != nil && f.size > 0 {
		f.holds++
		return f, false, nil
	}
	if s.limit > 0 && s.used+size > s.limit {
		return nil, false, fmt.Errorf("%w: %d of %d bytes are in use, the payload has %d", ErrSpool, s.used, s.limit, size)
	}
	holds := 1
	if f := s.files[d]; f != nil { // held, but its file was missing
		holds += f.holds
	}
	f = &payload{size: size, holds: holds, ready: make(chan struct{})}
	s.files[d] = f
	s.used += size
	return f, true, nil
}

func (s *Spool) write(d Digest, r *Request) (err error) {
	name := s.path(d)
	file, err := s.create(name + tempSuffix)
	if err != nil {
		return exhausted(err)
	}
	_, err = r.WriteTo(file)
	if err == nil {
		err = file.Sync()
	}
	if e := file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(name+tempSuffix, name)
	}
	if err != nil {
		return exhausted(errors.Join(err, os.Remove(name+tempSuffix)))
	}
	return exhausted(syncDir(s.dir))
}

// create opens a new file, and makes the folder again if somebody removed it.
func (s *Spool) create(name string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	file, err := os.OpenFile(name, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) && os.MkdirAll(s.dir, 0o700) == nil {
		file, err = os.OpenFile(name, flags, 0o600)
	}
	return file, err
}

// exhausted tells a limit that others will stop using from a broken disk.
func exhausted(err error) error {
	for _, limit := range []struct {
		is   syscall.Errno
		what string
	}{
		{syscall.ENOSPC, "the disk is full"}, {syscall.EDQUOT, "the disk quota is used up"},
		{syscall.EMFILE, "too many files are open"}, {syscall.ENFILE, "too many files are open on this machine"},
	} {
		if errors.Is(err, limit.is) {
			return fmt.Errorf("%w: %s: %w", ErrSpool, limit.what, err)
		}
	}
	return err
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// Read returns the request with the digest. The error wraps [ErrCorrupt] if the
// file is missing or its content is not what was stored.
func (s *Spool) Read(d Digest) (*Request, error) {
	raw, err := os.ReadFile(s.path(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("payload %s is missing from the spool: %w", d, ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	if Digest(sha256.Sum256(raw)) != d {
		return nil, fmt.Errorf("payload %s has other content than was stored: %w", d, ErrCorrupt)
	}
	return ParseRequest(raw)
}

// Release lets go of one hold. With the last, the file is removed; an error in
// that is not worth a job, the next start sweeps.
func (s *Spool) Release(d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[d]
	if f == nil {
		return
	}
	if f.holds--; f.holds > 0 {
		return
	}
	s.used -= f.size
	delete(s.files, d)
	_ = os.Remove(s.path(d))
}

// Usage is the sum of the payloads and its bound, in bytes.
func (s *Spool) Usage() (used, limit int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.limit
}
