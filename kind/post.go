package kind

import (
	"cuzk/circuit/post"
	"cuzk/srs"
	"cuzk/vanilla"
	vpost "cuzk/vanilla/post"
)

// Post makes a job of a WinningPoSt or WindowPoSt request.
func Post(in vpost.Input) (*Job, error) {
	p, err := vpost.New(in)
	if err != nil {
		return nil, badInput(err)
	}
	r := p.Registered
	k, family := post.Window, srs.Window
	if r.Kind == vpost.Winning {
		k, family = post.Winning, srs.Winning
	}
	j := &Job{Circuit: srs.ID{Family: family, Size: r.Size}, Registered: r.Name}
	j.check = pieces(len(p.Sectors), func(i int) error { return p.Sectors[i].Check(p.Tree) })
	for i := range p.Partitions {
		part := &p.Partitions[i]
		c, err := post.New(k, r.Size, postSectors(p.Tree, part))
		if err != nil {
			return nil, badInput(vanilla.At(err, "partition %d", part.Index))
		}
		j.Partitions = append(j.Partitions, Partition{Index: part.Index, Inputs: part.PublicInputs(), circuit: c})
	}
	return j, nil
}

// postSectors gives a partition's slots as the circuit takes them; slots that
// share their data share the pointer.
func postSectors(tree *vanilla.Tree, p *vpost.Partition) []*post.Sector {
	out := make([]*post.Sector, len(p.Slots))
	for i, slot := range p.Slots {
		if i > 0 && slot.Sector == p.Slots[i-1].Sector && &slot.Paths[0] == &p.Slots[i-1].Paths[0] {
			out[i] = out[i-1]
			continue
		}
		s := &post.Sector{CommR: slot.Sector.CommR, CommC: slot.Sector.CommC, CommRLast: slot.Sector.CommRLast}
		for k := range slot.Paths {
			s.Challenges = append(s.Challenges, post.Challenge{Leaf: slot.Paths[k].Leaf, Steps: slot.Paths[k].Steps(tree)})
		}
		out[i] = s
	}
	return out
}
