package sha256

import (
	"fmt"
	"strings"

	"cuzk/gadget/boolean"
	u32 "cuzk/gadget/uint32"
	"cuzk/r1cs"
)

// Compression is one compression as a gadget: its ports are the variables under
// the bits of block and state that are not constant, in that order, and its
// outputs the 256 bits of the new state, each word lowest bit first.
//
// Only the forms of the bits matter; the variables come through the ports.
type Compression struct {
	Block [blockWords]u32.Word
	State State
}

// Compress runs a compression on 512 message bits. All constant, it allocates
// nothing and gives constants.
func Compress(s r1cs.System, message []boolean.Bit, st State) State {
	g := Compression{State: st}
	for i := range g.Block {
		g.Block[i] = u32.FromBE(message[u32.Size*i:])
	}
	ports := g.ports()
	if len(ports) == 0 {
		return compress(gates{s, u32.NewMultiEq(s)}, &g.Block, &g.State)
	}
	return stateOf(s.Call(&g, ports))
}

// stateOf makes a state of 256 plain variables.
func stateOf(vs []r1cs.Var) (st State) {
	for i, v := range vs {
		st[i/u32.Size][i%u32.Size] = boolean.Is(v)
	}
	return st
}

// each visits block and state words in order.
func (c *Compression) each(visit func(w *u32.Word)) {
	for i := range c.Block {
		visit(&c.Block[i])
	}
	for i := range c.State {
		visit(&c.State[i])
	}
}

func (c *Compression) ports() (out []r1cs.Var) {
	c.each(func(w *u32.Word) {
		for _, b := range w {
			if !b.IsConst() {
				out = append(out, b.Var())
			}
		}
	})
	return out
}

// over is the gadget on the ports in place of its variables.
func (c *Compression) over(ports []r1cs.Var) (out Compression) {
	out = *c
	out.each(func(w *u32.Word) {
		for k, b := range w {
			if !b.IsConst() {
				w[k], ports = boolean.Of(b.Form(), ports[0]), ports[1:]
			}
		}
	})
	return out
}

// Synthesize implements r1cs.Gadget.
func (c *Compression) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	g := c.over(ports)
	eq := u32.NewMultiEq(s)
	st := compress(gates{s, eq}, &g.Block, &g.State)
	eq.Flush()
	out := make([]r1cs.Var, 0, DigestBits)
	for _, w := range st {
		for _, b := range w {
			out = append(out, b.Var())
		}
	}
	return out
}

// Shape implements r1cs.Gadget: the forms of the 24 words.
func (c *Compression) Shape() string {
	return "sha256-compression " + Forms(c.Block[:]) + " from " + Forms(c.State[:])
}

// Forms writes the forms of words: v is a word of variables, a number in
// hexadecimal a constant, v:MASK one with variables at the bits of the mask,
// followed by ~MASK for those negated and |VALUE for constant ones where there
// are any. 3*v stands for three equal words.
func Forms(words []u32.Word) string {
	var out []string
	for i := 0; i < len(words); {
		text, n := form(&words[i]), 1
		for i+n < len(words) && form(&words[i+n]) == text {
			n++
		}
		if i += n; n > 1 {
			text = fmt.Sprintf("%d*%s", n, text)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func form(w *u32.Word) string {
	var masks [4]uint32
	for k, b := range w {
		masks[b.Form()] |= 1 << k
	}
	vars := masks[boolean.IsVar] | masks[boolean.NotVar]
	if vars == 0 {
		return fmt.Sprintf("%x", masks[boolean.True])
	}
	text := "v"
	if vars != 1<<u32.Size-1 {
		text += fmt.Sprintf(":%x", vars)
	}
	if m := masks[boolean.NotVar]; m != 0 {
		text += fmt.Sprintf("~%x", m)
	}
	if m := masks[boolean.True]; m != 0 {
		text += fmt.Sprintf("|%x", m)
	}
	return text
}
