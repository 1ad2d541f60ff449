package main

import (
	"fmt"
	"math/big"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"
)

// machine runs the carry-chain subset of PTX that the generator emits, so the
// functions are checked without a GPU.
type machine struct {
	reg   map[string]uint32
	carry uint64
	pred  bool
}

func (m *machine) value(t *testing.T, s string) uint64 {
	if v, err := strconv.ParseUint(s, 0, 32); err == nil {
		return v
	}
	v, ok := m.reg[s]
	if !ok {
		t.Fatalf("register %q read before it is set", s)
	}
	return uint64(v)
}

func (m *machine) run(t *testing.T, blk *block) {
	for _, l := range blk.lines {
		if !strings.HasPrefix(l, ".reg") {
			m.step(t, strings.TrimSuffix(l, ";"))
		}
	}
}

func (m *machine) step(t *testing.T, line string) {
	if guarded, ok := strings.CutPrefix(line, "@q "); ok {
		if line = guarded; !m.pred {
			return
		}
	}
	name, rest, _ := strings.Cut(line, " ")
	args := strings.Split(strings.ReplaceAll(rest, " ", ""), ",")
	if strings.HasPrefix(name, "setp.ne") {
		m.pred = m.value(t, args[1]) != m.value(t, args[2])
		return
	}
	v := make([]uint64, len(args)-1)
	for i := range v {
		if args[i+1] != "q" || !strings.HasPrefix(name, "selp") {
			v[i] = m.value(t, args[i+1])
		}
	}
	m.reg[args[0]] = m.compute(t, name, v)
}

// compute gives the result word and sets the flag for .cc names.
func (m *machine) compute(t *testing.T, name string, v []uint64) uint32 {
	parts := strings.Split(name, ".")
	op, cc := parts[0], strings.Contains(name, ".cc")
	in := uint64(0)
	if op == "addc" || op == "subc" || op == "madc" {
		in, op = m.carry, strings.TrimSuffix(op, "c")
	}
	var r uint64
	switch op {
	case "mov":
		return uint32(v[0])
	case "and":
		return uint32(v[0] & v[1])
	case "selp":
		if m.pred {
			return uint32(v[0])
		}
		return uint32(v[1])
	case "add":
		r = v[0] + v[1] + in
	case "sub":
		r = v[0] - v[1] - in
	case "mul", "mad":
		r = v[0] * v[1]
		if parts[1] == "hi" {
			r >>= 32
		}
		r &= 1<<32 - 1
		if op == "mad" {
			r += v[2] + in
		}
	default:
		t.Fatalf("unknown instruction %q", name)
	}
	if cc {
		m.carry = r >> 32 & 1
	}
	return uint32(r)
}

func (m *machine) set(names []string, v *big.Int) {
	for i, l := range limbs(v, len(names)) {
		m.reg[names[i]] = l
	}
}

func (m *machine) get(names []string) *big.Int {
	v := new(big.Int)
	for i := len(names) - 1; i >= 0; i-- {
		v.Lsh(v, 32).Or(v, new(big.Int).SetUint64(uint64(m.reg[names[i]])))
	}
	return v
}

// operandsOf lists edge values below limit and random ones.
func operandsOf(p prime, limit *big.Int, n int) []*big.Int {
	r := p.radix()
	one := new(big.Int).Mod(r, p.value)
	edge := []*big.Int{big.NewInt(0), big.NewInt(1), big.NewInt(2), one, new(big.Int).Mod(new(big.Int).Mul(one, one), p.value)}
	for _, d := range []int64{1, 2} {
		edge = append(edge, new(big.Int).Sub(p.value, big.NewInt(d)), new(big.Int).Sub(limit, big.NewInt(d)))
	}
	for k := 31; k < 32*p.n; k += 32 {
		edge = append(edge, new(big.Int).Lsh(big.NewInt(1), uint(k)), new(big.Int).Lsh(big.NewInt(1), uint(k+1)))
	}
	var out []*big.Int
	for _, v := range edge {
		if v.Cmp(limit) < 0 {
			out = append(out, v)
		}
	}
	rng := rand.New(rand.NewSource(7))
	for range n {
		out = append(out, new(big.Int).Rand(rng, limit))
	}
	return out
}

func TestProductsMatchIntegers(t *testing.T) {
	for _, p := range []prime{fp, fr} {
		rinv := new(big.Int).ModInverse(p.radix(), p.value)
		for _, reduced := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/reduced=%v", p.name, reduced), func(t *testing.T) {
				out, a, b := numbered(0, p.n), numbered(p.n, p.n), numbered(2*p.n, p.n)
				blk := &block{}
				res := out
				if reduced {
					res = blk.temps32("t", p.n)
				}
				p.montgomery(blk, res, a, b)
				limitB := p.radix()
				if reduced {
					p.conditional(blk, out, res)
					limitB = p.value
				}
				for _, x := range operandsOf(p, p.value, 8) {
					for _, y := range operandsOf(p, limitB, 8) {
						m := &machine{reg: map[string]uint32{}}
						m.set(a, x)
						m.set(b, y)
						m.run(t, blk)
						want := new(big.Int).Mul(x, y)
						want.Mul(want, rinv).Mod(want, p.value)
						checkResidue(t, p, m.get(out), want, reduced)
					}
				}
			})
		}
	}
}

func checkResidue(t *testing.T, p prime, got, want *big.Int, reduced bool) {
	t.Helper()
	limit := new(big.Int).Lsh(p.value, 1)
	if reduced {
		limit = p.value
	}
	if got.Cmp(limit) >= 0 {
		t.Fatalf("result %#x is not below the limit", got)
	}
	if new(big.Int).Mod(got, p.value).Cmp(want) != 0 {
		t.Fatalf("got %#x want %#x", got, want)
	}
}

func TestSquareMatchesIntegers(t *testing.T) {
	p := fp
	rinv := new(big.Int).ModInverse(p.radix(), p.value)
	out, a := numbered(0, p.n), numbered(p.n, p.n)
	blk := &block{}
	p.montgomerySquare(blk, out, a)
	for _, x := range operandsOf(p, p.value, 500) {
		m := &machine{reg: map[string]uint32{}}
		m.set(a, x)
		m.run(t, blk)
		want := new(big.Int).Mul(x, x)
		want.Mul(want, rinv).Mod(want, p.value)
		checkResidue(t, p, m.get(out), want, false)
	}
}

func TestShoupMatchesIntegers(t *testing.T) {
	out, x, w, v := numbered(0, 8), numbered(8, 8), numbered(16, 8), numbered(24, 8)
	blk := &block{}
	shoupBody(blk, out, x, w, v)
	for _, c := range operandsOf(fr, fr.value, 10) {
		comp := new(big.Int).Div(new(big.Int).Lsh(c, 256), fr.value)
		for _, y := range operandsOf(fr, fr.radix(), 20) {
			m := &machine{reg: map[string]uint32{}}
			m.set(x, y)
			m.set(w, c)
			m.set(v, comp)
			m.run(t, blk)
			want := new(big.Int).Mul(c, y)
			checkResidue(t, fr, m.get(out), want.Mod(want, fr.value), false)
		}
	}
}

func TestConstantProductsMatchIntegers(t *testing.T) {
	out, x := numbered(0, 8), numbered(8, 8)
	z := rootOfUnity(8)
	i := new(big.Int).Mod(new(big.Int).Mul(z, z), fr.value)
	if i.BitLen() != 192 {
		t.Errorf("the root of order 4 has %d bits, want the short one", i.BitLen())
	}
	short := new(big.Int).Lsh(big.NewInt(5), 130)
	for _, w := range []*big.Int{z, i, short, big.NewInt(1)} {
		blk := &block{}
		comp := new(big.Int).Div(new(big.Int).Lsh(w, 256), fr.value)
		shoupBody(blk, out, x, constant(w), constant(comp))
		for _, y := range operandsOf(fr, fr.radix(), 600) {
			m := &machine{reg: map[string]uint32{}}
			m.set(x, y)
			m.run(t, blk)
			want := new(big.Int).Mul(w, y)
			checkResidue(t, fr, m.get(out), want.Mod(want, fr.value), false)
		}
	}
}

func TestLazySumsMatchIntegers(t *testing.T) {
	out, a, b := numbered(0, 8), numbered(8, 8), numbered(16, 8)
	add, sub := &block{}, &block{}
	emitAddLazy(fr, add, out, a, b)
	emitSubLazy(fr, sub, out, a, b)
	values := operandsOf(fr, new(big.Int).Lsh(fr.value, 1), 10)
	for _, x := range values {
		for _, y := range values {
			for blk, want := range map[*block]*big.Int{add: new(big.Int).Add(x, y), sub: new(big.Int).Sub(x, y)} {
				m := &machine{reg: map[string]uint32{}}
				m.set(a, x)
				m.set(b, y)
				m.run(t, blk)
				checkResidue(t, fr, m.get(out), want.Mod(want, fr.value), false)
			}
		}
	}
}

func TestLinearMatchesIntegers(t *testing.T) {
	for _, p := range []prime{fp, fr} {
		out, a, b := numbered(0, p.n), numbered(p.n, p.n), numbered(2*p.n, p.n)
		add, sub := &block{}, &block{}
		emitAdd(p, add, out, a, b)
		emitSub(p, sub, out, a, b)
		for _, x := range operandsOf(p, p.value, 6) {
			for _, y := range operandsOf(p, p.value, 6) {
				for blk, want := range map[*block]*big.Int{add: new(big.Int).Add(x, y), sub: new(big.Int).Sub(x, y)} {
					m := &machine{reg: map[string]uint32{}}
					m.set(a, x)
					m.set(b, y)
					m.run(t, blk)
					checkResidue(t, p, m.get(out), want.Mod(want, p.value), true)
				}
			}
		}
	}
}

// TestHeadersAreCurrent finds generated headers that were edited or not
// rebuilt.
func TestHeadersAreCurrent(t *testing.T) {
	for name, text := range headers() {
		have, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != text {
			t.Errorf("%s is stale: run go generate ./kernels", name)
		}
	}
}
