package cuda

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend/conformance"
	gpu "cuzk/cuda"
	"cuzk/groth16"
	"cuzk/internal/testutil"
	"cuzk/r1cs"
	"cuzk/srs"
)

// valuesCircuits are circuits whose quotient has a form of some parts, of one with all
// rows in use, and of as many as there can be.
func valuesCircuits(t *testing.T) []*conformance.Mixed {
	t.Helper()
	list := []*conformance.Mixed{{Inputs: 3, Groups: 4, Seed: 5}, {Inputs: 1, Groups: 9, Seed: 3}, {Inputs: 1, Groups: 22, Seed: 11}}
	for _, c := range list {
		if v := valuesOf(t, conformance.Compile(t, c)); v == nil {
			t.Fatalf("%s has no form", c.Name())
		}
	}
	if last := valuesOf(t, conformance.Compile(t, list[2])); len(last.form.Parts) != maxParts {
		t.Fatalf("%s has %d parts", list[2].Name(), len(last.form.Parts))
	}
	return list
}

func valuesOf(t *testing.T, circuit *r1cs.Compiled) *inValues {
	t.Helper()
	n, err := needOn(circuit, H200().facts(), Options{Values: ValuesAlways, Lists: true})
	if err != nil {
		t.Fatal(err)
	}
	return n.inValues()
}

// exponentsOf are those of the lists K and M with the insecure secrets.
func exponentsOf(t *testing.T, v *inValues) (k, m []fr.Element) {
	t.Helper()
	s := groth16.InsecureSecrets()
	k, m, err := v.form.Exponents(s.Tau, s.Delta)
	if err != nil {
		t.Fatal(err)
	}
	return k, m[:v.rows]
}

func multiplesOf(k []fr.Element) []bls12381.G1Affine {
	_, _, g, _ := bls12381.Generators()
	return bls12381.BatchScalarMultiplicationG1(&g, k)
}

// fileQuery is a list as a key file has it.
func fileQuery(name string, points []bls12381.G1Affine) srs.Query {
	q := srs.Query{Name: name, N: len(points)}
	for i := range points {
		raw := points[i].RawBytes()
		q.Raw = append(q.Raw, raw[:]...)
	}
	return q
}

// valuesKey is a key with the lists K and M.
func valuesKey(t *testing.T, circuit *r1cs.Compiled) *srs.Key {
	t.Helper()
	key := conformance.Key(t, circuit)
	k, m := exponentsOf(t, valuesOf(t, circuit))
	key.Values = &srs.Values{K: fileQuery("k", multiplesOf(k)), M: fileQuery("m", multiplesOf(m))}
	return key
}

// newValuesProver makes a prover in values, with room for so many rows that are not
// small, 0 for as many as there should be.
func newValuesProver(t *testing.T, circuit *r1cs.Compiled, o Options) *prover {
	t.Helper()
	o.Values, o.Lists = ValuesAlways, true
	m := newHostedMachine(t)
	p, err := newProver(m, circuit, 1<<30, o)
	if err != nil {
		t.Fatal(err)
	}
	if p.plan.values == nil {
		t.Fatal("the plan is not in values")
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil || m.bytes != 0 {
			t.Errorf("%d bytes are left, %v", m.bytes, err)
		}
	})
	return p
}

// TestHostedValuesKey makes the lists on the device and compares each point with its
// exponent, and with the same from a file.
func TestHostedValuesKey(t *testing.T) {
	t.Parallel()
	for _, c := range valuesCircuits(t) {
		t.Run(c.Name(), func(t *testing.T) {
			if testing.Short() {
				t.Skip("seconds for the tables of multiples")
			}
			ctx, circuit := context.Background(), conformance.Compile(t, c)
			key, secrets := valuesKey(t, circuit), Secrets(*groth16.InsecureSecrets())
			own, read := newValuesProver(t, circuit, Options{Works: 2}), newValuesProver(t, circuit, Options{Works: 2})
			if _, _, err := made(ctx, own, &secrets, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := loaded(ctx, read, key, nil); err != nil {
				t.Fatal(err)
			}
			for _, p := range []*prover{own, read} {
				if p.Bytes() > p.plan.Total() {
					t.Errorf("%d bytes are held, planned were %d", p.Bytes(), p.plan.Total())
				}
			}
			k, m := exponentsOf(t, own.plan.values)
			for _, l := range []struct {
				list *list
				want []fr.Element
			}{{&own.key.k, k}, {&own.key.m, m}} {
				data := fetch(t, own.machine, l.list.mem, l.list.bytes())
				for i, want := range multiplesOf(l.want) {
					if got := decodeG1(data[i*int(curveG1.point):]); got != want {
						t.Fatalf("point %d of %d of %s differs", i, l.list.n, l.list.query)
					}
				}
			}
			samePoints(t, own, read)
		})
	}
}

// adverse are assignments with products of every kind: the circuit's own, zeros, ones,
// r - 1 throughout, and what satisfies nothing.
func adverse(c *conformance.Mixed, circuit *r1cs.Compiled) []*r1cs.Assignment {
	minus := r1cs.NewAssignment(circuit.Counts())
	one := fr.One()
	ones := r1cs.NewAssignment(circuit.Counts())
	for _, list := range []struct{ minus, ones []fr.Element }{{minus.Inputs, ones.Inputs}, {minus.Elements, ones.Elements}} {
		for i := range list.ones {
			list.minus[i].Neg(&one)
			list.ones[i] = one
		}
	}
	minus.Inputs[0] = one
	for i := range ones.Bits {
		ones.Bits[i] = ^uint64(0)
	}
	if rest := circuit.Counts().Bits % 64; rest != 0 {
		ones.Bits[len(ones.Bits)-1] = 1<<rest - 1
	}
	return append(different(c, circuit), ones, minus)
}

// TestHostedInValues compares the sums of proofs in values with their definitions, with
// room for all rows that are not small, for some and for one.
func TestHostedInValues(t *testing.T) {
	t.Parallel()
	for _, c := range valuesCircuits(t) {
		for _, room := range []int{0, 40, 1} {
			t.Run(fmt.Sprintf("%s, room %d", c.Name(), room), func(t *testing.T) {
				if testing.Short() && (c.Groups > 4 || room != 1) {
					t.Skip("seconds of one core")
				}
				ctx, circuit := context.Background(), conformance.Compile(t, c)
				p := newValuesProver(t, circuit, Options{Works: 2, room: room})
				key := valuesKey(t, circuit)
				if _, err := loaded(ctx, p, key, nil); err != nil {
					t.Fatal(err)
				}
				ws := adverse(c, circuit)
				if testing.Short() {
					ws = ws[:1]
				}
				got, err := p.Sums(ctx, ws, nil)
				if err != nil {
					t.Fatal(err)
				}
				sameSums(t, "in values", got, references(t, circuit, key, ws))
			})
		}
	}
}

// TestValuesAreWanted tells when a prover is in values.
func TestValuesAreWanted(t *testing.T) {
	c := &conformance.Mixed{Inputs: 3, Groups: 4, Seed: 5}
	circuit := conformance.Compile(t, c)
	for _, o := range []struct {
		Options
		lists, want bool
	}{
		{Options{}, true, false}, // too small
		{Options{Values: ValuesAlways}, true, true},
		{Options{Values: ValuesAlways}, false, false},
		{Options{Values: ValuesNever}, true, false},
		{Options{Values: ValuesAlways, slice: tinySlice}, true, false},
	} {
		n, err := needOn(circuit, H200().facts(), o.Options)
		if err != nil {
			t.Fatal(err)
		}
		n.Lists = o.lists
		p, err := newProverPlan(n, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.values != nil; got != o.want {
			t.Errorf("%+v, lists %t: in values %t", o.Options, o.lists, got)
		}
	}
}

// TestValuesOfWrongLengthAreRefused loads lists that are too short, and none.
func TestValuesOfWrongLengthAreRefused(t *testing.T) {
	t.Parallel()
	ctx, c := context.Background(), &conformance.Mixed{Inputs: 3, Groups: 4, Seed: 5}
	circuit := conformance.Compile(t, c)
	good := valuesKey(t, circuit)
	short := func(q srs.Query) srs.Query {
		q.N, q.Raw = q.N-1, q.Raw[:len(q.Raw)-int(curveG1.point)]
		return q
	}
	for name, v := range map[string]*srs.Values{
		"none": nil, "short k": {K: short(good.Values.K), M: good.Values.M}, "short m": {K: good.Values.K, M: short(good.Values.M)},
	} {
		key := *good
		key.Values = v
		if _, err := loaded(ctx, newValuesProver(t, circuit, Options{}), &key, nil); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}

// TestWrongValuesAreNoticed flips bits of the lists K and M: the check of the finished
// proof must refuse it.
func TestWrongValuesAreNoticed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("seconds for every fault")
	}
	ctx, c := context.Background(), &conformance.Mixed{Inputs: 3, Groups: 4, Seed: 5}
	circuit := conformance.Compile(t, c)
	key := valuesKey(t, circuit)
	p := newValuesProver(t, circuit, Options{})
	if _, err := loaded(ctx, p, key, nil); err != nil {
		t.Fatal(err)
	}
	ws := []*r1cs.Assignment{r1cs.Run(c).Assignment()}
	prove := func() error {
		_, err := groth16.Prove(ctx, p, key.VK, ws, groth16.Fixed{R: fr.NewElement(3), S: fr.NewElement(4)}, nil)
		return err
	}
	if err := prove(); err != nil {
		t.Fatal(err)
	}
	full := p.rowOf(t, circuit, ws[0])
	for name, mem := range map[string]gpu.Memory{
		"k": p.key.k.mem, "a row of m": p.key.m.mem.Slice(int64(full)*curveG1.point, curveG1.point), "form": p.key.form.Slice(20, 1),
	} {
		before := fetch(t, p.machine, mem, 1)
		if err := p.machine.do(func(q queue) error { return q.upload(mem, []byte{before[0] ^ 2}) }); err != nil {
			t.Fatal(err)
		}
		if err := prove(); !errors.Is(err, groth16.ErrSelfCheck) {
			t.Errorf("a bit of %s flipped: %v", name, err)
		}
		if err := p.machine.do(func(q queue) error { return q.upload(mem, before) }); err != nil {
			t.Fatal(err)
		}
	}
	w, v := p.works[0], p.plan.values
	for _, kernel := range []string{"values_split", "values_products", "values_gather"} {
		m, points := w.m, w.listed(v, curveG1.point, p.key.k.mem)
		if err := p.machine.do(func(q queue) error {
			return errors.Join(q.fill(w.scalars(v), 0), q.fill(points, 0)) // nothing is left of the last proof
		}); err != nil {
			t.Fatal(err)
		}
		w.m = skipping{m, kernel}
		if err := prove(); !errors.Is(err, groth16.ErrSelfCheck) {
			t.Errorf("without %s: %v", kernel, err)
		}
		w.m = m
	}
	if err := prove(); err != nil {
		t.Errorf("after the faults: %v", err)
	}
}

// rowOf is the first row whose product is not zero.
func (p *prover) rowOf(t *testing.T, circuit *r1cs.Compiled, w *r1cs.Assignment) int {
	t.Helper()
	first := circuit.Counts().Rows
	err := circuit.EachRow(context.Background(), w, func() func(int, *[3]fr.Element, *[3]fr.Element) {
		return func(row int, v, _ *[3]fr.Element) {
			if !v[0].IsZero() && !v[1].IsZero() {
				first = min(first, row)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// TestHostedSelfTestValues runs the self-test's proof in values on the kernels
// compiled for the CPU.
func TestHostedSelfTestValues(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("seconds for the tables of multiples")
	}
	circuit, err := r1cs.Compile(probe{more: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, 1} {
		p := newValuesProver(t, circuit, Options{room: room})
		if _, _, err := made(context.Background(), p, &probeSecrets, nil); err != nil {
			t.Fatal(err)
		}
		if err := checkProof(context.Background(), p, circuit, &probeSecrets); err != nil {
			t.Errorf("room %d: %v", room, err)
		}
	}
}

// TestPlansInValues plans update-32GiB with the lists for cards of usual sizes, one
// assignment at a time and two: a plan is never over its cap, and from 64 GiB on in
// values, also in the memory that the plan with h takes.
func TestPlansInValues(t *testing.T) {
	t.Parallel()
	testutil.Slow(t, "a circuit of full size is compiled")
	n := needOf(t, "update-32GiB", h200)
	n.Lists = true
	for _, works := range []int{1, 2} {
		n.Works = works
		for _, gib := range []int64{16, 48, 64, 80, 96, 141} {
			limit := gib<<30 - 500<<20
			p, err := newProverPlan(n, limit)
			if err != nil {
				t.Fatal(err)
			}
			if p.Total() > limit {
				t.Errorf("%d GiB, %d at a time: the plan takes %d MiB", gib, works, p.Total()>>20)
			}
			if inValues, resident := p.values != nil, p.Slice == 0; inValues != (resident && gib > 48) {
				t.Errorf("%d GiB, %d at a time: in values %t\n%s", gib, works, inValues, p)
			}
		}
	}
	n.Lists = false
	powers, err := newProverPlan(n, unlimited)
	if err != nil {
		t.Fatal(err)
	}
	n.Lists = true
	if p, err := newProverPlan(n, powers.Total()); err != nil || p.values == nil || p.works != powers.works || p.lanes != powers.lanes {
		t.Errorf("in the memory of the plan with h: %v\n%s", err, p)
	}
}
