package cuda

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/circuit/porep"
	"cuzk/circuit/post"
	gpu "cuzk/cuda"
	"cuzk/r1cs"
	"cuzk/sector"
)

// randomAssignment fits counts; it need not satisfy anything.
func randomAssignment(n r1cs.Counts, r *rand.Rand) *r1cs.Assignment {
	a := r1cs.NewAssignment(n)
	for i := 1; i < n.Inputs; i++ {
		a.Inputs[i] = randomScalar(r)
	}
	for i := range a.Elements {
		a.Elements[i] = randomScalar(r)
	}
	for i := range a.Bits {
		a.Bits[i] = r.Uint64()
	}
	if n.Bits%64 != 0 {
		a.Bits[len(a.Bits)-1] &= 1<<(n.Bits%64) - 1
	}
	return a
}

// TestHostedRows evaluates real circuits with the kernels on the CPU and compares
// every row with the evaluation of package r1cs.
func TestHostedRows(t *testing.T) {
	t.Parallel()
	circuits := []r1cs.Circuit{post.Blank(post.Window, sector.Size2KiB)}
	if !testing.Short() {
		circuits = append(circuits, post.Blank(post.Winning, sector.Size2KiB), porep.Blank(sector.Size2KiB))
	}
	for _, c := range circuits {
		t.Run(c.Name(), func(t *testing.T) {
			compiled, err := r1cs.Compile(c)
			if err != nil {
				t.Fatal(err)
			}
			hostedRows(t, compiled)
		})
	}
}

func hostedRows(t *testing.T, c *r1cs.Compiled) {
	ctx, n := context.Background(), c.Counts()
	m := n.Rows + n.Inputs + 7
	w := randomAssignment(n, source(uint64(n.Rows)))
	want := [2][]fr.Element{make([]fr.Element, m), make([]fr.Element, m)}
	if err := c.Evaluate(ctx, w, want[0], want[1], nil); err != nil {
		t.Fatal(err)
	}
	copy(want[0][n.Rows:], w.Inputs)
	for i, mem := range hostedEvaluate(t, c, w, m) {
		got := make([]fr.Element, m)
		copy(rawBytes(got), mem)
		for j := range got {
			if got[j] != want[i][j] {
				t.Fatalf("matrix %d, row %d of %d: %s, want %s", i, j, n.Rows, got[j].String(), want[i][j].String())
			}
		}
	}
}

// hostedEvaluate returns the device's vectors a and b of m rows.
func hostedEvaluate(t *testing.T, c *r1cs.Compiled, w *r1cs.Assignment, m int) (out [2][]byte) {
	ctx, machine := context.Background(), newHostedMachine(t)
	h := &holding{m: machine}
	program, err := c.Program()
	if err != nil {
		t.Fatal(err)
	}
	pack, err := packProgram(program)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRows(ctx, h, pack, c.Counts())
	if err != nil {
		t.Fatal(err)
	}
	if h.bytes() > pack.bytes() {
		t.Errorf("the program takes %d bytes, planned were %d", h.bytes(), pack.bytes())
	}
	put := func(data []byte) gpu.Memory {
		mem, err := h.put(ctx, data)
		if err != nil {
			t.Fatal(err)
		}
		return mem
	}
	d := &witness{bits: put(rawBytes(w.Bits)), elements: put(rawBytes(w.Elements)), inputs: put(rawBytes(w.Inputs))}
	a, b := put(make([]byte, m*fr.Bytes)), put(make([]byte, m*fr.Bytes))
	err = machine.do(func(q queue) error {
		s := &steps{q: q, facts: machine.facts()}
		s.evaluate(&r, d, a, b, m)
		return s.err
	})
	if err != nil {
		t.Fatal(err)
	}
	return [2][]byte{fetch(t, machine, a, a.Bytes), fetch(t, machine, b, b.Bytes)}
}
