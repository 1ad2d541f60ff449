package post

import (
	"fmt"

	"cuzk/sector"
	"cuzk/vanilla"
)

// Kind tells the two proofs of spacetime apart.
type Kind uint8

// Kinds of PoSt.
const (
	Winning Kind = iota + 1 // one sector, 66 leaves, at the election of a block
	Window                  // all sectors, 10 leaves each, once a proving period
)

// String writes winning or window.
func (k Kind) String() string {
	switch k {
	case Winning:
		return "winning"
	case Window:
		return "window"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Registered is a registered PoSt proof.
type Registered struct {
	Name string // as in the proofs API, for example StackedDrgWindow32GiBV1_2
	Kind Kind
	Size sector.Size
	// PerSector says that leaf challenges depend on the sector alone (api
	// 1.2.0), not on its position in the proof (api 1.0.0).
	PerSector bool
}

// registeredSizes are the sizes with registered PoSt proofs, in the order of
// their numbers.
var registeredSizes = []sector.Size{
	sector.Size2KiB, sector.Size8MiB, sector.Size512MiB, sector.Size32GiB, sector.Size64GiB,
}

// registered lists the proofs by the number that the chain gives them:
// winning 0–4, window V1 5–9, window V1_1 10–14, which the proofs API calls V1_2.
var registered = func() (list []Registered) {
	for _, v := range []struct {
		format    string
		kind      Kind
		perSector bool
	}{
		{"StackedDrgWinning%sV1", Winning, false},
		{"StackedDrgWindow%sV1", Window, false},
		{"StackedDrgWindow%sV1_2", Window, true},
	} {
		for _, s := range registeredSizes {
			list = append(list, Registered{fmt.Sprintf(v.format, s), v.kind, s, v.perSector})
		}
	}
	return list
}()

// ParseRegistered finds a registered proof by its name in the proofs API.
func ParseRegistered(name string) (Registered, error) {
	for _, r := range registered {
		if r.Name == name {
			return r, nil
		}
	}
	return Registered{}, vanilla.Errorf("unknown registered PoSt proof %q", name)
}

// FromNumber finds a registered proof by the number that the chain gives it.
func FromNumber(n uint64) (Registered, error) {
	if n >= uint64(len(registered)) {
		return Registered{}, vanilla.Errorf("unknown registered PoSt proof number %d", n)
	}
	return registered[n], nil
}

// SectorCount is the number of sectors of a circuit. A WinningPoSt has its one
// sector once for each leaf.
func (r Registered) SectorCount() int {
	if r.Kind == Winning {
		return sector.WinningChallenges
	}
	return r.Size.WindowSectors()
}

// ChallengeCount is the number of challenges of a sector in the circuit.
func (r Registered) ChallengeCount() int {
	if r.Kind == Winning {
		return 1
	}
	return sector.WindowChallenges
}

// leaves is the number of leaves that a caller proves for each sector.
func (r Registered) leaves() int {
	if r.Kind == Winning {
		return sector.WinningChallenges
	}
	return sector.WindowChallenges
}

// Circuit is the name of the circuit, for example window-32GiB.
func (r Registered) Circuit() string { return r.Kind.String() + "-" + r.Size.String() }
