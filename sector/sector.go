// Package sector holds the parameters that follow from a sector's size: the
// shapes of its trees, layers, challenges and partitions of every proof kind.
//
// Source: filecoin-proofs 19.1 src/constants.rs and parameters.rs,
// storage-proofs-update 19.1 src/constants.rs. Sizes are in bytes, nodes have
// 32 bytes.
package sector

import "fmt"

// NodeSize is the size of a node (leaf) in bytes.
const NodeSize = 32

// Size is a sector size in bytes.
type Size uint64

// The ten sizes that the reference supports. Only 2KiB, 8MiB, 512MiB, 32GiB and
// 64GiB have registered proofs and published keys.
const (
	Size2KiB   Size = 2 << 10
	Size4KiB   Size = 4 << 10
	Size16KiB  Size = 16 << 10
	Size32KiB  Size = 32 << 10
	Size8MiB   Size = 8 << 20
	Size16MiB  Size = 16 << 20
	Size512MiB Size = 512 << 20
	Size1GiB   Size = 1 << 30
	Size32GiB  Size = 32 << 30
	Size64GiB  Size = 64 << 30
)

// Sizes lists all supported sizes, ascending.
var Sizes = []Size{Size2KiB, Size4KiB, Size16KiB, Size32KiB, Size8MiB,
	Size16MiB, Size512MiB, Size1GiB, Size32GiB, Size64GiB}

// Shape is the form of trees C and R (r_last): arities of base, sub and top
// levels; 0 where there is none. Tree D is binary always.
type Shape struct {
	Base, Sub, Top int
}

// String writes base-sub-top, as key identifiers do, for example 8-8-0.
func (s Shape) String() string { return fmt.Sprintf("%d-%d-%d", s.Base, s.Sub, s.Top) }

// BaseTrees is the number of base trees.
func (s Shape) BaseTrees() int { return max(s.Sub, 1) * max(s.Top, 1) }

var shapes = map[Size]Shape{
	Size2KiB: {8, 0, 0}, Size4KiB: {8, 2, 0}, Size16KiB: {8, 8, 0}, Size32KiB: {8, 8, 2},
	Size8MiB: {8, 0, 0}, Size16MiB: {8, 2, 0}, Size512MiB: {8, 0, 0}, Size1GiB: {8, 2, 0},
	Size32GiB: {8, 8, 0}, Size64GiB: {8, 8, 2},
}

// Valid tells whether the size is one of Sizes.
func (s Size) Valid() bool { _, ok := shapes[s]; return ok }

// Shape is the tree shape of a valid size.
func (s Size) Shape() Shape { return shapes[s] }

// Nodes is the number of 32-byte nodes.
func (s Size) Nodes() uint64 { return uint64(s) / NodeSize }

// NodeBits is log2 of Nodes.
func (s Size) NodeBits() int {
	n := 0
	for m := s.Nodes(); m > 1; m >>= 1 {
		n++
	}
	return n
}

// Arities lists the arity of every level of a path in trees C and R, leaf
// first: base levels, then sub and top where they exist.
func (s Size) Arities() []int {
	sh := s.Shape()
	var out []int
	for n := s.Nodes() / uint64(sh.BaseTrees()); n > 1; n /= uint64(sh.Base) {
		out = append(out, sh.Base)
	}
	for _, a := range []int{sh.Sub, sh.Top} {
		if a > 0 {
			out = append(out, a)
		}
	}
	return out
}

// Layers is the number of SDR layers: 2 for small sectors, 11 for 32 and 64 GiB.
func (s Size) Layers() int {
	if s >= Size32GiB {
		return 11
	}
	return 2
}

// PoRepPartitions is the number of partitions of an interactive or synthetic PoRep.
func (s Size) PoRepPartitions() int {
	if s >= Size32GiB {
		return 10
	}
	return 1
}

// PoRepChallenges is the number of challenges of one PoRep partition.
func (s Size) PoRepChallenges() int {
	if s >= Size32GiB {
		return 18
	}
	return 2
}

// Challenge numbers of the two PoSt kinds.
const (
	WinningChallenges = 66 // leaves of the one sector of a WinningPoSt
	WindowChallenges  = 10 // leaves a sector of a WindowPoSt
)

// WindowSectors is the number of sectors of one WindowPoSt partition.
func (s Size) WindowSectors() int {
	switch s {
	case Size32GiB:
		return 2349
	case Size64GiB:
		return 2300
	}
	return 2
}

// String writes the size as circuit names do: 2KiB, 512MiB, 32GiB.
func (s Size) String() string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if s>>u.shift > 0 && s&(1<<u.shift-1) == 0 {
			return fmt.Sprintf("%d%s", s>>u.shift, u.name)
		}
	}
	return fmt.Sprintf("%dB", uint64(s))
}

// Parse reads a size as String writes it.
func Parse(text string) (Size, error) {
	for _, s := range Sizes {
		if s.String() == text {
			return s, nil
		}
	}
	return 0, fmt.Errorf("unknown sector size %q: known are 2KiB 4KiB 16KiB 32KiB 8MiB 16MiB 512MiB 1GiB 32GiB 64GiB", text)
}
