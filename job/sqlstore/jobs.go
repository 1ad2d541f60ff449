package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"cuzk/job"
)

const columns = `id, request_id, digest, size, kind, class, submitted, deadline, state,
	proof, proof_sum, failure, message, ended, t_queue, t_key, t_synthesise, t_prove, t_total`

// Create implements [job.Store].
func (s *Store) Create(ctx context.Context, j job.Job) (job.Job, bool, error) {
	const q = `insert into job (id, request_id, digest, dedupe, size, kind, class, submitted, deadline, state,
		proof_sum, failure, message, ended, t_queue, t_key, t_synthesise, t_prove, t_total)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, '', '', 0, 0, 0, 0, 0, 0) on conflict (dedupe) do nothing`
	j.State, j.Result = job.Live, job.Result{}
	res, err := s.db.ExecContext(ctx, q, j.ID, j.RequestID, j.Digest.String(), dedupe(j.RequestID, j.Digest), j.Size, j.Kind, int(j.Class),
		nanos(j.Submitted), nanos(j.Deadline), string(j.State))
	if err != nil {
		return job.Job{}, false, fmt.Errorf("store job %s: %w", j.ID, err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 1 {
		err = s.there()
	}
	if err != nil || n == 1 {
		return j, err == nil, err
	}
	old, err := s.Find(ctx, j.RequestID, j.Digest)
	switch {
	case errors.Is(err, job.ErrNotFound): // ended between the two statements
		return s.Create(ctx, j)
	case errors.Is(err, job.ErrCorrupt):
		return s.replace(ctx, j, err)
	}
	return old, false, err
}

// replace stores a job in the place of a completed one whose proof is spoilt.
func (s *Store) replace(ctx context.Context, j job.Job, why error) (job.Job, bool, error) {
	const q = `update job set dedupe = null where dedupe = $1 and state <> 'live'`
	res, err := s.db.ExecContext(ctx, q, dedupe(j.RequestID, j.Digest))
	if err != nil {
		return job.Job{}, false, fmt.Errorf("store job %s: %w", j.ID, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return job.Job{}, false, errors.Join(why, err)
	}
	return s.Create(ctx, j)
}

// Find implements [job.Store].
func (s *Store) Find(ctx context.Context, request string, d job.Digest) (job.Job, error) {
	j, err := scan(s.db.QueryRowContext(ctx, `select `+columns+` from job where dedupe = $1`, dedupe(request, d)))
	if err != nil {
		return job.Job{}, fmt.Errorf("find job of request %q: %w", request, err)
	}
	return j, nil
}

// Get implements [job.Store].
func (s *Store) Get(ctx context.Context, id string) (job.Job, error) {
	return get(ctx, s.db, id)
}

func get(ctx context.Context, db executor, id string) (job.Job, error) {
	j, err := scan(db.QueryRowContext(ctx, `select `+columns+` from job where id = $1`, id))
	if err != nil {
		return job.Job{}, fmt.Errorf("read job %q: %w", id, err)
	}
	return j, nil
}

type row interface{ Scan(...any) error }

// number reads an integer column, and notes one that is none.
type number struct {
	to  *int64
	bad *error
}

// Scan implements [sql.Scanner].
func (n number) Scan(v any) error {
	if k, ok := v.(int64); ok {
		*n.to = k
	} else {
		*n.bad = fmt.Errorf("%v (%T) is no number", v, v)
	}
	return nil
}

// scan reads a row. If the error wraps [job.ErrCorrupt], the job has what could
// be read of it. An ended job needs only its result.
func scan(r row) (job.Job, error) {
	var j job.Job
	var digest, state, failure string
	var class, proofSum, submitted, deadline, ended int64
	var bad error
	n := func(to *int64) number { return number{to, &bad} }
	d := func(to *time.Duration) number { return number{(*int64)(to), &bad} }
	t := &j.Result.Times
	err := r.Scan(&j.ID, &j.RequestID, &digest, n(&j.Size), &j.Kind, n(&class), n(&submitted), n(&deadline), &state,
		&j.Result.Proof, n(&proofSum), &failure, &j.Result.Message, n(&ended), d(&t.Queue), d(&t.Key), d(&t.Synthesise), d(&t.Prove), d(&t.Total))
	if errors.Is(err, sql.ErrNoRows) {
		return job.Job{}, job.ErrNotFound
	}
	if err != nil {
		return job.Job{}, err
	}
	j.Class, j.State, j.Result.Failure = job.Class(class), job.State(state), job.Failure(failure)
	j.Submitted, j.Deadline, j.Result.Ended = moment(submitted), moment(deadline), moment(ended)
	if j.Digest, err = job.ParseDigest(digest); err != nil {
		bad = err
	}
	switch {
	case sum(j.Result.Proof) != proofSum:
		err = fmt.Errorf("job %s: the proof has another checksum than was stored: %w", j.ID, job.ErrCorrupt)
		j.Result.Proof = nil
	case bad != nil && j.State == job.Live:
		err = fmt.Errorf("job %s: %w: %w", j.ID, job.ErrCorrupt, bad)
	default:
		err = nil
	}
	return j, err
}

// SetClass implements [job.Store].
func (s *Store) SetClass(ctx context.Context, id string, c job.Class) error {
	return ofLive(ctx, s.db, id, `update job set class = $1 where id = $2 and state = 'live'`, int(c), id)
}

// executor is a database or a transaction.
type executor interface {
	ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, q string, args ...any) *sql.Row
}

// ofLive runs a statement that changes one row if the job lives, and finds out
// why if it changed none.
func ofLive(ctx context.Context, db executor, id, q string, args ...any) error {
	res, err := db.ExecContext(ctx, q, args...)
	if err != nil {
		return fmt.Errorf("write job %s: %w", id, err)
	}
	n, err := res.RowsAffected()
	if err != nil || n > 0 {
		return err
	}
	if _, err := get(ctx, db, id); err != nil {
		return err
	}
	return fmt.Errorf("write job %s: %w", id, job.ErrEnded)
}

// SavePartition implements [job.Store].
func (s *Store) SavePartition(ctx context.Context, id string, index int, proof []byte) error {
	const q = `insert into part (job, part, proof, proof_sum)
		select $1, $2, $3, $4 from job where id = $1 and state = 'live'
		on conflict (job, part) do update set proof = excluded.proof, proof_sum = excluded.proof_sum`
	return ofLive(ctx, s.db, id, q, id, index, proof, sum(proof))
}

// Partitions implements [job.Store].
func (s *Store) Partitions(ctx context.Context, id string) (map[int][]byte, error) {
	rows, err := s.db.QueryContext(ctx, `select part, proof, proof_sum from part where job = $1`, id)
	if err != nil {
		return nil, fmt.Errorf("read partitions of job %s: %w", id, err)
	}
	defer rows.Close()
	out := map[int][]byte{}
	for rows.Next() {
		var k int
		var proof []byte
		var want int64
		if err := rows.Scan(&k, &proof, &want); err != nil {
			return nil, fmt.Errorf("read partitions of job %s: %w", id, err)
		}
		if sum(proof) == want {
			out[k] = proof
		}
	}
	return out, rows.Err()
}

// Finish implements [job.Store].
func (s *Store) Finish(ctx context.Context, id string, state job.State, r job.Result) error {
	if !state.Final() {
		return fmt.Errorf("finish job %s: %q is not a final state", id, state)
	}
	keep := `dedupe`
	if state != job.Completed {
		keep, r.Proof = `null`, nil
	}
	q := `update job set state = $1, proof = $2, proof_sum = $3, failure = $4, message = $5, ended = $6, t_queue = $7,
		t_key = $8, t_synthesise = $9, t_prove = $10, t_total = $11, dedupe = ` + keep + ` where id = $12 and state = 'live'`
	t := r.Times
	args := []any{string(state), r.Proof, sum(r.Proof), string(r.Failure), r.Message, nanos(r.Ended),
		int64(t.Queue), int64(t.Key), int64(t.Synthesise), int64(t.Prove), int64(t.Total), id}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("finish job %s: %w", id, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := ofLive(ctx, tx, id, q, args...); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `delete from part where job = $1`, id); err != nil {
		return fmt.Errorf("finish job %s: %w", id, err)
	}
	return tx.Commit()
}

// Live implements [job.Store].
func (s *Store) Live(ctx context.Context) ([]job.Job, error) {
	return s.list(ctx, `select `+columns+` from job where state = 'live' order by submitted, id`)
}

// Recent implements [job.Store].
func (s *Store) Recent(ctx context.Context, max int) ([]job.Job, error) {
	const q = `select id, request_id, digest, size, kind, class, submitted, deadline, state,
		null, 0, failure, message, ended, t_queue, t_key, t_synthesise, t_prove, t_total
		from job order by submitted desc, id desc limit $1`
	return s.list(ctx, q, max)
}

func (s *Store) list(ctx context.Context, q string, args ...any) ([]job.Job, error) {
	rows, err := s.db.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	defer rows.Close()
	var out []job.Job
	for rows.Next() {
		j, err := scan(rows)
		if errors.Is(err, job.ErrCorrupt) {
			j.Result.Failure, j.Result.Message, err = job.Storage, err.Error(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
		out = append(out, j)
	}
	return out, rows.Err()
}

// Prune implements [job.Store].
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	res, err := s.db.ExecContext(ctx, `delete from job where state <> 'live' and ended < $1`, nanos(before))
	if err != nil {
		return 0, fmt.Errorf("prune jobs: %w", err)
	}
	if _, err := s.db.ExecContext(ctx, `delete from part where job not in (select id from job where state = 'live')`); err != nil {
		return 0, fmt.Errorf("prune partitions: %w", err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}
