package r1cs

import (
	"cmp"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Row is one expanded row: terms ascending by variable (inputs before aux), at
// most one a variable, none zero. Coefficients index Coefs of the walk.
type Row struct {
	Index   int
	A, B, C []CTerm
}

// Walk calls visit for every row of the whole circuit in order. The row's
// storage is reused; coefs is the table that its terms index, which grows when
// two ports bound to one variable make a sum that the circuit's own table does
// not hold. An error of visit ends the walk.
func (c *Compiled) Walk(visit func(r *Row, coefs []fr.Element) error) error {
	w := &walker{c: c, coefs: c.coefs, visit: visit}
	return w.template(c.root(), rootBase, nil)
}

type walker struct {
	c     *Compiled
	coefs []fr.Element
	sums  map[fr.Element]uint32 // coefficients that merging made
	visit func(r *Row, coefs []fr.Element) error
	row   Row
	buf   [3][]CTerm
	port  []CTerm
	stack []Var // port tables of the open instances
}

func (w *walker) template(t *Template, b base, ports []Var) error {
	row := b.row
	for _, it := range t.items {
		if it.call >= 0 {
			k := &t.calls[it.call]
			child := w.c.tmpls[k.tmpl]
			if err := w.call(child, k, b, ports); err != nil {
				return err
			}
			row += child.counts.Rows
			continue
		}
		for r := it.first; r < it.first+it.rows; r++ {
			w.row.Index = row
			w.row.A = w.expand(0, t.lc(int(r), 0), b, ports)
			w.row.B = w.expand(1, t.lc(int(r), 1), b, ports)
			w.row.C = w.expand(2, t.lc(int(r), 2), b, ports)
			if err := w.visit(&w.row, w.coefs); err != nil {
				return err
			}
			row++
		}
	}
	return nil
}

func (w *walker) call(child *Template, k *call, b base, ports []Var) error {
	mark := len(w.stack)
	for _, v := range k.ports {
		w.stack = append(w.stack, relocate(v, b, ports))
	}
	in := w.stack[mark:len(w.stack):len(w.stack)]
	err := w.template(child, b.plus(k.base), in)
	w.stack = w.stack[:mark]
	return err
}

// relocate turns a local variable into a global one.
func relocate(v Var, b base, ports []Var) Var {
	switch v.Class() {
	case ClassAux:
		return v + Var(b.aux)
	case ClassPort:
		return ports[v.Index()]
	}
	if v == One {
		return v
	}
	return Input(b.input + v.Index() - 1)
}

// expand relocates a combination. Local terms are ascending with ports last,
// so only what ports bring has to be sorted in.
func (w *walker) expand(m int, lc []CTerm, b base, ports []Var) []CTerm {
	out, port := w.buf[m][:0], w.port[:0]
	for _, t := range lc {
		if t.Var.Class() == ClassPort {
			port = append(port, CTerm{ports[t.Var.Index()], t.Coef})
		} else {
			out = append(out, CTerm{relocate(t.Var, b, ports), t.Coef})
		}
	}
	w.port = port
	if len(port) > 0 {
		out = w.merge(out, port)
	}
	w.buf[m] = out
	return out
}

// merge adds the terms of port, in any order and with repeats, to the
// ascending terms of out.
func (w *walker) merge(out, port []CTerm) []CTerm {
	byVar := func(a, b CTerm) int { return cmp.Compare(a.Var, b.Var) }
	own := len(out)
	out = append(out, port...)
	if !slices.IsSortedFunc(out, byVar) {
		if own == 0 || !slices.IsSortedFunc(port, byVar) || len(out) < 16 {
			slices.SortStableFunc(out, byVar)
		} else {
			w.port = mergeSorted(w.port[:0], out, own)
			out = append(out[:0], w.port...)
		}
	}
	return w.compact(out)
}

// mergeSorted appends the merge of the ascending stretches out[:own] and
// out[own:] to dst, which must not share storage with out.
func mergeSorted(dst, out []CTerm, own int) []CTerm {
	a, b := out[:own], out[own:]
	for len(a) > 0 && len(b) > 0 {
		if a[0].Var <= b[0].Var {
			dst, a = append(dst, a[0]), a[1:]
		} else {
			dst, b = append(dst, b[0]), b[1:]
		}
	}
	return append(append(dst, a...), b...)
}

// compact sums neighbours of one variable and drops zeros.
func (w *walker) compact(lc []CTerm) []CTerm {
	n, repeat := 0, false
	for i := 1; i < len(lc); i++ {
		repeat = repeat || lc[i].Var == lc[i-1].Var
	}
	if !repeat {
		return lc
	}
	for i := 0; i < len(lc); {
		sum, j := w.coefs[lc[i].Coef], i+1
		for ; j < len(lc) && lc[j].Var == lc[i].Var; j++ {
			sum.Add(&sum, &w.coefs[lc[j].Coef])
		}
		switch {
		case j == i+1:
			lc[n] = lc[i]
			n++
		case !sum.IsZero():
			lc[n] = CTerm{lc[i].Var, w.sum(sum)}
			n++
		}
		i = j
	}
	return lc[:n]
}

// sum finds or makes the index of a coefficient that merging made.
func (w *walker) sum(x fr.Element) uint32 {
	if w.sums == nil {
		w.sums = map[fr.Element]uint32{}
		w.coefs = slices.Clone(w.coefs)
	}
	i, ok := w.sums[x]
	if !ok {
		i = uint32(len(w.coefs))
		w.coefs = append(w.coefs, x)
		w.sums[x] = i
	}
	return i
}
