package daemon

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/budget"
	"cuzk/engine"
	"cuzk/groth16"
	"cuzk/job"
	"cuzk/r1cs"
	"cuzk/srs"
)

// witness implements [engine.Witness].
type witness struct {
	id      srs.ID
	circuit *r1cs.Compiled
	keys    *keys
	inputs  []fr.Element // of the statement, One left out
	values  *r1cs.Assignment
}

// Bytes implements [engine.Witness].
func (w *witness) Bytes() budget.Bytes { return budget.Bytes(w.values.Bytes()) }

// Check implements [engine.Witness]: the verifier's equation for the bytes of
// the proof. If it does not hold, all rows are evaluated to find out whether the
// device is to blame.
func (w *witness) Check(ctx context.Context, proof []byte) error {
	key, err := w.keys.verifier(w.id)
	if err != nil {
		return engine.Fail(job.Internal, err)
	}
	p, err := groth16.DecodeProof(proof)
	if err == nil {
		err = key.Verify(w.inputs, p)
	}
	if err == nil {
		return nil
	}
	return w.blame(ctx, err)
}

func (w *witness) blame(ctx context.Context, invalid error) error {
	bad, err := w.circuit.Check(ctx, w.values)
	switch {
	case err != nil:
		return engine.Fail(job.Internal, fmt.Errorf("%w; and looking for the reason: %w", invalid, err))
	case bad != nil:
		return engine.Fail(job.Unsatisfied, fmt.Errorf("%w: %w", invalid, bad))
	}
	return fmt.Errorf("%w; the witness satisfies circuit %s, so the device computed something else or the key is another circuit's", invalid, w.id)
}

// Close implements [engine.Witness].
func (w *witness) Close() {
	n := w.Bytes()
	w.values = nil
	released(n)
}

// collectFrom is the size from which memory that was let go of is collected at
// once: the ledger counts it as free.
const collectFrom = 64 * budget.MiB

var collecting sync.Mutex

// released makes the ledger's word true for large memory. The large arrays hold
// no pointers, so a collection is short.
func released(n budget.Bytes) {
	if n < collectFrom {
		return
	}
	collecting.Lock()
	defer collecting.Unlock()
	runtime.GC()
}
