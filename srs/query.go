package srs

import (
	"fmt"
	"os"
	"runtime/debug"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
)

// Query is one list of points of a proving key, as the file has them.
//
// Its methods may be called from several goroutines on ranges of their own. They
// turn a fault (the file shrank, or the key was closed) into an error; whoever
// reads Raw directly does so inside [Guard].
type Query struct {
	Name string // h, l, a, b_g1 or b_g2
	N    int    // points
	Raw  []byte // 96 bytes a point in G1, 192 in G2

	mapped bool // Raw is part of a mapped file
}

// DecodeG1 fills dst with the points from, from+1, ... in Montgomery form. It
// checks flags and ranges, not the curve or the subgroup: the file's digest
// vouches for those, and [OnCurveG1] is there for files without one.
func (q Query) DecodeG1(dst []bls12381.G1Affine, from int) error {
	raw, err := q.slice(from, len(dst), g1Size)
	if err != nil {
		return err
	}
	return Guard(raw, func() error {
		for i := range dst {
			if err := decodeG1(&dst[i], raw[i*g1Size:]); err != nil {
				return q.pointError(from+i, err)
			}
		}
		return nil
	})
}

// DecodeG2 is DecodeG1 for the query b_g2.
func (q Query) DecodeG2(dst []bls12381.G2Affine, from int) error {
	raw, err := q.slice(from, len(dst), g2Size)
	if err != nil {
		return err
	}
	return Guard(raw, func() error {
		for i := range dst {
			if err := decodeG2(&dst[i], raw[i*g2Size:]); err != nil {
				return q.pointError(from+i, err)
			}
		}
		return nil
	})
}

// CopyRaw fills dst with the bytes of the points from, from+1, ... undecoded.
// The length of dst must be a whole number of points.
func (q Query) CopyRaw(dst []byte, from int) error {
	size := q.pointSize()
	if len(dst)%size != 0 {
		return fmt.Errorf("copy of query %s: %d bytes are not a whole number of points of %d", q.Name, len(dst), size)
	}
	raw, err := q.slice(from, len(dst)/size, size)
	if err != nil {
		return err
	}
	return Guard(raw, func() error { copy(dst, raw); return nil })
}

// Gather fills dst with the bytes of the points at the given positions. The
// length of dst must be theirs.
func (q Query) Gather(dst []byte, positions []uint32) error {
	size := q.pointSize()
	if len(dst) != len(positions)*size {
		return fmt.Errorf("gather of query %s: %d bytes are not those of %d points of %d", q.Name, len(dst), len(positions), size)
	}
	for _, k := range positions {
		if int64(k) >= int64(q.N) {
			return fmt.Errorf("query %s has %d points: number %d is not there", q.Name, q.N, k)
		}
	}
	return Guard(q.Raw, func() error {
		for i, k := range positions {
			copy(dst[i*size:(i+1)*size], q.Raw[int(k)*size:])
		}
		return nil
	})
}

// Release says that the points from, from+1, ... from+n-1 were read and are not
// needed soon: pages of a mapped file that hold nothing else are given back to
// the system, which keeps them as long as it has memory to spare. Reading them
// again is correct and costs a page fault each.
func (q Query) Release(from, n int) {
	raw, err := q.slice(from, n, q.pointSize())
	if err != nil || !q.mapped || len(raw) == 0 {
		return
	}
	page := uintptr(os.Getpagesize())
	start := uintptr(unsafe.Pointer(&raw[0]))
	skip := (page - start%page) % page
	if size := uintptr(len(raw)); skip < size {
		if whole := (size - skip) / page * page; whole > 0 {
			release(raw[skip : skip+whole])
		}
	}
}

func (q Query) pointSize() int {
	if q.Name == nameB2 {
		return g2Size
	}
	return g1Size
}

func (q Query) slice(from, n, size int) ([]byte, error) {
	if size != q.pointSize() {
		return nil, fmt.Errorf("query %s has points of %d bytes, not %d", q.Name, q.pointSize(), size)
	}
	if from < 0 || from > q.N || n > q.N-from {
		return nil, fmt.Errorf("query %s has %d points: %d from %d are not there", q.Name, q.N, n, from)
	}
	return q.Raw[from*size : (from+n)*size], nil
}

func (q Query) pointError(i int, err error) error {
	return fmt.Errorf("%w: query %s, point %d of %d: %w", ErrCorrupt, q.Name, i, q.N, err)
}

// Guard runs a function that reads mapped bytes of a key. A fault inside raw,
// which is what the system sends when the file has become shorter than its
// mapping, is returned as an error; any other panic goes on. The function must
// read in the goroutine that it is called in.
func Guard(raw []byte, read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		fault, ok := r.(interface{ Addr() uintptr })
		if !ok || !inside(raw, fault.Addr()) {
			panic(r)
		}
		err = fmt.Errorf("%w: the file became shorter, or the key was closed, while it was being read; put the file back and load the key again", ErrCorrupt)
	}()
	return read()
}

// inside tells whether an address lies in the pages of raw. Copies may fault at
// an address rounded to their word size, hence pages.
func inside(raw []byte, addr uintptr) bool {
	const page = 4096
	if len(raw) == 0 {
		return false
	}
	start := uintptr(unsafe.Pointer(&raw[0]))
	return addr >= start&^(page-1) && addr < (start+uintptr(len(raw))+page-1)&^(page-1)
}
