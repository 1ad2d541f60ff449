// Package synth says what a finished witness is: its digests in the
// reference's order, and whether it satisfies its circuit.
//
// Direct witness generators stand beside their circuits; here is what holds
// for all of them. The canonical form of a witness is the list of its aux
// values, 32 bytes little-endian each, in order of allocation; that is what the
// reference's digests are over.
package synth

import (
	"context"
	"crypto/sha256"
	"hash"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
)

// Chunk is the number of values under one of the short digests.
const Chunk = 1 << 16

// Summary describes a witness as the reference does.
type Summary struct {
	Aux    int
	Bits   int       // how many values are 0 or 1, whatever their kind
	SHA256 [32]byte  // over all values
	Chunks [][8]byte // first bytes of SHA-256 over each run of Chunk values
	Kinds  [2]int    // element and bit variables
}

// Summarize streams the aux values through the digests. progress may be nil; it
// gets the number of values done. Memory: a few MiB, whatever the witness.
func Summarize(ctx context.Context, c *r1cs.Compiled, w *r1cs.Assignment, progress func(done int)) (*Summary, error) {
	if err := c.Fits(w); err != nil {
		return nil, err
	}
	s := &Summary{Aux: w.Aux(), Kinds: [2]int{len(w.Elements), w.NumBits}}
	d := &digester{all: sha256.New(), part: sha256.New()}
	values := make([]fr.Element, Chunk)
	buf := make([]byte, Chunk*fr.Bytes)
	for at := 0; at < s.Aux; at += Chunk {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		v := values[:min(Chunk, s.Aux-at)]
		if err := c.AuxValues(w, at, v); err != nil {
			return nil, err
		}
		s.Bits += encode(buf, v)
		s.Chunks = append(s.Chunks, d.chunk(buf[:len(v)*fr.Bytes]))
		if progress != nil {
			progress(at + len(v))
		}
	}
	d.all.Sum(s.SHA256[:0])
	return s, nil
}

type digester struct{ all, part hash.Hash }

// chunk adds a run of values to both digests, side by side.
func (d *digester) chunk(b []byte) (short [8]byte) {
	done := make(chan struct{})
	go func() { d.all.Write(b); close(done) }()
	d.part.Reset()
	d.part.Write(b)
	copy(short[:], d.part.Sum(nil))
	<-done
	return short
}

// encode writes values canonically and counts those that are 0 or 1.
func encode(buf []byte, v []fr.Element) (bits int) {
	for i := range v {
		fr.LittleEndian.PutElement((*[fr.Bytes]byte)(buf[i*fr.Bytes:]), v[i])
		if v[i].IsZero() || v[i].IsOne() {
			bits++
		}
	}
	return bits
}
