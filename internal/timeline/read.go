package timeline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"

	"cuzk/event"
)

// maxLine bounds a line; a record has less than 4 kB.
const maxLine = 1 << 20

// ErrNoLog means that no line of the file is one of a log.
var ErrNoLog = errors.New("no event record and no TIMELINE line in it")

// Options say what a log of the Rust daemon does not.
type Options struct {
	// WorkersPerDevice is the Rust daemon's gpus.gpu_workers_per_device (2).
	WorkersPerDevice int
	// Separate says that each call ran on the device of its worker. Before the
	// Rust daemon passed the device's index (2026-03-06), calls with one circuit
	// ran on the first device, whatever the worker meant.
	Separate bool
}

// Read reads a log of either kind.
func Read(r io.Reader, o Options) (*Log, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	events, rust := newEvents(), newRust(o)
	for n := 1; ; n++ {
		line, err := readLine(b)
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		take(events, rust, line, n, err == io.EOF)
	}
	switch {
	case events.log.Lines > 0 && rust.log.Lines > 0:
		return nil, errors.New("both event records and TIMELINE lines in it: they are of different daemons; read them apart")
	case events.log.Lines > 0:
		return events.finish(), nil
	case rust.log.Lines > 0:
		return rust.finish(), nil
	}
	return nil, ErrNoLog
}

// readLine returns a line without its end; io.EOF comes with the last one if it
// is not ended.
func readLine(b *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		return bytes.TrimRight(line, "\r\n"), err
	}
}

var timelineTag = []byte("TIMELINE,")

// take gives a line to the reader that understands it. Other lines of the Rust
// daemon's output are passed over.
func take(events *events, rust *rust, line []byte, n int, last bool) {
	if at := bytes.Index(line, timelineTag); at >= 0 && line[0] != '{' {
		rust.take(string(line[at:]), n)
		return
	}
	if len(line) == 0 || line[0] != '{' {
		return
	}
	var r event.Record
	if err := json.Unmarshal(line, &r); err != nil || r.Type == "" || r.At.IsZero() {
		switch {
		case last:
			events.log.doubt("line %d: cut short", n)
		case events.log.Lines > 0:
			events.log.doubt("line %d: no record", n)
		}
		return
	}
	events.take(&r, n)
}

// sortSpans orders by beginning, longer ones first.
func sortSpans(s []*Span) {
	sort.SliceStable(s, func(i, j int) bool {
		if s[i].From != s[j].From {
			return s[i].From < s[j].From
		}
		return s[i].To > s[j].To
	})
}
