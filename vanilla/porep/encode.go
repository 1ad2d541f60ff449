package porep

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/go-json-experiment/json/jsontext"

	"cuzk/porep"
	"cuzk/vanilla"
)

// Encode writes a phase-1 output as the proofs API writes it, to the byte; the
// mark of a sample comes last. A wrapper is not written.
func (c *C1) Encode(w io.Writer) error {
	e := &encoder{Writer: bufio.NewWriterSize(w, 1<<16), shape: newShape(c.Proof.Size())}
	e.open(`{"registered_proof":"%s","vanilla_proofs":{"%s":`, c.Proof, c.Proof.Base())
	e.list(len(c.Partitions), func(k int) {
		e.list(len(c.Partitions[k]), func(i int) { e.challenge(&c.Partitions[k][i]) })
	})
	e.WriteString(`}`)
	for _, f := range []struct {
		name  string
		value vanilla.Domain
	}{{"comm_r", c.CommR}, {"comm_d", c.CommD}, {"replica_id", c.ReplicaID}, {"seed", c.Seed}, {"ticket", c.Ticket}} {
		e.open(`,"%s":`, f.name)
		e.domain(f.value)
	}
	if c.Sample != "" {
		quoted, err := jsontext.AppendQuote(nil, c.Sample)
		if err != nil {
			return fmt.Errorf("encode phase-1 output: mark of a sample: %w", err)
		}
		e.open(`,"%s":%s`, sampleName, quoted)
	}
	e.WriteString(`}`)
	if err := e.Flush(); err != nil {
		return fmt.Errorf("encode phase-1 output: %w", err)
	}
	return nil
}

// encoder writes JSON. The first error of the writer sticks until Flush.
type encoder struct {
	*bufio.Writer
	shape shape
}

func (e *encoder) open(format string, args ...any) { fmt.Fprintf(e, format, args...) }

// list writes an array.
func (e *encoder) list(n int, item func(i int)) {
	e.WriteByte('[')
	for i := range n {
		if i > 0 {
			e.WriteByte(',')
		}
		item(i)
	}
	e.WriteByte(']')
}

func (e *encoder) challenge(c *Challenge) {
	e.WriteString(`{"comm_d_proofs":`)
	e.path(&c.Data, e.shape.data)
	e.WriteString(`,"comm_r_last_proof":`)
	e.path(&c.Replica, e.shape.tree)
	e.WriteString(`,"replica_column_proofs":{"c_x":`)
	e.column(&c.Columns[0])
	drg, exp := c.Columns[1:1+porep.DRGParents], c.Columns[1+porep.DRGParents:]
	e.WriteString(`,"drg_parents":`)
	e.list(len(drg), func(i int) { e.column(&drg[i]) })
	e.WriteString(`,"exp_parents":`)
	e.list(len(exp), func(i int) { e.column(&exp[i]) })
	e.WriteString(`},"labeling_proofs":`)
	e.list(len(c.Labeling), func(i int) { e.labeling(&c.Labeling[i]) })
	e.WriteString(`,"encoding_proof":`)
	e.labeling(&c.Encoding)
	e.WriteByte('}')
}

func (e *encoder) column(c *Column) {
	e.open(`{"column":{"index":%d,"rows":`, c.Node)
	e.elements(c.Rows)
	e.WriteString(`,"_h":null},"inclusion_proof":`)
	e.path(&c.Path, e.shape.tree)
	e.WriteByte('}')
}

// path writes a Merkle proof; root and leaf come first in a Single one, last
// in the others.
func (e *encoder) path(p *vanilla.Path, f form) {
	e.open(`{"data":{"%s":{`, f.variant)
	if f.variant == "Single" {
		e.ends(p)
		e.WriteByte(',')
	}
	level := 0
	for i, pt := range f.parts {
		if i > 0 {
			e.WriteByte(',')
		}
		e.open(`"%s":{"path":`, pt.name)
		e.list(pt.levels, func(i int) { e.level(p, f, level+i) })
		e.WriteByte('}')
		level += pt.levels
	}
	if f.variant != "Single" {
		e.WriteByte(',')
		e.ends(p)
	}
	e.WriteString(`}}}`)
}

func (e *encoder) ends(p *vanilla.Path) {
	e.WriteString(`"root":`)
	e.element(&p.Root)
	e.WriteString(`,"leaf":`)
	e.element(&p.Leaf)
}

func (e *encoder) level(p *vanilla.Path, f form, i int) {
	siblings, digit := p.Level(f.Tree, i)
	e.WriteString(`{"hashes":`)
	e.elements(siblings)
	e.open(`,"index":%d}`, digit)
}

func (e *encoder) labeling(l *Labeling) {
	e.WriteString(`{"parents":`)
	e.list(len(l.Parents), func(i int) { e.domain(l.Parents[i]) })
	e.open(`,"layer_index":%d,"node":%d}`, l.Layer, l.Node)
}

func (e *encoder) elements(xs []fr.Element) {
	e.list(len(xs), func(i int) { e.element(&xs[i]) })
}

func (e *encoder) element(x *fr.Element) { e.domain(vanilla.DomainOf(x)) }

// domain writes 32 numbers.
func (e *encoder) domain(d vanilla.Domain) {
	buf := e.AvailableBuffer()
	for i, b := range d {
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		buf = strconv.AppendUint(append(buf, sep), uint64(b), 10)
	}
	e.Write(append(buf, ']'))
}
