package num

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/gadgettest"
	"cuzk/r1cs"
)

// TestDigest compares matrices with the reference's (circuits.md G.1).
func TestDigest(t *testing.T) {
	for name, body := range map[string]func(r1cs.System){
		"to_bits_le":           func(s r1cs.System) { ToBits(s, gadgettest.Numbers(s, 1)[0]) },
		"inputize":             func(s r1cs.System) { Inputize(s, gadgettest.Numbers(s, 1)[0]) },
		"pack_into_inputs_300": func(s r1cs.System) { PackInputs(s, Bits(gadgettest.Bits(s, 300, 0))) },
		"pack_bits_254":        func(s r1cs.System) { Pack(s, Bits(gadgettest.Bits(s, 254, 0))) },
		"uint64_alloc_input":   func(s r1cs.System) { PackInputs(s, Bits(AllocUint64(s, func() uint64 { return 7 }))) },
		"insert_2":             insertion(2, 1),
		"insert_4":             insertion(4, 2),
		"insert_8":             insertion(8, 3),
		"select_8": func(s r1cs.System) {
			v := gadgettest.Numbers(s, 8)
			Select(s, v, gadgettest.Bits(s, 3, 0))
		},
	} {
		t.Run(name, func(t *testing.T) { gadgettest.Digest(t, name, body) })
	}
}

func insertion(n, k int) func(r1cs.System) {
	return func(s r1cs.System) {
		v := gadgettest.Numbers(s, n)
		Insert(s, v[n-1], gadgettest.Bits(s, k, 0), v[:n-1])
	}
}

// TestInsertAgreesWithNative puts x at every position.
func TestInsertAgreesWithNative(t *testing.T) {
	for _, c := range []struct{ n, k int }{{2, 1}, {4, 2}, {8, 3}} {
		for index := range c.n {
			vals := make([]fr.Element, c.n)
			for i := range vals {
				vals[i] = gadgettest.Number(i)
			}
			var vars []r1cs.Var
			gadgettest.SameWitness(t,
				func(s r1cs.System) []r1cs.Var {
					vars = append(gadgettest.Numbers(s, c.n), gadgettest.Bits(s, c.k, uint64(index))...)
					return vars
				},
				func(s r1cs.System, v []r1cs.Var) {
					out := Insert(s, v[c.n-1], v[c.n:], v[:c.n-1])
					for i, want := range insertedAt(vals, index) {
						if s.Value(out[i]) != want {
							t.Fatalf("insert %d at %d: position %d differs", c.n, index, i)
						}
					}
				},
				func(w *r1cs.Writer) {
					all := make([]fr.Element, c.n)
					WriteInsert(w, &vals[c.n-1], index, vals[:c.n-1], all)
					for i, want := range insertedAt(vals, index) {
						if all[i] != want {
							t.Fatalf("write insert %d at %d: position %d differs", c.n, index, i)
						}
					}
				})
		}
	}
}

// insertedAt puts the last value at index among the others.
func insertedAt(vals []fr.Element, index int) []fr.Element {
	x, others := vals[len(vals)-1], vals[:len(vals)-1]
	out := append([]fr.Element{}, others[:index]...)
	return append(append(out, x), others[index:]...)
}

func TestSelectReadsTheIndex(t *testing.T) {
	for index := range 8 {
		r := r1cs.NewRunner()
		v := gadgettest.Numbers(r, 8)
		got := Select(r, v, gadgettest.Bits(r, 3, uint64(index)))
		if r.Failed >= 0 || r.Value(got) != r.Value(v[index]) {
			t.Errorf("index %d: wrong element or row %d fails", index, r.Failed)
		}
	}
}

// TestBitsSpellTheNumber decomposes edge values and packs them again.
func TestBitsSpellTheNumber(t *testing.T) {
	var top fr.Element
	top.SetInt64(-1)
	for _, x := range []fr.Element{{}, gadgettest.Number(1), top} {
		r := r1cs.NewRunner()
		bits := ToBits(r, r.Alloc(func() fr.Element { return x }))
		var sum fr.Element
		for k, b := range bits {
			if r.Bit(b) {
				p := Power(k)
				sum.Add(&sum, &p)
			}
		}
		if r.Failed >= 0 || sum != x {
			t.Errorf("%s: bits spell %s, row %d", x.String(), sum.String(), r.Failed)
		}
	}
}

func TestEveryVariableMatters(t *testing.T) {
	gadgettest.EveryVariableMatters(t, func(s r1cs.System) {
		v := gadgettest.Numbers(s, 2)
		Inputize(s, Mul(s, Add(s, v[0], v[1]), v[1]))
		ToBits(s, v[0])
		PackInputs(s, Bits(AllocUint64(s, func() uint64 { return 1 << 63 })))
		Pack(s, Bits(gadgettest.Bits(s, 5, 9)))
	})
}
