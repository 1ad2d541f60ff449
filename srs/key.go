package srs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Names of the queries, in file order.
const (
	nameH  = "h"
	nameL  = "l"
	nameA  = "a"
	nameB1 = "b_g1"
	nameB2 = "b_g2"
)

// Key is a proving key. The verifying key is decoded, the queries stay in the
// file, which is mapped read-only: opening a key of 60 GB costs no memory, and
// pages come in as they are decoded.
//
// The mapping belongs to the file that was open, not to its name: replacing the
// file by another of the same name leaves an open key as it was. Writing into
// the file changes the key under its user; [Key.Changed] tells.
//
// A key may be read from many goroutines. Close only after the last reader is
// done.
type Key struct {
	ID       ID     // the circuit; zero for a key opened by path alone
	Path     string // the file; empty for a key in memory
	Official bool   // the digest is the published one
	Digest   string // first 16 bytes of BLAKE2b-512 in hex; empty if it was not asked for
	VK       *VerifyingKey

	H  Query // m-1 points: powers of tau times (tau^m-1)/delta
	L  Query // every aux variable
	A  Query // every input, then the aux variables dense in matrix A
	B1 Query // the inputs, then the aux variables dense in matrix B, in G1
	B2 Query // the same in G2

	Values *Values // nil if the key has none

	file  *os.File
	data  []byte
	stamp stamp
}

// NewKey makes a key of the bytes of a .params file held in memory.
func NewKey(data []byte) (*Key, error) {
	n, err := vkLength(data, int64(len(data)))
	if err != nil {
		return nil, err
	}
	k := &Key{data: data}
	if err := k.split(int(n)); err != nil {
		return nil, err
	}
	if k.VK, err = decodeVK(data); err != nil {
		return nil, err
	}
	return k, nil
}

// split finds the five queries behind the verifying key. It reads nothing but
// their lengths.
func (k *Key) split(off int) error {
	for _, q := range k.queries() {
		if len(k.data)-off < countSize {
			return fmt.Errorf("%w: cut short before query %s", ErrCorrupt, q.Name)
		}
		n := int64(binary.BigEndian.Uint32(k.data[off:]))
		off += countSize
		size := int64(q.pointSize())
		if n*size > int64(len(k.data)-off) {
			return cutShort(q.Name, n, int64(len(k.data)-off)/size)
		}
		end := off + int(n*size)
		q.N, q.Raw = int(n), k.data[off:end:end]
		off = end
	}
	if extra := len(k.data) - off; extra > 0 {
		return fmt.Errorf("%w: %d bytes too many at the end", ErrCorrupt, extra)
	}
	if k.B1.N != k.B2.N {
		return fmt.Errorf("%w: b has %d points in G1 and %d in G2", ErrCorrupt, k.B1.N, k.B2.N)
	}
	return nil
}

// queries names and lists the five in file order.
func (k *Key) queries() []*Query {
	k.H.Name, k.L.Name, k.A.Name, k.B1.Name, k.B2.Name = nameH, nameL, nameA, nameB1, nameB2
	return []*Query{&k.H, &k.L, &k.A, &k.B1, &k.B2}
}

// Shape is the number of points in each list.
func (k *Key) Shape() Shape {
	return Shape{Inputs: len(k.VK.IC), H: k.H.N, L: k.L.N, A: k.A.N, B: k.B1.N}
}

// Bytes is the size of the file.
func (k *Key) Bytes() int64 { return int64(len(k.data)) }

// mapFile maps an open file and parses it. The key owns the file from then on;
// on error the caller still does.
func mapFile(f *os.File) (*Key, error) {
	st, err := stampOf(f)
	if err != nil {
		return nil, err
	}
	if st.Size < vkHeader+g1Size || int64(int(st.Size)) != st.Size {
		return nil, fmt.Errorf("%w: %d bytes cannot be a key", ErrCorrupt, st.Size)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", st.Size, err)
	}
	var k *Key
	err = Guard(data, func() (err error) { k, err = NewKey(data); return err })
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(data))
	}
	k.file, k.stamp, k.Path = f, st, f.Name()
	for _, q := range k.queries() {
		q.mapped = true
	}
	return k, nil
}

// Changed returns an error if the file was written to, cut or extended since it
// was opened. A key in memory never changes.
func (k *Key) Changed() error {
	if k.file == nil {
		return nil
	}
	now, err := stampOf(k.file)
	if err != nil {
		return fmt.Errorf("look at key %s: %w", k.Path, err)
	}
	if !now.sameContent(k.stamp) {
		return fmt.Errorf("%w: %s was changed while it was in use; load the key again", ErrCorrupt, k.Path)
	}
	return k.Values.changed()
}

// Close ends the mapping. Queries must not be read afterwards.
func (k *Key) Close() error {
	if k.file == nil {
		return nil
	}
	err := errors.Join(unix.Munmap(k.data), k.file.Close(), k.Values.close())
	k.file = nil
	return err
}

// checkChunk is the number of points decoded at a time by CheckPoints.
const checkChunk = 1 << 12

// CheckPoints decodes every point of every query and tests that it is on its
// curve: 0.2 microseconds a point in G1, twice that in G2, on one core. It finds
// damage in keys that no published digest vouches for. progress may be nil.
func (k *Key) CheckPoints(ctx context.Context, progress func(done, total int)) error {
	g, stop := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	total, done := k.H.N+k.L.N+k.A.N+2*k.B1.N, 0
	for _, q := range k.queries() {
		for from := 0; from < q.N && stop.Err() == nil; from += checkChunk {
			n := min(checkChunk, q.N-from)
			g.Go(func() error { return q.check(from, n) })
			if done += n; progress != nil {
				progress(done, total)
			}
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// check decodes n points and tests the curve.
func (q Query) check(from, n int) error {
	if q.Name == nameB2 {
		p := make([]bls12381.G2Affine, n)
		if err := q.DecodeG2(p, from); err != nil {
			return err
		}
		return q.at(from, OnCurveG2(p))
	}
	p := make([]bls12381.G1Affine, n)
	if err := q.DecodeG1(p, from); err != nil {
		return err
	}
	return q.at(from, OnCurveG1(p))
}

func (q Query) at(from int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("query %s, points from %d: %w", q.Name, from, err)
}
