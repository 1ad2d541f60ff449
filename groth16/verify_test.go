package groth16

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// TestProofsOfOthersVerify checks every proof of the reference and of real
// networks, one by one and as a batch, and that encoding gives the bytes back.
func TestProofsOfOthersVerify(t *testing.T) {
	for _, v := range allVectors(t) {
		t.Run(v.name, func(t *testing.T) {
			proofs, err := DecodeProofs(v.proof)
			if err != nil {
				t.Fatal(err)
			}
			if got := EncodeProofs(proofs); string(got) != string(v.proof) {
				t.Errorf("encoding gives %x, read %x", got, v.proof)
			}
			for j := range proofs {
				if err := Verify(v.vk, v.inputs[j], &proofs[j]); err != nil {
					t.Errorf("partition %d: %v", j, err)
				}
			}
			if err := VerifyBatch(v.vk, v.inputs, proofs, newStream(1)); err != nil {
				t.Errorf("batch: %v", err)
			}
		})
	}
}

// TestChangedProofRefused flips bits of each proof. Every flip must be refused,
// by the decoder or by the equation, as an invalid proof.
func TestChangedProofRefused(t *testing.T) {
	stride := 5
	if testing.Short() {
		stride = 61
	}
	for _, v := range allVectors(t) {
		k := prepare(t, v)
		for bit := 0; bit < 8*len(v.proof); bit += stride {
			b := slices.Clone(v.proof)
			b[bit/8] ^= 0x80 >> (bit % 8)
			if err := verifyBytes(k, v.inputs, b); !errors.Is(err, ErrInvalidProof) {
				t.Errorf("%s with bit %d flipped: %v", v.name, bit, err)
			}
		}
		for bit := range 8 { // all flags of all points of the first partition
			for _, at := range []int{0, g1Bytes, g1Bytes + g2Bytes} {
				b := slices.Clone(v.proof)
				b[at] ^= 0x80 >> bit
				if err := verifyBytes(k, v.inputs, b); !errors.Is(err, ErrInvalidProof) {
					t.Errorf("%s with byte %d bit %d flipped: %v", v.name, at, bit, err)
				}
			}
		}
	}
}

// TestChangedInputRefused flips one bit of public inputs.
func TestChangedInputRefused(t *testing.T) {
	stride := 97
	if testing.Short() {
		stride = 1021
	}
	for _, v := range allVectors(t) {
		k := prepare(t, v)
		proofs, err := DecodeProofs(v.proof)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < 254*k.Inputs(); at += stride {
			x := slices.Clone(v.inputs[0])
			x[at/254].Add(&x[at/254], powerOfTwo(at%254))
			if err := k.Verify(x, &proofs[0]); !errors.Is(err, ErrInvalidProof) {
				t.Errorf("%s with 2^%d added to input %d: %v", v.name, at%254, at/254, err)
			}
		}
	}
}

func powerOfTwo(n int) *fr.Element {
	var x fr.Element
	x.SetOne()
	for range n {
		x.Double(&x)
	}
	return &x
}

func prepare(t testing.TB, v vector) *PreparedKey {
	t.Helper()
	k, err := Prepare(v.vk)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func verifyBytes(k *PreparedKey, inputs [][]fr.Element, b []byte) error {
	proofs, err := DecodeProofs(b)
	if err != nil {
		return err
	}
	return k.VerifyBatch(inputs, proofs, newStream(2))
}

// twoPartitions is a reference proof of two partitions.
func twoPartitions(t testing.TB) (*PreparedKey, [][]fr.Element, []Proof) {
	t.Helper()
	for _, v := range referenceVectors(t) {
		if len(v.inputs) == 2 {
			proofs, err := DecodeProofs(v.proof)
			if err != nil {
				t.Fatal(err)
			}
			return prepare(t, v), v.inputs, proofs
		}
	}
	t.Fatal("no reference proof of two partitions")
	return nil, nil, nil
}

func TestSwappedPartitionsRefused(t *testing.T) {
	k, inputs, p := twoPartitions(t)
	err := k.VerifyBatch(inputs, []Proof{p[1], p[0]}, newStream(3))
	if !errors.Is(err, ErrInvalidProof) || !strings.Contains(err.Error(), "partition 0 of 2") {
		t.Errorf("got %v", err)
	}
}

func TestBatchNamesTheBadPartition(t *testing.T) {
	k, inputs, p := twoPartitions(t)
	p[1].C.Neg(&p[1].C)
	err := k.VerifyBatch(inputs, p, newStream(4))
	if !errors.Is(err, ErrInvalidProof) || !strings.Contains(err.Error(), "partition 1 of 2") {
		t.Errorf("got %v", err)
	}
}

// TestErrorsThatCancelRefused adds a point to one C and takes it from the other:
// a sum without random weights would not notice.
func TestErrorsThatCancelRefused(t *testing.T) {
	k, inputs, p := twoPartitions(t)
	_, _, d, _ := bls12381.Generators()
	p[0].C.Add(&p[0].C, &d)
	p[1].C.Sub(&p[1].C, &d)
	one := powerOfTwo(0)
	if err := k.verifySum(inputs, p, []fr.Element{*one, *one}); err != nil {
		t.Fatalf("the errors do not cancel, the test proves nothing: %v", err)
	}
	if err := k.VerifyBatch(inputs, p, newStream(5)); !errors.Is(err, ErrInvalidProof) {
		t.Errorf("got %v", err)
	}
}

func TestBatchShapes(t *testing.T) {
	k, inputs, p := twoPartitions(t)
	short := [][]fr.Element{inputs[0], inputs[1][1:]}
	for _, c := range []struct {
		name   string
		inputs [][]fr.Element
		proofs []Proof
		rnd    io.Reader
		want   error
		text   string
	}{
		{"no proofs", nil, nil, newStream(6), ErrProofLength, "no proof"},
		{"fewer inputs", inputs[:1], p, newStream(6), ErrInputCount, "inputs for 1"},
		{"one input short", short, p, newStream(6), ErrInputCount, "partition 1 has 21, the key takes 22"},
		{"no randomness", inputs, p, strings.NewReader("short"), io.ErrUnexpectedEOF, "randomness"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := k.VerifyBatch(c.inputs, c.proofs, c.rnd)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := k.Verify(inputs[0][1:], &p[0]); !errors.Is(err, ErrInputCount) {
		t.Errorf("one input short: %v", err)
	}
}

func TestInfinityRefusedWithoutDecoding(t *testing.T) {
	k, inputs, p := twoPartitions(t)
	for _, c := range []struct {
		point string
		proof Proof
	}{{"A", Proof{B: p[0].B, C: p[0].C}}, {"B", Proof{A: p[0].A, C: p[0].C}}, {"C", Proof{A: p[0].A, B: p[0].B}}} {
		var e *PointError
		if err := k.Verify(inputs[0], &c.proof); !errors.As(err, &e) || e.Point != c.point {
			t.Errorf("%s at infinity: %v", c.point, err)
		}
	}
}

// TestKeysAreNotInterchangeable verifies proofs under the key of another setup
// of the same circuit.
func TestKeysAreNotInterchangeable(t *testing.T) {
	ours, theirs := readVK(t, "keys/porep-2KiB.vk"), readVK(t, "field/eiger-2k-porep.vk")
	for _, v := range allVectors(t) {
		if len(v.vk.IC) != len(ours.IC) {
			continue
		}
		other := ours
		if !strings.HasPrefix(v.name, "eiger") {
			other = theirs
		}
		p, err := DecodeProofs(v.proof)
		if err != nil {
			t.Fatal(err)
		}
		if err := Verify(other, v.inputs[0], &p[0]); !errors.Is(err, ErrInvalidProof) {
			t.Errorf("%s under the other key: %v", v.name, err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, v := range allVectors(b) {
		k := prepare(b, v)
		b.Run(v.name, func(b *testing.B) {
			for b.Loop() {
				if err := verifyBytes(k, v.inputs, v.proof); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
