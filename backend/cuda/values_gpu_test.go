package cuda

import (
	"context"
	"testing"

	"cuzk/backend/conformance"
	"cuzk/groth16"
)

// TestValuesOnACard compares sums in values with those in coefficients, with room for
// all rows that are not small and for some.
func TestValuesOnACard(t *testing.T) {
	b := openFirst(t, Options{})
	ctx, c := context.Background(), &conformance.Mixed{Inputs: 5, Groups: 3000, Seed: 7}
	circuit, secrets := conformance.Compile(t, c), Secrets(*groth16.InsecureSecrets())
	ws := adverse(c, circuit)
	with := func(o Options) *prover {
		p, _, err := b.setup(ctx, circuit, &secrets, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		return p.(*prover)
	}
	want, err := with(Options{Values: ValuesNever}).Sums(ctx, ws, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, 1000} {
		p := with(Options{Values: ValuesAlways, Works: 2, room: room})
		if p.plan.values == nil {
			t.Fatal("the plan is not in values")
		}
		got, err := p.Sums(ctx, ws, nil)
		if err != nil {
			t.Fatal(err)
		}
		sameSums(t, "in values", got, want)
		for _, l := range []*list{&p.key.k, &p.key.m} {
			flipped := func() {
				data := fetch(t, p.machine, l.mem, l.bytes())
				for i := 0; i < len(data); i += int(curveG1.point) {
					data[i] ^= 2
				}
				if err := p.machine.do(func(q queue) error { return q.upload(l.mem, data) }); err != nil {
					t.Fatal(err)
				}
			}
			flipped()
			if got, err = p.Sums(ctx, ws[:1], nil); err != nil || got[0].H == want[0].H {
				t.Errorf("a bit of every point of %s flipped: the same sum, %v", l.query, err)
			}
			flipped()
		}
	}
}
