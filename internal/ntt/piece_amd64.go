//go:build !purego

package ntt

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// pieces is how many pieces a pass has.
func (p *pass) pieces() int { return p.tables.size() / lanes >> p.levels }

// piece is all rows of eight columns, or eight rows of one column each.
type piece struct {
	*pass
	from  int // first lane: a block's number times columns, and a column
	start int // where lane 0 begins
}

func (p *pass) at(i int) piece {
	v := piece{pass: p, from: i * lanes}
	block, column := v.from/p.columns, v.from%p.columns
	v.start = block*p.columns<<p.levels + column
	return v
}

// blocks is how many blocks of eight numbers a piece has.
func (p *pass) blocks() int { return 1 << p.levels }

// rows tells whether the lanes are rows.
func (p *pass) rows() bool { return p.columns == 1 }

// steps are the distances of lanes and of blocks in bytes.
func (p *pass) steps() (lane, step int) {
	if p.rows() {
		return elementBytes << p.levels, elementBytes
	}
	return elementBytes, p.columns * elementBytes
}

// load reads the piece of x.
func (v piece) load(z []block, x fr.Vector) []block {
	lane, step := v.steps()
	unpack(&z[0], &x[v.start], lane, step, v.blocks())
	return z
}

// store writes the piece of x.
func (v piece) store(x fr.Vector, z []block) {
	lane, step := v.steps()
	pack(&x[v.start], lane, step, &z[0], v.blocks())
}

// split does the levels from values towards coefficients. Numbers grow from 2r
// to 24r at most.
func (v piece) split(z []block) {
	var own [maxLevels]block // what the block's number gives to φ at each level
	if v.first > 0 {
		own[v.levels-1] = v.tables.lanesOf(func(j int) int {
			block := (v.from + j) / v.columns
			return -2 * v.columns * reverse(block, v.first)
		})
		for s := v.levels - 2; s >= 0; s-- {
			mul(&own[s], &own[s+1], &own[s+1], 1, 0)
		}
	}
	for s := range v.levels {
		half := blockBytes << (v.levels - 1 - s)
		var t *block
		if v.first > 0 {
			t = &own[s]
		}
		stage(&z[0], 1<<s, 2*half, half/blockBytes, blockBytes, half, &v.tables.phi[0], limbsBytes, t)
	}
}

// joinRows does the levels from coefficients towards values, the lanes being
// rows. Numbers grow from 2r to 24r at most.
func (v piece) joinRows(z []block) {
	for s := range v.levels {
		half := 1 << s
		stage(&z[0], half, blockBytes, v.blocks()/(2*half), 2*half*blockBytes, half*blockBytes, &v.tables.odd[half], limbsBytes, nil)
	}
}

// joinColumns is joinRows where the lanes are columns.
func (v piece) joinColumns(z []block) {
	var own [maxLevels]block // what the column gives to the twiddles
	size := v.columns << v.levels
	own[v.levels-1] = v.tables.lanesOf(func(j int) int {
		return (2*((v.from+j)%v.columns) + 1) * (v.tables.size() / size)
	})
	for s := v.levels - 2; s >= 0; s-- {
		mul(&own[s], &own[s+1], &own[s+1], 1, 0)
	}
	for s := range v.levels {
		half := 1 << s
		step := len(v.tables.roots) / half * limbsBytes
		stage(&z[0], half, blockBytes, v.blocks()/(2*half), 2*half*blockBytes, half*blockBytes, &v.tables.roots[0], step, &own[s])
	}
}

// reverse is the lowest n bits of x in reverse order.
func reverse(x, n int) int { return int(bits.Reverse64(uint64(x)) >> (64 - n)) }
