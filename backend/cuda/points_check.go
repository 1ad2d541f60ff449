package cuda

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	forms "cuzk/backend/values"
	gpu "cuzk/cuda"
)

// ErrWrongValues: lists K and M do not belong to the list h of a key.
var ErrWrongValues = errors.New("the lists of values do not give what the key's list h gives")

// RandomSample is the numbers of a check by a seed that nobody knows. The host must
// have five vectors of f.N() elements free.
func RandomSample(ctx context.Context, f *forms.Form, rows int) (*forms.Sample, error) {
	var seed [32]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, fmt.Errorf("random numbers for a check: %w", err)
	}
	return f.Sample(ctx, rows, seed)
}

// CheckValues compares sums over lists K and M with those over h, for random values
// on the rows (see [cuzk/backend/values.Sample]). The numbers are the host's; the
// device adds up points, by other kernels than those that Values uses. progress, which
// may be nil, gets a part of the sums.
func (b *Backend) CheckValues(ctx context.Context, sample *forms.Sample, h, k, m PointSource, progress func(done float64)) error {
	s, err := b.stand()
	if err != nil {
		return err
	}
	return errors.Join(checkOn(ctx, s, checkPiece, sample, h, k, m, progress), s.close())
}

// checkPiece is how many multiples are summed at a time on a card.
const checkPiece = 1 << 23

// checkOn is CheckValues on a machine.
func checkOn(ctx context.Context, machine machine, piece int, sample *forms.Sample, h, k, m pointSource, progress func(float64)) error {
	c := &listSums{machine: machine, hold: holding{m: machine}, piece: piece, report: progress}
	c.all = len(sample.P) + len(sample.C) + len(sample.H)
	left, right, err := c.both(ctx, sample, h, k, m)
	if err = errors.Join(err, c.hold.free()); err != nil {
		return fmt.Errorf("check of a quotient in values: %w", err)
	}
	if !left.Equal(&right) {
		return ErrWrongValues
	}
	return nil
}

// listSums adds up multiples of points that lie in files.
type listSums struct {
	machine machine
	hold    holding
	piece   int

	raw, points, scalars, bad, scratch gpu.Memory

	done, all int
	report    func(float64)
}

func (c *listSums) both(ctx context.Context, s *forms.Sample, h, k, m pointSource) (left, right bls12381.G1Affine, err error) {
	if err = c.prepare(); err != nil {
		return left, right, err
	}
	if left, err = c.sum(ctx, k, s.P); err != nil {
		return left, right, err
	}
	part, err := c.sum(ctx, m, s.C)
	if err != nil {
		return left, right, err
	}
	left.Add(&left, &part)
	right, err = c.sum(ctx, h, s.H)
	return left, right, err
}

func (c *listSums) prepare() (err error) {
	points := int64(min(c.piece, c.all))
	scratch := scratchFor(c.machine.facts(), int(points))
	for _, a := range []struct {
		to    *gpu.Memory
		bytes int64
	}{
		{&c.raw, points * curveG1.point}, {&c.points, points * curveG1.point}, {&c.scalars, points * fr.Bytes}, {&c.bad, 4}, {&c.scratch, scratch},
	} {
		if *a.to, err = c.hold.alloc(a.bytes); err != nil {
			return err
		}
	}
	return c.machine.do(func(q queue) error { return q.fill(c.bad, 0) })
}

// checkScratch is the most scratch memory that sums are given.
const checkScratch = 4 << 30

// scratchFor is what the fastest plan takes that takes no more than that, or the
// smallest one.
func scratchFor(f facts, n int) (bytes int64) {
	for _, c := range choicesFor(f, curveG1, n, 0) {
		if bytes = c.bytes; bytes <= checkScratch {
			break
		}
	}
	return bytes
}

// sum is Σ numbers[i]·list[i].
func (c *listSums) sum(ctx context.Context, list pointSource, numbers []fr.Element) (sum bls12381.G1Affine, err error) {
	size := curveG1.point
	for from := 0; from < len(numbers); from += c.piece {
		part := numbers[from:min(from+c.piece, len(numbers))]
		n := int64(len(part))
		raw := c.raw.Slice(0, n*size)
		if err := c.machine.send(ctx, raw, func(dst []byte, off int64) error { return list.CopyRaw(dst, from+int(off/size)) }); err != nil {
			return sum, err
		}
		if err := c.machine.send(ctx, c.scalars.Slice(0, n*fr.Bytes), bytesOf(rawBytes(part))); err != nil {
			return sum, err
		}
		err := enqueue(c.machine, func(s *steps) { s.launch("key_g1", perPoint(int(n)), raw, uint32(n), c.points, c.bad) })
		if err == nil {
			err = settle(ctx, c.machine) // sums may run on another stream
		}
		if err != nil {
			return sum, err
		}
		p, err := c.machine.summer().MSMG1(ctx, c.points.Slice(0, n*size), Scalars{c.scalars.Slice(0, n*fr.Bytes), int(n), Montgomery}, c.scratch)
		if err != nil {
			return sum, err
		}
		sum.Add(&sum, &p)
		if c.done += len(part); c.report != nil {
			c.report(float64(c.done) / float64(c.all))
		}
	}
	return sum, nil
}
