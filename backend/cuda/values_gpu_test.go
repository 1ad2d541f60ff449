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
	}
}
