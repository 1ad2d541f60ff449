package snap

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/vanilla"
)

// Input is a request for an update proof.
type Input struct {
	Registered Registered
	CommROld   vanilla.Domain
	CommRNew   vanilla.Domain
	CommDNew   vanilla.Domain
	Proofs     [][]byte // one bincode PartitionProof a partition, in order
}

// Proof is a decoded request.
type Proof struct {
	Registered Registered
	Rules      Rules
	TreeR      *vanilla.Tree
	TreeD      *vanilla.Tree
	CommROld   fr.Element
	CommRNew   fr.Element
	CommDNew   fr.Element
	Phi        fr.Element
	Partitions []Partition
}

// Partition is the data of one circuit.
type Partition struct {
	Index      int
	CommC      fr.Element
	RootROld   fr.Element // of the old replica's tree R
	RootRNew   fr.Element
	Apex       []fr.Element // nodes of tree D under the partition's root
	Challenges []Challenge
}

// Challenge is what is shown of one node.
type Challenge struct {
	Node uint64
	Rho  fr.Element
	Old  vanilla.Path // in the old replica's tree R
	Data vanilla.Path // in tree D
	New  vanilla.Path // in the new replica's tree R
}

// New decodes a request and compares the positions of its paths with the
// challenges. What remains is [Proof.Check].
func New(in Input) (*Proof, error) {
	rules, err := RulesFor(in.Registered.Size)
	if err != nil {
		return nil, err
	}
	size := in.Registered.Size
	p := &Proof{Registered: in.Registered, Rules: rules, TreeR: vanilla.TreeR(size), TreeD: vanilla.TreeD(size)}
	if err := p.commitments(&in); err != nil {
		return nil, err
	}
	if n := len(in.Proofs); n != rules.Partitions() {
		return nil, vanilla.Errorf("%d partition proofs, an update of %s has %d", n, size, rules.Partitions())
	}
	for k, data := range in.Proofs {
		part, err := p.decode(k, data)
		if err != nil {
			return nil, vanilla.At(err, "partition %d", k)
		}
		p.Partitions = append(p.Partitions, part)
	}
	return p, nil
}

func (p *Proof) commitments(in *Input) (err error) {
	for _, c := range []struct {
		name string
		from *vanilla.Domain
		to   *fr.Element
	}{
		{"comm_r_old", &in.CommROld, &p.CommROld},
		{"comm_r_new", &in.CommRNew, &p.CommRNew},
		{"comm_d_new", &in.CommDNew, &p.CommDNew},
	} {
		if *c.to, err = c.from.Element(); err != nil {
			return vanilla.At(err, "%s %s", c.name, c.from)
		}
	}
	p.Phi = Phi(p.CommDNew, p.CommROld)
	return nil
}

// decode reads a bincode PartitionProof: comm_c, the apex leaves, and for each
// challenge its paths in the old tree R, in tree D and in the new tree R.
func (p *Proof) decode(k int, data []byte) (Partition, error) {
	in := vanilla.NewReader(data)
	part := Partition{Index: k, CommC: in.Element("comm_c")}
	if in.Length("apex leaves", p.Rules.ApexLeaves(), fr.Bytes) {
		part.Apex = make([]fr.Element, p.Rules.ApexLeaves())
	}
	for i := range part.Apex {
		in.EnterN("apex leaf", i)
		part.Apex[i] = in.Element("node")
		in.Leave()
	}
	each := 2*p.TreeR.EncodedLen() + p.TreeD.EncodedLen()
	if in.Length("challenge proofs", p.Rules.Challenges, each) {
		part.Challenges = make([]Challenge, p.Rules.Challenges)
	}
	for i := range part.Challenges {
		in.EnterN("challenge", i)
		p.challenge(in, &part.Challenges[i])
		in.Leave()
		if in.Err() != nil {
			break
		}
	}
	if err := in.Close(); err != nil {
		return part, err
	}
	part.RootROld, part.RootRNew = part.Challenges[0].Old.Root, part.Challenges[0].New.Root
	return part, p.challenged(&part)
}

func (p *Proof) challenge(in *vanilla.Reader, c *Challenge) {
	trees := [3]*vanilla.Tree{p.TreeR, p.TreeD, p.TreeR}
	for i, path := range c.paths() {
		in.Enter(path.name)
		*path.Path = trees[i].Path(in)
		in.Leave()
		if in.Err() != nil {
			return
		}
	}
}

// challenged derives the challenges and compares them with the paths.
func (p *Proof) challenged(part *Partition) error {
	for i, node := range p.Rules.ChallengesOf(part.Index, p.CommRNew) {
		c := &part.Challenges[i]
		c.Node, c.Rho = node, Rho(p.Phi, p.Rules.High(node))
		for _, path := range c.paths() {
			if path.Index != node {
				return vanilla.At(vanilla.Errorf("path is of node %d, the challenge is node %d (comm_r_new or the order of partitions differ)", path.Index, node),
					"challenge %d: %s", i, path.name)
			}
		}
	}
	return nil
}

type namedPath struct {
	name string
	*vanilla.Path
}

func (c *Challenge) paths() [3]namedPath {
	return [3]namedPath{{"old replica", &c.Old}, {"data", &c.Data}, {"new replica", &c.New}}
}

// PartitionPath is the path in tree D from the partition's root, the root of
// its apex leaves, to comm_d_new: one sibling a partition bit, lowest first.
func (p *Proof) PartitionPath(part *Partition) []fr.Element {
	s := part.Challenges[0].Data.Siblings
	return s[len(s)-p.Rules.PartitionBits:]
}

// PublicInputs are the public inputs of the partition's circuit without the
// leading one: partition and h_select packed, comm_r_old, comm_d_new,
// comm_r_new.
func (p *Proof) PublicInputs(part *Partition) []fr.Element {
	packed := uint64(part.Index) | uint64(p.Rules.HSelect)<<p.Rules.PartitionBits
	return []fr.Element{fr.NewElement(packed), p.CommROld, p.CommDNew, p.CommRNew}
}
