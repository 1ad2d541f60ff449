package porep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/gadgettest"
	"cuzk/gadget/merkle"
	"cuzk/gadget/poseidon"
	gadgetsha "cuzk/gadget/sha256"
	"cuzk/porep"
	"cuzk/r1cs"
	"cuzk/sector"
	vporep "cuzk/vanilla/porep"
)

const requests = "../../testdata/requests/"

// compiled keeps the compiled forms that several tests need.
var compiled = func() func(testing.TB, sector.Size) *r1cs.Compiled {
	var mu sync.Mutex
	known := map[sector.Size]*r1cs.Compiled{}
	return func(t testing.TB, size sector.Size) *r1cs.Compiled {
		mu.Lock()
		defer mu.Unlock()
		if known[size] == nil {
			c, err := r1cs.Compile(Blank(size))
			if err != nil {
				t.Fatal(err)
			}
			known[size] = c
		}
		return known[size]
	}
}()

// load reads the first partition of a reference request.
func load(t testing.TB, name string) *Circuit {
	t.Helper()
	b, err := os.ReadFile(requests + name + ".c1.json")
	if err != nil {
		t.Fatal(err)
	}
	c1, err := vporep.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	c, err := FromC1(c1, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func witness(t testing.TB, c *Circuit) *r1cs.Assignment {
	t.Helper()
	w, err := c.Witness(context.Background(), compiled(t, c.size))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// referenceWitness is what the reference says of a partition's witness.
type referenceWitness struct {
	Aux    int
	SHA256 string   `json:"aux_sha256"`
	Chunk  int      `json:"chunk"`
	Chunks []string `json:"chunk_sha256_8"`
	Inputs []string `json:"public_inputs"`
}

// TestWitnessIsTheReferences compares every variable of every reference request
// with the reference's, by digest.
func TestWitnessIsTheReferences(t *testing.T) {
	names := []string{"porep-2KiB-V1", "porep-2KiB-V1_1", "porep-2KiB-synthetic", "porep-8MiB-V1", "porep-8MiB-V1_1"}
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && i > 0 {
				t.Skip("the first alone with -short")
			}
			var want struct{ Partitions []referenceWitness }
			b, err := os.ReadFile(requests + name + ".witness.json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			c := load(t, name)
			sameWitness(t, compiled(t, c.size), witness(t, c), &want.Partitions[0])
		})
	}
}

func sameWitness(t *testing.T, c *r1cs.Compiled, w *r1cs.Assignment, want *referenceWitness) {
	for i, x := range w.Inputs[1:] {
		if got := hex.EncodeToString(bigEndian(x)); got != pad(want.Inputs[i]) {
			t.Errorf("public input %d: %s, reference %s", i, got, want.Inputs[i])
		}
	}
	all := sha256.New()
	values := make([]fr.Element, want.Chunk)
	for i, short := range want.Chunks {
		v := values[:min(want.Chunk, want.Aux-i*want.Chunk)]
		if err := c.AuxValues(w, i*want.Chunk, v); err != nil {
			t.Fatal(err)
		}
		var buf []byte
		for j := range v {
			var le [fr.Bytes]byte
			fr.LittleEndian.PutElement(&le, v[j])
			buf = append(buf, le[:]...)
		}
		all.Write(buf)
		if sum := sha256.Sum256(buf); hex.EncodeToString(sum[:8]) != short {
			t.Fatalf("aux %d to %d differ from the reference's", i*want.Chunk, i*want.Chunk+len(v)-1)
		}
	}
	if got := hex.EncodeToString(all.Sum(nil)); w.Aux() != want.Aux || got != want.SHA256 {
		t.Errorf("%d aux, digest %s, reference %d, %s", w.Aux(), got, want.Aux, want.SHA256)
	}
}

func bigEndian(x fr.Element) []byte { b := x.Bytes(); return b[:] }

func pad(h string) string { return strings.Repeat("0", 64-len(h)) + h }

// TestWitnessAgreesWithText runs the circuit's text with values and compares
// every variable with the direct witness.
func TestWitnessAgreesWithText(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	c := load(t, "porep-2KiB-V1_1")
	r := r1cs.Run(c)
	if r.Failed >= 0 {
		t.Fatalf("row %d in %v does not hold", r.Failed, r.FailedIn)
	}
	sameAssignment(t, r.Assignment(), witness(t, c))
}

func sameAssignment(t *testing.T, want, got *r1cs.Assignment) {
	t.Helper()
	for i := range want.Inputs {
		if got.Inputs[i] != want.Inputs[i] {
			t.Fatalf("input %d differs", i)
		}
	}
	for i := range want.Bits {
		if got.Bits[i] != want.Bits[i] {
			t.Fatalf("one of bits %d to %d differs", 64*i, 64*i+63)
		}
	}
	for i := range want.Elements {
		if got.Elements[i] != want.Elements[i] {
			t.Fatalf("element %d differs", i)
		}
	}
}

// TestChallengeAgreesWithText runs one challenge of the largest size on made-up
// values, all layers and kinds of levels, both ways. Rows at the ends of paths
// do not hold; the values are compared all the same.
func TestChallengeAgreesWithText(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	c, err := New(sector.Size64GiB, arbitrary(sector.Size64GiB))
	if err != nil {
		t.Fatal(err)
	}
	r := r1cs.NewRunner()
	ports := r.Call(gadgetsha.Decompose{}, []r1cs.Var{r.Alloc(func() fr.Element { return c.data.ReplicaID })})
	for _, x := range []*fr.Element{&c.data.CommD, &c.data.CommC, &c.data.CommRLast} {
		ports = append(ports, r.Alloc(func() fr.Element { return *x }))
	}
	r.Call(c.challenge(2), ports)
	want := r.Assignment()
	got := r1cs.NewAssignment(r1cs.Counts{Inputs: len(want.Inputs), Aux: want.Aux(), Bits: want.NumBits})
	w := r1cs.NewWriter(got, r1cs.Place{Input: 1})
	w.Element(&c.data.ReplicaID)
	id := gadgetsha.WriteNode(w, &c.data.ReplicaID)
	for _, x := range []*fr.Element{&c.data.CommD, &c.data.CommC, &c.data.CommRLast} {
		w.Element(x)
	}
	c.challenge(2).write(w, &id)
	w.Flush()
	sameAssignment(t, want, got)
}

// TestFillFitsEverySize makes sure that every part ends where the compiled form
// says, on one core and on several alike.
func TestFillFitsEverySize(t *testing.T) {
	for _, size := range sector.Sizes {
		if testing.Short() && size != sector.Size32KiB {
			continue
		}
		c, err := New(size, arbitrary(size))
		if err != nil {
			t.Fatal(err)
		}
		cc, err := r1cs.Compile(Blank(size))
		if err != nil {
			t.Fatal(err)
		}
		one, three := r1cs.NewAssignment(cc.Counts()), r1cs.NewAssignment(cc.Counts())
		if err := errors.Join(c.Fill(context.Background(), cc, one, 1), c.Fill(context.Background(), cc, three, 3)); err != nil {
			t.Fatal(err)
		}
		sameAssignment(t, one, three)
	}
}

// TestColumnWitness compares the column gadget with its direct witness for both
// numbers of layers and every kind of level.
func TestColumnWitness(t *testing.T) {
	for _, size := range []sector.Size{sector.Size32KiB, sector.Size64GiB} {
		c, err := New(size, arbitrary(size))
		if err != nil {
			t.Fatal(err)
		}
		col := c.challenge(1).column(3)
		gadgettest.SameWitness(t,
			func(s r1cs.System) []r1cs.Var {
				return []r1cs.Var{s.Alloc(func() fr.Element { return rootOf(col) })}
			},
			func(s r1cs.System, v []r1cs.Var) { s.Call(col, v) },
			func(w *r1cs.Writer) {
				var b batch
				b.column(w, col.data.Labels, col.path(), true)
				b.write()
			})
	}
}

// rootOf is where a column's path leads.
func rootOf(c column) fr.Element {
	scratch := r1cs.NewAssignment(r1cs.Counts{Inputs: 2, Aux: 1 << 14, Bits: 1 << 8})
	w := r1cs.NewWriter(scratch, r1cs.Place{Input: 1})
	h := poseidon.ForArity(c.layers).Hash(c.data.Labels)
	return c.path().Write(w, &h)
}

// arbitrary is a partition of made-up values. Paths do not lead to the roots.
func arbitrary(size sector.Size) *Data {
	n := 0
	number := func() fr.Element { n++; return fr.NewElement(uint64(n) * 0x9e3779b97f4a7c15) }
	path := func(arities []int) (out []merkle.Step) {
		for _, a := range arities {
			s := merkle.Step{Index: n % a}
			for range a - 1 {
				s.Siblings = append(s.Siblings, number())
			}
			out = append(out, s)
		}
		return out
	}
	c := Blank(size)
	d := &Data{ReplicaID: number(), CommD: number(), CommR: number(), CommC: number(), CommRLast: number()}
	for range size.PoRepChallenges() {
		ch := Challenge{Node: uint64(n), Data: number(), DataPath: path(c.d), ReplicaPath: path(c.c), ColumnPath: path(c.c)}
		for range porep.Parents {
			col := Column{Path: path(c.c)}
			for range size.Layers() {
				col.Labels = append(col.Labels, number())
			}
			ch.Parents = append(ch.Parents, col)
		}
		d.Challenges = append(d.Challenges, ch)
	}
	return d
}

// TestWitnessSatisfies checks all rows, and then that each part of the witness
// is held by the row that it should be held by.
func TestWitnessSatisfies(t *testing.T) {
	c := load(t, "porep-2KiB-V1")
	cc := compiled(t, c.size)
	check := func() string {
		u, err := cc.Check(context.Background(), witness(t, c))
		if err != nil {
			t.Fatal(err)
		}
		if u == nil {
			return ""
		}
		return u.Path
	}
	if p := check(); p != "" {
		t.Fatalf("a row in %s does not hold", p)
	}
	ch := &c.data.Challenges[1]
	one := fr.One()
	for _, x := range []struct {
		what  string
		value *fr.Element
		path  string
	}{
		{"comm_r", &c.data.CommR, "porep-2KiB"},
		{"comm_d", &c.data.CommD, "porep-2KiB/challenge[0]/path-D 2-2-2-2-2-2[0]"},
		{"data", &ch.Data, "porep-2KiB/challenge[1]/path-D 2-2-2-2-2-2[0]"},
		{"parent's label", &ch.Parents[5].Labels[1], "porep-2KiB/challenge[1]/column-2[5]/path-C 8-8[0]"},
		{"replica's sibling", &ch.ReplicaPath[1].Siblings[2], "porep-2KiB/challenge[1]/path-R 8-8[0]"},
		{"column's sibling", &ch.ColumnPath[0].Siblings[6], "porep-2KiB/challenge[1]/path-C 8-8[0]"},
		{"replica id", &c.data.ReplicaID, "porep-2KiB/challenge[0]/path-R 8-8[0]"},
	} {
		old := *x.value
		x.value.Add(x.value, &one)
		if p := check(); p != x.path {
			t.Errorf("%s changed: the first row that fails is in %q, want %q", x.what, p, x.path)
		}
		*x.value = old
	}
}

func TestNewRefusesWrongShapes(t *testing.T) {
	size := sector.Size4KiB
	for what, change := range map[string]func(*Data){
		"no challenge":    func(d *Data) { d.Challenges = nil },
		"a parent":        func(d *Data) { d.Challenges[1].Parents = d.Challenges[1].Parents[1:] },
		"a label":         func(d *Data) { d.Challenges[0].Parents[2].Labels = nil },
		"a level":         func(d *Data) { d.Challenges[0].DataPath = d.Challenges[0].DataPath[1:] },
		"a sibling":       func(d *Data) { d.Challenges[0].ReplicaPath[2].Siblings = nil },
		"a digit":         func(d *Data) { d.Challenges[0].ColumnPath[2].Index = 2 },
		"negative":        func(d *Data) { d.Challenges[0].ColumnPath[0].Index = -1 },
		"a parent's path": func(d *Data) { d.Challenges[0].Parents[13].Path = nil },
	} {
		d := arbitrary(size)
		change(d)
		if _, err := New(size, d); err == nil {
			t.Errorf("%s missing or wrong: no error", what)
		}
	}
}

func TestFillRefuses(t *testing.T) {
	c, err := New(sector.Size2KiB, arbitrary(sector.Size2KiB))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cc := context.Background(), compiled(t, sector.Size2KiB)
	if _, err := Blank(sector.Size2KiB).Witness(ctx, cc); err == nil {
		t.Error("a blank circuit has a witness")
	}
	if err := c.Fill(ctx, cc, r1cs.NewAssignment(r1cs.Counts{Inputs: 40}), 1); err == nil {
		t.Error("an assignment of another size is filled")
	}
	if _, err := c.Witness(ctx, compiled(t, sector.Size4KiB)); err == nil {
		t.Error("the compiled form of another circuit is taken")
	}
	stop := errors.New("stop")
	cancelled, cancel := context.WithCancelCause(ctx)
	cancel(stop)
	if _, err := c.Witness(cancelled, cc); !errors.Is(err, stop) {
		t.Errorf("cancelled: error %v", err)
	}
}
