package groth16_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	"cuzk/backend/conformance"
	"cuzk/backend/cpu"
	"cuzk/groth16"
	"cuzk/internal/testutil"
	"cuzk/kind"
	"cuzk/r1cs"
	"cuzk/srs"
)

// setup is a circuit with a key and a prover.
type setup struct {
	circuit *r1cs.Compiled
	key     *srs.Key
	prover  backend.Prover
}

func newSetup(t testing.TB, c r1cs.Circuit) *setup {
	t.Helper()
	s := &setup{circuit: conformance.Compile(t, c)}
	s.key = newKey(t, s.circuit)
	var err error
	if s.prover, err = cpu.New(cpu.Options{}).Load(context.Background(), s.circuit, s.key, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.prover.Close() })
	return s
}

// newKey makes a key as users do: into a file, which is then mapped.
func newKey(t testing.TB, circuit *r1cs.Compiled) *srs.Key {
	t.Helper()
	path := filepath.Join(t.TempDir(), "insecure-"+circuit.Name()+".params")
	var w *srs.Writer
	open := func(vk *srs.VerifyingKey, s srs.Shape) (_ groth16.Sink, err error) {
		w, err = srs.Create(path, vk, s)
		return w, err
	}
	err := groth16.Setup(context.Background(), circuit, groth16.InsecureSecrets(), open, nil)
	if err == nil {
		err = w.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	key, err := srs.OpenFile(context.Background(), path, srs.Options{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { key.Close() })
	return key
}

func (s *setup) prove(rnd groth16.Blinder, ws ...*r1cs.Assignment) ([]groth16.Proof, error) {
	r, err := groth16.Prove(context.Background(), s.prover, s.key.VK, ws, rnd, nil)
	if err != nil {
		return nil, err
	}
	return r.Proofs, nil
}

var blindings = map[string]groth16.Blinding{
	"none":  {},
	"small": {R: fr.NewElement(3), S: fr.NewElement(1 << 40)},
	"minus": {R: minus(1), S: minus(5)},
}

func minus(k uint64) fr.Element {
	x := fr.NewElement(k)
	return *x.Neg(&x)
}

func TestProveAgreesWithDirectEvaluation(t *testing.T) {
	for _, c := range conformance.Circuits() {
		s := newSetup(t, c)
		w := r1cs.Run(c).Assignment()
		for name, b := range blindings {
			got, err := s.prove(groth16.Fixed(b), w)
			if err != nil {
				t.Fatalf("%s, blinding %s: %v", c.Name(), name, err)
			}
			want, err := groth16.Direct(context.Background(), s.circuit, groth16.InsecureSecrets(), w, &b)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got[0].Encode(), want.Proof().Encode()) {
				t.Errorf("%s, blinding %s: proof differs from direct evaluation", c.Name(), name)
			}
		}
	}
}

func TestProveRefusesAWrongWitness(t *testing.T) {
	c := &conformance.Mixed{Inputs: 3, Groups: 5, Seed: 21}
	s := newSetup(t, c)
	good := func() *r1cs.Assignment { return r1cs.Run(c).Assignment() }
	one := fr.One()
	for name, spoil := range map[string]func(w *r1cs.Assignment){
		"a bit":            func(w *r1cs.Assignment) { w.Bits[0] ^= 2 },
		"an element":       func(w *r1cs.Assignment) { w.Elements[3].Add(&w.Elements[3], &one) },
		"the last element": func(w *r1cs.Assignment) { w.Elements[len(w.Elements)-1] = one },
		"a public input":   func(w *r1cs.Assignment) { w.Inputs[1].Add(&w.Inputs[1], &one) },
	} {
		w := good()
		spoil(w)
		if _, err := s.prove(groth16.Fixed{}, good(), w); !errors.Is(err, groth16.ErrSelfCheck) {
			t.Errorf("%s changed: error %v", name, err)
		} else if !strings.Contains(err.Error(), "assignment 1 of 2") {
			t.Errorf("%s changed: error does not name the assignment: %v", name, err)
		}
		if _, err := groth16.Direct(context.Background(), s.circuit, groth16.InsecureSecrets(), w, &groth16.Blinding{}); err == nil {
			t.Errorf("%s changed: direct evaluation took it", name)
		}
	}
}

func TestProveRefusesAnotherKey(t *testing.T) {
	c := &conformance.Mixed{Inputs: 3, Groups: 5, Seed: 22}
	s := newSetup(t, c)
	w := r1cs.Run(c).Assignment()
	vk := *s.key.VK
	vk.GammaG2, vk.DeltaG2 = vk.DeltaG2, vk.GammaG2
	if _, err := groth16.Prove(context.Background(), s.prover, &vk, []*r1cs.Assignment{w}, groth16.Fixed{}, nil); !errors.Is(err, groth16.ErrSelfCheck) {
		t.Errorf("gamma and delta changed places: error %v", err)
	}
	vk = *s.key.VK
	vk.IC = vk.IC[1:]
	if _, err := groth16.Prove(context.Background(), s.prover, &vk, []*r1cs.Assignment{w}, groth16.Fixed{}, nil); !errors.Is(err, groth16.ErrInputCount) {
		t.Errorf("a key with an input less: error %v", err)
	}
	vk = *s.key.VK
	vk.DeltaG1.SetInfinity()
	if _, err := groth16.Prove(context.Background(), s.prover, &vk, []*r1cs.Assignment{w}, groth16.Fixed{}, nil); err == nil || !strings.Contains(err.Error(), "delta") {
		t.Errorf("delta at infinity: error %v", err)
	}
}

func TestProveBlindsProofs(t *testing.T) {
	c := &conformance.Mixed{Inputs: 3, Groups: 5, Seed: 23}
	s := newSetup(t, c)
	w := r1cs.Run(c).Assignment()
	noise := make([]byte, 256)
	for i := range noise {
		noise[i] = byte(i*i + 7*i)
	}
	proofs, err := s.prove(groth16.Random{Reader: bytes.NewReader(noise)}, w, w)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range proofs { // all r come first, then all s
		var b groth16.Blinding
		b.R.SetBytes(noise[64*i : 64*i+64])
		b.S.SetBytes(noise[128+64*i : 128+64*i+64])
		want, err := s.prove(groth16.Fixed(b), w)
		if err != nil {
			t.Fatal(err)
		}
		if p != want[0] {
			t.Errorf("proof %d is not the one of its r and s", i)
		}
	}
	if proofs[0].A == proofs[1].A || proofs[0].B == proofs[1].B || proofs[0].C == proofs[1].C {
		t.Error("two proofs of one witness share a point")
	}
	if _, err := s.prove(groth16.Random{Reader: bytes.NewReader(noise[:200])}, w, w); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("reader that ends early: error %v", err)
	}
}

// TestProveMakesBellpersonsProofs: with bellperson's r and s, the reference's
// requests and the key from the known secrets, the bytes of the proof are
// bellperson's; and so are those of direct evaluation, which has no key.
func TestProveMakesBellpersonsProofs(t *testing.T) {
	for _, r := range []struct {
		circuit  string
		requests []string
	}{
		{"window-2KiB", []string{"window-2KiB-V1-1of2", "window-2KiB-V1-3of4", "window-2KiB-V1_2-2of2", "window-2KiB-V1_2-3of4"}},
		{"winning-2KiB", []string{"winning-2KiB"}},
		{"update-2KiB", []string{"update-2KiB"}},
		{"porep-2KiB", []string{"porep-2KiB-V1_1"}},
	} {
		t.Run(r.circuit, func(t *testing.T) {
			switch {
			case strings.HasPrefix(r.circuit, "update"), strings.HasPrefix(r.circuit, "porep"):
				testutil.Slow(t, "a key of a gigabyte, two million variables")
			case testing.Short() && r.circuit != "window-2KiB":
				t.Skip("some seconds: runs without -short")
			case testing.Short():
				r.requests = r.requests[:1]
			}
			id, err := srs.ParseID(r.circuit)
			if err != nil {
				t.Fatal(err)
			}
			blank, err := kind.Blank(id)
			if err != nil {
				t.Fatal(err)
			}
			s := newSetup(t, blank)
			for _, name := range r.requests {
				t.Run(name, func(t *testing.T) { checkRequest(t, s, name) })
			}
		})
	}
}

const requests = "../testdata/requests"

func checkRequest(t *testing.T, s *setup, name string) {
	var want struct{ Circuit, Proof, R, S string }
	data, err := os.ReadFile(filepath.Join(requests, name+".proof.json"))
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := groth16.Fixed{R: element(t, want.R), S: element(t, want.S)}
	ws := witnesses(t, s.circuit, name)
	proofs, err := s.prove(b, ws...)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(groth16.EncodeProofs(proofs)); got != want.Proof {
		t.Errorf("proof\n%s, reference\n%s", got, want.Proof)
	}
	var direct string
	for _, w := range ws {
		e, err := groth16.Direct(context.Background(), s.circuit, groth16.InsecureSecrets(), w, (*groth16.Blinding)(&b))
		if err != nil {
			t.Fatal(err)
		}
		direct += hex.EncodeToString(e.Proof().Encode())
	}
	if direct != want.Proof {
		t.Errorf("direct evaluation gives\n%s, reference\n%s", direct, want.Proof)
	}
}

func element(t testing.TB, text string) (x fr.Element) {
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.SetBytesCanonical(b); err != nil {
		t.Fatal(err)
	}
	return x
}

func witnesses(t testing.TB, circuit *r1cs.Compiled, name string) (ws []*r1cs.Assignment) {
	data, err := os.ReadFile(filepath.Join(requests, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	job, err := kind.Parse(data, func(f string) ([]byte, error) { return os.ReadFile(filepath.Join(requests, f)) })
	if err != nil {
		t.Fatal(err)
	}
	for i := range job.Partitions {
		w, err := job.Partitions[i].Witness(context.Background(), circuit)
		if err != nil {
			t.Fatal(err)
		}
		ws = append(ws, w)
	}
	return ws
}

func BenchmarkProve(b *testing.B) {
	for _, r := range []struct{ circuit, request string }{
		{"window-2KiB", "window-2KiB-V1-1of2"},
		{"winning-2KiB", "winning-2KiB"},
	} {
		b.Run(r.circuit, func(b *testing.B) {
			id, err := srs.ParseID(r.circuit)
			if err != nil {
				b.Fatal(err)
			}
			blank, err := kind.Blank(id)
			if err != nil {
				b.Fatal(err)
			}
			s := newSetup(b, blank)
			ws := witnesses(b, s.circuit, r.request)
			for b.Loop() {
				if _, err := s.prove(groth16.Fixed{}, ws...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
