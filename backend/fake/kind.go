// Package fake has kinds and devices without mathematics, for the daemon's own
// tests and for trying out its queue: they take set times, fail when told to,
// and make proofs that only they accept.
//
// A fake proof of partition k is 192 bytes that follow from the request's digest
// and k. Devices compute it, checks compare it, so a lying device is found like
// a real one.
//
// Invariants:
//
//  1. Everything ends early when its context does, unless it was told to hang.
//  2. A device reports two proofs in its exclusive region at once as an error.
//  3. Memory is only counted, never taken.
package fake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"cuzk/budget"
	"cuzk/engine"
	"cuzk/job"
)

// ProofSize is the size of a partition's proof in bytes.
const ProofSize = 192

// Kind is a fake proof kind. The fields are set before use.
type Kind struct {
	ID       string
	Wire     int32
	Priority job.Class
	Key      string // of the proving key
	Parts    int
	Work     budget.Work

	Decode, Synthesise, Check time.Duration // times that the stages take

	Opened, Witnesses atomic.Int64 // now in memory
}

// Name implements [engine.Kind].
func (k *Kind) Name() string { return k.ID }

// Number implements [engine.Kind].
func (k *Kind) Number() int32 { return k.Wire }

// Class implements [engine.Kind].
func (k *Kind) Class() job.Class { return k.Priority }

// orders are what a request tells a fake to do: words in its first payload,
// after the mark "fake:". Payloads without the mark give no orders.
//
//	parts=N        number of partitions
//	bad            the request cannot be decoded
//	unsatisfied=K  partition K does not satisfy the circuit
//	panic=K        making the witness of partition K panics
//	synth=D        time of making a witness
//	prove=D        time of proving one
type orders map[string]string

const mark = "fake:"

func read(r *job.Request) orders {
	o := orders{}
	for _, p := range append([][]byte{r.VanillaProof}, r.VanillaProofs...) {
		if text, ok := strings.CutPrefix(string(p), mark); ok {
			for _, w := range strings.Fields(text) {
				k, v, _ := strings.Cut(w, "=")
				o[k] = v
			}
			break
		}
	}
	return o
}

func (o orders) is(word string, k int) bool { return o[word] == strconv.Itoa(k) }

func (o orders) time(word string, def time.Duration) time.Duration {
	if d, err := time.ParseDuration(o[word]); err == nil {
		return d
	}
	return def
}

// Open implements [engine.Kind].
func (k *Kind) Open(ctx context.Context, r *job.Request) (engine.Opened, error) {
	if err := sleep(ctx, k.Decode); err != nil {
		return nil, err
	}
	o := read(r)
	if _, bad := o["bad"]; bad {
		return nil, errors.New("field vanilla_proof: told to be bad")
	}
	parts := k.Parts
	if n, err := strconv.Atoi(o["parts"]); err == nil {
		parts = n
	}
	k.Opened.Add(1)
	return &opened{kind: k, orders: o, digest: r.Digest(), parts: parts}, nil
}

// Join implements [engine.Kind].
func (k *Kind) Join(proofs [][]byte) ([]byte, error) { return bytes.Join(proofs, nil), nil }

type opened struct {
	kind   *Kind
	orders orders
	digest job.Digest
	parts  int
}

// Plan implements [engine.Opened].
func (o *opened) Plan() engine.Plan {
	return engine.Plan{Key: o.kind.Key, Partitions: o.parts, Work: o.kind.Work}
}

// Close implements [engine.Opened].
func (o *opened) Close() { o.kind.Opened.Add(-1) }

// Synthesise implements [engine.Opened].
func (o *opened) Synthesise(ctx context.Context, k int) (engine.Witness, error) {
	if err := sleep(ctx, o.orders.time("synth", o.kind.Synthesise)); err != nil {
		return nil, err
	}
	if o.orders.is("panic", k) {
		panic("told to panic")
	}
	if o.orders.is("unsatisfied", k) {
		return nil, engine.Fail(job.Unsatisfied, fmt.Errorf("constraint 17 of partition %d: told to be unsatisfied", k))
	}
	o.kind.Witnesses.Add(1)
	return &witness{kind: o.kind, proof: Proof(o.digest, k), prove: o.orders.time("prove", 0)}, nil
}

type witness struct {
	kind  *Kind
	proof []byte
	prove time.Duration
}

// Bytes implements [engine.Witness].
func (w *witness) Bytes() budget.Bytes { return w.kind.Work.Witness }

// Close implements [engine.Witness].
func (w *witness) Close() { w.kind.Witnesses.Add(-1) }

// Check implements [engine.Witness].
func (w *witness) Check(ctx context.Context, proof []byte) error {
	if err := sleep(ctx, w.kind.Check); err != nil {
		return err
	}
	if !bytes.Equal(proof, w.proof) {
		return errors.New("proof does not verify")
	}
	return nil
}

// Proof is the fake proof of partition k of the request with the digest.
func Proof(d job.Digest, k int) []byte {
	var out []byte
	for i := uint64(0); len(out) < ProofSize; i++ {
		h := sha256.New()
		h.Write([]byte("fake proof"))
		h.Write(d[:])
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(k)))
		h.Write(binary.LittleEndian.AppendUint64(nil, i))
		out = h.Sum(out)
	}
	return out[:ProofSize]
}

// Valid tells whether a joined proof is the one that n partitions of the request
// have.
func Valid(r *job.Request, n int, proof []byte) bool {
	var want []byte
	for k := range n {
		want = append(want, Proof(r.Digest(), k)...)
	}
	return bytes.Equal(proof, want)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
