// Package proving brings a circuit, its key and a backend together and makes
// the proofs of a job.
//
// Every proof is verified against its key before it is returned (groth16.Prove),
// and none is returned unless its vanilla proof passed the check, which may run
// beside ([Beside]); a partition whose witness does not satisfy the circuit fails with the row and
// the gadget, found by evaluating all rows.
package proving

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cuzk/backend"
	"cuzk/groth16"
	"cuzk/internal/circuitcache"
	"cuzk/kind"
	"cuzk/r1cs"
	"cuzk/srs"
)

// Options say where things are.
type Options struct {
	ParamsDir  string
	CircuitDir string // cache of compiled circuits; empty to use none
	Keys       srs.Options
	Warn       func(error) // trouble that costs time but no correctness; may be nil
}

// Stage is what was done, how long it took, and a word on it.
type Stage struct {
	Name   string
	Took   time.Duration
	Detail string
}

// Watch hears about stages; both functions may be nil.
type Watch struct {
	// Progress gets the share of a stage that is done, 0 to 1.
	Progress func(stage string, done float64)
	// Ended gets a stage when it ended.
	Ended func(Stage)
}

// Report passes progress on.
func (w Watch) Report(stage string, done float64) {
	if w.Progress != nil {
		w.Progress(stage, done)
	}
}

// Part is a watch that puts a name before those of stages.
func (w Watch) Part(name string) Watch {
	return Watch{
		Progress: func(stage string, done float64) { w.Report(name+", "+stage, done) },
		Ended: func(s Stage) {
			if w.Ended != nil {
				s.Name = name + ", " + s.Name
				w.Ended(s)
			}
		},
	}
}

// Run times a stage and reports its end unless it fails.
func (w Watch) Run(name string, f func() (detail string, err error)) error {
	w.Report(name, 0)
	start := time.Now()
	detail, err := f()
	if err == nil && w.Ended != nil {
		w.Ended(Stage{name, time.Since(start), detail})
	}
	return err
}

// Session holds one circuit with its key, ready to prove. It is safe for use by
// several goroutines.
type Session struct {
	ID      srs.ID
	Circuit *r1cs.Compiled
	Key     *srs.Key
	prover  backend.Prover
}

// Compile gives the compiled form of a circuit.
func Compile(ctx context.Context, o Options, id srs.ID, w Watch) (c *r1cs.Compiled, err error) {
	err = w.Run("circuit", func() (string, error) {
		r, err := circuitcache.Get(ctx, o.CircuitDir, id)
		if err != nil {
			return "", err
		}
		if r.Trouble != nil && o.Warn != nil {
			o.Warn(r.Trouble)
		}
		c = r.Compiled
		how := "compiled"
		if r.Read {
			how = "read from cache"
		}
		return fmt.Sprintf("%d constraints, %d variables, %s", c.Counts().Rows, c.Counts().Aux, how), nil
	})
	return c, err
}

// Open compiles or reads the circuit, opens its key and loads it into the
// backend.
func Open(ctx context.Context, b backend.Backend, o Options, id srs.ID, w Watch) (*Session, error) {
	c, err := Compile(ctx, o, id, w)
	if err != nil {
		return nil, err
	}
	s := &Session{ID: id, Circuit: c}
	if err := w.Run("key", func() (string, error) { return s.load(ctx, b, o, w) }); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Session) load(ctx context.Context, b backend.Backend, o Options, w Watch) (string, error) {
	key, err := srs.Open(ctx, o.ParamsDir, s.ID.String(), o.Keys)
	if err != nil {
		return "", err
	}
	s.Key = key
	if s.prover, err = b.Load(ctx, s.Circuit, key, func(done float64) { w.Report("key", done) }); err != nil {
		return "", errors.Join(err, key.Close())
	}
	name := "official"
	if !key.Official {
		name = "INSECURE"
	}
	return fmt.Sprintf("%s, %d MB, %s", name, key.Bytes()/1e6, b.Name()), nil
}

// Close gives back key and backend memory.
func (s *Session) Close() error { return errors.Join(s.prover.Close(), s.Key.Close()) }

// Partition makes the proof of one partition: witness, sums, blinding, check.
func (s *Session) Partition(ctx context.Context, p *kind.Partition, rnd groth16.Blinder, w Watch) (*groth16.Proof, error) {
	return s.partition(ctx, p, rnd, w, func() {})
}

func (s *Session) partition(ctx context.Context, p *kind.Partition, rnd groth16.Blinder, w Watch, ready func()) (*groth16.Proof, error) {
	var a *r1cs.Assignment
	err := w.Run("witness", func() (string, error) {
		var err error
		a, err = p.Witness(ctx, s.Circuit)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d bits, %d field elements, %d kB", a.NumBits, len(a.Elements), a.Bytes()/1000), nil
	})
	if err != nil {
		return nil, err
	}
	ready()
	var proof *groth16.Proof
	err = w.Run("proof", func() (string, error) {
		progress := func(stage string, done float64) { w.Report("proof, "+stage, done) }
		r, err := groth16.Prove(ctx, s.prover, s.Key.VK, []*r1cs.Assignment{a}, rnd, progress)
		if err != nil {
			return "", s.explain(ctx, a, err)
		}
		proof = &r.Proofs[0]
		return "192 bytes, verified", nil
	})
	if err != nil {
		return nil, fmt.Errorf("partition %d: %w", p.Index, err)
	}
	return proof, nil
}

// explain finds the row that makes a proof fail its check.
func (s *Session) explain(ctx context.Context, a *r1cs.Assignment, err error) error {
	if !errors.Is(err, groth16.ErrSelfCheck) {
		return err
	}
	bad, checkErr := s.Circuit.Check(ctx, a)
	switch {
	case checkErr != nil:
		return errors.Join(err, checkErr)
	case bad != nil:
		return fmt.Errorf("%w: %w", err, bad)
	}
	return fmt.Errorf("%w: the witness satisfies the circuit, so the key is another circuit's or the arithmetic went wrong", err)
}

// Prove makes a job's proofs, see ProveChecked, and checks its vanilla proof beside
// them. The error of the check counts first.
func (s *Session) Prove(ctx context.Context, j *kind.Job, rnd groth16.Blinder, w Watch) (out []byte, err error) {
	w = w.locked()
	check := func(ctx context.Context) error { return Check(ctx, j, w) }
	err = Beside(ctx, check, func(ctx context.Context, ready func()) (err error) {
		out, err = s.all(ctx, j, rnd, w, ready)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ProveChecked makes the proofs of all partitions of a job that was checked, in
// order. The result is what callers expect: 192 bytes a partition.
func (s *Session) ProveChecked(ctx context.Context, j *kind.Job, rnd groth16.Blinder, w Watch) ([]byte, error) {
	return s.all(ctx, j, rnd, w, func() {})
}

// all calls ready when the first witness is there.
func (s *Session) all(ctx context.Context, j *kind.Job, rnd groth16.Blinder, w Watch, ready func()) ([]byte, error) {
	if j.Circuit != s.ID {
		return nil, fmt.Errorf("a request for circuit %s cannot be proved with %s", j.Circuit, s.ID)
	}
	var proofs []groth16.Proof
	for i := range j.Partitions {
		part := w
		if len(j.Partitions) > 1 {
			part = w.Part(fmt.Sprintf("partition %d", j.Partitions[i].Index))
		}
		p, err := s.partition(ctx, &j.Partitions[i], rnd, part, ready)
		if err != nil {
			return nil, err
		}
		proofs = append(proofs, *p)
	}
	return groth16.EncodeProofs(proofs), nil
}

// Check checks a job's vanilla proof.
func Check(ctx context.Context, j *kind.Job, w Watch) error {
	return w.Run("vanilla proof", func() (string, error) {
		err := j.Check(ctx, func(done, total int) { w.Report("vanilla proof", float64(done)/float64(max(total, 1))) })
		return "every path and commitment", err
	})
}
