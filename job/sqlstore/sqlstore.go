// Package sqlstore keeps jobs in SQLite, through the driver that is written in
// Go (modernc.org/sqlite). It implements [job.Store].
//
// Idempotency rests on one unique column, dedupe, that holds the request id and
// digest while a job lives or is completed and is null otherwise. SQLite keeps
// any type in any column, so what is read is looked at; a row that is spoilt
// spoils no other.
//
// Invariants:
//
//  1. A write has reached the disk when its method returns (write-ahead log,
//     synchronous = full).
//  2. A proof that is read back is the one that was stored: each has a CRC-32C.
//  3. A file of a newer schema is refused, never changed.
//  4. A job is not accepted into a file that was removed, replaced or overwritten
//     meanwhile.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"cuzk/job"
)

// Version is the schema that this code reads and writes.
const Version = 1

var schema = []string{
	`create table if not exists meta (name text primary key, value text not null)`,
	`create table if not exists job (
		id text primary key, request_id text not null, digest text not null, dedupe text unique,
		size bigint not null, kind text not null, class integer not null,
		submitted bigint not null, deadline bigint not null, state text not null,
		proof blob, proof_sum bigint not null, failure text not null, message text not null, ended bigint not null,
		t_queue bigint not null, t_key bigint not null, t_synthesise bigint not null, t_prove bigint not null, t_total bigint not null)`,
	`create index if not exists job_by_state on job (state, submitted)`,
	`create index if not exists job_by_time on job (submitted)`,
	`create table if not exists part (
		job text not null, part integer not null, proof blob not null, proof_sum bigint not null, primary key (job, part))`,
}

// Store is a [job.Store] in one SQLite file.
type Store struct {
	db   *sql.DB
	path string
	file *os.File // to notice that it was replaced or overwritten; open until db is closed
}

// Open opens the store in a file, which is made if need be. The error wraps
// [job.ErrNewer] for a newer schema and [job.ErrCorrupt] for a damaged file.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open job store: %w", err)
	}
	v := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(wal)", "synchronous(full)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+v.Encode())
	if err != nil {
		return nil, fmt.Errorf("open job store %s: %w", path, err)
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	s := &Store{db: db, path: path}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open job store %s: %w", path, err), s.Close())
	}
	return s, nil
}

func (s *Store) prepare(ctx context.Context) error {
	var verdict string
	if err := s.db.QueryRowContext(ctx, `pragma quick_check(1)`).Scan(&verdict); err != nil || verdict != "ok" {
		return fmt.Errorf("%w: %s %w; move the file away to start with an empty store", job.ErrCorrupt, verdict, orNone(err))
	}
	version, err := s.version(ctx)
	if err != nil {
		return err
	}
	if version > Version {
		return fmt.Errorf("%w: schema %d, this program knows %d; use the newer program or another state directory", job.ErrNewer, version, Version)
	}
	for _, q := range schema {
		if _, err := s.db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("make tables: %w", err)
		}
	}
	if version == 0 {
		if _, err := s.db.ExecContext(ctx, `insert into meta (name, value) values ('schema', $1)`, strconv.Itoa(Version)); err != nil {
			return fmt.Errorf("note schema: %w", err)
		}
	}
	s.file, err = os.Open(s.path)
	return err
}

func orNone(err error) error {
	if err == nil {
		return errors.New("quick_check failed")
	}
	return err
}

// version is 0 for an empty file.
func (s *Store) version(ctx context.Context) (int, error) {
	var n int
	err := s.db.QueryRowContext(ctx, `select count(*) from sqlite_master where name = 'meta'`).Scan(&n)
	if err != nil || n == 0 {
		return 0, err
	}
	var text string
	err = s.db.QueryRowContext(ctx, `select value from meta where name = 'schema'`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil // killed between the first statements
	}
	if err != nil {
		return 0, err
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 {
		return 0, fmt.Errorf("%w: schema %q", job.ErrCorrupt, text)
	}
	return v, nil
}

// Close implements [job.Store].
func (s *Store) Close() error {
	err := s.db.Close()
	if s.file != nil { // after the database: closing a file lets go of all its locks
		err = errors.Join(err, s.file.Close())
	}
	return err
}

// fileMagic is how every SQLite file begins.
const fileMagic = "SQLite format 3\x00"

// there tells whether what was just written will be found again. SQLite itself
// would go on with files that have lost their names, and with pages that it
// remembers.
func (s *Store) there() error {
	now, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("job store was removed: %w", err)
	}
	old, err := s.file.Stat()
	if err != nil || !os.SameFile(now, old) {
		return fmt.Errorf("job store %s was replaced by another file", s.path)
	}
	var begin [len(fileMagic)]byte
	if _, err := s.file.ReadAt(begin[:], 0); err != nil || string(begin[:]) != fileMagic {
		return fmt.Errorf("job store %s was overwritten", s.path)
	}
	if _, err := os.Stat(s.path + "-wal"); err != nil {
		return fmt.Errorf("the log of the job store was removed: %w", err)
	}
	return nil
}

// Check implements [job.Store].
func (s *Store) Check(ctx context.Context) error {
	const q = `insert into meta (name, value) values ('checked', $1) on conflict (name) do update set value = excluded.value`
	if _, err := s.db.ExecContext(ctx, q, time.Now().UTC().Format(time.RFC3339)); err != nil {
		return fmt.Errorf("write job store: %w", err)
	}
	return s.there()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(b []byte) int64 { return int64(crc32.Checksum(b, castagnoli)) }

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func dedupe(request string, d job.Digest) sql.NullString {
	return sql.NullString{String: d.String() + " " + request, Valid: request != ""}
}
