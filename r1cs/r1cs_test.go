package r1cs_test

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/gadgettest"
	"cuzk/r1cs"
	"cuzk/r1cs/rtest"
)

// square is a gadget with one port: y = x², with a bit and an input on the way
// so that bases of all kinds move. other is a second port that may be bound to
// the same variable.
type square struct{ bit bool }

func (square) Shape() string { return "square" }

func (g square) Synthesize(s r1cs.System, p []r1cs.Var) []r1cs.Var {
	b := s.AllocBit(func() bool { return g.bit })
	s.Enforce(r1cs.V(r1cs.One).Minus(b), r1cs.V(b), nil)
	y := s.Alloc(func() fr.Element {
		x, z := s.Value(p[0]), s.Value(p[1])
		return *x.Mul(&x, &z)
	})
	s.Enforce(r1cs.V(p[0]), r1cs.V(p[1]), r1cs.V(y))
	in := s.AllocInput(func() fr.Element { return s.Value(y) })
	// Terms of both ports and of One meet in one combination: where the ports
	// are one variable they cancel, where one is One they merge with it.
	s.Enforce(r1cs.V(r1cs.One).Plus(in).Plus(p[0]).Minus(p[1]), r1cs.V(r1cs.One), sum(y, p))
	return []r1cs.Var{y, b, p[1]}
}

// sum is 1 + y + p0 − p1.
func sum(y r1cs.Var, p []r1cs.Var) r1cs.LC {
	return r1cs.V(r1cs.One).Plus(y).Plus(p[0]).Minus(p[1])
}

// nest calls square twice, with equal ports and with One.
type nest struct{ depth int }

func (n nest) Shape() string { return "nest" + strings.Repeat("+", n.depth) }

func (n nest) Synthesize(s r1cs.System, p []r1cs.Var) []r1cs.Var {
	a := s.Call(square{true}, []r1cs.Var{p[0], p[0]})
	b := s.Call(square{n.depth%2 == 0}, []r1cs.Var{a[0], r1cs.One})
	c := s.Call(square{}, []r1cs.Var{b[0], a[2]})
	if n.depth > 0 {
		c = s.Call(nest{n.depth - 1}, []r1cs.Var{c[0]})
	}
	s.Enforce(r1cs.V(a[1]), r1cs.V(b[0]), r1cs.V(b[0]))
	return c[:1]
}

func circuit(depth, calls int) r1cs.Circuit {
	return rtest.Func{Title: "test", Body: func(s r1cs.System) {
		x := gadgettest.Numbers(s, 1)
		for range calls {
			x = s.Call(nest{depth}, x)
		}
		s.Enforce(r1cs.V(x[0]), nil, nil)
	}}
}

func compile(t testing.TB, c r1cs.Circuit) *r1cs.Compiled {
	t.Helper()
	out, err := r1cs.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestExpansionEqualsFlatRun(t *testing.T) {
	for _, n := range []struct{ depth, calls int }{{0, 1}, {1, 1}, {3, 5}} {
		c := circuit(n.depth, n.calls)
		flat := r1cs.NewDigester()
		c.Synthesize(flat)
		got, err := compile(t, c).Summarize(nil)
		if err != nil {
			t.Fatal(err)
		}
		want := flat.Summary()
		// A flat run of these gadgets merges terms as it builds them, as the
		// expansion does when ports meet.
		if got != want {
			t.Errorf("depth %d, %d calls: compiled %+v, flat %+v", n.depth, n.calls, got, want)
		}
	}
}

// TestCountsAddUp adds templates times instances.
func TestCountsAddUp(t *testing.T) {
	c := compile(t, circuit(3, 5))
	rows := 0
	for _, i := range c.Templates() {
		rows += i.Instances * i.OwnRows
	}
	if rows != c.Counts().Rows {
		t.Errorf("own rows times instances are %d, circuit has %d", rows, c.Counts().Rows)
	}
}

func TestEvaluateEqualsFlatRun(t *testing.T) {
	c := circuit(2, 3)
	compiled := compile(t, c)
	s := rtest.New()
	c.Synthesize(s)
	w := s.Assignment()
	n := compiled.Counts()
	a, b, out := make([]fr.Element, n.Rows), make([]fr.Element, n.Rows), make([]fr.Element, n.Rows)
	if err := compiled.Evaluate(t.Context(), w, a, b, out); err != nil {
		t.Fatal(err)
	}
	for i := range a {
		var p fr.Element
		if p.Mul(&a[i], &b[i]); p != out[i] {
			t.Fatalf("row %d does not hold", i)
		}
	}
	if bad, err := compiled.Check(t.Context(), w); bad != nil || err != nil {
		t.Fatalf("%v, %v", bad, err)
	}
	for i := range s.Aux {
		restore := s.Tamper(r1cs.Aux(i))
		want, _ := s.Unsatisfied()
		bad, err := compiled.Check(t.Context(), s.Assignment())
		restore()
		if err != nil || (bad == nil) != (want < 0) || bad != nil && bad.Row != want {
			t.Fatalf("aux %d changed: compiled finds %v, flat row %d", i, bad, want)
		}
	}
}

// TestDensityEqualsRows marks variables row by row.
func TestDensityEqualsRows(t *testing.T) {
	c := compile(t, circuit(2, 3))
	n := c.Counts()
	for m, got := range []r1cs.Density{c.DenseA(), c.DenseB(), c.DenseC()} {
		aux, inputs := r1cs.NewBitset(n.Aux), r1cs.NewBitset(n.Inputs)
		_ = c.Walk(func(r *r1cs.Row, _ []fr.Element) error {
			for _, x := range [][]r1cs.CTerm{r.A, r.B, r.C}[m] {
				if x.Var.Class() == r1cs.ClassAux {
					aux.Set(x.Var.Index())
				} else {
					inputs.Set(x.Var.Index())
				}
			}
			return nil
		})
		for i := range n.Aux {
			if got.Aux.Has(i) != aux.Has(i) {
				t.Errorf("matrix %d: aux %d dense by template %v, by rows %v", m, i, got.Aux.Has(i), aux.Has(i))
			}
		}
		for i := range n.Inputs {
			if got.Inputs.Has(i) != inputs.Has(i) {
				t.Errorf("matrix %d: input %d dense by template %v, by rows %v", m, i, got.Inputs.Has(i), inputs.Has(i))
			}
		}
	}
}

// TestKindsEqualFlatRun compares kinds and places of all variables.
func TestKindsEqualFlatRun(t *testing.T) {
	c := circuit(1, 4)
	compiled, run := compile(t, c), r1cs.Run(c)
	kinds := compiled.BitKinds()
	bit, element := 0, 0
	for i := range run.Aux {
		index, isBit, err := compiled.Locate(i)
		if err != nil || isBit != run.IsBit.Has(i) || kinds.Has(i) != isBit {
			t.Fatalf("aux %d: kind %v, %v, flat %v, %v", i, isBit, kinds.Has(i), run.IsBit.Has(i), err)
		}
		want := &element
		if isBit {
			want = &bit
		}
		if index != *want {
			t.Fatalf("aux %d: place %d, flat %d", i, index, *want)
		}
		*want++
	}
	if _, _, err := compiled.Locate(len(run.Aux)); err == nil {
		t.Error("a variable past the end was found")
	}
}

func TestEncodedCircuitIsChecked(t *testing.T) {
	c := compile(t, circuit(2, 2))
	b := c.Encode()
	again, err := r1cs.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Encode(), b) {
		t.Error("a circuit read back is written differently")
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if _, err := r1cs.Decode(bad); err == nil {
			t.Errorf("byte %d changed: accepted", i)
		}
	}
	for _, n := range []int{0, 1, 15, len(b) / 2, len(b) - 1} {
		if _, err := r1cs.Decode(b[:n]); err == nil {
			t.Errorf("cut to %d bytes: accepted", n)
		}
	}
}

// FuzzDecode feeds bodies with a right digest: whatever is accepted must be
// safe to use.
func FuzzDecode(f *testing.F) {
	c, err := r1cs.Compile(circuit(1, 1))
	if err != nil {
		f.Fatal(err)
	}
	b := c.Encode()
	f.Add(b[:len(b)-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		c, err := r1cs.Decode(append(bytes.Clone(body), sum[:]...))
		if err != nil || c.Counts().Rows > 1<<16 || c.Counts().Aux > 1<<16 || c.Counts().Inputs > 1<<16 {
			return
		}
		_, _ = c.Summarize(nil)
		_, _ = c.Check(t.Context(), r1cs.NewAssignment(c.Counts()))
		c.DenseA()
		c.Templates()
	})
}

// TestWriterJoinsStretches writes one bit string by several writers that begin
// anywhere.
func TestWriterJoinsStretches(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + rnd.IntN(400)
		want := make([]bool, n)
		for i := range want {
			want[i] = rnd.IntN(2) == 1
		}
		a := r1cs.NewAssignment(r1cs.Counts{Inputs: 1, Aux: n, Bits: n})
		done := make(chan struct{})
		parts := 0
		for at := 0; at < n; {
			to := min(n, at+1+rnd.IntN(150))
			parts++
			go func(at int) {
				writeBits(r1cs.NewWriter(a, r1cs.Place{Bit: at}), want[at:to], uint64(at))
				done <- struct{}{}
			}(at)
			at = to
		}
		for range parts {
			<-done
		}
		for i := range want {
			if a.Bit(i) != want[i] {
				t.Fatalf("bit %d of %d is %v", i, n, a.Bit(i))
			}
		}
	}
}

// writeBits writes words of changing width.
func writeBits(w *r1cs.Writer, bits []bool, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	for len(bits) > 0 {
		k := min(len(bits), rnd.IntN(65))
		var x uint64
		for i := range k {
			if bits[i] {
				x |= 1 << i
			}
		}
		w.Word(x, uint(k))
		bits = bits[k:]
	}
	w.Flush()
}

func TestBrokenGadgetIsRefused(t *testing.T) {
	for name, body := range map[string]func(r1cs.System){
		"ports change": func(s r1cs.System) {
			x := gadgettest.Numbers(s, 1)[0]
			s.Call(square{}, []r1cs.Var{x, x})
			s.Call(square{}, []r1cs.Var{x})
		},
		"terms out of order": func(s r1cs.System) {
			x := gadgettest.Numbers(s, 1)[0]
			s.Enforce(append(r1cs.V(x), r1cs.V(r1cs.One)...), nil, nil)
		},
	} {
		if _, err := r1cs.Compile(rtest.Func{Title: "broken", Body: body}); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
}
