package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// Formats of log lines.
const (
	Auto     = "auto" // Text on a terminal, Journald under systemd, JSON otherwise
	Text     = "text"
	JSON     = "json"
	Journald = "journald" // Text without the time, each line with its priority
)

// Place tells where log lines go, for Auto.
type Place struct {
	Terminal bool
	Journal  bool // JOURNAL_STREAM is set
}

// NewHandler makes the handler of a format and a level, debug, info, warn or
// error.
func NewHandler(w io.Writer, format, level string, p Place) (slog.Handler, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q: want debug, info, warn or error", level)
	}
	if format == Auto {
		format = JSON
		if p.Terminal {
			format = Text
		} else if p.Journal {
			format = Journald
		}
	}
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case Text:
		return slog.NewTextHandler(w, o), nil
	case JSON:
		return slog.NewJSONHandler(w, o), nil
	case Journald:
		return newJournald(w, l), nil
	}
	return nil, fmt.Errorf("log format %q: want auto, text, json or journald", format)
}

// journald writes lines in the form of sd-daemon(3): "<6>message key=value".
// The journal adds the time.
type journald struct {
	slog.Handler // writes to buf
	mu           *sync.Mutex
	buf          *bytes.Buffer
	w            io.Writer
}

func newJournald(w io.Writer, l slog.Level) *journald {
	buf := &bytes.Buffer{}
	o := &slog.HandlerOptions{Level: l, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}}
	return &journald{slog.NewTextHandler(buf, o), &sync.Mutex{}, buf, w}
}

// priority is the number that syslog has for a level.
func priority(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return 3
	case l >= slog.LevelWarn:
		return 4
	case l >= slog.LevelInfo:
		return 6
	}
	return 7
}

// Handle writes one line at once.
func (j *journald) Handle(ctx context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.buf.Reset()
	fmt.Fprintf(j.buf, "<%d>", priority(r.Level))
	if err := j.Handler.Handle(ctx, r); err != nil {
		return err
	}
	_, err := j.w.Write(j.buf.Bytes())
	return err
}

// WithAttrs keeps the form.
func (j *journald) WithAttrs(a []slog.Attr) slog.Handler {
	return &journald{j.Handler.WithAttrs(a), j.mu, j.buf, j.w}
}

// WithGroup keeps the form.
func (j *journald) WithGroup(name string) slog.Handler {
	return &journald{j.Handler.WithGroup(name), j.mu, j.buf, j.w}
}
