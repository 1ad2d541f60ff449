package cuda

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	gpu "cuzk/cuda"
)

// Summer computes sums of points on one device: sums of multiples (MSM), sums
// over bits, and many multiples of one point.
//
// Points lie in device memory as gnark-crypto keeps them (G1Affine 96 bytes,
// G2Affine 192 bytes, Montgomery form, infinity all zero), scalars as 32 bytes,
// bits as words of 32 bits, lowest first. Every point may be infinity, equal or
// opposite to another; scalars may have any distribution. The device adds affine
// points by lists (kernels/msm/ops.cuh); the host adds the last few hundred.
//
// The method: scalars become signed digits of W windows; digits are sorted by
// window and magnitude; each bucket is summed by a binary tree, then the buckets
// of a window by rows, columns and index bits (kernels/msm/msm_tree.cu).
//
// A Summer is bound to one stream: calls of one Summer must not overlap. All
// Summers of an owner share the code, so one for each stream is cheap.
type Summer struct {
	dev        device
	code       *sumCode
	exceptions atomic.Uint64
	windows    int // of every MSM; 0 lets the plan choose
}

// ScalarForm says how scalars are encoded.
type ScalarForm int

const (
	// Canonical scalars are integers below 2^256, little endian, taken mod r.
	Canonical ScalarForm = iota
	// Montgomery scalars are fr.Element, reduced.
	Montgomery
)

// curve is what differs between the groups on the device.
type curve struct {
	ops          string // kernel of additions
	point, field int64  // bytes
	stage        int    // bytes of a warp's stage_t (kernels/msm/ops_async.cuh)
}

var (
	curveG1 = curve{"g1_ops", bls12381.SizeOfG1AffineUncompressed, 48, 11776}
	curveG2 = curve{"g2_ops", bls12381.SizeOfG2AffineUncompressed, 96, 23552}
)

// NewSummer loads the kernels of sums on the owner's device. The stream must come
// from NewStream; Close leaves it open.
func NewSummer(o *gpu.Owner, s gpu.Stream) (*Summer, error) {
	var code *sumCode
	err := o.Do(func(c *gpu.Context) (err error) {
		code, err = loadSums(c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load the kernels of sums: %w", err)
	}
	return (&Summer{code: code}).onStream(o, s)
}

// On returns a Summer for another stream that shares the loaded code. Close it
// before the first.
func (s *Summer) On(stream gpu.Stream) (*Summer, error) {
	d, ok := s.dev.(*card)
	if !ok {
		return nil, fmt.Errorf("no streams on this device")
	}
	return (&Summer{code: s.code}).onStream(d.owner, stream)
}

func (s *Summer) onStream(o *gpu.Owner, stream gpu.Stream) (*Summer, error) {
	d := &card{owner: o, stream: stream, code: s.code}
	err := o.Do(func(c *gpu.Context) (err error) {
		for i := range d.marks {
			if d.marks[i], err = c.NewEvent(); err != nil {
				return err
			}
		}
		return nil
	})
	return &Summer{dev: d, code: s.code}, err
}

// Close releases the events of the Summer; the kernels stay loaded with the
// owner's context.
func (s *Summer) Close() error {
	d, ok := s.dev.(*card)
	if !ok {
		return nil
	}
	return d.owner.Do(func(c *gpu.Context) error {
		for _, e := range d.marks {
			if err := c.CloseEvent(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Exceptions counts the additions of equal or opposite points so far. In sums
// over the points of an honest key it stays near zero.
func (s *Summer) Exceptions() uint64 { return s.exceptions.Load() }

// Profile starts timing the stages of the calls that follow.
func (s *Summer) Profile() {
	if d, ok := s.dev.(*card); ok {
		d.stages = &stageLog{}
	}
}

// Stages returns the device times since Profile and stops timing.
func (s *Summer) Stages() (out []StageTime, err error) {
	d, ok := s.dev.(*card)
	if !ok || d.stages == nil {
		return nil, nil
	}
	log := d.stages
	d.stages = nil
	err = d.owner.Do(func(c *gpu.Context) (err error) {
		if err = c.SyncStream(d.stream); err == nil {
			out, err = log.take(c)
		}
		return err
	})
	return out, err
}

// Scalars are the multipliers of an MSM in device memory.
type Scalars struct {
	Memory gpu.Memory // 32 bytes each
	Count  int
	Form   ScalarForm
}

// MSMG1 returns the sum of scalars[i] * points[i]. scratch is memory for the time
// of the call, at least MSMScratch's minimum; with more of it fewer passes are
// made. The points must be as many as the scalars.
func (s *Summer) MSMG1(ctx context.Context, points gpu.Memory, k Scalars, scratch gpu.Memory) (bls12381.G1Affine, error) {
	var p bls12381.G1Affine
	terms, err := s.msm(ctx, curveG1, points, k, scratch)
	if err != nil {
		return p, fmt.Errorf("sum of %d multiples in G1: %w", k.Count, err)
	}
	sum := weightedSum(terms, decodeG1, func(acc *bls12381.G1Jac) { acc.DoubleAssign() },
		func(acc *bls12381.G1Jac, p *bls12381.G1Affine) { acc.AddMixed(p) })
	p.FromJacobian(&sum)
	return p, nil
}

// MSMG2 is MSMG1 in G2.
func (s *Summer) MSMG2(ctx context.Context, points gpu.Memory, k Scalars, scratch gpu.Memory) (bls12381.G2Affine, error) {
	var p bls12381.G2Affine
	terms, err := s.msm(ctx, curveG2, points, k, scratch)
	if err != nil {
		return p, fmt.Errorf("sum of %d multiples in G2: %w", k.Count, err)
	}
	sum := weightedSum(terms, decodeG2, func(acc *bls12381.G2Jac) { acc.DoubleAssign() },
		func(acc *bls12381.G2Jac, p *bls12381.G2Affine) { acc.AddMixed(p) })
	p.FromJacobian(&sum)
	return p, nil
}

// terms are points with powers of two as weights.
type terms struct {
	points    []byte // affine, as on the device
	exponents []int  // of the weights, one a point
}

// decodeG1 reads a point as the device stores it.
func decodeG1(b []byte) (p bls12381.G1Affine) {
	words(p.X[:], b)
	words(p.Y[:], b[48:])
	return p
}

func decodeG2(b []byte) (p bls12381.G2Affine) {
	words(p.X.A0[:], b)
	words(p.X.A1[:], b[48:])
	words(p.Y.A0[:], b[96:])
	words(p.Y.A1[:], b[144:])
	return p
}

// weightedSum adds 2^e P over the terms, by doubling from the highest exponent
// down. A zero Jacobian is infinity.
func weightedSum[A, J any](t terms, decode func([]byte) A, double func(*J), add func(*J, *A)) J {
	var acc J
	top := 0
	byExponent := map[int][]int{}
	for i, e := range t.exponents {
		byExponent[e] = append(byExponent[e], i)
		top = max(top, e)
	}
	size := 0
	if len(t.exponents) > 0 {
		size = len(t.points) / len(t.exponents)
	}
	for e := top; e >= 0; e-- {
		double(&acc)
		for _, i := range byExponent[e] {
			p := decode(t.points[i*size:])
			add(&acc, &p)
		}
	}
	return acc
}
