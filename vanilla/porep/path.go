package porep

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/poseidon"
	"cuzk/porep"
)

// hashTree is the hash of trees C and R.
func hashTree(nodes []fr.Element) fr.Element { return poseidon.ForArity(len(nodes)).Hash(nodes) }

// hashData is the hash of tree D. Its result has 254 bits, so it is a field
// element always.
func hashData(nodes []fr.Element) fr.Element {
	b := porep.HashNodes(bytesOf(&nodes[0]), bytesOf(&nodes[1]))
	e, _ := fr.LittleEndian.Element(&b)
	return e
}

// checkPath checks that a path belongs to a leaf and leads to a root.
func checkPath(name string, p *Path, index uint64, root *fr.Element, arities []int, hash func([]fr.Element) fr.Element) error {
	if p.Index != index {
		return differ(name+", position", fmt.Sprint(index), fmt.Sprint(p.Index))
	}
	if !p.Root.Equal(root) {
		return differ(name+", root", hexElement(*root), hexElement(p.Root))
	}
	if got := climb(p, arities, hash); !got.Equal(root) {
		return differ(name+", what the siblings hash to", hexElement(*root), hexElement(got))
	}
	return nil
}

// climb is the root that a path leads to.
func climb(p *Path, arities []int, hash func([]fr.Element) fr.Element) fr.Element {
	var level [8]fr.Element // no arity is larger
	node, index, siblings := p.Leaf, p.Index, p.Siblings
	for _, a := range arities {
		at := int(index % uint64(a))
		copy(level[:at], siblings[:at])
		level[at] = node
		copy(level[at+1:a], siblings[at:a-1])
		node = hash(level[:a])
		index, siblings = index/uint64(a), siblings[a-1:]
	}
	return node
}

// first runs f for 0..n-1 on some workers and returns the error of the lowest
// index that fails.
func first(ctx context.Context, n, workers int, f func(i int) error) error {
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	failed, err := n, error(nil)
	for range max(1, min(workers, n)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				mu.Lock()
				stop := i >= failed
				mu.Unlock()
				if stop {
					return
				}
				if e := f(i); e != nil {
					mu.Lock()
					if i < failed {
						failed, err = i, e
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("check of the phase-1 output: %w", context.Cause(ctx))
	}
	return err
}

func bytesOf(e *fr.Element) (b [32]byte) {
	fr.LittleEndian.PutElement(&b, *e)
	return b
}

func hexElement(e fr.Element) string { return hexBytes(bytesOf(&e)) }

func hexBytes(b [32]byte) string { return fmt.Sprintf("%x", b) }
