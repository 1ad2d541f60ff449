package cuda

import (
	"bytes"
	"context"
	"testing"

	"cuzk/backend/conformance"
	gpu "cuzk/cuda"
	"cuzk/groth16"
	"cuzk/r1cs"
)

// TestHostedSetup makes a key on the device and compares every point with those
// of a key file from groth16.Setup with the same secrets, and then a proof's sums.
func TestHostedSetup(t *testing.T) {
	t.Parallel()
	for _, c := range []*conformance.Mixed{{Inputs: 1, Groups: 2, Seed: 2}, {Inputs: 40, Groups: 5, Seed: 3}} {
		t.Run(c.Name(), func(t *testing.T) {
			if testing.Short() {
				t.Skip("seconds for the tables of multiples")
			}
			hostedSetup(t, c)
		})
	}
}

func hostedSetup(t *testing.T, c *conformance.Mixed) {
	ctx, circuit := context.Background(), conformance.Compile(t, c)
	key := conformance.Key(t, circuit)
	read := newTestProver(t, circuit)
	if _, err := loaded(ctx, read, key, nil); err != nil {
		t.Fatal(err)
	}
	secrets := Secrets(*groth16.InsecureSecrets())
	own := newTestProver(t, circuit)
	_, vk, err := made(ctx, own, &secrets, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(vk.Encode(), key.VK.Encode()) {
		t.Error("the verifying keys differ")
	}
	samePoints(t, own, read)
	w := r1cs.Run(c).Assignment()
	a, err := own.Sums(ctx, []*r1cs.Assignment{w}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := conformance.Reference(circuit, key, w)
	if err != nil {
		t.Fatal(err)
	}
	if a[0].H != b.H || a[0].L != b.L || a[0].A != b.A || a[0].B1 != b.B1 || a[0].B2 != b.B2 {
		t.Error("the sums of a proof differ")
	}
}

func newTestProver(t *testing.T, circuit *r1cs.Compiled) *prover {
	t.Helper()
	p, err := newProver(newHostedMachine(t), circuit, 1<<30, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// samePoints compares all lists of two provers' keys.
func samePoints(t *testing.T, a, b *prover) {
	t.Helper()
	lists := func(p *prover) (out []*list) {
		for _, name := range queryNames {
			out = append(out, p.key.lists(name)...)
		}
		return out
	}
	la, lb := lists(a), lists(b)
	for i := range la {
		if n := la[i].bytes(); n != lb[i].bytes() || !bytes.Equal(fetch(t, a.machine, la[i].mem, n), fetch(t, b.machine, lb[i].mem, n)) {
			t.Errorf("points of %s (bits: %t) differ", la[i].query, la[i].bits)
		}
	}
}

func fetch(t *testing.T, m machine, mem gpu.Memory, n int64) []byte {
	t.Helper()
	out := make([]byte, n)
	if err := m.do(func(q queue) error { return q.download(out, mem) }); err != nil {
		t.Fatal(err)
	}
	return out
}
