package porep

import (
	"bytes"
	"math"
	"runtime"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/porep"
	"cuzk/vanilla"
)

// wrapperMembers are those of the object that storage software sends.
var wrapperMembers = []member{{name: nameSectorNum}, {name: namePhase1Out}, {name: nameSectorSize}}

// Members of the objects of a phase-1 output, in the order in which the proofs API
// writes them.
var (
	outputMembers = []member{{name: "registered_proof"}, {name: "vanilla_proofs"}, {name: "comm_r"}, {name: "comm_d"},
		{name: "replica_id"}, {name: "seed"}, {name: "ticket"}, {name: sampleName, optional: true}}
	challengeMembers = []member{{name: "comm_d_proofs"}, {name: "comm_r_last_proof"}, {name: "replica_column_proofs"},
		{name: "labeling_proofs"}, {name: "encoding_proof"}}
	columnsMembers   = []member{{name: "c_x"}, {name: "drg_parents"}, {name: "exp_parents"}}
	columnMembers    = []member{{name: "column"}, {name: "inclusion_proof"}}
	rowsMembers      = []member{{name: "index"}, {name: "rows"}, {name: "_h", optional: true}}
	labelingMembers  = []member{{name: "parents"}, {name: "layer_index"}, {name: "node"}}
	levelMembers     = []member{{name: "hashes"}, {name: "index"}}
	inclusionMembers = []member{{name: "path"}}
	pathMembers      = []member{{name: "data"}}
)

// compactDecoder reads a bare phase-1 output without white space. Challenges, nearly all
// of the text, are read on all cores: each core begins at the first challenge behind
// its share of the text, found by the name that a challenge begins with, and the
// shares count only if each ends exactly where the next began. So a guess may cost
// time, but never reads anything but what a reading from the left reads.
type compactDecoder struct {
	compact
	c1    C1
	key   string
	shape shape
}

// decodeCompact reads what programs write, bare or wrapped; nil where [decodeAny]
// must read.
func decodeCompact(data []byte) *C1 {
	text := bytes.TrimRight(data, " \t\r\n")
	if c := decodeBare(text); c != nil {
		return c
	}
	return decodeWrapped(text)
}

func decodeBare(text []byte) *C1 {
	d := &compactDecoder{compact: compact{text: text}}
	d.object(outputMembers, d.output)
	if d.bad || d.at != len(d.text) {
		return nil
	}
	if d.key != d.c1.Proof.Base().String() || len(d.c1.Partitions) != d.c1.Proof.Config().Partitions() {
		return nil
	}
	return &d.c1
}

func decodeWrapped(text []byte) *C1 {
	var phase1 []byte
	w, r := &Wrapper{}, compact{text: text}
	r.object(wrapperMembers, func(i int) {
		switch i {
		case 0:
			w.SectorNum = r.uint(math.MaxUint64)
		case 1:
			phase1 = r.base64()
		case 2:
			w.SectorSize = r.uint(math.MaxUint64)
		}
	})
	if r.bad || r.at != len(text) {
		return nil
	}
	c := decodeBare(bytes.TrimRight(phase1, " \t\r\n"))
	if c != nil {
		c.Wrapper = w
	}
	return c
}

func (d *compactDecoder) output(i int) {
	switch i {
	case 0:
		d.registered()
	case 1:
		d.vanilla()
	case 7:
		d.c1.Sample = string(d.string())
	default:
		d.digest([]*vanilla.Domain{&d.c1.CommR, &d.c1.CommD, &d.c1.ReplicaID, &d.c1.Seed, &d.c1.Ticket}[i-2])
	}
}

func (d *compactDecoder) registered() {
	p, err := porep.ParseProof(string(d.string()))
	if err != nil || p.Feature() == porep.NonInteractive {
		d.fail()
		return
	}
	d.c1.Proof = p
}

// vanilla reads the partitions, filed under the name of the base proof.
func (d *compactDecoder) vanilla() {
	d.byte('{')
	d.key = string(d.string())
	d.byte(':')
	p, err := porep.ParseProof(d.key)
	if err != nil || p != p.Base() || d.bad {
		d.fail()
		return
	}
	d.shape = newShape(p.Size())
	d.byte('[')
	d.byte('[')
	if d.bad {
		return
	}
	d.partitions(d.shares(runtime.GOMAXPROCS(0)))
	d.byte('}')
}

// share is a stretch of the text with the challenges that were read from it.
type share struct {
	compact
	shape      *shape
	begin, end int // of a challenge that belongs here, the first byte lies between
	challenges []*Challenge
	firsts     []bool // which of them begin a partition
	closed     bool   // the list of partitions ended
}

// shares divides the text from the first challenge on, and reads.
func (d *compactDecoder) shares(n int) (out []*share) {
	const least = 1 << 16 // bytes that are worth a core
	from, all := d.at, len(d.text)-d.at
	name, _, found := bytes.Cut(d.text[from:min(from+64, len(d.text))], []byte{':'})
	if !found {
		return nil
	}
	n = max(1, min(n, all/least))
	for k := range n {
		at, end := from+k*all/n, from+(k+1)*all/n
		// The name may begin in the share and end in the next.
		if i := bytes.Index(d.text[at:min(end+len(name)-1, len(d.text))], name); i >= 0 {
			out = append(out, &share{compact: compact{text: d.text, at: at + i}, shape: &d.shape, begin: at + i, end: end})
		}
	}
	var wg sync.WaitGroup
	for _, s := range out {
		wg.Go(func() { s.read(s.begin == from) })
	}
	wg.Wait()
	return out
}

// read reads the challenges of a share. first says that the first one begins a
// partition; for all shares but the text's first the one before knows that.
func (s *share) read(first bool) {
	for !s.bad && !s.closed && s.at < s.end {
		c := new(Challenge)
		s.challenges, s.firsts = append(s.challenges, c), append(s.firsts, first)
		s.challenge(c)
		first = !s.more(']')
		if s.bad || !first {
			continue
		}
		if s.closed = !s.more(']'); !s.closed {
			s.byte('[')
		}
	}
	s.firsts = append(s.firsts, first) // of the challenge that follows
}

// partitions puts shares together, if they follow each other without a gap.
func (d *compactDecoder) partitions(shares []*share) {
	n := d.shape.size.PoRepChallenges()
	first := true
	for i, s := range shares {
		if s.bad || s.begin != d.at || s.closed != (i == len(shares)-1) {
			d.fail()
			return
		}
		for k, c := range s.challenges {
			if k > 0 {
				first = s.firsts[k]
			}
			d.append(c, first, n)
		}
		d.at, first = s.at, s.firsts[len(s.challenges)]
	}
	if len(shares) == 0 || d.short(n) {
		d.fail()
	}
}

// append adds a challenge to the present partition or a new one of n.
func (d *compactDecoder) append(c *Challenge, first bool, n int) {
	if first {
		if d.short(n) {
			d.fail()
		}
		d.c1.Partitions = append(d.c1.Partitions, make([]Challenge, 0, n))
	}
	last := len(d.c1.Partitions) - 1
	if p := d.c1.Partitions[last]; len(p) < n {
		d.c1.Partitions[last] = append(p, *c)
		return
	}
	d.fail()
}

// short tells whether the last partition lacks challenges.
func (d *compactDecoder) short(n int) bool {
	last := len(d.c1.Partitions) - 1
	return last >= 0 && len(d.c1.Partitions[last]) < n
}

// challenge reads one challenge.
func (s *share) challenge(c *Challenge) {
	mem := slab(make([]fr.Element, s.shape.elements()))
	s.object(challengeMembers, func(i int) {
		switch i {
		case 0:
			s.path(&c.Data, &s.shape.data, &mem)
		case 1:
			s.path(&c.Replica, &s.shape.tree, &mem)
		case 2:
			s.columns(c, &mem)
		case 3:
			c.Labeling = make([]Labeling, s.shape.size.Layers())
			s.array(len(c.Labeling), func(i int) { s.labeling(&c.Labeling[i]) })
		case 4:
			s.labeling(&c.Encoding)
		}
	})
}

func (s *share) columns(c *Challenge, mem *slab) {
	drg, exp := c.Columns[1:1+porep.DRGParents], c.Columns[1+porep.DRGParents:]
	s.object(columnsMembers, func(i int) {
		switch i {
		case 0:
			s.column(&c.Columns[0], mem)
		case 1:
			s.array(len(drg), func(i int) { s.column(&drg[i], mem) })
		case 2:
			s.array(len(exp), func(i int) { s.column(&exp[i], mem) })
		}
	})
}

func (s *share) column(c *Column, mem *slab) {
	s.object(columnMembers, func(i int) {
		if i == 0 {
			s.rows(c, mem)
		} else {
			s.path(&c.Path, &s.shape.tree, mem)
		}
	})
}

func (s *share) rows(c *Column, mem *slab) {
	c.Rows = mem.take(s.shape.size.Layers())
	s.object(rowsMembers, func(i int) {
		switch i {
		case 0:
			c.Node = uint32(s.uint(math.MaxUint32))
		case 1:
			s.array(len(c.Rows), func(i int) { s.element(&c.Rows[i]) })
		case 2:
			s.null()
		}
	})
}

// path reads a Merkle proof of the given form.
func (s *share) path(p *vanilla.Path, f *form, mem *slab) {
	p.Siblings = mem.take(f.Siblings())
	var digits [maxLevels]uint64
	s.object(pathMembers, func(int) {
		s.object(f.variantMember, func(int) {
			s.object(f.members, func(i int) {
				switch i {
				case 0:
					s.element(&p.Root)
				case 1:
					s.element(&p.Leaf)
				default:
					s.inclusion(p, f, i-2, &digits)
				}
			})
		})
	})
	p.Index = leafIndex(digits[:len(f.Arities)], f.Arities)
}

// inclusion reads one path of siblings and digits.
func (s *share) inclusion(p *vanilla.Path, f *form, part int, digits *[maxLevels]uint64) {
	level, at := 0, 0
	for _, pt := range f.parts[:part] {
		for range pt.levels {
			at += f.Arities[level] - 1
			level++
		}
	}
	s.object(inclusionMembers, func(int) {
		s.array(f.parts[part].levels, func(int) {
			n := f.Arities[level] - 1
			s.object(levelMembers, func(i int) {
				if i == 0 {
					s.array(n, func(j int) { s.element(&p.Siblings[at+j]) })
				} else {
					digits[level] = s.uint(uint64(n))
				}
			})
			at += n
			level++
		})
	})
}

func (s *share) labeling(l *Labeling) {
	s.object(labelingMembers, func(i int) {
		switch i {
		case 0:
			s.array(len(l.Parents), func(i int) { s.digest(&l.Parents[i]) })
		case 1:
			l.Layer = uint32(s.uint(math.MaxUint32))
		case 2:
			l.Node = s.uint(math.MaxUint64)
		}
	})
}
