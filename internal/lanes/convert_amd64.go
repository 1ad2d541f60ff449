//go:build !purego

package lanes

import (
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// LoadG1 sets dst to src.
func LoadG1(dst []G1, src []bls12381.G1Affine) { load(dst, src) }

// LoadG2 sets dst to src.
func LoadG2(dst []G2, src []bls12381.G2Affine) { load(dst, src) }

// StoreG1 sets dst to src.
func StoreG1(dst []bls12381.G1Affine, src []G1) { store(dst, src) }

// StoreG2 sets dst to src.
func StoreG2(dst []bls12381.G2Affine, src []G2) { store(dst, src) }

// step is how many numbers of a point take part in a conversion: two in G1, four
// in G2. own points have them 64 bytes apart, other ones fp.Bytes.

// load converts groups of points; the last, if not full, by way of a full one.
func load[P, A any](dst []P, src []A) {
	n := len(src) &^ (lanes - 1)
	if n > 0 {
		loadGroups(dst[:n], src[:n])
	}
	if n == len(src) {
		return
	}
	var a [lanes]A
	var p [lanes]P
	copy(a[:], src[n:])
	loadGroups(p[:], a[:])
	copy(dst[n:len(src)], p[:])
}

func loadGroups[P, A any](dst []P, src []A) {
	var z [subGroups]block
	for len(src) > 0 {
		n := min(len(src), subOps)
		for c := range int(unsafe.Sizeof(src[0])) / fp.Bytes {
			from := unsafe.Add(unsafe.Pointer(&src[0]), c*fp.Bytes)
			to := unsafe.Add(unsafe.Pointer(&dst[0]), c*8*limbs)
			unpackWords(&z[0], blockBytes, from, int(unsafe.Sizeof(src[0])), n/lanes)
			mulBlocks(&z[0], &z[0], &fromWords, n/lanes, blockBytes, 0)
			scatter(to, int(unsafe.Sizeof(dst[0])), &z[0], blockBytes, n/lanes)
		}
		dst, src = dst[n:], src[n:]
	}
}

func store[A, P any](dst []A, src []P) {
	n := len(src) &^ (lanes - 1)
	if n > 0 {
		storeGroups(dst[:n], src[:n])
	}
	if n == len(src) {
		return
	}
	var a [lanes]A
	var p [lanes]P
	copy(p[:], src[n:])
	storeGroups(a[:], p[:])
	copy(dst[n:len(src)], a[:])
}

func storeGroups[A, P any](dst []A, src []P) {
	var z [subGroups]block
	for len(src) > 0 {
		n := min(len(src), subOps)
		for c := range int(unsafe.Sizeof(dst[0])) / fp.Bytes {
			from := unsafe.Add(unsafe.Pointer(&src[0]), c*8*limbs)
			to := unsafe.Add(unsafe.Pointer(&dst[0]), c*fp.Bytes)
			gather(&z[0], blockBytes, from, logSize(src), &inOrder[0], 0, n/lanes)
			mulBlocks(&z[0], &z[0], &toWords, n/lanes, blockBytes, 0)
			packWords(to, int(unsafe.Sizeof(dst[0])), &z[0], blockBytes, n/lanes)
		}
		dst, src = dst[n:], src[n:]
	}
}

func logSize[P any](p []P) uint64 {
	if unsafe.Sizeof(p[0]) == 1<<logG1 {
		return logG1
	}
	return logG2
}

// inOrder names points one after another.
var inOrder = func() (ops [subOps]Op) {
	for i := range ops {
		ops[i] = Op{uint32(i), uint32(i)}
	}
	return ops
}()

// DecodeG1 reads uncompressed points of 96 bytes. It returns false if there is
// anything but a finite point with coordinates below p and no flags; dst is of
// no use then.
func DecodeG1(dst []G1, raw []byte) bool { return decode(dst, raw, []int{0, 1}) }

// DecodeG2 reads uncompressed points of 192 bytes, as DecodeG1. The coordinate
// A1 of x and of y comes before A0.
func DecodeG2(dst []G2, raw []byte) bool { return decode(dst, raw, []int{1, 0, 3, 2}) }

// decode puts number i of a point in the bytes to place order[i].
func decode[P any](dst []P, raw []byte, order []int) bool {
	size := len(order) * fp.Bytes
	n := len(dst) &^ (lanes - 1)
	raw = raw[:len(dst)*size]
	if n > 0 && !decodeGroups(dst[:n], raw[:n*size], order) {
		return false
	}
	if n == len(dst) {
		return true
	}
	var p [lanes]P
	full := make([]byte, 0, lanes*size)
	full = append(full, raw[n*size:]...)
	for len(full) < cap(full) {
		full = append(full, raw[n*size:(n+1)*size]...)
	}
	ok := decodeGroups(p[:], full, order)
	copy(dst[n:], p[:])
	return ok
}

func decodeGroups[P any](dst []P, raw []byte, order []int) bool {
	var z [subGroups]block
	size := len(order) * fp.Bytes
	odd := uint64(0)
	for len(dst) > 0 {
		n := min(len(dst), subOps)
		for i, c := range order {
			to := unsafe.Add(unsafe.Pointer(&dst[0]), c*8*limbs)
			odd |= unpackBytes(&z[0], blockBytes, unsafe.Pointer(&raw[i*fp.Bytes]), size, n/lanes)
			mulBlocks(&z[0], &z[0], &fromPlain, n/lanes, blockBytes, 0)
			scatter(to, int(unsafe.Sizeof(dst[0])), &z[0], blockBytes, n/lanes)
		}
		dst, raw = dst[n:], raw[n*size:]
	}
	return odd == 0
}

// Negate takes y from 2p.
func (p *G1) Negate() {
	if *p != (G1{}) {
		negate(p[limbs:])
	}
}

// Negate takes y from 2p.
func (p *G2) Negate() {
	if *p != (G2{}) {
		negate(p[2*limbs : 3*limbs])
		negate(p[3*limbs:])
	}
}

func negate(y []uint64) {
	carry := int64(0)
	for i := range y {
		d := int64(constants.double[i]) - int64(y[i]) + carry
		y[i], carry = uint64(d)&constants.mask, d>>limbBits
	}
}
