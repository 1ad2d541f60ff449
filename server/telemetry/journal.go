package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"cuzk/event"
)

// Journal writes the event log of a hub until the context ends, see [File].
func Journal(ctx context.Context, hub *event.Hub, path string, limit int64) error {
	f, err := OpenFile(path, limit, slog.Default())
	if err != nil {
		return err
	}
	Consume(ctx, hub, f)
	return f.Close()
}

// File is the event log: one JSON record a line, for cuzk timeline. When the
// file is full it becomes FILE.1 and a new one begins; together they hold
// between one and two limits; a limit of 0 is none. A disk that is full costs records, never the
// daemon: writing is tried again with the next record.
type File struct {
	path  string
	limit int64
	log   *slog.Logger
	f     *os.File
	size  int64
	bad   bool // the last write failed, and that was said
}

// OpenFile opens or makes the event log. Problems after that go to the logger.
func OpenFile(path string, limit int64, log *slog.Logger) (*File, error) {
	f := &File{path: path, limit: limit, log: log}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("event log: %w", err)
	}
	return f, nil
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.f, f.size = file, info.Size()
	return nil
}

// Missed is known to the reader of the file from the numbers of the records.
func (f *File) Missed(uint64) {}

// Take writes a record.
func (f *File) Take(r event.Record) {
	err := f.write(r)
	if err != nil && !f.bad {
		f.log.Error("event log cannot be written", "file", f.path, "reason", err.Error())
	}
	f.bad = err != nil
}

func (f *File) write(r event.Record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if f.f == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	if f.limit > 0 && f.size > 0 && f.size+int64(len(raw)) >= f.limit {
		if err := f.rotate(); err != nil {
			return err
		}
	}
	n, err := f.f.Write(append(raw, '\n'))
	f.size += int64(n)
	if err != nil && n > 0 { // half a record would spoil the next one too
		err = errors.Join(err, f.f.Truncate(f.size-int64(n)))
		f.size -= int64(n)
	}
	return err
}

// rotate begins a new file.
func (f *File) rotate() error {
	err := f.Close()
	if e := os.Rename(f.path, f.path+".1"); e != nil && !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, f.open())
}

// Close closes the file.
func (f *File) Close() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}
