package poseidon

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// counting is the preimage 0, 1, …, n−1 of the published digests.
func counting(n int) []fr.Element {
	in := make([]fr.Element, n)
	for i := range in {
		in[i].SetUint64(uint64(i))
	}
	return in
}

// inputs are n reproducible elements that look random.
func inputs(n int, seed uint64) []fr.Element {
	in := make([]fr.Element, n)
	var x fr.Element
	x.SetUint64(seed + 2)
	for i := range in {
		for range 8 {
			x.Square(&x)
			x.Add(&x, new(fr.Element).SetUint64(uint64(i+3)))
		}
		in[i] = x
	}
	return in
}

func TestDigestsMatchNeptune(t *testing.T) {
	for arity, want := range map[int]string{
		2:  "396508d75e76a56b739e0fd902efe161a6fba9339d05a69d2e203c369a02e7ff",
		4:  "58a54b10a9e5848a00db3c6579229399fb6b4605bf1327ec019814ff6662075d",
		8:  "2394611da3a5de5512010042116770774b682e9d9cc4aed92a9934f56d38a5e6",
		11: "0c0fc1b2e5227f286ca537e232ebe87a09f3dcd8ccb08fc1cee3bbc32b693163",
		16: "2d3ae2663381ae8ac1c2fb5a6f871e635b8dbc6d30680a6f1291c74060266d37",
		24: "63beb8831f11ae15066f39bf783f3d9fc3e779f6468815b1d7ef3569f585b321",
		36: "699303082a6e5d5f540a30e03c10bbaa75cd368df8a8ac3c4473606dfa4e8140",
	} {
		if got := hexOf(ForArity(arity).Hash(counting(arity))); got != want {
			t.Errorf("arity %d: digest %s, want %s", arity, got, want)
		}
	}
	const custom = "314a35c4e7f0924ead1fc58134a0fe25e3580bea397367c7e5a74ec4bc077758"
	if got := hexOf(Custom1().Hash(counting(2))); got != custom {
		t.Errorf("arity 2 with tag 2^40: digest %s, want %s", got, custom)
	}
}

// Single hashes and chains that the reference's own tests publish.
func TestPublishedValues(t *testing.T) {
	u := func(v uint64) fr.Element { return fr.NewElement(v) }
	h2 := func(a, b fr.Element) fr.Element { return ForArity(2).Hash([]fr.Element{a, b}) }
	left, right := h2(u(1), u(0)), h2(u(0), u(1))
	phi := Custom1().Hash([]fr.Element{u(2), u(3)})
	checks := []struct {
		name string
		got  fr.Element
		want string
	}{
		{"H2(1,2)", h2(u(1), u(2)), "6d6f8106657f1f4d7babcbaf436a9d7669c04e726e5896d89317d9833e5fa9be"},
		{"node of [1 0]", left, "042f94ffbe786bc393c003cc74a24f26ec5907b3dc3094afb339ff6079800b5e"},
		{"root of [1 0 0 1]", h2(left, right), "1effebb7b26ad9eb30eb6385ae6b74ae77cc72b8cb2b5ad2efbb8be3e291e671"},
		{"phi(2,3)", phi, "4d96c347895dafe1c050092ad7aa3976e25c9f3620a5a3d6d82b2ab4ba6cb970"},
		{"rho(phi,5)", Custom1().Hash([]fr.Element{phi, u(5)}), "6c65f3b3c62ff4ce2206e4ff085f4ca68052d6b12b7ce2d2de1e1a5dbf29d97b"},
	}
	node := u(0)
	for i, want := range []string{
		"3f79e614b63889f904a036088bc029f5337c0be60db389d13482b431caff9b3a",
		"1fef060a97a779d1fa241e9739a23a76fb5cd70605cff3e20dd2f78bd0f43f64",
		"3584a8abae704c8bb44b5e4e5689d642f53670402fdc79b50aac11de741c624b",
		"292b24c03bb26fae43858ad74a906ed117cbc1bf0b34ecc809c633745f51be09",
	} {
		in := []fr.Element{node, node, node, node, node, node, node, node}
		node = ForArity(8).Hash(in)
		checks = append(checks, struct {
			name string
			got  fr.Element
			want string
		}{fmt.Sprintf("zero tree, height %d", i+1), node, want})
	}
	for _, c := range checks {
		if got := hexOf(c.got); got != c.want {
			t.Errorf("%s = %s, want %s", c.name, got, c.want)
		}
	}
}

func TestVectorFile(t *testing.T) {
	raw, err := os.ReadFile("testdata/poseidon.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Merkle map[string]string `json:"merkle_standard"`
		Tree   struct {
			Inputs []string
			Digest string
		} `json:"merkle_arity8_from_real_tree"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for name, want := range file.Merkle {
		arity, err := strconv.Atoi(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := ForArity(arity).Hash(counting(arity)); got != fromLE(t, want) {
			t.Errorf("arity %d: wrong digest %s", arity, hexOf(got))
		}
	}
	in := make([]fr.Element, len(file.Tree.Inputs))
	for i, s := range file.Tree.Inputs {
		in[i] = fromLE(t, s)
	}
	if got := ForArity(8).Hash(in); got != fromLE(t, file.Tree.Digest) {
		t.Errorf("node of a real tree: wrong digest %s", hexOf(got))
	}
}

func fromLE(t *testing.T, s string) fr.Element {
	t.Helper()
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != fr.Bytes {
		t.Fatalf("vector %q is not an element", s)
	}
	e, err := fr.LittleEndian.Element((*[fr.Bytes]byte)(raw))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// textbook is the permutation with plain round constants and the dense matrix.
func textbook(p *Params, in []fr.Element) fr.Element {
	state := append([]fr.Element{p.Tag}, in...)
	for r, keys := range roundConstants(p.T, p.RP) {
		partial := r >= half && r < half+p.RP
		for i := range state {
			state[i].Add(&state[i], &keys[i])
			if i == 0 || !partial {
				state[i].Exp(state[i], big5)
			}
		}
		state = matrix(p.M).row(state)
	}
	return state[1]
}

func TestHashAgreesWithTextbook(t *testing.T) {
	for _, p := range allParams() {
		for seed := range uint64(3) {
			in := inputs(p.Arity, seed)
			if got, want := p.Hash(in), textbook(p, in); got != want {
				t.Errorf("arity %d, seed %d: %s, textbook %s", p.Arity, seed, hexOf(got), hexOf(want))
			}
		}
	}
}

func allParams() []*Params {
	out := []*Params{Custom1()}
	for _, a := range Arities() {
		out = append(out, ForArity(a))
	}
	return out
}

func TestHashDoesNotAllocate(t *testing.T) {
	p := ForArity(8)
	in, dst := inputs(8, 1), make([]fr.Element, p.WitnessLen())
	if n := testing.AllocsPerRun(20, func() { p.Hash(in); p.Witness(dst, in) }); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

func BenchmarkHash(b *testing.B) {
	for _, arity := range []int{2, 8, 11} {
		b.Run(strconv.Itoa(arity), func(b *testing.B) {
			p, in := ForArity(arity), inputs(arity, 1)
			for b.Loop() {
				in[0] = p.Hash(in)
			}
		})
	}
}
