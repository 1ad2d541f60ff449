package r1cs

import (
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Writer appends values to an assignment in order of allocation, from a given
// place on. Several writers may fill disjoint stretches of one assignment at
// the same time: a writer owns whole words of bits while it is inside them and
// merges its first and last, shared ones atomically. Bits must be zero before.
type Writer struct {
	a       *Assignment
	input   int
	element int
	word    int    // index of the word that acc belongs to
	acc     uint64 // bits of the current word
	fill    uint   // number of bits of acc in use, from bit 0
	shared  bool   // the current word began before this writer
}

// NewWriter starts a writer at a place of a.
func NewWriter(a *Assignment, at Place) *Writer {
	return &Writer{a: a, input: at.Input, element: at.Element,
		word: at.Bit >> 6, fill: uint(at.Bit & 63), shared: at.Bit&63 != 0}
}

// Input appends a public input.
func (w *Writer) Input(x *fr.Element) { w.a.Inputs[w.input] = *x; w.input++ }

// Element appends a field element.
func (w *Writer) Element(x *fr.Element) { w.a.Elements[w.element] = *x; w.element++ }

// Reserve hands out the next n elements to be filled in place.
func (w *Writer) Reserve(n int) []fr.Element {
	s := w.a.Elements[w.element : w.element+n : w.element+n]
	w.element += n
	return s
}

// Bit appends one bit.
func (w *Writer) Bit(b bool) {
	var x uint64
	if b {
		x = 1
	}
	w.Word(x, 1)
}

// Word appends the n low bits of x, lowest first; n is 0 to 64 and the bits of
// x above them must be zero.
func (w *Writer) Word(x uint64, n uint) {
	w.acc |= x << w.fill
	if w.fill+n < 64 {
		w.fill += n
		return
	}
	w.put()
	rest := 64 - w.fill
	w.acc = 0
	if rest < 64 {
		w.acc = x >> rest
	}
	w.fill = w.fill + n - 64
	w.word++
	w.shared = false
}

func (w *Writer) put() {
	if w.shared {
		atomic.OrUint64(&w.a.Bits[w.word], w.acc)
		return
	}
	w.a.Bits[w.word] = w.acc
}

// Flush writes out the last, partial word. It must be called once, at the end
// of the writer's stretch; another writer may go on from there.
func (w *Writer) Flush() {
	if w.fill > 0 && w.acc != 0 {
		atomic.OrUint64(&w.a.Bits[w.word], w.acc)
	}
	w.acc, w.shared = 0, true
}

// Place is where the next value goes.
func (w *Writer) Place() Place {
	return Place{w.input, w.word<<6 + int(w.fill), w.element}
}

// Copy appends n values of each array (inputs, bits, elements by the counts) that
// stand at place from of the same assignment and are written already.
func (w *Writer) Copy(from Place, n Counts) {
	copy(w.a.Inputs[w.input:w.input+n.Inputs], w.a.Inputs[from.Input:])
	w.input += n.Inputs
	elements := n.Aux - n.Bits
	copy(w.a.Elements[w.element:w.element+elements], w.a.Elements[from.Element:])
	w.element += elements
	for at, left := from.Bit, n.Bits; left > 0; {
		k := min(left, 64-at&63)
		x := w.a.loadWord(at>>6) >> (at & 63)
		if k < 64 {
			x &= 1<<k - 1
		}
		w.Word(x, uint(k))
		at, left = at+k, left-k
	}
}

// loadWord reads a word that a writer next to it may be merging into.
func (a *Assignment) loadWord(i int) uint64 { return atomic.LoadUint64(&a.Bits[i]) }

// Fork returns a writer for the next n values and moves w past them: what is
// independent can be written in another order than it is allocated in. Both must
// be flushed.
func (w *Writer) Fork(n Counts) *Writer {
	w.Flush()
	at := w.Place()
	fork := NewWriter(w.a, at)
	*w = *NewWriter(w.a, at.Plus(1, n))
	return fork
}
