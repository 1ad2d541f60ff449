package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cuzk/internal/atomicfile"
)

// Restarts bounds how often in an hour the daemon may replace its own process. It
// counts in a file of the state directory, which outlives the process: one time a
// line.
type Restarts struct {
	path string
	most int
	now  func() time.Time
}

// errRestarts: a restart is not permitted, or cannot be counted.
var errRestarts = errors.New("the daemon does not start itself anew")

// NewRestarts counts in a state directory and permits so many in an hour.
func NewRestarts(stateDir string, most int) *Restarts {
	return &Restarts{path: filepath.Join(stateDir, "restarts"), most: most, now: time.Now}
}

// Take counts a restart and tells which of the hour it is. The error says why there
// must be none: there were as many as are permitted, or it cannot be counted, and
// then nothing would end them.
func (r *Restarts) Take() (n int, err error) {
	past, err := r.read()
	switch {
	case r.most == 0:
		return 0, fmt.Errorf("%w: gpus.restarts_per_hour is 0", errRestarts)
	case err != nil:
		return 0, fmt.Errorf("%w: %w", errRestarts, err)
	case len(past) >= r.most:
		return 0, fmt.Errorf("%w: %d restarts within an hour, gpus.restarts_per_hour is %d", errRestarts, len(past), r.most)
	}
	past = append(past, r.now().UTC().Format(time.RFC3339))
	if err := atomicfile.WriteFile(r.path, []byte(strings.Join(past, "\n")+"\n")); err != nil {
		return 0, fmt.Errorf("%w: it cannot be counted: %w", errRestarts, err)
	}
	return len(past), nil
}

// read gives the lines of the last hour. A clock that was set counts both ways.
func (r *Restarts) read() (recent []string, err error) {
	text, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read earlier restarts: %w", err)
	}
	for line := range strings.FieldsSeq(string(text)) {
		at, err := time.Parse(time.RFC3339, line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; remove it", r.path, err)
		}
		if r.now().Sub(at).Abs() < time.Hour {
			recent = append(recent, line)
		}
	}
	return recent, nil
}
