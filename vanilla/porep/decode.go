package porep

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/go-json-experiment/json/jsontext"

	"cuzk/porep"
	"cuzk/vanilla"
)

// ErrNonInteractive is the reason for which non-interactive proofs are refused.
var ErrNonInteractive = errors.New("non-interactive PoRep is not supported: its partitions are aggregated into one SnarkPack proof")

const (
	// sampleName marks a phase-1 output that was made without a sector. The
	// reference ignores names that it does not know.
	sampleName = "cuzk_sample"
	// maxPartitions is the most that any registered proof has.
	maxPartitions = 126
)

// Names of the wrapper's fields.
const (
	nameSectorNum  = "SectorNum"
	namePhase1Out  = "Phase1Out"
	nameSectorSize = "SectorSize"
)

// Decode reads a phase-1 output, bare or wrapped. The result has the shape that
// its registered proof demands; [C1.Check] tells whether it is true. Errors are
// a [vanilla.Error] with a [FormatError] or [ErrNonInteractive] in it.
func Decode(data []byte) (*C1, error) {
	if c := decodeCompact(data); c != nil {
		return c, nil
	}
	return decodeAny(data)
}

// decodeAny reads every form that JSON allows.
func decodeAny(data []byte) (*C1, error) {
	if !wrapped(data) {
		c, err := decode(bytes.NewBuffer(data))
		return c, vanilla.At(err, "phase-1 output")
	}
	w, phase1, err := readWrapper(data)
	if err != nil {
		return nil, vanilla.At(err, "wrapper of the phase-1 output")
	}
	c, err := decode(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(phase1)))
	if err != nil {
		return nil, vanilla.At(err, "phase-1 output in %s", namePhase1Out)
	}
	c.Wrapper = w
	return c, nil
}

// wrapped looks at the first name.
func wrapped(data []byte) bool {
	r := newReader(bytes.NewBuffer(data))
	if t, err := r.ReadToken(); err != nil || t.Kind() != '{' || r.PeekKind() != '"' {
		return false
	}
	t, err := r.ReadToken()
	return err == nil && slices.Contains([]string{nameSectorNum, namePhase1Out, nameSectorSize}, t.String())
}

// readWrapper returns the base64 text within.
func readWrapper(data []byte) (*Wrapper, []byte, error) {
	r, w := newReader(bytes.NewBuffer(data)), &Wrapper{}
	var text []byte
	err := r.object(
		field{name: nameSectorNum, read: func() (err error) { w.SectorNum, err = r.uint(math.MaxUint64); return }},
		field{name: nameSectorSize, read: func() (err error) { w.SectorSize, err = r.uint(math.MaxUint64); return }},
		field{name: namePhase1Out, read: func() (err error) { text, err = r.rawText(); return }},
	)
	if err == nil {
		err = r.end()
	}
	return w, text, err
}

// rawText reads a long string without a copy if it has no escapes.
func (r *reader) rawText() ([]byte, error) {
	if k := r.PeekKind(); k != '"' {
		_, err := r.text()
		return nil, err
	}
	v, err := r.ReadValue()
	if err != nil {
		return nil, r.broken(err, "a string")
	}
	if !bytes.ContainsRune(v, '\\') {
		return v[1 : len(v)-1], nil
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return nil, r.broken(err, "a string")
	}
	return text, nil
}

// end demands that nothing follows.
func (r *reader) end() error {
	if _, err := r.ReadToken(); err != io.EOF {
		return r.fail("something follows the end")
	}
	return nil
}

// decoder holds what is known so far of one phase-1 output.
type decoder struct {
	*reader
	c1    C1
	proof string // registered_proof
	key   string // what vanilla_proofs are filed under
	shape shape  // of the key
}

func decode(from io.Reader) (*C1, error) {
	d := &decoder{reader: newReader(from)}
	if err := d.output(); err != nil {
		return nil, err
	}
	return &d.c1, nil
}

func (d *decoder) output() error {
	commitment := func(name string, to *vanilla.Domain) field {
		return field{name: name, read: func() error { return d.digest(to) }}
	}
	err := d.object(
		field{name: "registered_proof", read: d.registered},
		field{name: "vanilla_proofs", read: d.vanilla},
		commitment("comm_r", &d.c1.CommR), commitment("comm_d", &d.c1.CommD),
		commitment("replica_id", &d.c1.ReplicaID),
		commitment("seed", &d.c1.Seed), commitment("ticket", &d.c1.Ticket),
		field{name: sampleName, optional: true, read: func() (err error) { d.c1.Sample, err = d.text(); return }},
	)
	if err != nil {
		return err
	}
	if err := d.agree(); err != nil {
		return err
	}
	return d.end()
}

// registered reads the name of the proof.
func (d *decoder) registered() (err error) {
	if d.proof, err = d.text(); err != nil {
		return err
	}
	if d.c1.Proof, err = porep.ParseProof(d.proof); err != nil {
		return d.fail("unknown registered seal proof %q", short(d.proof))
	}
	if d.c1.Proof.Feature() == porep.NonInteractive {
		return fmt.Errorf("%s: %w", d.proof, ErrNonInteractive)
	}
	return nil
}

// agree holds the vanilla proofs against the registered proof; the two come in
// any order.
func (d *decoder) agree() error {
	if want := d.c1.Proof.Base().String(); d.key != want {
		return d.fail("vanilla proofs are of %s but %s needs %s", d.key, d.proof, want)
	}
	got, want := len(d.c1.Partitions), d.c1.Proof.Config().Partitions()
	if got != want {
		return d.fail("%d partitions, %s has %d", got, d.proof, want)
	}
	return nil
}

// vanilla reads the partitions, filed under the name of the base proof.
func (d *decoder) vanilla() error {
	if err := d.delimiter('{', "an object"); err != nil {
		return err
	}
	if d.PeekKind() == '}' {
		return d.fail("no vanilla proofs")
	}
	name, err := d.token("the name of a proof")
	if err != nil {
		return err
	}
	d.key = name.String()
	p, err := porep.ParseProof(d.key)
	if err != nil || p != p.Base() {
		return d.fail("vanilla proofs of an unknown kind")
	}
	d.shape = newShape(p.Size())
	if _, err := d.list(maxPartitions, "partitions", d.partition); err != nil {
		return err
	}
	if d.PeekKind() != '}' {
		return d.fail("vanilla proofs of more than one kind")
	}
	return d.delimiter('}', "the end of the object")
}

func (d *decoder) partition(int) error {
	n := d.shape.size.PoRepChallenges()
	p := make([]Challenge, n)
	d.c1.Partitions = append(d.c1.Partitions, p)
	return d.array(n, "challenges", func(i int) error { return d.challenge(&p[i]) })
}

// slab hands out slices of one allocation.
type slab []fr.Element

func (s *slab) take(n int) []fr.Element {
	out := (*s)[:n:n]
	*s = (*s)[n:]
	return out
}

func (d *decoder) challenge(c *Challenge) error {
	mem := slab(make([]fr.Element, d.shape.elements()))
	return d.object(
		field{name: "comm_d_proofs", read: func() error { return d.path(&c.Data, d.shape.data, &mem) }},
		field{name: "comm_r_last_proof", read: func() error { return d.path(&c.Replica, d.shape.tree, &mem) }},
		field{name: "replica_column_proofs", read: func() error { return d.columns(c, &mem) }},
		field{name: "labeling_proofs", read: func() error { return d.labelings(c) }},
		field{name: "encoding_proof", read: func() error { return d.labeling(&c.Encoding) }},
	)
}

// columns reads the columns of the challenged node and of its parents.
func (d *decoder) columns(c *Challenge, mem *slab) error {
	drg, exp := c.Columns[1:1+porep.DRGParents], c.Columns[1+porep.DRGParents:]
	some := func(name string, to []Column) field {
		return field{name: name, read: func() error {
			return d.array(len(to), "columns", func(i int) error { return d.column(&to[i], mem) })
		}}
	}
	return d.object(
		field{name: "c_x", read: func() error { return d.column(&c.Columns[0], mem) }},
		some("drg_parents", drg), some("exp_parents", exp),
	)
}

func (d *decoder) column(c *Column, mem *slab) error {
	return d.object(
		field{name: "column", read: func() error { return d.rows(c, mem) }},
		field{name: "inclusion_proof", read: func() error { return d.path(&c.Path, d.shape.tree, mem) }},
	)
}

func (d *decoder) rows(c *Column, mem *slab) error {
	c.Rows = mem.take(d.shape.size.Layers())
	return d.object(
		field{name: "index", read: func() error {
			x, err := d.uint(math.MaxUint32)
			c.Node = uint32(x)
			return err
		}},
		field{name: "rows", read: func() error {
			return d.array(len(c.Rows), "rows", func(i int) error { return d.element(&c.Rows[i]) })
		}},
		field{name: "_h", optional: true, read: d.null},
	)
}

// path reads a Merkle proof of the given form.
func (d *decoder) path(p *vanilla.Path, form form, mem *slab) error {
	p.Siblings = mem.take(form.Siblings())
	fields := []field{
		{name: "root", read: func() error { return d.element(&p.Root) }},
		{name: "leaf", read: func() error { return d.element(&p.Leaf) }},
	}
	digits := make([]uint64, len(form.Arities))
	level, at := 0, 0
	for _, pt := range form.parts {
		first, from := level, at
		fields = append(fields, field{name: pt.name, read: func() error {
			return d.inclusion(p.Siblings[from:], digits[first:], form.Arities[first:first+pt.levels])
		}})
		for range pt.levels {
			at += form.Arities[level] - 1
			level++
		}
	}
	err := d.object(field{name: "data", read: func() error {
		return d.object(field{name: form.variant, read: func() error { return d.object(fields...) }})
	}})
	p.Index = leafIndex(digits, form.Arities)
	return err
}

// leafIndex is the position of the leaf that the digits lead to.
func leafIndex(digits []uint64, arities []int) uint64 {
	x := uint64(0)
	for i := len(digits) - 1; i >= 0; i-- {
		x = x*uint64(arities[i]) + digits[i]
	}
	return x
}

// inclusion reads one path of siblings and digits.
func (d *decoder) inclusion(siblings []fr.Element, digits []uint64, arities []int) error {
	return d.object(field{name: "path", read: func() error {
		return d.array(len(arities), "levels", func(i int) error {
			n := arities[i] - 1
			level := siblings[:n]
			siblings = siblings[n:]
			return d.object(
				field{name: "hashes", read: func() error {
					return d.array(n, "hashes", func(j int) error { return d.element(&level[j]) })
				}},
				field{name: "index", read: func() (err error) {
					digits[i], err = d.uint(uint64(n))
					return err
				}},
			)
		})
	}})
}

func (d *decoder) labelings(c *Challenge) error {
	c.Labeling = make([]Labeling, d.shape.size.Layers())
	return d.array(len(c.Labeling), "labeling proofs", func(i int) error { return d.labeling(&c.Labeling[i]) })
}

func (d *decoder) labeling(l *Labeling) error {
	return d.object(
		field{name: "parents", read: func() error {
			return d.array(len(l.Parents), "parents", func(i int) error { return d.digest(&l.Parents[i]) })
		}},
		field{name: "layer_index", read: func() error {
			x, err := d.uint(math.MaxUint32)
			l.Layer = uint32(x)
			return err
		}},
		field{name: "node", read: func() (err error) { l.Node, err = d.uint(math.MaxUint64); return }},
	)
}
