package cuda

import (
	"fmt"
	"math"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
)

const (
	sliceRows  = 32   // rows of a slice, one a lane
	longTerms  = 16   // a combination of more terms is read by a whole warp
	smallLimit = 16   // multiples of one that a table holds
	coefBits   = 20   // of a coefficient's index in a term
	coefSmall  = 2047 // small coefficients are in [-coefSmall, coefSmall]
	coefLarge  = -2048
)

// rowsPack is a circuit as kernels/rows/program.cuh reads it.
type rowsPack struct {
	templates []packTemplate
	instances []r1cs.Instance
	slices    []packSlice
	longs     []packLong
	terms     []packTerm
	ports     []r1cs.Ref
	coefs     []fr.Element
	small     []fr.Element // -smallLimit ... smallLimit

	units, longUnits int // slices and long combinations of all instances
}

// packTemplate is template_t.
type packTemplate struct {
	firstUnit, slices, slice, firstLong, longs, combination, instance, _ uint32
}

// packSlice is slice_t.
type packSlice struct{ row, first, shape, _ uint32 }

// packLong is long_t.
type packLong struct{ row, first, count, matrix uint32 }

// packTerm is term_t.
type packTerm struct{ ref, coef uint32 }

// packProgram cuts the rows of every template into slices.
func packProgram(p *r1cs.Program) (*rowsPack, error) {
	k := &rowsPack{instances: p.Instances, ports: p.Ports, coefs: p.Coefs, small: smallMultiples()}
	if len(p.Coefs) > 1<<coefBits {
		return nil, fmt.Errorf("%d distinct coefficients, a device takes 2^%d", len(p.Coefs), coefBits)
	}
	codes := make([]uint32, len(p.Coefs))
	for i := range codes {
		codes[i] = coefCode(i, &p.Coefs[i])
	}
	for i := range p.Templates {
		k.template(&p.Templates[i], codes)
	}
	if max(k.units, k.longUnits, len(k.terms)) > math.MaxUint32/64 {
		return nil, fmt.Errorf("circuit of %d rows is too large for a device", p.Counts.Rows)
	}
	return k, nil
}

func smallMultiples() []fr.Element {
	out := make([]fr.Element, 2*smallLimit+1)
	for i := range out {
		out[i].SetInt64(int64(i - smallLimit))
	}
	return out
}

// coefCode is the coefficient part of a term: the index, and above it the value
// if that is small.
func coefCode(index int, x *fr.Element) uint32 {
	value := int32(coefLarge)
	var minus fr.Element
	minus.Neg(x)
	switch {
	case x.IsUint64() && x.Uint64() <= coefSmall:
		value = int32(x.Uint64())
	case minus.IsUint64() && minus.Uint64() <= coefSmall:
		value = -int32(minus.Uint64())
	}
	return uint32(value)<<coefBits | uint32(index)
}

func (k *rowsPack) template(t *r1cs.ProgramTemplate, codes []uint32) {
	out := packTemplate{
		firstUnit: uint32(k.units), firstLong: uint32(k.longUnits), instance: uint32(t.First),
		slice: uint32(len(k.slices)), combination: uint32(len(k.longs)),
	}
	for _, s := range t.Stretches {
		for at := 0; at < s.Rows; at += sliceRows {
			k.slice(t, r1cs.Stretch{Row: s.Row + at, First: s.First + at, Rows: min(sliceRows, s.Rows-at)}, codes)
		}
	}
	out.slices, out.longs = uint32(len(k.slices))-out.slice, uint32(len(k.longs))-out.combination
	k.units += int(out.slices) * t.Count
	k.longUnits += int(out.longs) * t.Count
	k.templates = append(k.templates, out)
}

// slice lays out at most sliceRows rows and files their long combinations.
func (k *rowsPack) slice(t *r1cs.ProgramTemplate, s r1cs.Stretch, codes []uint32) {
	out := packSlice{row: uint32(s.Row), shape: uint32(s.Rows)}
	var rows [3][sliceRows][]r1cs.ProgramTerm
	for m := range rows {
		width := 0
		for i := range s.Rows {
			lc := t.Row(s.First+i, m)
			if len(lc) > longTerms {
				k.long(lc, uint32(s.Row+i), uint32(m), codes)
				continue
			}
			rows[m][i], width = lc, max(width, len(lc))
		}
		out.shape |= uint32(width) << (8 + 8*m)
	}
	out.first = uint32(len(k.terms))
	for m := range rows {
		for j := range out.shape >> (8 + 8*m) & 255 {
			for i := range rows[m] {
				term := packTerm{} // one times zero
				if int(j) < len(rows[m][i]) {
					term = packTerm{uint32(rows[m][i][j].Ref), codes[rows[m][i][j].Coef]}
				}
				k.terms = append(k.terms, term)
			}
		}
	}
	k.slices = append(k.slices, out)
}

func (k *rowsPack) long(lc []r1cs.ProgramTerm, row, matrix uint32, codes []uint32) {
	k.longs = append(k.longs, packLong{row: row, first: uint32(len(k.terms)), count: uint32(len(lc)), matrix: matrix})
	for _, t := range lc {
		k.terms = append(k.terms, packTerm{uint32(t.Ref), codes[t.Coef]})
	}
}

// sections are the arrays in the order of program_t.
func (k *rowsPack) sections() [][]byte {
	return [][]byte{
		rawBytes(k.templates), rawBytes(k.instances), rawBytes(k.slices), rawBytes(k.longs),
		rawBytes(k.terms), rawBytes(k.ports), rawBytes(k.coefs), rawBytes(k.small),
	}
}

// bytes is the device memory of the program with its descriptor.
func (k *rowsPack) bytes() int64 {
	n := int64(sectionAlign) // the descriptor
	for _, s := range k.sections() {
		n += aligned(int64(len(s)))
	}
	return n
}

// sectionAlign is how parts of one allocation are aligned.
const sectionAlign = 256

func aligned(n int64) int64 { return (max(n, 1) + sectionAlign - 1) &^ (sectionAlign - 1) }
