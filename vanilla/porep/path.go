package porep

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/vanilla"
)

// checkPath checks that a path belongs to a leaf and leads to a root.
func checkPath(name string, p *vanilla.Path, index uint64, root *fr.Element, tree *vanilla.Tree) error {
	if err := checkEnds(name, p, index, root); err != nil {
		return err
	}
	if err := tree.Check(p, root); err != nil {
		return climbed(name, p, root, tree)
	}
	return nil
}

// checkEnds checks what a path says without hashing.
func checkEnds(name string, p *vanilla.Path, index uint64, root *fr.Element) error {
	if p.Index != index {
		return differ(name+", position", fmt.Sprint(index), fmt.Sprint(p.Index))
	}
	if !p.Root.Equal(root) {
		return differ(name+", root", hexElement(root), hexElement(&p.Root))
	}
	return nil
}

// climbed is the error of a path that leads to another root than it says.
func climbed(name string, p *vanilla.Path, root *fr.Element, tree *vanilla.Tree) error {
	got := tree.ComputeRoot(p)
	return differ(name+", what the siblings hash to", hexElement(root), hexElement(&got))
}

// first runs f for 0..n-1 on some workers and returns the error of the lowest
// index that fails; when ctx is cancelled it stops early.
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
	return err
}

func hexElement(e *fr.Element) string { return vanilla.DomainOf(e).String() }
