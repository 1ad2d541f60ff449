package porep

import (
	"encoding/binary"
	"math/bits"
)

// chacha8 is the generator that rand_chacha calls ChaCha8Rng: ChaCha with
// eight rounds, a 64-bit block counter from zero, a zero nonce, and the
// keystream read as little-endian words.
type chacha8 struct {
	state [16]uint32
	block [16]uint32
	next  int // index of the next unread word of block
}

func newChacha8(seed *[32]byte) *chacha8 {
	c := &chacha8{next: 16}
	// "expand 32-byte k", the constant of the ChaCha definition
	c.state[0], c.state[1], c.state[2], c.state[3] = 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
	for i := range 8 {
		c.state[4+i] = binary.LittleEndian.Uint32(seed[4*i:])
	}
	return c
}

// uint64 joins two words, the low one first.
func (c *chacha8) uint64() uint64 {
	lo := uint64(c.uint32())
	return lo | uint64(c.uint32())<<32
}

func (c *chacha8) uint32() uint32 {
	if c.next == len(c.block) {
		c.refill()
	}
	w := c.block[c.next]
	c.next++
	return w
}

func (c *chacha8) refill() {
	x := c.state
	for range 4 { // a column round and a diagonal round
		quarter(&x[0], &x[4], &x[8], &x[12])
		quarter(&x[1], &x[5], &x[9], &x[13])
		quarter(&x[2], &x[6], &x[10], &x[14])
		quarter(&x[3], &x[7], &x[11], &x[15])
		quarter(&x[0], &x[5], &x[10], &x[15])
		quarter(&x[1], &x[6], &x[11], &x[12])
		quarter(&x[2], &x[7], &x[8], &x[13])
		quarter(&x[3], &x[4], &x[9], &x[14])
	}
	for i := range x {
		c.block[i] = x[i] + c.state[i]
	}
	if c.state[12]++; c.state[12] == 0 {
		c.state[13]++
	}
	c.next = 0
}

func quarter(a, b, c, d *uint32) {
	*a += *b
	*d = bits.RotateLeft32(*d^*a, 16)
	*c += *d
	*b = bits.RotateLeft32(*b^*c, 12)
	*a += *b
	*d = bits.RotateLeft32(*d^*a, 8)
	*c += *d
	*b = bits.RotateLeft32(*b^*c, 7)
}
