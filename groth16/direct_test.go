package groth16_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend/conformance"
	"cuzk/groth16"
	"cuzk/r1cs"
)

// TestEvaluatorServesManyAssignments uses one evaluator again and again, also after
// an assignment that satisfies nothing.
func TestEvaluatorServesManyAssignments(t *testing.T) {
	c := &conformance.Mixed{Inputs: 9, Groups: 30, Seed: 4}
	circuit := conformance.Compile(t, c)
	e, err := groth16.NewEvaluator(circuit, groth16.InsecureSecrets())
	if err != nil {
		t.Fatal(err)
	}
	b := groth16.Blinding{R: fr.NewElement(5), S: fr.NewElement(6)}
	good, bad := r1cs.Run(c).Assignment(), r1cs.Run(c).Assignment()
	bad.Elements[len(bad.Elements)-1].SetUint64(77)
	first, err := e.Exponents(t.Context(), good, &b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Exponents(t.Context(), bad, &b); err == nil || !strings.Contains(err.Error(), "is not satisfied") {
		t.Errorf("a spoilt assignment: %v", err)
	}
	again, err := e.Exponents(t.Context(), good, &b)
	if err != nil || *again != *first {
		t.Errorf("the second time %v, the first %v (%v)", again, first, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Exponents(ctx, good, &b); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
