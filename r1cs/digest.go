package r1cs

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Summary is what is quoted of a circuit: sizes, non-zero terms of A, B, C, and
// the canonical digest D1.
//
// D1 is SHA-256 over every row in order, for each of A, B, C the number of
// non-zero terms (u32) and the terms (byte 0 input or 1 aux, u32 index, 32
// bytes canonical coefficient), then u64 inputs, aux and rows; all
// little-endian (circuits.md A.9). Per-input rows are not part of it.
type Summary struct {
	Counts
	NonZero [3]int
	D1      [32]byte
}

// rowHash serialises rows into D1.
type rowHash struct {
	h       hash.Hash
	buf     []byte
	full    chan []byte // to the hashing goroutine
	free    chan []byte
	done    chan struct{}
	nonZero [3]int
	rows    int
	coefs   [][32]byte // little-endian forms of the walk's table
}

const hashBuffer = 1 << 20

// newRowHash hashes in a goroutine of its own, which sum or stop ends.
func newRowHash() *rowHash {
	d := &rowHash{h: sha256.New(), full: make(chan []byte, 2), free: make(chan []byte, 3), done: make(chan struct{})}
	d.free <- make([]byte, 0, hashBuffer)
	d.free <- make([]byte, 0, hashBuffer)
	d.buf = make([]byte, 0, hashBuffer)
	go func() {
		defer close(d.done)
		for b := range d.full {
			d.h.Write(b)
			d.free <- b[:0]
		}
	}()
	return d
}

func (d *rowHash) flush() {
	d.full <- d.buf
	d.buf = <-d.free
}

// stop ends the hashing goroutine.
func (d *rowHash) stop() {
	close(d.full)
	<-d.done
}

const termBytes = 1 + 4 + fr.Bytes

func (d *rowHash) count(matrix, n int) {
	if len(d.buf)+4+n*termBytes > cap(d.buf) {
		d.flush()
	}
	if 4+n*termBytes > cap(d.buf) {
		d.buf = make([]byte, 0, 4+n*termBytes)
	}
	d.nonZero[matrix] += n
	d.buf = binary.LittleEndian.AppendUint32(d.buf, uint32(n))
}

func (d *rowHash) term(v Var, coef *[32]byte) {
	d.buf = append(d.buf, byte(v.Class()))
	d.buf = binary.LittleEndian.AppendUint32(d.buf, uint32(v.Index()))
	d.buf = append(d.buf, coef[:]...)
}

// row adds an expanded row.
func (d *rowHash) row(r *Row, coefs []fr.Element) {
	for len(d.coefs) < len(coefs) {
		d.coefs = append(d.coefs, littleEndian(&coefs[len(d.coefs)]))
	}
	for m, lc := range [3][]CTerm{r.A, r.B, r.C} {
		d.count(m, len(lc))
		for _, t := range lc {
			d.term(t.Var, &d.coefs[t.Coef])
		}
	}
	d.rows++
}

// sum ends the digest. n.Rows is taken from the rows seen.
func (d *rowHash) sum(n Counts) Summary {
	d.full <- d.buf
	d.stop()
	n.Rows = d.rows
	var tail [24]byte
	binary.LittleEndian.PutUint64(tail[0:], uint64(n.Inputs))
	binary.LittleEndian.PutUint64(tail[8:], uint64(n.Aux))
	binary.LittleEndian.PutUint64(tail[16:], uint64(n.Rows))
	d.h.Write(tail[:])
	s := Summary{Counts: n, NonZero: d.nonZero}
	d.h.Sum(s.D1[:0])
	return s
}

// littleEndian is the canonical 32-byte little-endian form.
func littleEndian(x *fr.Element) (b [32]byte) {
	fr.LittleEndian.PutElement(&b, *x)
	return b
}

// Summarize expands a compiled circuit row by row and digests it. progress may
// be nil; it gets the number of rows done, now and then, and ends the work by
// returning an error.
func (c *Compiled) Summarize(progress func(rows int) error) (Summary, error) {
	d := newRowHash()
	err := c.Walk(func(r *Row, coefs []fr.Element) error {
		d.row(r, coefs)
		if progress != nil && r.Index&(1<<18-1) == 0 {
			return progress(r.Index)
		}
		return nil
	})
	if err != nil {
		d.stop()
		return Summary{}, err
	}
	return d.sum(c.Counts()), nil
}

// PrefixDigests returns SHA-256 of the first n rows for each n of at, which
// must ascend: where two circuits begin to differ is found by bisection.
func PrefixDigests(circuit Circuit, at ...int) [][32]byte {
	d := NewDigester()
	d.prefixes = at
	circuit.Synthesize(d)
	d.rows.stop()
	return d.sums
}

// Digester is a System without values that digests a flat run: every gadget
// body is run where it is called. It is the independent path that compiled
// circuits are checked against.
type Digester struct {
	n        Counts
	rows     *rowHash
	prefixes []int
	sums     [][32]byte
}

// NewDigester starts a flat run; input 0 is One.
func NewDigester() *Digester { return &Digester{n: Counts{Inputs: 1}, rows: newRowHash()} }

// Summary ends the run.
func (d *Digester) Summary() Summary { return d.rows.sum(d.n) }

// Alloc implements System.
func (d *Digester) Alloc(func() fr.Element) Var { d.n.Aux++; return Aux(d.n.Aux - 1) }

// AllocBit implements System.
func (d *Digester) AllocBit(func() bool) Var { d.n.Bits++; return d.Alloc(nil) }

// AllocInput implements System.
func (d *Digester) AllocInput(func() fr.Element) Var { d.n.Inputs++; return Input(d.n.Inputs - 1) }

// Enforce implements System.
func (d *Digester) Enforce(a, b, c LC) {
	for m, lc := range [3]LC{a, b, c} {
		n := 0
		for i := range lc {
			if !lc[i].Coef.IsZero() {
				n++
			}
		}
		d.rows.count(m, n)
		for i := range lc {
			if !lc[i].Coef.IsZero() {
				le := littleEndian(&lc[i].Coef)
				d.rows.term(lc[i].Var, &le)
			}
		}
	}
	d.rows.rows++
	if k := len(d.sums); k < len(d.prefixes) && d.prefixes[k] == d.rows.rows {
		d.sums = append(d.sums, d.rows.prefix())
	}
}

// prefix is the digest of the rows so far.
func (d *rowHash) prefix() (out [32]byte) {
	d.flush()
	for len(d.free) < 2 { // both other buffers back: all is hashed
		b := <-d.free
		d.free <- b
	}
	d.h.Sum(out[:0])
	return out
}

// Call implements System.
func (d *Digester) Call(g Gadget, ports []Var) []Var { return g.Synthesize(d, ports) }

// Value implements System; a digester has none.
func (d *Digester) Value(Var) fr.Element { panic("r1cs: a digester has no values") }

// Bit implements System; a digester has none.
func (d *Digester) Bit(Var) bool { panic("r1cs: a digester has no values") }
