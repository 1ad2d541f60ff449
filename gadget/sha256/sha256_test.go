package sha256

import (
	stdsha "crypto/sha256"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/gadget/gadgettest"
	"cuzk/gadget/num"
	u32 "cuzk/gadget/uint32"
	"cuzk/r1cs"
	"cuzk/r1cs/rtest"
)

func TestDigests(t *testing.T) {
	bits := func(s r1cs.System, n int) []r1cs.Var { return gadgettest.Bits(s, n, 0x5ac3) }
	for name, body := range map[string]func(r1cs.System){
		"sha256_compress_512": func(s r1cs.System) { Compress(s, num.Bits(bits(s, 512)), InitialState()) },
		"sha256_512":          func(s r1cs.System) { Sum(s, num.Bits(bits(s, 512))) },
		"sha256_8":            func(s r1cs.System) { Sum(s, num.Bits(bits(s, 8))) },
		"sha256_hash2_nums":   func(s r1cs.System) { Hash2{}.Call(s, gadgettest.Numbers(s, 2)) },
	} {
		t.Run(name, func(t *testing.T) { gadgettest.Digest(t, name, body) })
	}
}

// TestSumAgreesWithStandardLibrary runs the circuit on messages of lengths
// around the block's edges and compares the digest's bits.
func TestSumAgreesWithStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 3, 55, 56, 63, 64, 65, 119, 120} {
		message := make([]byte, n)
		for i := range message {
			message[i] = byte(r.Uint32())
		}
		s := r1cs.NewRunner()
		bits := make([]boolean.Bit, 8*n)
		for i := range bits {
			bits[i] = boolean.Is(boolean.Alloc(s, func() bool { return bitOf(message, i) }))
			if r.IntN(3) == 0 { // as constants, too
				bits[i] = boolean.Const(bitOf(message, i))
			}
		}
		want := stdsha.Sum256(message)
		for i, b := range Sum(s, bits) {
			if b.Value(s) != bitOf(want[:], i) {
				t.Fatalf("%d bytes: bit %d of the digest differs", n, i)
			}
		}
		if s.Failed >= 0 {
			t.Errorf("%d bytes: row %d in %v does not hold", n, s.Failed, s.FailedIn)
		}
		if n == 0 && s.Rows > 0 {
			t.Errorf("the empty message has %d rows, want none", s.Rows)
		}
	}
}

// bitOf is bit i of bytes, the highest of each byte first.
func bitOf(b []byte, i int) bool { return b[i/8]>>(7-i%8)&1 == 1 }

func numbers(s r1cs.System) []r1cs.Var { return gadgettest.Numbers(s, 2) }

func TestHash2Witness(t *testing.T) {
	in := []fr.Element{gadgettest.Number(0), gadgettest.Number(1)}
	gadgettest.SameWitness(t, numbers,
		func(s r1cs.System, v []r1cs.Var) { Hash2{}.Call(s, v) },
		func(w *r1cs.Writer) {
			got := Hash2{}.Write(w, in)
			l, r := in[0].Bytes(), in[1].Bytes() // big-endian
			slices.Reverse(l[:])
			slices.Reverse(r[:])
			want := stdsha.Sum256(append(l[:], r[:]...))
			want[31] &= 0x3f
			if x, err := fr.LittleEndian.Element(&want); err != nil || got != x {
				t.Errorf("digest %s, want %s", got.String(), x.String())
			}
		})
}

// TestHash2KnownAnswer is the reference's hash of the nodes 1 and 2.
func TestHash2KnownAnswer(t *testing.T) {
	in := []fr.Element{fr.NewElement(1), fr.NewElement(2)}
	n := Hash2{}.Bits()
	a := r1cs.NewAssignment(r1cs.Counts{Inputs: 1, Aux: n + 1, Bits: n})
	got := Hash2{}.Write(r1cs.NewWriter(a, r1cs.Place{}), in)
	if want := "14a1700fb682d225fdb53852673fba944579e349ed64d9ceb440a87679c955ff"; got.Text(16) != want {
		t.Errorf("digest %s, want %s", got.Text(16), want)
	}
}

// TestTamperedHash2 changes variables all over the gadget, one at a time: a row
// of the part that reads the variable must fail.
func TestTamperedHash2(t *testing.T) {
	s := rtest.New()
	out := Hash2{}.Call(s, numbers(s))
	if row, path := s.Unsatisfied(); row >= 0 {
		t.Fatalf("row %d in %s does not hold", row, path)
	}
	for i := 0; i < len(s.Aux); i += 7919 {
		restore := s.Tamper(r1cs.Aux(i))
		if row, _ := s.Unsatisfied(); row < 0 {
			t.Errorf("aux %d can be changed unseen", i)
		}
		restore()
	}
	for v, want := range map[r1cs.Var]string{
		r1cs.Aux(0):       "sha256-2/to-bits",
		r1cs.Aux(2):       "sha256-2/to-bits",
		r1cs.Aux(2 + 510): "sha256-2/sha256-compression 7*v v:ffffff7f 7*v v:ffffff7f from 6a09e667 bb67ae85 3c6ef372 a54ff53a 510e527f 9b05688c 1f83d9ab 5be0cd19",
		out:               "sha256-2",
	} {
		restore := s.Tamper(v)
		if _, path := s.Unsatisfied(); path != want {
			t.Errorf("%v changed: the first row that fails is in %q, want %q", v, path, want)
		}
		restore()
	}
}

// TestForms covers every form of a word.
func TestForms(t *testing.T) {
	var mixed u32.Word
	mixed[0], mixed[1], mixed[2], mixed[3] = boolean.Is(1), boolean.Is(1).Not(), boolean.Const(true), boolean.Const(false)
	v := stateOf(make([]r1cs.Var, DigestBits))[0]
	got := Forms([]u32.Word{u32.Const(0x80), v, v, mixed, u32.Const(0)})
	if want := "80 2*v v:3~2|4 0"; got != want {
		t.Errorf("forms %q, want %q", got, want)
	}
}
