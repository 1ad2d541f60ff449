package porep

import "sync"

// Layers holds the labels of all nodes: Layers[l-1][v] is node v in layer l.
type Layers [][][32]byte

// NewLayers labels every node of a graph. It takes 32·nodes·(layers+2) bytes;
// layers follow each other, so only the parents are found by all workers.
func NewLayers(g *Graph, replicaID [32]byte, layers, workers int) Layers {
	parents := make([][Parents]uint32, g.nodes)
	split(int(g.nodes), workers, func(from, to int) {
		for v := from; v < to; v++ {
			parents[v] = g.Parents(uint64(v))
		}
	})
	out := make(Layers, layers)
	buf := make([][32]byte, Parents)
	for l := range out {
		out[l] = make([][32]byte, g.nodes)
		for v := range parents {
			out[l][v] = out.label(buf, replicaID, l+1, uint64(v), &parents[v])
		}
	}
	return out
}

// label computes one label from those of the parents, which must be there.
func (ls Layers) label(buf [][32]byte, replicaID [32]byte, layer int, v uint64, parents *[Parents]uint32) [32]byte {
	if v == 0 {
		return Label(replicaID, uint32(layer), 0, nil)
	}
	n := LayerParents(layer)
	for i, p := range parents[:n] {
		if i < DRGParents {
			buf[i] = ls[layer-1][p]
		} else {
			buf[i] = ls[layer-2][p]
		}
	}
	return Label(replicaID, uint32(layer), v, buf[:n])
}

// split runs f on consecutive ranges that cover 0..n-1, one a worker.
func split(n, workers int, f func(from, to int)) {
	workers = max(1, min(workers, n))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { f(w*n/workers, (w+1)*n/workers) })
	}
	wg.Wait()
}
