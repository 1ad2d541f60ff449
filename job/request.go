package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
)

// Request is the content of what a caller asked for, without its id, priority
// and deadline: what is hashed for idempotency and kept in the spool.
type Request struct {
	Kind            string   // name of the proof kind
	SectorSize      uint64   // bytes; 0 where the caller left it out
	RegisteredProof uint64   // as on the chain
	SectorNumber    uint64   //
	MinerID         uint64   //
	PartitionIndex  uint32   // of a deadline, as the caller counts
	VanillaProof    []byte   // PoRep: JSON wrapper around the phase-1 output
	VanillaProofs   [][]byte // update: one a partition; PoSt: one a sector
	Randomness      []byte   // PoSt: 32 bytes
	CommROld        []byte   // update: 32 bytes
	CommRNew        []byte   // update: 32 bytes
	CommDNew        []byte   // update: 32 bytes
}

// MaxRequest is the size that a request may have in the spool. A message on the
// wire has at most 256 MiB.
const MaxRequest = 512 << 20

// The spool format: the magic, the six numbers as 64-bit little-endian, then
// the byte strings, each after its 64-bit length; the list of vanilla proofs has
// its count first. Every request has exactly one form.
const requestMagic = "cuzkreq1"

// Size is the number of bytes that WriteTo writes.
func (r *Request) Size() int64 {
	n := int64(len(requestMagic)) + 5*8 + 8
	for _, s := range r.strings() {
		n += 8 + int64(len(s))
	}
	return n
}

// strings lists the byte strings in the order of the format, without the count.
func (r *Request) strings() [][]byte {
	out := [][]byte{[]byte(r.Kind), r.VanillaProof, r.Randomness, r.CommROld, r.CommRNew, r.CommDNew}
	return append(out, r.VanillaProofs...)
}

// WriteTo writes the spool form.
func (r *Request) WriteTo(w io.Writer) (int64, error) {
	head := []byte(requestMagic)
	for _, v := range []uint64{r.SectorSize, r.RegisteredProof, r.SectorNumber, r.MinerID, uint64(r.PartitionIndex), uint64(len(r.VanillaProofs))} {
		head = binary.LittleEndian.AppendUint64(head, v)
	}
	k, err := w.Write(head)
	n := int64(k)
	for _, s := range r.strings() {
		if err != nil {
			break
		}
		k, err = w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		n += int64(k)
		if err == nil {
			k, err = w.Write(s)
			n += int64(k)
		}
	}
	return n, err
}

// Digest is the SHA-256 of the spool form.
func (r *Request) Digest() Digest {
	h := sha256.New()
	_, _ = r.WriteTo(h) // a hash never fails
	return Digest(h.Sum(nil))
}

// ParseRequest reads the spool form. The byte strings of the result lie in raw.
func ParseRequest(raw []byte) (*Request, error) {
	p := parser{rest: raw}
	if string(p.take(uint64(len(requestMagic)))) != requestMagic {
		return nil, fmt.Errorf("request: unknown format: %w", ErrCorrupt)
	}
	r := &Request{SectorSize: p.number(), RegisteredProof: p.number(), SectorNumber: p.number(), MinerID: p.number()}
	part, count := p.number(), p.number()
	r.PartitionIndex = uint32(part)
	r.Kind = string(p.text())
	for _, s := range []*[]byte{&r.VanillaProof, &r.Randomness, &r.CommROld, &r.CommRNew, &r.CommDNew} {
		*s = p.text()
	}
	if count > uint64(len(p.rest))/8 {
		p.bad = true
	}
	for i := uint64(0); i < count && !p.bad; i++ {
		r.VanillaProofs = append(r.VanillaProofs, p.text())
	}
	if p.bad || len(p.rest) > 0 || part>>32 != 0 {
		return nil, fmt.Errorf("request: %d bytes do not parse: %w", len(raw), ErrCorrupt)
	}
	return r, nil
}

// parser reads from the front; after the first shortage all is empty.
type parser struct {
	rest []byte
	bad  bool
}

func (p *parser) take(n uint64) []byte {
	if p.bad || n > uint64(len(p.rest)) {
		p.bad = true
		return nil
	}
	s := p.rest[:n:n]
	p.rest = p.rest[n:]
	return s
}

func (p *parser) number() uint64 {
	if s := p.take(8); s != nil {
		return binary.LittleEndian.Uint64(s)
	}
	return 0
}

// text is nil for an empty string, as a request from the wire has it.
func (p *parser) text() []byte {
	if s := p.take(p.number()); len(s) > 0 {
		return s
	}
	return nil
}

// Equal tells whether two requests have the same content.
func (r *Request) Equal(s *Request) bool {
	var a, b bytes.Buffer
	_, _ = r.WriteTo(&a)
	_, _ = s.WriteTo(&b)
	return bytes.Equal(a.Bytes(), b.Bytes())
}
