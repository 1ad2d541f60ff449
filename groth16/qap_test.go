package groth16

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
	"cuzk/srs"
)

// few is the statement x·u = y with public y, a constant in each matrix.
type few struct{ loose bool }

func (f few) Name() string { return "few" }

func (f few) Synthesize(s r1cs.System) {
	y := s.AllocInput(func() fr.Element { return fr.NewElement(35) })
	x := s.Alloc(func() fr.Element { return fr.NewElement(3) })
	u := s.AllocBit(func() bool { return true })
	if f.loose {
		s.Alloc(func() fr.Element { return fr.One() })
	}
	two, four := r1cs.Const(fr.NewElement(2)), r1cs.Const(fr.NewElement(4))
	// (x + 2)·(6u + 1) = y
	s.Enforce(two.Plus(x), r1cs.Const(fr.One()).Add(fr.NewElement(6), u), r1cs.V(y))
	// 4·u = 4
	s.Enforce(four.Clone(), r1cs.V(u), four)
}

func TestLagrangeBasisByItsDefinition(t *testing.T) {
	const m = 16
	tau := fr.NewElement(987654321)
	l, err := newLagrange(tau, m)
	if err != nil {
		t.Fatal(err)
	}
	omega, err := fr.Generator(m)
	if err != nil {
		t.Fatal(err)
	}
	var power [m]fr.Element
	power[0].SetOne()
	for i := 1; i < m; i++ {
		power[i].Mul(&power[i-1], &omega)
	}
	got := l.all(m)
	for j := range m { // Π (tau - ω^i)/(ω^j - ω^i) over i ≠ j
		want := fr.One()
		for i := range m {
			if i != j {
				var up, down fr.Element
				up.Sub(&tau, &power[i])
				down.Sub(&power[j], &power[i])
				want.Mul(&want, up.Div(&up, &down))
			}
		}
		if got[j] != want {
			t.Errorf("L_%d is %s, want %s", j, got[j].String(), want.String())
		}
		part := make([]fr.Element, 2)
		if l.fill(part, j); part[0] != want {
			t.Errorf("L_%d made from %d on is %s, want %s", j, j, part[0].String(), want.String())
		}
	}
}

func TestLagrangeFillsBlocks(t *testing.T) {
	l, err := newLagrange(fr.NewElement(5), 1<<13)
	if err != nil {
		t.Fatal(err)
	}
	all := l.all(5000)
	for _, from := range []int{0, 1, 1023, 1024, 3000} {
		part := make([]fr.Element, 2000)
		l.fill(part, from)
		for i := range part {
			if from+i < len(all) && part[i] != all[from+i] {
				t.Fatalf("value %d made from %d on differs", from+i, from)
			}
		}
	}
}

func TestInsecureSecretsAreBelowTwoTo254(t *testing.T) {
	s := InsecureSecrets()
	seen := map[fr.Element]bool{}
	for _, x := range []fr.Element{s.Alpha, s.Beta, s.Gamma, s.Delta, s.Tau} {
		if b := x.Bytes(); b[0] > 0x3f || seen[x] {
			t.Errorf("secret %x", b)
		}
		seen[x] = true
	}
}

// discard is a Sink that counts, and fails after some points.
type discard struct{ points, fail int }

var errDisk = errors.New("disk full")

func (d *discard) add(n int) error {
	if d.points += n; d.fail > 0 && d.points >= d.fail {
		return errDisk
	}
	return nil
}

func (d *discard) G1(p []bls12381.G1Affine) error { return d.add(len(p)) }
func (d *discard) G2(p []bls12381.G2Affine) error { return d.add(len(p)) }

func (d *discard) open(*srs.VerifyingKey, srs.Shape) (Sink, error) { return d, nil }

func TestSetupRefusesBadSecrets(t *testing.T) {
	c := compile(t, few{})
	for name, spoil := range map[string]func(*Secrets){
		"gamma or delta is zero": func(s *Secrets) { s.Gamma.SetZero() },
		"gamma or delta":         func(s *Secrets) { s.Delta.SetZero() },
		"tau lies on the domain": func(s *Secrets) { s.Tau.SetOne() },
	} {
		s := InsecureSecrets()
		spoil(s)
		err := Setup(context.Background(), c, s, new(discard).open, nil)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestSetupRefusesAnUnconstrainedVariable(t *testing.T) {
	err := Setup(context.Background(), compile(t, few{loose: true}), InsecureSecrets(), new(discard).open, nil)
	if err == nil || !strings.Contains(err.Error(), "variable 4 is in no row") {
		t.Errorf("error %v", err)
	}
}

func TestSetupStops(t *testing.T) {
	c := compile(t, few{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Setup(ctx, c, InsecureSecrets(), new(discard).open, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: error %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	err := Setup(ctx, c, InsecureSecrets(), new(discard).open, func(section string, _, _ int) {
		if section == SectionL {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled in section l: error %v", err)
	}
	d := &discard{fail: 9}
	if err := Setup(context.Background(), c, InsecureSecrets(), d.open, nil); !errors.Is(err, errDisk) {
		t.Errorf("sink that fails: error %v", err)
	}
	refuse := func(*srs.VerifyingKey, srs.Shape) (Sink, error) { return nil, errDisk }
	if err := Setup(context.Background(), c, InsecureSecrets(), refuse, nil); !errors.Is(err, errDisk) {
		t.Errorf("open that fails: error %v", err)
	}
}

func TestSetupReportsEverySectionToItsEnd(t *testing.T) {
	var last string
	var ended []string
	d := &discard{}
	err := Setup(context.Background(), compile(t, few{}), InsecureSecrets(), d.open, func(section string, done, total int) {
		if done < 0 || done > total || section == last && len(ended) > 0 && ended[len(ended)-1] == section {
			t.Errorf("section %s: %d of %d after %s", section, done, total, last)
		}
		if last = section; done == total {
			ended = append(ended, section)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(ended); got != "[rows h l a b_g1 b_g2]" {
		t.Errorf("sections ended: %s", got)
	}
}

// TestSetupFollowsItsDefinition computes every exponent of a small key from the
// rows, and compares all points.
func TestSetupFollowsItsDefinition(t *testing.T) {
	s := InsecureSecrets()
	var file bytes.Buffer
	open := func(vk *srs.VerifyingKey, shape srs.Shape) (Sink, error) { return newFileSink(&file, vk, shape), nil }
	if err := Setup(context.Background(), compile(t, few{}), s, open, nil); err != nil {
		t.Fatal(err)
	}
	key, err := srs.NewKey(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLagrange(s.Tau, 4) // 2 rows and 2 inputs
	if err != nil {
		t.Fatal(err)
	}
	basis := l.all(4)
	times := func(k uint64, x fr.Element) fr.Element { f := fr.NewElement(k); return *f.Mul(&f, &x) }
	plus := func(x, y fr.Element) fr.Element { return *x.Add(&x, &y) }
	// Variables: one, y, x, u.
	var zero fr.Element
	a := []fr.Element{plus(plus(times(2, basis[0]), times(4, basis[1])), basis[2]), basis[3], basis[0], zero}
	b := []fr.Element{basis[0], zero, zero, plus(times(6, basis[0]), basis[1])}
	c := []fr.Element{times(4, basis[1]), basis[0], zero, zero}
	k := func(v int, over fr.Element) fr.Element {
		var x, y fr.Element
		x.Mul(&s.Beta, &a[v])
		y.Mul(&s.Alpha, &b[v])
		x.Add(x.Add(&x, &y), &c[v])
		return *x.Div(&x, &over)
	}
	var h [3]fr.Element
	h[0].Div(&l.vanish, &s.Delta)
	h[1].Mul(&h[0], &s.Tau)
	h[2].Mul(&h[1], &s.Tau)
	checkPoints(t, key.H, h[:]...)
	checkPoints(t, key.L, k(2, s.Delta), k(3, s.Delta))
	checkPoints(t, key.A, a[:3]...)
	checkPoints(t, key.B1, b[0], b[3])
	_, _, p, q := bls12381.Generators()
	for i, x := range []fr.Element{k(0, s.Gamma), k(1, s.Gamma)} {
		if key.VK.IC[i] != mulG1(p, x) {
			t.Errorf("ic %d differs", i)
		}
	}
	b2 := make([]bls12381.G2Affine, 2)
	if err := key.B2.DecodeG2(b2, 0); err != nil {
		t.Fatal(err)
	}
	if b2[0] != mulG2(q, b[0]) || b2[1] != mulG2(q, b[3]) {
		t.Error("b_g2 differs")
	}
}

func checkPoints(t *testing.T, query srs.Query, exponents ...fr.Element) {
	t.Helper()
	got := make([]bls12381.G1Affine, query.N)
	if err := query.DecodeG1(got, 0); err != nil {
		t.Fatal(err)
	}
	_, _, p, _ := bls12381.Generators()
	if len(got) != len(exponents) {
		t.Fatalf("query %s has %d points, want %d", query.Name, len(got), len(exponents))
	}
	for i := range got {
		if got[i] != mulG1(p, exponents[i]) {
			t.Errorf("query %s, point %d differs", query.Name, i)
		}
	}
}
