package vanilla

import (
	"encoding/binary"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Reader reads bincode. The first fault sticks: after it every read gives zero
// and Err the fault, so that a decoder need not ask after each field.
type Reader struct {
	data   []byte
	off    int
	err    error
	places []place // where in the input the decoder is, outermost first
}

// place is a part of the input; n < 0 if it is no part of a sequence.
type place struct {
	what string
	n    int
}

// NewReader reads from data, which is not copied.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Err is the first fault, nil if there is none.
func (r *Reader) Err() error { return r.err }

// Remaining is the number of bytes not yet read; zero after a fault.
func (r *Reader) Remaining() int {
	if r.err != nil {
		return 0
	}
	return len(r.data) - r.off
}

// Close gives the first fault, or one if bytes are left over.
func (r *Reader) Close() error {
	if n := r.Remaining(); n > 0 {
		r.Fail(Errorf("%d bytes left over after byte %d", n, r.off))
	}
	return r.err
}

// Enter says that what follows, up to Leave, belongs to a part of the input.
func (r *Reader) Enter(what string) { r.places = append(r.places, place{what, -1}) }

// EnterN is Enter for the n-th part of a sequence.
func (r *Reader) EnterN(what string, n int) { r.places = append(r.places, place{what, n}) }

// Leave ends the part that was entered last.
func (r *Reader) Leave() { r.places = r.places[:len(r.places)-1] }

// Fail records a fault found by the decoder at the present place, unless there
// was one before.
func (r *Reader) Fail(err error) {
	if r.err != nil {
		return
	}
	for i := len(r.places) - 1; i >= 0; i-- {
		if p := r.places[i]; p.n < 0 {
			err = At(err, "%s", p.what)
		} else {
			err = At(err, "%s %d", p.what, p.n)
		}
	}
	r.err = err
}

// take gives the next n bytes, nil if there are fewer.
func (r *Reader) take(what string, n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.data)-r.off {
		r.Fail(Errorf("%s: cut off at byte %d of %d", what, r.off, len(r.data)))
		return nil
	}
	r.off += n
	return r.data[r.off-n : r.off]
}

// Uint32 reads a u32, for example the variant of an enum.
func (r *Reader) Uint32(what string) uint32 {
	if b := r.take(what, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads a u64 or usize.
func (r *Reader) Uint64(what string) uint64 {
	if b := r.take(what, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Length reads the u64 length of a sequence that must have exactly want
// entries of at least size bytes each, and makes sure that so many bytes are
// there. It tells whether all is well.
func (r *Reader) Length(what string, want, size int) bool {
	n := r.Uint64(what)
	if r.err != nil {
		return false
	}
	if n != uint64(want) {
		r.Fail(Errorf("%s: has %d entries, want %d", what, n, want))
		return false
	}
	if left := r.Remaining(); want > left/size {
		r.Fail(Errorf("%s: %d entries do not fit in the %d bytes that remain", what, want, left))
		return false
	}
	return true
}

// Domain reads 32 bytes.
func (r *Reader) Domain(what string) (d Domain) {
	if b := r.take(what, len(d)); b != nil {
		d = Domain(b)
	}
	return d
}

// Element reads 32 bytes that are a canonical field element.
func (r *Reader) Element(what string) (e fr.Element) {
	b := r.take(what, fr.Bytes)
	if b == nil {
		return e
	}
	e, err := fr.LittleEndian.Element((*[fr.Bytes]byte)(b))
	if err != nil {
		r.Fail(Errorf("%s: %w", what, errNotCanonical))
	}
	return e
}
