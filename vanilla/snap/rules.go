package snap

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/poseidon"
	"cuzk/sector"
	"cuzk/vanilla"
)

// Rules are the constants of a sector size.
type Rules struct {
	Size          sector.Size
	NodeBits      int    // log2 of the number of nodes
	PartitionBits int    // log2 of the number of partitions
	ApexBits      int    // log2 of the number of apex leaves of a partition
	Challenges    int    // of a partition
	Hs            [6]int // the h among which HSelect chooses
	H             int    // number of top bits of a node that enter rho
	HSelect       int    // 2^(position of H in Hs)
}

// RulesFor gives the rules of a size that can be updated.
func RulesFor(size sector.Size) (Rules, error) {
	if !size.Valid() || size == sector.Size1GiB {
		return Rules{}, vanilla.Errorf("a sector of %s cannot be updated", size)
	}
	r := Rules{Size: size, NodeBits: size.NodeBits(), Challenges: 10, ApexBits: 7}
	switch {
	case size <= sector.Size4KiB:
		r.ApexBits = 3
	case size <= sector.Size32KiB:
		r.PartitionBits = 1
	case size <= sector.Size16MiB:
		r.PartitionBits = 2
	default:
		r.PartitionBits, r.Challenges = 4, 86
	}
	if size < sector.Size8MiB {
		r.Hs, r.H, r.HSelect = [6]int{1, 1, 1, 1, 1, 1}, 1, 1
	} else {
		r.Hs, r.H, r.HSelect = [6]int{7, 8, 9, 10, 11, 12}, 10, 1<<3
	}
	return r, nil
}

// Partitions is the number of partitions.
func (r Rules) Partitions() int { return 1 << r.PartitionBits }

// ApexLeaves is the number of apex leaves of a partition.
func (r Rules) ApexLeaves() int { return 1 << r.ApexBits }

// ApexHeight is the height of the apex leaves in tree D, where leaves have
// height 0: the number of levels of a data path that the circuit hashes for
// each challenge.
func (r Rules) ApexHeight() int { return r.NodeBits - r.PartitionBits - r.ApexBits }

// challengeBits is the number of bits of a node within its partition.
func (r Rules) challengeBits() int { return r.NodeBits - r.PartitionBits }

// PerDigest is the number of challenges that one digest yields.
func (r Rules) PerDigest() int { return (fr.Bits - 1) / r.challengeBits() }

// Digests is the number of digests that a partition's challenges take.
func (r Rules) Digests() int { return (r.Challenges + r.PerDigest() - 1) / r.PerDigest() }

// High is the part of a node that enters rho.
func (r Rules) High(node uint64) uint64 { return node >> (r.NodeBits - r.H) }

// Apex is the position, among a partition's apex leaves, of the one above a node.
func (r Rules) Apex(node uint64) int { return int(node>>r.ApexHeight()) & (r.ApexLeaves() - 1) }

// ChallengesOf are the challenged nodes of partition k. Digest j of the
// partition is HG(comm_r_new, k·Digests + j); its bits, lowest first, are the
// nodes' low bits one after the other, and k is their top bits.
func (r Rules) ChallengesOf(k int, commRNew fr.Element) []uint64 {
	width, out := r.challengeBits(), make([]uint64, 0, r.Challenges)
	for j := range r.Digests() {
		index := fr.NewElement(uint64(k*r.Digests() + j))
		digest := poseidon.Custom1().Hash([]fr.Element{commRNew, index})
		words := digest.Bits()
		for i := range min(r.PerDigest(), r.Challenges-len(out)) {
			out = append(out, uint64(k)<<width|bitsAt(&words, i*width, width))
		}
	}
	return out
}

// bitsAt reads width < 64 bits of a 256-bit number from bit at on.
func bitsAt(words *[4]uint64, at, width int) uint64 {
	i, shift := at/64, at%64
	v := words[i] >> shift
	if shift+width > 64 && i < 3 {
		v |= words[i+1] << (64 - shift)
	}
	return v & (1<<width - 1)
}

// Phi binds the update's data to the old replica.
func Phi(commDNew, commROld fr.Element) fr.Element {
	return poseidon.Custom1().Hash([]fr.Element{commDNew, commROld})
}

// Rho is the factor of all nodes whose top bits are high.
func Rho(phi fr.Element, high uint64) fr.Element {
	return poseidon.Custom1().Hash([]fr.Element{phi, fr.NewElement(high)})
}

// Registered is a registered update proof.
type Registered struct {
	Name string // as in the proofs API, for example StackedDrg32GiBV1
	Size sector.Size
}

// registered lists the proofs by the number that the chain gives them.
var registered = func() (list []Registered) {
	for _, s := range []sector.Size{sector.Size2KiB, sector.Size8MiB, sector.Size512MiB, sector.Size32GiB, sector.Size64GiB} {
		list = append(list, Registered{fmt.Sprintf("StackedDrg%sV1", s), s})
	}
	return list
}()

// ParseRegistered finds a registered update proof by its name in the proofs API.
func ParseRegistered(name string) (Registered, error) {
	for _, r := range registered {
		if r.Name == name {
			return r, nil
		}
	}
	return Registered{}, vanilla.Errorf("unknown registered update proof %q", name)
}

// FromNumber finds a registered update proof by the number that the chain gives it.
func FromNumber(n uint64) (Registered, error) {
	if n >= uint64(len(registered)) {
		return Registered{}, vanilla.Errorf("unknown registered update proof number %d", n)
	}
	return registered[n], nil
}

// Circuit is the name of the circuit, for example update-32GiB.
func (r Registered) Circuit() string { return "update-" + r.Size.String() }
