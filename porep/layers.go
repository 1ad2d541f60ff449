package porep

// Layers holds the labels of all nodes: Layers[l-1][v] is node v in layer l.
type Layers [][][32]byte

// NewLayers labels every node of a graph. It takes 32·nodes·layers bytes and
// about 3 µs a label; sectors above 8 MiB are not meant to be sealed here.
func NewLayers(g *Graph, replicaID [32]byte, layers int) Layers {
	out := make(Layers, layers)
	for l := range out {
		out[l] = make([][32]byte, g.nodes)
	}
	buf := make([][32]byte, Parents)
	for l := range layers {
		for v := range g.nodes {
			out[l][v] = out.label(buf, replicaID, l+1, v, g.Parents(v))
		}
	}
	return out
}

// label computes one label from those of the parents, which must be there.
func (ls Layers) label(buf [][32]byte, replicaID [32]byte, layer int, v uint64, parents [Parents]uint32) [32]byte {
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
