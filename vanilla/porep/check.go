package porep

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/poseidon"
	"cuzk/porep"
	"cuzk/vanilla"
)

// Identity is whose sector a proof is of. Neither stands in a phase-1 output,
// but both are bound by its replica id.
type Identity struct {
	ProverID vanilla.Domain
	SectorID uint64
}

// Statement is what the proof of c will say.
func (c *C1) Statement() porep.Statement {
	return porep.Statement{ReplicaID: c.ReplicaID, CommD: c.CommD, CommR: c.CommR, Seed: c.Seed}
}

// CheckError says what in a phase-1 output is not true.
type CheckError struct {
	// Partition and Challenge count from 0; both are -1 where the whole output
	// is meant.
	Partition, Challenge int
	// Node is the challenged node.
	Node uint64
	// Item is the path, column, label or field, for example "DRG parent 2
	// (node 17), path in tree C".
	Item string
	// Expected and Found are values in the bytes of the protocol.
	Expected, Found string
}

func (e *CheckError) Error() string {
	at := ""
	if e.Partition >= 0 {
		at = fmt.Sprintf("partition %d", e.Partition)
		if e.Challenge >= 0 {
			at += fmt.Sprintf(", challenge %d (node %d)", e.Challenge, e.Node)
		}
		at += ": "
	}
	return fmt.Sprintf("%s%s: expected %s, found %s", at, e.Item, e.Expected, e.Found)
}

// whole is an error about the output as such.
func whole(item, expected, found string) error {
	return &CheckError{Partition: -1, Challenge: -1, Item: item, Expected: expected, Found: found}
}

// Check verifies everything that can be wrong with a decoded output before it
// is proved: that it is of the sector and miner that it is sent for, and that
// every path, column, label and encoding holds at the nodes that the seed
// challenges. It works on as many challenges at once as there are workers (one
// if workers is below one) and reports the first that fails as a
// [vanilla.Error] with a [CheckError] in it.
func (c *C1) Check(ctx context.Context, who Identity, workers int) error {
	k, err := c.prepare(who)
	if err != nil {
		return vanilla.At(err, "phase-1 output")
	}
	per := c.Proof.Config().Challenges()
	err = first(ctx, len(c.Partitions)*per, workers, func(i int) error {
		return k.challenge(i/per, i%per)
	})
	if ctx.Err() != nil {
		return fmt.Errorf("check of the phase-1 output: %w", context.Cause(ctx))
	}
	return vanilla.At(err, "phase-1 output")
}

// prepare checks all but the challenges.
func (c *C1) prepare(who Identity) (*checker, error) {
	if err := c.checkStatement(who); err != nil {
		return nil, err
	}
	k, err := newChecker(c)
	if err != nil {
		return nil, err
	}
	return k, k.checkPartitions()
}

// checkStatement checks what stands outside the partitions.
func (c *C1) checkStatement(who Identity) error {
	if !c.Proof.Valid() {
		return whole("registered proof", "0 to 19", fmt.Sprint(uint64(c.Proof)))
	}
	if c.Proof.Feature() == porep.NonInteractive {
		return fmt.Errorf("%v: %w", c.Proof, ErrNonInteractive)
	}
	for _, v := range []struct {
		name  string
		value vanilla.Domain
	}{{"comm_d", c.CommD}, {"comm_r", c.CommR}, {"seed", c.Seed}} {
		if v.value == (vanilla.Domain{}) {
			return whole(v.name, "a value other than zero", "32 zero bytes")
		}
	}
	if w := c.Wrapper; w != nil && w.SectorSize != uint64(c.Proof.Size()) {
		return whole("sector size of the wrapper", fmt.Sprint(uint64(c.Proof.Size())), fmt.Sprint(w.SectorSize))
	}
	if w := c.Wrapper; w != nil && w.SectorNum != who.SectorID {
		return whole("sector number of the wrapper", fmt.Sprint(who.SectorID), fmt.Sprint(w.SectorNum))
	}
	id := vanilla.Domain(porep.ReplicaID(who.ProverID, who.SectorID, c.Ticket, c.CommD, c.Proof.Config().PorepID))
	if id != c.ReplicaID {
		return whole(fmt.Sprintf("replica id of sector %d of prover %s", who.SectorID, who.ProverID), id.String(), c.ReplicaID.String())
	}
	return nil
}

// checker holds what all challenges share.
type checker struct {
	c      *C1
	config porep.Config
	graph  *porep.Graph
	shape  shape
	column *poseidon.Params // hash of a column
	drawn  [][]uint64       // challenged nodes of each partition

	replicaID, commD, commC, commRLast fr.Element
}

func newChecker(c *C1) (*checker, error) {
	k := &checker{c: c, config: c.Proof.Config(), shape: newShape(c.Proof.Size())}
	k.column = poseidon.ForArity(k.config.Size.Layers())
	var err error
	if k.graph, err = porep.NewGraph(k.config); err != nil {
		return nil, err
	}
	if k.commD, err = canonical("comm_d", c.CommD); err != nil {
		return nil, err
	}
	return k, nil
}

func canonical(name string, b vanilla.Domain) (fr.Element, error) {
	e, err := b.Element()
	if err != nil {
		return e, whole(name, "a value below the field modulus", b.String())
	}
	return e, nil
}

// checkPartitions checks numbers, draws the challenges and checks comm_r, which
// binds the roots of trees C and R. All challenges are held against the first one's roots.
func (k *checker) checkPartitions() error {
	if got, want := len(k.c.Partitions), k.config.Partitions(); got != want {
		return whole("partitions", fmt.Sprint(want), fmt.Sprint(got))
	}
	for i, p := range k.c.Partitions {
		if got, want := len(p), k.config.Challenges(); got != want {
			return &CheckError{Partition: i, Challenge: -1, Item: "challenges", Expected: fmt.Sprint(want), Found: fmt.Sprint(got)}
		}
		nodes, err := k.config.Challenge(porep.Draw{ReplicaID: k.c.ReplicaID, CommR: k.c.CommR, Seed: k.c.Seed}, i)
		if err != nil {
			return err
		}
		k.drawn = append(k.drawn, nodes)
	}
	commR, err := canonical("comm_r", k.c.CommR)
	if err != nil {
		return err
	}
	one := &k.c.Partitions[0][0]
	k.commC, k.commRLast = one.Columns[0].Path.Root, one.Replica.Root
	got := poseidon.ForArity(2).Hash([]fr.Element{k.commC, k.commRLast})
	if !got.Equal(&commR) {
		return whole("comm_r against the hash of the roots of trees C and R in partition 0, challenge 0", k.c.CommR.String(), hexElement(&got))
	}
	return nil
}

// challenge checks one challenge. Its error carries the place.
func (k *checker) challenge(partition, i int) error {
	node := k.drawn[partition][i]
	ch := &k.c.Partitions[partition][i]
	for _, step := range []func(*Challenge, uint64) error{k.data, k.columns, k.labels, k.replica, k.redundant} {
		if err := step(ch, node); err != nil {
			var e *CheckError
			if errors.As(err, &e) {
				e.Partition, e.Challenge, e.Node = partition, i, node
			}
			return err
		}
	}
	return nil
}

// differ is an error at a place that the caller fills in.
func differ(item, expected, found string) error {
	return &CheckError{Item: item, Expected: expected, Found: found}
}

func (k *checker) data(ch *Challenge, node uint64) error {
	return checkPath("path in tree D", &ch.Data, node, &k.commD, k.shape.data.Tree)
}

// columns checks the columns of the node and of its parents: first what needs
// no hash, then all hashes of columns and all paths together, which is faster.
func (k *checker) columns(ch *Challenge, node uint64) error {
	parents := k.graph.Parents(node)
	var names [len(ch.Columns)]string
	for i := range ch.Columns {
		at := node
		if i > 0 {
			at = uint64(parents[i-1])
		}
		c := &ch.Columns[i]
		names[i] = columnName(i, at)
		if uint64(c.Node) != at {
			return differ(names[i]+", index of the column", fmt.Sprint(at), fmt.Sprint(c.Node))
		}
		if err := checkEnds(names[i]+", path in tree C", &c.Path, at, &k.commC); err != nil {
			return err
		}
	}
	if err := k.columnHashes(ch, &names); err != nil {
		return err
	}
	return k.columnPaths(ch, &names)
}

func (k *checker) columnHashes(ch *Challenge, names *[1 + porep.Parents]string) error {
	var rows [len(ch.Columns)][]fr.Element
	var hashes [len(ch.Columns)]fr.Element
	for i := range rows {
		rows[i] = ch.Columns[i].Rows
	}
	k.column.HashMany(hashes[:], rows[:])
	for i := range hashes {
		if leaf := &ch.Columns[i].Path.Leaf; !hashes[i].Equal(leaf) {
			return differ(names[i]+", hash of the column", hexElement(&hashes[i]), hexElement(leaf))
		}
	}
	return nil
}

func (k *checker) columnPaths(ch *Challenge, names *[1 + porep.Parents]string) error {
	var paths [len(ch.Columns)]*vanilla.Path
	for i := range paths {
		paths[i] = &ch.Columns[i].Path
	}
	if i, err := k.shape.tree.CheckAll(paths[:], &k.commC); err != nil {
		return climbed(names[i]+", path in tree C", paths[i], &k.commC, k.shape.tree.Tree)
	}
	return nil
}

// columnName names column i of a challenge.
func columnName(i int, node uint64) string {
	switch {
	case i == 0:
		return "challenged node"
	case i <= porep.DRGParents:
		return fmt.Sprintf("DRG parent %d (node %d)", i-1, node)
	}
	return fmt.Sprintf("expander parent %d (node %d)", i-1-porep.DRGParents, node)
}

// labels recomputes the labels of the node from the columns of its parents.
func (k *checker) labels(ch *Challenge, node uint64) error {
	for layer := 1; layer <= len(ch.Columns[0].Rows); layer++ {
		want := vanilla.Domain(porep.Label(k.c.ReplicaID, uint32(layer), node, ch.ParentLabels(layer)))
		if got := vanilla.DomainOf(&ch.Columns[0].Rows[layer-1]); got != want {
			return differ(fmt.Sprintf("label in layer %d", layer), want.String(), got.String())
		}
	}
	return nil
}

// ParentLabels are the labels that the label in a layer (from 1) hashes, without
// repetition: DRG parents in the same layer, expander parents in the one below.
func (ch *Challenge) ParentLabels(layer int) [][32]byte {
	out := make([][32]byte, porep.LayerParents(layer))
	for i := range out {
		row := layer - 1
		if i >= porep.DRGParents {
			row--
		}
		out[i] = vanilla.DomainOf(&ch.Columns[1+i].Rows[row])
	}
	return out
}

// replica checks that the replica node is the last label plus the data.
func (k *checker) replica(ch *Challenge, node uint64) error {
	var sum fr.Element
	rows := ch.Columns[0].Rows
	if sum.Add(&rows[len(rows)-1], &ch.Data.Leaf); !sum.Equal(&ch.Replica.Leaf) {
		return differ("replica node, label plus data", hexElement(&sum), hexElement(&ch.Replica.Leaf))
	}
	return checkPath("path in tree R", &ch.Replica, node, &k.commRLast, k.shape.tree.Tree)
}

// redundant checks what repeats other parts and does not enter the circuit: a
// caller that sends it wrong has mixed something up.
func (k *checker) redundant(ch *Challenge, node uint64) error {
	for i := range ch.Labeling {
		if err := checkLabeling(fmt.Sprintf("labelling proof of layer %d", i+1), ch, &ch.Labeling[i], i+1, node); err != nil {
			return err
		}
	}
	return checkLabeling("encoding proof", ch, &ch.Encoding, k.config.Size.Layers(), node)
}

func checkLabeling(name string, ch *Challenge, l *Labeling, layer int, node uint64) error {
	if l.Layer != uint32(layer) {
		return differ(name+", layer", fmt.Sprint(layer), fmt.Sprint(l.Layer))
	}
	if l.Node != node {
		return differ(name+", node", fmt.Sprint(node), fmt.Sprint(l.Node))
	}
	want := ch.ParentLabels(layer)
	for i, got := range l.Parents {
		if w := vanilla.Domain(want[i%len(want)]); got != w {
			return differ(fmt.Sprintf("%s, parent %d", name, i), w.String(), got.String())
		}
	}
	return nil
}
