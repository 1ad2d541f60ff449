//go:build !purego

package ntt

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/utils"
)

// tile is log2 of the side of a square of elements that is moved at once, a
// kilobyte a row.
const tile = 5

// tiles is a worker's two squares.
type tiles [2][1 << (2 * tile)]fr.Element

// bitReverse brings c from bit-reversed to natural order. The number of a place
// has tile high bits, middle bits and tile low bits; places of one middle form a
// square, which changes places with that of the middle reversed.
func (q *quotient) bitReverse(ctx context.Context) error {
	middle := q.log - 2*tile
	if middle < 0 {
		utils.BitReverse(q.c)
		return ctx.Err()
	}
	buffers := make([]tiles, len(q.scratch))
	return q.each(ctx, 1<<middle, func(worker, m int) {
		other := 0
		if middle > 0 {
			other = reverse(m, middle)
		}
		if other < m {
			return
		}
		t := &buffers[worker]
		q.takeTile(t[0][:], m)
		q.takeTile(t[1][:], other)
		q.putTile(t[0][:], other)
		q.putTile(t[1][:], m)
	})
}

// row is where the row of a square begins in c.
func (q *quotient) row(high, middle int) int { return high<<(q.log-tile) | middle<<tile }

// takeTile reads the square of a middle.
func (q *quotient) takeTile(t []fr.Element, m int) {
	for high := range 1 << tile {
		at := q.row(high, m)
		copy(t[high<<tile:(high+1)<<tile], q.c[at:])
	}
}

// putTile writes a square that was taken from the reverse of m: what had the low
// bits has them, reversed, as its high bits now.
func (q *quotient) putTile(t []fr.Element, m int) {
	for high := range 1 << tile {
		to := q.c[q.row(high, m):][:1<<tile]
		from := reverse(high, tile)
		for low := range to {
			to[low] = t[reverse(low, tile)<<tile|from]
		}
	}
}
