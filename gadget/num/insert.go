package num

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/r1cs"
)

// Insert puts x among the others at the position given by bits, lowest first,
// and returns the n = len(others) + 1 numbers in order; n is 2, 4 or 8. The
// order of picks is the reference's (circuits.md A.6).
func Insert(s r1cs.System, x r1cs.Var, bits, others []r1cs.Var) []r1cs.Var {
	switch len(others) + 1 {
	case 2:
		return insert2(s, x, bits, others)
	case 4:
		return insert4(s, x, bits, others)
	case 8:
		return insert8(s, x, bits, others)
	}
	panic("num: insertion exists for 2, 4 and 8 numbers")
}

func insert2(s r1cs.System, x r1cs.Var, b, e []r1cs.Var) []r1cs.Var {
	return []r1cs.Var{Pick(s, b[0], e[0], x), Pick(s, b[0], x, e[0])}
}

func insert4(s r1cs.System, x r1cs.Var, bit, e []r1cs.Var) []r1cs.Var {
	b, c, d := e[0], e[1], e[2]
	p0x0 := Pick(s, bit[0], b, x)
	p0 := Pick(s, bit[1], b, p0x0)
	p1x0 := Pick(s, bit[0], x, b)
	p1 := Pick(s, bit[1], c, p1x0)
	p2x1 := Pick(s, bit[0], d, x)
	p2 := Pick(s, bit[1], p2x1, c)
	p3x1 := Pick(s, bit[0], x, d)
	p3 := Pick(s, bit[1], p3x1, d)
	return []r1cs.Var{p0, p1, p2, p3}
}

func insert8(s r1cs.System, x r1cs.Var, bit, e []r1cs.Var) []r1cs.Var {
	nor := boolean.NorVars(s, bit[0], bit[1])
	and := boolean.AndVars(s, bit[0], bit[1])
	pick := func(c, a, b r1cs.Var) r1cs.Var { return Pick(s, c, a, b) }
	b0, b1, b2 := bit[0], bit[1], bit[2]
	var p [8]r1cs.Var
	p[0] = pick(b2, e[0], pick(nor, x, e[0]))
	p[1] = pick(b2, e[1], pick(b1, e[1], pick(b0, x, e[0])))
	p[2] = pick(b2, e[2], pick(b1, pick(b0, e[2], x), e[1]))
	p[3] = pick(b2, e[3], pick(and, x, e[2]))
	p[4] = pick(b2, pick(nor, x, e[4]), e[3])
	p[5] = pick(b2, pick(b1, e[5], pick(b0, x, e[4])), e[4])
	p[6] = pick(b2, pick(b1, pick(b0, e[6], x), e[5]), e[5])
	p[7] = pick(b2, pick(and, x, e[6]), e[6])
	return p[:]
}

// InsertCounts is how many bits and elements Insert allocates for n numbers.
func InsertCounts(n int) (bits, elements int) {
	switch n {
	case 2:
		return 0, 2
	case 4:
		return 0, 8
	}
	return 2, 20
}

// WriteInsert writes the values of Insert in order of allocation, the index
// being below len(others) + 1, and fills all with the numbers in order.
func WriteInsert(w *r1cs.Writer, x *fr.Element, index int, others, all []fr.Element) {
	b0, b1, b2 := index&1 == 1, index&2 == 2, index&4 == 4
	pick := func(c bool, a, b *fr.Element) *fr.Element {
		if !c {
			a = b
		}
		w.Element(a)
		return a
	}
	e := func(i int) *fr.Element { return &others[i] }
	switch len(others) + 1 {
	case 2:
		pick(b0, e(0), x)
		pick(b0, x, e(0))
	case 4:
		pick(b1, e(0), pick(b0, e(0), x))
		pick(b1, e(1), pick(b0, x, e(0)))
		pick(b1, pick(b0, e(2), x), e(1))
		pick(b1, pick(b0, x, e(2)), e(2))
	case 8:
		nor, and := !b0 && !b1, b0 && b1
		w.Bit(nor)
		w.Bit(and)
		pick(b2, e(0), pick(nor, x, e(0)))
		pick(b2, e(1), pick(b1, e(1), pick(b0, x, e(0))))
		pick(b2, e(2), pick(b1, pick(b0, e(2), x), e(1)))
		pick(b2, e(3), pick(and, x, e(2)))
		pick(b2, pick(nor, x, e(4)), e(3))
		pick(b2, pick(b1, e(5), pick(b0, x, e(4))), e(4))
		pick(b2, pick(b1, pick(b0, e(6), x), e(5)), e(5))
		pick(b2, pick(and, x, e(6)), e(6))
	default:
		panic("num: insertion exists for 2, 4 and 8 numbers")
	}
	copy(all[:index], others[:index])
	all[index] = *x
	copy(all[index+1:], others[index:])
}

// WriteSelect writes the values of Select in order of allocation.
func WriteSelect(w *r1cs.Writer, from []fr.Element, index int) {
	state := append([]fr.Element{}, from...)
	for half := len(state) / 2; half > 0; half /= 2 {
		at := 0
		if index&half != 0 {
			at = half
		}
		copy(state[:half], state[at:at+half])
		copy(w.Reserve(half), state[:half])
	}
}
