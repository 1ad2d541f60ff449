package uint32

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/gadget/gadgettest"
	"cuzk/gadget/num"
	"cuzk/r1cs"
	"cuzk/r1cs/rtest"
)

// allocated is a word of variables.
func allocated(s r1cs.System, x uint32) (w Word) {
	for k := range w {
		w[k] = boolean.Is(boolean.Alloc(s, func() bool { return x>>k&1 == 1 }))
	}
	return w
}

// mixed is a word of variables, negated variables and constants.
func mixed(s r1cs.System, r *rand.Rand, x uint32) (w Word) {
	w = allocated(s, x)
	for k, b := range w {
		switch r.IntN(4) {
		case 0:
			w[k] = boolean.Const(x>>k&1 == 1)
		case 1:
			w[k] = boolean.Is(boolean.Alloc(s, func() bool { return !b.Value(s) })).Not()
		}
	}
	return w
}

func TestWordsAgreeWithMachineWords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		s := r1cs.NewRunner()
		x, y, z := r.Uint32(), r.Uint32(), r.Uint32()
		a, b, c := mixed(s, r, x), mixed(s, r, y), mixed(s, r, z)
		n := r.IntN(Size)
		for what, v := range map[string]struct {
			got  Word
			want uint32
		}{
			"value":    {a, x},
			"order":    {FromBE(a.BE()), x},
			"rotation": {a.RotR(n), bits.RotateLeft32(x, -n)},
			"shift":    {a.ShR(n), x >> n},
			"xor":      {Xor(s, a, b), x ^ y},
			"choice":   {Ch(s, a, b, c), x&y ^ ^x&z},
			"majority": {Maj(s, a, b, c), x&y ^ x&z ^ y&z},
		} {
			if got := v.got.Value(s); got != v.want {
				t.Errorf("%s: %08x, want %08x", what, got, v.want)
			}
		}
		if s.Failed >= 0 {
			t.Fatalf("row %d does not hold", s.Failed)
		}
	}
}

// TestHighestBitFirst pins the order of FromBE.
func TestHighestBitFirst(t *testing.T) {
	b := make([]boolean.Bit, Size)
	b[0] = boolean.Const(true)
	if x, ok := FromBE(b).IsConst(); !ok || x != 1<<31 {
		t.Errorf("the first of the bits makes %08x, want 80000000", x)
	}
}

// TestSumBits is the table of the reference.
func TestSumBits(t *testing.T) {
	for n, want := range map[int]int{2: 33, 3: 34, 4: 34, 5: 35, 8: 35, 9: 36, 10: 36} {
		if got := SumBits(n); got != want {
			t.Errorf("%d words: %d bits, want %d", n, got, want)
		}
	}
}

func TestAddAgreesWithMachineWords(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for n := 2; n <= 10; n++ {
		s := r1cs.NewRunner()
		eq := NewMultiEq(s)
		for range 9 { // more than fit into one row
			words, want := make([]Word, n), uint32(0)
			for i := range words {
				x := r.Uint32() | 1<<31 // so that carries reach the top bits
				words[i] = mixed(s, r, x)
				want += x
			}
			before := len(s.Aux)
			if got := Add(s, eq, words...).Value(s); got != want {
				t.Errorf("sum of %d words: %08x, want %08x", n, got, want)
			}
			if got := len(s.Aux) - before; got != SumBits(n) {
				t.Errorf("sum of %d words: %d variables, want %d", n, got, SumBits(n))
			}
		}
		eq.Flush()
		if s.Failed >= 0 {
			t.Errorf("sums of %d words: row %d does not hold", n, s.Failed)
		}
	}
}

func TestConstantsFold(t *testing.T) {
	s := r1cs.NewRunner()
	eq := NewMultiEq(s)
	a, b := Const(0xffff0001), Const(0x0001ffff)
	x, ok := Add(s, eq, a, b, Xor(s, a, b)).IsConst()
	eq.Flush()
	if want := uint32(0xfffffffe); !ok || x != want {
		t.Errorf("a sum of constants is %08x, %v, want %08x", x, ok, want)
	}
	if len(s.Aux) > 0 || s.Rows > 0 {
		t.Errorf("constants take %d variables and %d rows", len(s.Aux), s.Rows)
	}
}

// TestMultiEqFlushesLazily counts rows: equalities of 33 bits, of which seven
// fit below 254.
func TestMultiEqFlushesLazily(t *testing.T) {
	s := r1cs.NewRunner()
	eq := NewMultiEq(s)
	a := allocated(s, 77)
	for i := 1; i <= 15; i++ {
		before := s.Rows
		Add(s, eq, a, Const(uint32(i)))
		rows := s.Rows - before - SumBits(2)
		if want := map[bool]int{true: 1}[i == 8 || i == 15]; rows != want {
			t.Errorf("sum %d emits %d rows, want %d", i, rows, want)
		}
	}
	before := s.Rows
	eq.Flush()
	eq.Flush()
	if s.Rows != before+1 {
		t.Errorf("two flushes emit %d rows, want 1", s.Rows-before)
	}
}

// TestTamperedSum changes every bit of operands and sums: the row of the packed
// equality, the last, must fail, since a changed bit is still a bit.
func TestTamperedSum(t *testing.T) {
	s := rtest.New()
	eq := NewMultiEq(s)
	a, b := allocated(s, 0xfffffff0), allocated(s, 0x123)
	c := Add(s, eq, a, b)
	Add(s, eq, c, b, Const(9))
	eq.Flush()
	for i := range s.Aux {
		restore := s.Tamper(r1cs.Aux(i))
		if row, _ := s.Unsatisfied(); row != s.Rows-1 {
			t.Errorf("aux %d changed: row %d fails, want %d", i, row, s.Rows-1)
		}
		restore()
	}
	gadgettest.EveryVariableMatters(t, func(s r1cs.System) {
		eq := NewMultiEq(s)
		Add(s, eq, allocated(s, 5), allocated(s, 6), Const(1<<31))
		eq.Flush()
	})
}

// TestRepeatedAndCancellingBits adds a variable to itself and to its negation:
// terms merge, and x + ¬x is the constant.
func TestRepeatedAndCancellingBits(t *testing.T) {
	var got [2]r1cs.LC
	body := func(s r1cs.System) {
		w := allocated(s, 0xdeadbeef)
		not := w
		for k := range not {
			not[k] = w[k].Not()
		}
		eq := NewMultiEq(s)
		if sum := Add(s, eq, w, not, w); sum.Value(s) != 0xdeadbeef-1 {
			t.Errorf("sum %08x", sum.Value(s))
		}
		got = [2]r1cs.LC{combine(append([]r1cs.Term(nil), eq.lhs...)), combine(append([]r1cs.Term(nil), eq.rhs...))}
		eq.Flush()
	}
	s := r1cs.NewRunner()
	body(s)
	if s.Failed >= 0 {
		t.Errorf("row %d does not hold", s.Failed)
	}
	if n := len(got[0]); n != Size+1 {
		t.Errorf("%d terms on the left, want 32 and the constant", n)
	}
	var all fr.Element
	all.SetUint64(1<<Size - 1)
	if got[0][0].Var != r1cs.One || got[0][0].Coef != all || got[0][1].Coef != num.Power(0) {
		t.Errorf("left side begins %v", got[0][:2])
	}
}
