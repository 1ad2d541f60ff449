package cuda

import (
	"fmt"

	"cuzk/r1cs"
)

// Card is what a plan depends on beside the memory: a card that need not be there.
type Card struct {
	SMs    int    // multiprocessors
	Shared int    // bytes of shared memory a block may ask for
	Blocks [2]int // blocks of the additions in G1 and in G2 that an SM holds
	Async  bool   // copies asynchronously: compute capability 8.0 and up
}

// H200 is that card. Other cards hold as many blocks an SM or fewer, so their plans
// differ by some MiB for each SM.
func H200() Card { return Card{SMs: 132, Shared: 227 << 10, Blocks: [2]int{3, 2}, Async: true} }

// facts are the card's as the plans want them.
func (c Card) facts() facts {
	f := facts{sms: c.SMs, shared: c.Shared, async: c.Async, opsBlocks: map[string]int{}}
	for i, cv := range []curve{curveG1, curveG2} {
		f.opsBlocks[cv.ops] = c.Blocks[i]
	}
	return f
}

// PlanOn is the plan of a circuit for a card with so many bytes to use, as
// [Backend.Plan] makes it on the card itself. It needs no driver.
func PlanOn(circuit *r1cs.Compiled, c Card, memory int64, o Options) (*Plan, error) {
	if c.SMs <= 0 || memory <= 0 {
		return nil, fmt.Errorf("a card of %d SMs with %d bytes cannot be planned for", c.SMs, memory)
	}
	n, err := needOn(circuit, c.facts(), o)
	if err != nil {
		return nil, err
	}
	return newProverPlan(n, memory)
}

// needOn is what a circuit needs on a card.
func needOn(circuit *r1cs.Compiled, f facts, o Options) (need, error) {
	layout, pack, err := layoutOf(circuit)
	if err != nil {
		return need{}, err
	}
	return need{circuit: circuit.Name(), layout: layout, members: newQuerySets(circuit, layout), program: pack.bytes(), facts: f, Options: o}, nil
}
