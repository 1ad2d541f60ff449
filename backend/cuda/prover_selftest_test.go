package cuda

import (
	"context"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
)

// TestHostedSelfTest runs the self-test's comparisons on the kernels compiled for
// the CPU, and then with a wrong device.
func TestHostedSelfTest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if err := pointsOn(ctx, newHostedMachine(t)); err != nil {
		t.Error(err)
	}
	if testing.Short() {
		t.Skip("seconds for the tables of multiples; TestHostedProof runs")
	}
	circuit, err := r1cs.Compile(probe{})
	if err != nil {
		t.Fatal(err)
	}
	secrets := &Secrets{}
	for i, x := range []*fr.Element{&secrets.Alpha, &secrets.Beta, &secrets.Gamma, &secrets.Delta, &secrets.Tau} {
		x.SetUint64(uint64(1000 + i))
	}
	p := newTestProver(t, circuit)
	if _, _, err := made(ctx, p, secrets, nil); err != nil {
		t.Fatal(err)
	}
	if err := checkProof(ctx, p, circuit, secrets); err != nil {
		t.Error(err)
	}
	// One bit of the first input's point, whose value is one.
	b := fetch(t, p.machine, p.key.a.others.mem, 1)
	b[0] ^= 1
	if err := p.machine.do(func(q queue) error { return q.upload(p.key.a.others.mem, b) }); err != nil {
		t.Fatal(err)
	}
	if err := checkProof(ctx, p, circuit, secrets); err == nil {
		t.Error("a wrong point was not noticed")
	}
}
