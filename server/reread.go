package server

import (
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// reread is what some files hold. They are read again when they have changed, so
// that a renewed certificate or token holds without a restart. What cannot be used
// is told, and what held before goes on.
type reread[T any] struct {
	files []string // "" for one that is not set
	read  func() (T, error)
	log   *slog.Logger

	again, kept string // what the log says when they were read again, and when they cannot be used
	setting     string // names the first file there

	mu     sync.Mutex
	now    T
	stamps []stamp
	looked time.Time
}

// lookAtFiles is how often use makes the files be looked at.
const lookAtFiles = time.Second

// open reads the files for the first time.
func (r *reread[T]) open() (err error) {
	r.stamps, r.looked = r.look(), time.Now()
	r.now, err = r.read()
	return err
}

// current is what the files hold, as far as it can be used.
func (r *reread[T]) current() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.looked) < lookAtFiles {
		return r.now
	}
	r.looked = time.Now()
	stamps := r.look()
	if slices.Equal(stamps, r.stamps) {
		return r.now
	}
	r.stamps = stamps
	next, err := r.read()
	if err != nil {
		r.log.Error(r.kept, "reason", err.Error())
		return r.now
	}
	r.now = next
	r.log.Info(r.again, r.setting, r.files[0])
	return r.now
}

// stamp tells one content of a file from another.
type stamp struct {
	size int64
	time time.Time
}

// look takes the stamps of the files; zero for one that is not there.
func (r *reread[T]) look() []stamp {
	out := make([]stamp, len(r.files))
	for i, path := range r.files {
		if info, err := os.Stat(path); err == nil {
			out[i] = stamp{info.Size(), info.ModTime()}
		}
	}
	return out
}
