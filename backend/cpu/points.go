package cpu

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	"cuzk/internal/affine"
	"cuzk/srs"
)

// cores is how many goroutines share a piece of work.
func cores() int { return runtime.GOMAXPROCS(0) }

// chunkPoints is the number of points that a goroutine reads at a time: some
// hundred kilobytes.
const chunkPoints = 1 << 11

// points is one list of a key, read from the mapped file as it is used. A is
// gnark-crypto's form of a point.
type points[A any] struct {
	from   srs.Query
	size   int                           // bytes of a point
	decode func(dst []A, from int) error // for what the engine does not decode
}

func pointsG1(q srs.Query) points[bls12381.G1Affine] {
	return points[bls12381.G1Affine]{q, bls12381.SizeOfG1AffineUncompressed, q.DecodeG1}
}

func pointsG2(q srs.Query) points[bls12381.G2Affine] {
	return points[bls12381.G2Affine]{q, bls12381.SizeOfG2AffineUncompressed, q.DecodeG2}
}

// reader reads points with one goroutine.
type reader[A any] struct {
	points[A]
	raw []byte
	own []A
}

func (p points[A]) reader() *reader[A] {
	return &reader[A]{points: p, raw: make([]byte, chunkPoints*p.size)}
}

// positions reads the points at ascending positions, chunkPoints at most, into
// a list of their number.
func (r *reader[A]) positions(to affine.List[A], positions []uint32) error {
	if len(positions) == 0 {
		return nil
	}
	raw := r.raw[:len(positions)*r.size]
	if err := r.from.Gather(raw, positions); err != nil {
		return err
	}
	first, last := int(positions[0]), int(positions[len(positions)-1])
	r.from.Release(first, last+1-first)
	if to.Decode(raw) {
		return nil
	}
	return r.load(to, positions)
}

// load decodes points one by one, in runs of neighbours, and says which is bad.
func (r *reader[A]) load(to affine.List[A], positions []uint32) error {
	if r.own == nil {
		r.own = make([]A, chunkPoints)
	}
	own := r.own[:len(positions)]
	for i := 0; i < len(positions); {
		n := 1 // length of the run
		for i+n < len(positions) && positions[i+n] == positions[i]+uint32(n) {
			n++
		}
		if err := r.decode(own[i:i+n], int(positions[i])); err != nil {
			return err
		}
		i += n
	}
	to.Load(own)
	return nil
}

// read reads the points at ascending positions into a list on all cores.
func (p points[A]) read(ctx context.Context, to affine.List[A], positions []uint32) error {
	return each(ctx, (len(positions)+chunkPoints-1)/chunkPoints, func() func(int) error {
		r := p.reader()
		return func(i int) error {
			at, end := i*chunkPoints, min((i+1)*chunkPoints, len(positions))
			return r.positions(to.Part(at, end), positions[at:end])
		}
	})
}

// each runs pieces 0 to n-1 on all cores and returns the first error, or the
// context's. worker is called once a goroutine and returns what runs a piece,
// so that goroutines can have scratch of their own.
func each(ctx context.Context, n int, worker func() func(piece int) error) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, min(n, cores()))
	for k := range errs {
		run := worker()
		wg.Go(func() {
			for errs[k] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[k] = ctx.Err(); errs[k] == nil {
					errs[k] = run(i)
				}
			}
			next.Store(int64(n)) // the others stop
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
