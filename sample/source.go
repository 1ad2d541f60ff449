package sample

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/porep"
	"cuzk/vanilla"
)

// Miner is the actor id of all samples.
const Miner = 1000

// proverID stands for the miner.
func proverID() vanilla.Domain { return porep.ProverID(Miner) }

// source gives values that look random and depend on nothing but a number and
// what they are for.
type source struct{ seed uint64 }

// element is a value below 2^254.
func (s source) element(use string, a, b uint64) fr.Element {
	buf := make([]byte, 0, 64)
	buf = append(buf, "cuzk sample "...)
	buf = binary.LittleEndian.AppendUint64(buf, s.seed)
	buf = binary.LittleEndian.AppendUint64(buf, a)
	buf = binary.LittleEndian.AppendUint64(buf, b)
	d := vanilla.Domain(sha256.Sum256(append(buf, use...)))
	d[31] &= 0x3f
	e, _ := d.Element() // below 2^254, hence canonical
	return e
}

// bytes gives n bytes.
func (s source) bytes(use string, n int) []byte {
	var out []byte
	for i := uint64(0); len(out) < n; i++ {
		e := s.element(use, i, 0)
		d := vanilla.DomainOf(&e)
		out = append(out, d[:31]...)
	}
	return out[:n]
}

// text is 32 bytes that say what they are; the last is zero, so that they are
// a field element.
func (s source) text(use string) (d vanilla.Domain) {
	copy(d[:31], fmt.Sprintf("cuzk sample %s %d", use, s.seed))
	return d
}
