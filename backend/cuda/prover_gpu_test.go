package cuda

import (
	"context"
	"errors"
	"testing"
	"time"

	"cuzk/backend"
	"cuzk/backend/conformance"
	gpu "cuzk/cuda"
	"cuzk/groth16"
	"cuzk/r1cs"
)

// openFirst opens the first GPU, or skips where there is none. What was allocated
// on it must be released by the end.
func openFirst(t testing.TB, o Options) *Backend {
	t.Helper()
	d, err := Open(firstCard(t))
	if err != nil {
		t.Fatal(err)
	}
	b := New(d, o)
	t.Cleanup(func() {
		err := b.Close()
		left := d.Owner().Balance()
		if err := errors.Join(err, d.Close()); err != nil {
			t.Error(err)
		}
		if left != (gpu.Balance{}) {
			t.Errorf("left on the device: %+v", left)
		}
	})
	return b
}

// TestConformance runs the suite of all backends on a GPU.
func TestConformance(t *testing.T) {
	conformance.Run(t, func(t testing.TB) backend.Backend { return openFirst(t, Options{Works: 2}) })
}

// TestConformanceOneLane is the same with everything in one stream and in little
// memory.
func TestConformanceOneLane(t *testing.T) {
	conformance.Run(t, func(t testing.TB) backend.Backend { return openFirst(t, Options{Lanes: 1, Memory: 2 << 30}) })
}

// TestConformanceStreamed is the same with keys that are streamed in small slices,
// from pinned memory and from the key file.
func TestConformanceStreamed(t *testing.T) {
	for name, pinned := range map[string]int64{"pinned": 1 << 30, "file": -1} {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, func(t testing.TB) backend.Backend {
				return openFirst(t, Options{Memory: 2 << 30, Pinned: pinned, slice: tinySlice})
			})
		})
	}
}

// TestStreamCancelled cancels streamed proofs at different times; openFirst sees to
// it that nothing is left.
func TestStreamCancelled(t *testing.T) {
	b := openFirst(t, Options{Memory: 4 << 30, slice: 1 << 20})
	ctx, c := context.Background(), &conformance.Mixed{Inputs: 5, Groups: 3000, Seed: 7}
	circuit, secrets := conformance.Compile(t, c), Secrets(*groth16.InsecureSecrets())
	p, _, err := b.Setup(ctx, circuit, &secrets, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ws := []*r1cs.Assignment{r1cs.Run(c).Assignment()}
	want, err := p.Sums(ctx, ws, nil)
	if err != nil {
		t.Fatal(err)
	}
	for ms := range 20 {
		short, cancel := context.WithTimeout(ctx, time.Duration(ms)*2*time.Millisecond)
		if _, err := p.Sums(short, ws, nil); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled after %d ms: %v", 2*ms, err)
		}
		cancel()
	}
	got, err := p.Sums(ctx, ws, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameSums(t, "after cancelled calls", got, want)
}

// TestProverSelfTest runs the self-test on a GPU.
func TestProverSelfTest(t *testing.T) {
	if _, err := openFirst(t, Options{}).SelfTest(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestSetupEqualsFile compares a key made on the GPU with one brought there from a
// file, point by point.
func TestSetupEqualsFile(t *testing.T) {
	b := openFirst(t, Options{})
	ctx, c := context.Background(), &conformance.Mixed{Inputs: 40, Groups: 30, Seed: 3}
	circuit := conformance.Compile(t, c)
	key := conformance.Key(t, circuit)
	read, err := b.Load(ctx, circuit, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	secrets := Secrets(*groth16.InsecureSecrets())
	own, _, err := b.Setup(ctx, circuit, &secrets, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	samePoints(t, own.(*prover), read.(*prover))
}

// TestTooLittleMemoryIsRefused asks for a plan that cannot be.
func TestTooLittleMemoryIsRefused(t *testing.T) {
	b := openFirst(t, Options{Memory: 32 << 20})
	circuit := conformance.Compile(t, &conformance.Mixed{Inputs: 3, Groups: 3})
	if _, err := b.Load(context.Background(), circuit, conformance.Key(t, circuit), nil); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("loaded into 32 MiB: %v", err)
	}
	if _, err := b.Plan(circuit); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("planned in 32 MiB: %v", err)
	}
}

// BenchmarkProof times proofs of a mixed circuit of thousands of rows.
func BenchmarkProof(b *testing.B) {
	back := openFirst(b, Options{})
	c := &conformance.Mixed{Inputs: 5, Groups: 3000, Seed: 7}
	circuit := conformance.Compile(b, c)
	secrets := Secrets(*groth16.InsecureSecrets())
	p, _, err := back.Setup(context.Background(), circuit, &secrets, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	w := []*r1cs.Assignment{r1cs.Run(c).Assignment()}
	for b.Loop() {
		if _, err := p.Sums(context.Background(), w, nil); err != nil {
			b.Fatal(err)
		}
	}
}
