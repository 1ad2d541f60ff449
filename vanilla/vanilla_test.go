package vanilla

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/sector"
)

func expectError(t *testing.T, err error, part string) {
	t.Helper()
	var fault *Error
	switch {
	case err == nil:
		t.Errorf("no error, want one with %q", part)
	case !strings.Contains(err.Error(), part):
		t.Errorf("error %q, want one with %q", err, part)
	case !errors.As(err, &fault):
		t.Errorf("error %q is not an Error", err)
	}
}

// encode writes a path as bincode does; the mirror of Tree.Path for tests.
func encode(t *Tree, p *Path) (out []byte) {
	u64 := func(v uint64) { out = binary.LittleEndian.AppendUint64(out, v) }
	element := func(e fr.Element) { d := DomainOf(&e); out = append(out, d[:]...) }
	variant := uint32(0)
	base := len(t.Arities)
	if t.Sub {
		variant, base = 1, base-1
	}
	if t.Top {
		variant, base = 2, base-1
	}
	out = binary.LittleEndian.AppendUint32(out, variant)
	ends := func() { element(p.Root); element(p.Leaf) }
	if variant == 0 {
		ends()
	}
	u64(uint64(base))
	for i, a := range t.Arities {
		if i >= base {
			u64(1)
		}
		siblings, digit := p.Level(t, i)
		u64(uint64(a - 1))
		for _, s := range siblings {
			element(s)
		}
		u64(uint64(digit))
	}
	if variant > 0 {
		ends()
	}
	return out
}

// samplePath makes a path of made-up siblings that leads to its root.
func samplePath(t *Tree, index uint64) Path {
	p := Path{Index: index, Leaf: fr.NewElement(7), Siblings: make([]fr.Element, t.Siblings())}
	for i := range p.Siblings {
		p.Siblings[i].SetUint64(uint64(1000 + i))
	}
	p.Root = t.ComputeRoot(&p)
	return p
}

func trees() []*Tree {
	var out []*Tree
	for _, s := range sector.Sizes {
		out = append(out, TreeR(s))
	}
	return append(out, TreeD(sector.Size2KiB), TreeD(sector.Size8MiB))
}

func TestPathRoundTrip(t *testing.T) {
	for _, tree := range trees() {
		want := samplePath(tree, tree.Leaves()*2/3)
		data := encode(tree, &want)
		if len(data) != tree.EncodedLen() {
			t.Errorf("%v: %d bytes, EncodedLen says %d", tree.Arities, len(data), tree.EncodedLen())
		}
		r := NewReader(data)
		got := tree.Path(r)
		if err := r.Close(); err != nil {
			t.Fatalf("%v: %v", tree.Arities, err)
		}
		if got.Index != want.Index || got.Leaf != want.Leaf || got.Root != want.Root {
			t.Errorf("%v: path changed", tree.Arities)
		}
		if err := tree.Check(&got, &want.Root); err != nil {
			t.Errorf("%v: %v", tree.Arities, err)
		}
	}
}

// Sizes that the reference's encoding has.
func TestEncodedLenMatchesReference(t *testing.T) {
	if got := TreeR(sector.Size32GiB).EncodedLen(); got != 2484 {
		t.Errorf("32 GiB tree R: %d bytes, want 2484", got)
	}
	if got := TreeD(sector.Size32GiB).EncodedLen(); got != 1516 {
		t.Errorf("32 GiB tree D: %d bytes, want 1516", got)
	}
	for _, s := range sector.Sizes {
		if TreeR(s).Leaves() != s.Nodes() || TreeD(s).Leaves() != s.Nodes() {
			t.Errorf("%s: trees of %d and %d leaves over %d nodes", s, TreeR(s).Leaves(), TreeD(s).Leaves(), s.Nodes())
		}
	}
}

func TestWrongPathIsRefused(t *testing.T) {
	tree := TreeR(sector.Size64GiB)
	good := samplePath(tree, 12345)
	for _, c := range []struct {
		name   string
		change func(p *Path)
		want   string
	}{
		{"leaf", func(p *Path) { p.Leaf.SetUint64(8) }, "leads to root"},
		{"index", func(p *Path) { p.Index++ }, "leads to root"},
		{"top digit", func(p *Path) { p.Index ^= 1 << 30 }, "leads to root"},
		{"last sibling", func(p *Path) { p.Siblings[len(p.Siblings)-1].SetUint64(1) }, "leads to root"},
		{"root", func(p *Path) { p.Root.SetUint64(1) }, "states root"},
	} {
		p := good
		p.Siblings = append([]fr.Element(nil), good.Siblings...)
		c.change(&p)
		expectError(t, tree.Check(&p, &good.Root), c.want)
	}
}

// The hash of the reference's test of its SHA-256 hasher.
func TestSHANode(t *testing.T) {
	got := SHANode([]fr.Element{fr.NewElement(1), fr.NewElement(2)})
	b := got.Bytes()
	if h := Domain(b).String(); h != "14a1700fb682d225fdb53852673fba944579e349ed64d9ceb440a87679c955ff" {
		t.Errorf("SHA node of 1, 2 is %s", h)
	}
}

func TestDomain(t *testing.T) {
	var d Domain
	expectError(t, d.UnmarshalText([]byte("00")), "has 2 characters")
	expectError(t, d.UnmarshalText([]byte(strings.Repeat("g", 64))), "not hex")
	if err := d.UnmarshalText([]byte(strings.Repeat("ff", 32))); err != nil {
		t.Fatal(err)
	}
	_, err := d.Element()
	expectError(t, err, "not below the modulus")
	_, err = DomainFrom(make([]byte, 31))
	expectError(t, err, "has 31 bytes, want 32")
	minusOne := fr.NewElement(1)
	minusOne.Neg(&minusOne)
	d = DomainOf(&minusOne)
	if e, err := d.Element(); err != nil || e != minusOne {
		t.Errorf("r−1 becomes %v, %v", e, err)
	}
	if text, _ := d.MarshalText(); string(text) != d.String() {
		t.Error("text and string differ")
	}
}

// A length is checked before anything is allocated or read for it.
func TestReaderBoundsLengths(t *testing.T) {
	huge := binary.LittleEndian.AppendUint64(nil, 1<<63)
	r := NewReader(huge)
	if r.Length("things", 1<<40, 32) {
		t.Error("a huge length passes")
	}
	expectError(t, r.Close(), "has 9223372036854775808 entries")
	r = NewReader(binary.LittleEndian.AppendUint64(nil, 1<<40))
	if r.Length("things", 1<<40, 32) {
		t.Error("a length beyond the input passes")
	}
	expectError(t, r.Close(), "do not fit in the 0 bytes")
}

func TestReaderKeepsTheFirstFault(t *testing.T) {
	r := NewReader([]byte{1, 2, 3})
	r.EnterN("sector", 7)
	r.Enter("data")
	if r.Uint64("a") != 0 || r.Uint32("b") != 0 || r.Domain("c") != (Domain{}) {
		t.Error("a cut off input reads as something")
	}
	r.Leave()
	r.Leave()
	expectError(t, r.Close(), "sector 7: data: a: cut off at byte 0 of 3")
	r = NewReader([]byte{1, 2, 3, 4, 5})
	if r.Uint32("a") != 0x04030201 {
		t.Error("u32 is not little-endian")
	}
	expectError(t, r.Close(), "1 bytes left over after byte 4")
}

func TestErrorPlaces(t *testing.T) {
	if At(nil, "here") != nil {
		t.Error("no fault became one")
	}
	err := At(At(Errorf("odd"), "level %d", 3), "sector %d", 1)
	if err.Error() != "sector 1: level 3: odd" {
		t.Errorf("error is %q", err)
	}
	other := errors.New("other")
	if err := At(other, "file"); !errors.Is(err, other) || err.Error() != "file: other" {
		t.Errorf("error is %q", err)
	}
}

func TestReadFiles(t *testing.T) {
	read := func(name string) ([]byte, error) { return []byte(name), nil }
	got, err := ReadFiles(read, []string{"a", "b/c"})
	if err != nil || string(got[1]) != "b/c" {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"../a", "/a", "", "a//b"} {
		_, err := ReadFiles(read, []string{name})
		expectError(t, err, "not a plain relative path")
	}
}

// Arbitrary bytes do not panic, and what is accepted encodes to the same bytes.
func FuzzPath(f *testing.F) {
	all := trees()
	for i, tree := range all {
		p := samplePath(tree, 1)
		f.Add(uint8(i), encode(tree, &p))
	}
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		tree := all[int(n)%len(all)]
		r := NewReader(data)
		p := tree.Path(r)
		if r.Close() != nil {
			return
		}
		if string(encode(tree, &p)) != string(data) {
			t.Fatal("an accepted path encodes to other bytes")
		}
	})
}
