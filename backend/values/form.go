package values

import (
	"fmt"
	"math/big"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

// maxParts is how many cosets make up S. Each costs a step where keys are converted
// and some arithmetic where they are made.
const maxParts = 6

// waste is how far S may be above what the rows need, as a part of it, if fewer parts
// do.
const waste = 100

// Part is the points x_j = g·ω^j with j = From + t·2^(LogN-Log), t < 2^Log.
type Part struct{ Log, From int }

// Form is the choice of S for a domain of 2^LogN points.
type Form struct {
	LogN  int
	Parts []Part // the largest first

	omega, g fr.Element   // roots of order n and 2n, g² = ω
	levels   []fr.Element // x^(2^Log) on each part
}

// New is the form for that many rows, those of the inputs included. It fails for
// rows that fill the domain, or less than half of it, which no circuit has.
func New(rows, logN int) (*Form, error) {
	n := 1 << logN
	points := 0
	if logN >= 3 && logN <= 31 && rows-1 >= n/2 {
		points = coset(rows - 1)
	}
	if points == 0 || points >= n {
		return nil, fmt.Errorf("a quotient of %d rows in a domain of 2^%d is not written in values", rows, logN)
	}
	f := &Form{LogN: logN}
	var err error
	if f.g, err = fft.Generator(2 * uint64(n)); err != nil {
		return nil, err
	}
	f.omega.Square(&f.g)
	from := 0
	for points != 0 {
		log := bits.Len(uint(points)) - 1
		f.Parts = append(f.Parts, Part{log, from})
		f.levels = append(f.levels, f.level(log, from))
		from += 1 << (logN - log - 1)
		points ^= 1 << log
	}
	return f, nil
}

// coset is how many points S has where need are needed: the sum of as few powers of
// two as are not too many, or of maxParts.
func coset(need int) (points int) {
	for parts := 1; parts <= maxParts; parts++ {
		points = need
		for bits.OnesCount(uint(points)) > parts {
			points += points & -points
		}
		if points-need <= need/waste {
			break
		}
	}
	return points
}

// level is (g·ω^from)^(2^log).
func (f *Form) level(log, from int) (x fr.Element) {
	x.Exp(f.g, big.NewInt(int64(2*from+1)))
	for range log {
		x.Square(&x)
	}
	return x
}

// N is the size of the domain.
func (f *Form) N() int { return 1 << f.LogN }

// Points is |S|, the length of the list K.
func (f *Form) Points() (n int) {
	for _, p := range f.Parts {
		n += 1 << p.Log
	}
	return n
}

// Rows is how many rows there may be, the length of the list M.
func (f *Form) Rows() int { return f.Points() + 1 }

// Unused is |U|.
func (f *Form) Unused() int { return f.N() - f.Rows() }

// Index is where point s of the list K lies on the coset: x_s = g·ω^Index(s).
func (f *Form) Index(s int) int {
	for _, p := range f.Parts {
		if s < 1<<p.Log {
			return p.From + s<<(f.LogN-p.Log)
		}
		s -= 1 << p.Log
	}
	panic("values: a point beyond the list")
}

// Factor is x^Degree - Level, which vanishes on a part of S.
type Factor struct {
	Degree int
	Level  fr.Element
}

// Factors of Z_S.
func (f *Form) Factors() []Factor {
	out := make([]Factor, len(f.Parts))
	for i, p := range f.Parts {
		out[i] = Factor{1 << p.Log, f.levels[i]}
	}
	return out
}

// vanishS is Z_S(x).
func (f *Form) vanishS(x fr.Element) fr.Element {
	out := fr.One()
	for i := range f.Parts {
		d := f.factor(i, x)
		out.Mul(&out, &d)
	}
	return out
}

// factor is x^(2^Log) - level of a part.
func (f *Form) factor(part int, x fr.Element) fr.Element {
	for range f.Parts[part].Log {
		x.Square(&x)
	}
	x.Sub(&x, &f.levels[part])
	return x
}
