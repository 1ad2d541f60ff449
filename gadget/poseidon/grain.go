package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// grainBits is the length of the shift register.
const grainBits = 80

// grain is the Grain LFSR that makes the round constants: a ring of bits with
// the oldest at head.
type grain struct {
	bits [grainBits]uint8
	head int
}

// newGrain seeds the register with the description of the instance and drops
// the first 160 bits.
func newGrain(t, rf, rp int) *grain {
	g := &grain{}
	n := 0
	push := func(value uint64, width int) {
		for i := width - 1; i >= 0; i-- {
			g.bits[n] = uint8(value >> i & 1)
			n++
		}
	}
	push(1, 2)          // a prime field
	push(1, 4)          // the S-box is a power
	push(fr.Bits, 12)   // bits of the modulus
	push(uint64(t), 12) // width of the state
	push(uint64(rf), 10)
	push(uint64(rp), 10)
	push(1<<30-1, 30)
	for range 160 {
		g.step()
	}
	return g
}

// step shifts the register by one and returns the new bit.
func (g *grain) step() uint8 {
	at := func(i int) uint8 { return g.bits[(g.head+i)%grainBits] }
	b := at(62) ^ at(51) ^ at(38) ^ at(23) ^ at(13) ^ at(0)
	g.bits[g.head] = b
	g.head = (g.head + 1) % grainBits
	return b
}

// bit returns the next output bit: steps come in pairs, and the second of a
// pair counts only if the first is one.
func (g *grain) bit() uint8 {
	for g.step() == 0 {
		g.step()
	}
	return g.step()
}

// element draws 255 bits, the most significant first, until they are below the
// modulus.
func (g *grain) element() fr.Element {
	var buf [fr.Bytes]byte
	for {
		buf = [fr.Bytes]byte{}
		for i := fr.Bits - 1; i >= 0; i-- {
			buf[fr.Bytes-1-i/8] |= g.bit() << (i % 8)
		}
		if e, err := fr.BigEndian.Element(&buf); err == nil {
			return e
		}
	}
}
