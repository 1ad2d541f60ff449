package affine

import (
	"context"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/testutil"
)

// Benchmarks print processor time a point, with gnark-crypto beside it where it
// has the operation.

func BenchmarkSum(b *testing.B) {
	benchSums(b, "G1", g1, bls12381.BatchScalarMultiplicationG1(&g1.base, scalars(1<<14)))
	benchSums(b, "G2", g2, bls12381.BatchScalarMultiplicationG2(&g2.base, scalars(1<<14)))
}

func benchSums[A comparable](b *testing.B, name string, g group[A], points []A) {
	for form, e := range g.forms {
		l := e.NewList(len(points))
		l.Load(points)
		s := e.NewSum()
		b.Run(name+"/"+form, func(b *testing.B) {
			testutil.CPUTime(b, len(points), func() { s.Add(l) })
		})
	}
}

func BenchmarkTable(b *testing.B) {
	s := scalars(1 << 13)
	benchTables(b, "G1", g1, 17, s, func(s []fr.Element) { bls12381.BatchScalarMultiplicationG1(&g1.base, s) })
	benchTables(b, "G2", g2, 13, s, func(s []fr.Element) { bls12381.BatchScalarMultiplicationG2(&g2.base, s) })
}

func benchTables[A comparable](b *testing.B, name string, g group[A], w int, s []fr.Element, gnark func([]fr.Element)) {
	out := make([]A, len(s))
	for form, e := range g.forms {
		t := e.NewTable(g.base, w)
		b.Run(fmt.Sprintf("%s/%d/%s", name, w, form), func(b *testing.B) {
			testutil.CPUTime(b, len(s), func() { t.Mul(out, s) })
		})
	}
	b.Run(name+"/gnark-crypto", func(b *testing.B) { testutil.CPUTime(b, len(s), func() { gnark(s) }) })
}

func BenchmarkMultiExp(b *testing.B) {
	for _, log := range []int{12, 15, 17} {
		s := scalars(1 << log)
		benchMultiExps(b, fmt.Sprintf("G1/2^%d", log), g1, G1, s, func(p []bls12381.G1Affine, s []fr.Element) {
			new(bls12381.G1Affine).MultiExp(p, s, ecc.MultiExpConfig{NbTasks: 2})
		})
		if log == 17 {
			continue
		}
		benchMultiExps(b, fmt.Sprintf("G2/2^%d", log), g2, G2, s, func(p []bls12381.G2Affine, s []fr.Element) {
			new(bls12381.G2Affine).MultiExp(p, s, ecc.MultiExpConfig{NbTasks: 2})
		})
	}
}

func benchMultiExps[A comparable](b *testing.B, name string, g group[A], e Engine[A], s []fr.Element, gnark func([]A, []fr.Element)) {
	points := make([]A, len(s))
	e.NewTable(g.base, 12).Mul(points, s)
	spent := make([]fr.Element, len(s))
	for form, e := range g.forms {
		l := e.NewList(len(points))
		l.Load(points)
		b.Run(name+"/"+form, func(b *testing.B) {
			testutil.CPUTime(b, len(s), func() {
				copy(spent, s)
				if _, err := multiExpOf(context.Background(), e, l, spent, 2); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
	b.Run(name+"/gnark-crypto", func(b *testing.B) { testutil.CPUTime(b, len(s), func() { gnark(points, s) }) })
}
