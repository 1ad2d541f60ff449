package r1cs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// fileMagic begins an encoded circuit; the number is the version of the format.
const fileMagic = "cuzk circuit 1\n"

// ErrCorrupt says that bytes are not an intact encoded circuit.
var ErrCorrupt = errors.New("not an intact compiled circuit")

// Encode writes the compiled form: magic, body, SHA-256 of both. Numbers are
// varints, variables of a combination are written as differences.
func (c *Compiled) Encode() []byte {
	e := encoder{b: append(make([]byte, 0, 1<<20), fileMagic...)}
	e.text(c.name)
	e.int(len(c.coefs))
	for i := range c.coefs {
		le := littleEndian(&c.coefs[i])
		e.b = append(e.b, le[:]...)
	}
	e.int(len(c.tmpls))
	for _, t := range c.tmpls {
		e.template(t)
	}
	sum := sha256.Sum256(e.b)
	return append(e.b, sum[:]...)
}

// Digest is the SHA-256 that ends an encoded circuit: its content address.
func Digest(encoded []byte) (d [32]byte) {
	copy(d[:], encoded[max(len(encoded)-32, 0):])
	return d
}

type encoder struct{ b []byte }

func (e *encoder) int(n int) { e.b = binary.AppendUvarint(e.b, uint64(n)) }

func (e *encoder) text(s string) { e.int(len(s)); e.b = append(e.b, s...) }

func (e *encoder) vars(vs []Var) {
	e.int(len(vs))
	prev := Var(0)
	for _, v := range vs {
		e.b = binary.AppendVarint(e.b, int64(v)-int64(prev))
		prev = v
	}
}

func (e *encoder) template(t *Template) {
	e.text(t.shape)
	e.int(t.ports)
	e.vars(t.outs)
	e.int(len(t.calls))
	for i := range t.calls {
		e.int(int(t.calls[i].tmpl))
		e.vars(t.calls[i].ports)
	}
	e.int(len(t.items))
	for _, it := range t.items {
		e.int(int(it.rows)) // 0: the next call
	}
	e.layout(t)
	prev := uint32(0)
	for _, end := range t.ends {
		e.int(int(end - prev))
		e.lc(t.terms[prev:end])
		prev = end
	}
}

// layout writes runs of aux and the inputs between them.
func (e *encoder) layout(t *Template) {
	e.int(len(t.runs))
	for i := range t.runs {
		r := &t.runs[i]
		e.int(int(r.kind))
		if r.kind == runCall {
			e.int(int(r.call))
		} else {
			e.int(r.n)
		}
	}
	// Where calls stand among own inputs: own inputs before each call.
	e.int(t.counts.Inputs)
	for i := range t.calls {
		e.int(t.calls[i].base.input)
	}
}

func (e *encoder) lc(terms []CTerm) {
	prev := Var(0)
	for _, t := range terms {
		e.int(int(t.Var - prev))
		e.int(int(t.Coef))
		prev = t.Var
	}
}

// Decode reads what Encode wrote. The digest is verified first; everything
// that could make a reader of the circuit go out of bounds is checked too, so
// that a forged file is an error and never a panic.
func Decode(b []byte) (*Compiled, error) {
	if len(b) < len(fileMagic)+sha256.Size || string(b[:len(fileMagic)]) != fileMagic {
		return nil, fmt.Errorf("%w: no %q at its beginning", ErrCorrupt, fileMagic)
	}
	body := b[:len(b)-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], b[len(body):]) {
		return nil, fmt.Errorf("%w: its digest does not fit its content", ErrCorrupt)
	}
	d := &decoder{b: body[len(fileMagic):]}
	c := d.circuit()
	if d.err == nil && len(d.b) > 0 {
		d.fail("%d bytes left over", len(d.b))
	}
	if d.err != nil {
		return nil, d.err
	}
	return c, nil
}

type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
		d.b = nil
	}
}

// int reads a number of at most limit.
func (d *decoder) int(limit int) int {
	x, n := binary.Uvarint(d.b)
	if n <= 0 || limit < 0 || x > uint64(limit) {
		d.fail("number out of range")
		return 0
	}
	d.b = d.b[n:]
	return int(x)
}

// length reads a number of things that take at least one byte each.
func (d *decoder) length() int {
	n := d.int(len(d.b))
	if n > len(d.b) {
		d.fail("more announced than there is")
		return 0
	}
	return n
}

func (d *decoder) text() string {
	n := d.length()
	if d.err != nil {
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) vars() []Var {
	vs := make([]Var, d.length())
	prev := int64(0)
	for i := range vs {
		x, n := binary.Varint(d.b)
		prev += x
		if n <= 0 || prev < 0 || prev > int64(^Var(0)) {
			d.fail("variable out of range")
			return nil
		}
		d.b = d.b[n:]
		vs[i] = Var(prev)
	}
	return vs
}

func (d *decoder) circuit() *Compiled {
	c := &Compiled{name: d.text()}
	c.coefs = make([]fr.Element, d.int(len(d.b)/fr.Bytes))
	for i := range c.coefs {
		if len(d.b) < fr.Bytes {
			d.fail("coefficients cut short")
			return c
		}
		x, err := fr.LittleEndian.Element((*[fr.Bytes]byte)(d.b))
		if err != nil {
			d.fail("coefficient %d is not reduced", i)
			return c
		}
		c.coefs[i], d.b = x, d.b[fr.Bytes:]
	}
	n := d.length()
	for i := 0; i < n && d.err == nil; i++ {
		if t := d.template(c); d.err == nil {
			c.tmpls = append(c.tmpls, t)
			c.resolve(t)
		}
	}
	if d.err == nil && (len(c.tmpls) == 0 || c.root().ports != 0 || len(c.coefs) < 2 || c.coefs[0] != frOne || c.coefs[1] != frMinusOne) {
		d.fail("no whole circuit in it")
	}
	return c
}

func (d *decoder) template(c *Compiled) *Template {
	t := &Template{shape: d.text(), ports: d.int(MaxIndex)}
	t.outs = d.vars()
	t.calls = make([]call, d.length())
	for i := range t.calls {
		t.calls[i].tmpl = int32(d.int(len(c.tmpls) - 1))
		t.calls[i].ports = d.vars()
		if d.err != nil || len(t.calls[i].ports) != c.tmpls[t.calls[i].tmpl].ports {
			d.fail("template %s: call %d has a wrong number of ports", t.shape, i)
			return t
		}
	}
	d.items(c, t)
	d.layout(c, t)
	d.rows(c, t)
	if d.err == nil {
		d.checkVars(t)
	}
	return t
}

func (d *decoder) items(c *Compiled, t *Template) {
	t.items = make([]item, d.length())
	calls := int32(0)
	for i := range t.items {
		it := &t.items[i]
		it.call, it.first, it.rows = -1, int32(t.own), int32(d.int(1<<28))
		t.own += int(it.rows)
		if it.rows > 0 {
			t.counts.Rows += int(it.rows)
		} else if int(calls) < len(t.calls) {
			it.call = calls
			t.calls[calls].base.row = t.counts.Rows
			t.counts.Rows += c.tmpls[t.calls[calls].tmpl].counts.Rows
			calls++
		} else {
			d.fail("template %s has more items than calls", t.shape)
			return
		}
		if t.own > len(d.b) || t.counts.Rows > 1<<31 {
			d.fail("template %s: rows out of range", t.shape)
			return
		}
	}
	if int(calls) != len(t.calls) {
		d.fail("template %s has calls that no item names", t.shape)
	}
}

func (d *decoder) layout(c *Compiled, t *Template) {
	t.runs = make([]run, d.length())
	at, calls := base{}, 0
	place := func(n int) { // calls without aux have no run: they stand before the next
		for ; calls < n; calls++ {
			k := &t.calls[calls]
			k.base.aux, k.base.bit, k.base.element = at.aux, at.bit, at.element
		}
	}
	for i := range t.runs {
		r := &t.runs[i]
		r.kind, r.base = runKind(d.int(int(runCall))), at
		if r.kind != runCall {
			r.n = d.int(MaxIndex)
			if r.kind == runBits {
				at.bit += r.n
			} else {
				at.element += r.n
			}
		} else {
			r.call = int32(d.int(len(t.calls) - 1))
			if d.err != nil || int(r.call) < calls {
				d.fail("template %s: calls out of order", t.shape)
				return
			}
			place(int(r.call) + 1)
			n := c.tmpls[t.calls[r.call].tmpl].counts
			r.n = n.Aux
			at.bit, at.element = at.bit+n.Bits, at.element+n.Aux-n.Bits
		}
		if r.n == 0 && d.err == nil {
			d.fail("template %s: an empty run", t.shape)
		}
		if at.aux += r.n; at.aux > MaxIndex || d.err != nil {
			d.fail("template %s: too many variables", t.shape)
			return
		}
	}
	place(len(t.calls))
	t.counts.Aux, t.counts.Bits = at.aux, at.bit
	t.counts.Inputs = d.int(MaxIndex)
	prev := 0
	for i := range t.calls {
		k := &t.calls[i]
		k.base.input = d.int(t.counts.Inputs)
		if k.base.input < prev || k.base.input+c.tmpls[k.tmpl].counts.Inputs > t.counts.Inputs {
			d.fail("template %s: inputs of call %d out of range", t.shape, i)
		}
		prev = k.base.input + c.tmpls[k.tmpl].counts.Inputs
		k.base.input = min(k.base.input, t.counts.Inputs)
	}
	// A call with aux must have its run.
	seen := NewBitset(len(t.calls))
	for i := range t.runs {
		if t.runs[i].kind == runCall {
			seen.Set(int(t.runs[i].call))
		}
	}
	for i := range t.calls {
		if n := c.tmpls[t.calls[i].tmpl].counts.Aux; d.err == nil && (n > 0) != seen.Has(i) {
			d.fail("template %s: call %d has no place for its variables", t.shape, i)
		}
	}
}

func (d *decoder) rows(c *Compiled, t *Template) {
	t.ends = make([]uint32, 0, 3*t.own)
	for range 3 * t.own {
		n := d.length()
		prev := int64(-1)
		for range n {
			v := d.int(int(^Var(0)))
			if prev >= 0 {
				v += int(prev)
			}
			k := d.int(len(c.coefs) - 1)
			if d.err != nil || int64(v) <= prev || v > int(^Var(0)) {
				d.fail("template %s: terms out of order", t.shape)
				return
			}
			prev = int64(v)
			t.terms = append(t.terms, CTerm{Var(v), uint32(k)})
		}
		t.ends = append(t.ends, uint32(len(t.terms)))
	}
}

// checkVars makes sure that no variable points outside its template.
func (d *decoder) checkVars(t *Template) {
	ok := func(v Var) bool {
		return v.Index() < [4]int{t.counts.Inputs + 1, t.counts.Aux, t.ports, 0}[v.Class()]
	}
	for _, x := range t.terms {
		if !ok(x.Var) {
			d.fail("template %s: %v is not in it", t.shape, x.Var)
			return
		}
	}
	for i := range t.calls {
		for _, v := range t.calls[i].ports {
			if !ok(v) {
				d.fail("template %s: %v is not in it", t.shape, v)
				return
			}
		}
	}
	for _, v := range t.outs {
		if !ok(v) || v.Class() == ClassInput && v != One {
			d.fail("template %s: %v is no output of it", t.shape, v)
			return
		}
	}
}
