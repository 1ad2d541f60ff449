package porep

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cuzk/sector"
)

// porepID is n as little-endian 64 bits and zeros.
func porepID(n uint64) (id [32]byte) {
	binary.LittleEndian.PutUint64(id[:], n)
	return id
}

func filled(b byte) (out [32]byte) {
	for i := range out {
		out[i] = b
	}
	return out
}

func newGraph(t testing.TB, size sector.Size, id [32]byte, api API) *Graph {
	t.Helper()
	g, err := NewGraph(Config{Size: size, API: api, PorepID: id})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestParentsAreThoseOfTheReference(t *testing.T) {
	for _, c := range []struct {
		id   uint64
		size sector.Size
		api  API
		node uint64
		drg  []uint32
		exp  []uint32
	}{
		{5, sector.Size2KiB, APIv1_1, 0, []uint32{0, 0, 0, 0, 0, 0}, []uint32{4, 9, 60, 1, 14, 26, 26, 4}},
		{5, sector.Size2KiB, APIv1_1, 1, []uint32{0, 0, 0, 0, 0, 0}, []uint32{6, 12, 35, 43, 23, 34, 58, 2}},
		{5, sector.Size2KiB, APIv1_1, 2, []uint32{1, 1, 1, 0, 1, 0}, []uint32{30, 28, 55, 63, 63, 36, 37, 36}},
		{5, sector.Size2KiB, APIv1_1, 33, []uint32{32, 32, 27, 32, 32, 18}, []uint32{11, 49, 36, 62, 27, 42, 2, 40}},
		{5, sector.Size2KiB, APIv1_1, 63, []uint32{62, 15, 42, 62, 61, 62}, []uint32{0, 15, 30, 30, 28, 42, 49, 38}},
		{0, sector.Size2KiB, APIv1_0, 0, []uint32{0, 0, 0, 0, 0, 0}, []uint32{22, 1, 6, 27, 40, 36, 18, 36}},
		{0, sector.Size2KiB, APIv1_0, 2, []uint32{0, 1, 1, 1, 1, 1}, []uint32{32, 49, 26, 57, 3, 4, 47, 63}},
		{0, sector.Size2KiB, APIv1_0, 33, []uint32{7, 32, 21, 17, 29, 32}, []uint32{53, 57, 17, 3, 38, 33, 3, 40}},
		{0, sector.Size2KiB, APIv1_0, 63, []uint32{62, 61, 56, 62, 37, 62}, []uint32{49, 37, 35, 41, 52, 50, 54, 5}},
		{8, sector.Size32GiB, APIv1_1, 2, []uint32{1, 1, 0, 1, 0, 0}, nil},
		{8, sector.Size32GiB, APIv1_1, 1000, []uint32{999, 999, 993, 999, 987, 994}, nil},
		{8, sector.Size32GiB, APIv1_1, 123456789,
			[]uint32{123456788, 123452130, 57600536, 121375910, 81802541, 123454429},
			[]uint32{756970061, 978149514, 435142043, 446129461, 759011230, 69080554, 55615519, 90896364}},
		{8, sector.Size32GiB, APIv1_1, 1<<30 - 1,
			[]uint32{1073741822, 1073258530, 440642413, 663190843, 1073741654, 1073741786},
			[]uint32{307718517, 715446084, 558280128, 265147410, 110937796, 626719228, 201839602, 653041812}},
		{8, sector.Size32GiB, APIv1_1, 0, nil,
			[]uint32{1054240739, 227529229, 985834481, 197966932, 410367906, 165888503, 1030207780, 74357301}},
		{8, sector.Size32GiB, APIv1_1, 1, nil,
			[]uint32{702693034, 366772265, 26763858, 547315823, 59704098, 413126652, 762902885, 978177250}},
	} {
		p := newGraph(t, c.size, porepID(c.id), c.api).Parents(c.node)
		if c.drg != nil && !cmp.Equal(p[:DRGParents], c.drg) {
			t.Errorf("id %d, node %d: DRG parents %v, want %v", c.id, c.node, p[:DRGParents], c.drg)
		}
		if c.exp != nil && !cmp.Equal(p[DRGParents:], c.exp) {
			t.Errorf("id %d, node %d: expander parents %v, want %v", c.id, c.node, p[DRGParents:], c.exp)
		}
	}
}

func TestDomainSeedsAreThoseOfTheReference(t *testing.T) {
	for tag, want := range map[string]string{
		"Filecoin_DRSample": "ba0350183955dc9f07e73503f5c63ff1bd9c22501363983de241f74ac97f4856",
		"Filecoin_Feistel":  "733e1b886c0da23520a113dc48360611b5fc319b02adc1a8690477a540d899d2",
	} {
		if got := domainSeed(tag, porepID(8)); hex.EncodeToString(got[:]) != want {
			t.Errorf("%s: %x, want %s", tag, got, want)
		}
	}
}

// parentCaches are the published digests of whole parent caches, by size.
func parentCaches(t *testing.T) map[uint64][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/parent_cache.json")
	if err != nil {
		t.Fatal(err)
	}
	var entries map[string]struct {
		Size   uint64 `json:"sector_size"`
		Digest string `json:"digest"`
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		t.Fatal(err)
	}
	out := map[uint64][]string{}
	for _, e := range entries {
		out[e.Size] = append(out[e.Size], e.Digest)
	}
	return out
}

func TestParentCacheDigests(t *testing.T) {
	published := parentCaches(t)
	for _, p := range []Proof{0, 5, 1, 6} {
		t.Run(p.String(), func(t *testing.T) {
			if testing.Short() && p.Size() > sector.Size2KiB {
				t.Skip("2^18 nodes")
			}
			c := p.Config()
			h := sha256.New()
			w := bufio.NewWriterSize(h, 1<<16)
			for v, g := uint64(0), newGraph(t, c.Size, c.PorepID, c.API); v < g.Nodes(); v++ {
				for _, u := range g.Parents(v) {
					binary.Write(w, binary.LittleEndian, u)
				}
			}
			w.Flush()
			got := hex.EncodeToString(h.Sum(nil))
			for _, want := range published[uint64(c.Size)] {
				if got == want {
					return
				}
			}
			t.Errorf("SHA-256 %s is none of %v", got, published[uint64(c.Size)])
		})
	}
}

func TestLabelsAreThoseOfTheReference(t *testing.T) {
	for _, c := range []struct {
		size sector.Size
		id   [32]byte
		api  API
		want string
	}{
		{sector.Size2KiB, filled(0), APIv1_0, "04ba0f9a6ba9fad35e4806d183a281eab3c25afa9a1bd5e3378da6f1f4f46204"},
		{sector.Size4KiB, filled(0), APIv1_0, "86daa8c4521e197e48c1fae6c9a1e85ab894a8883b9f23cebe531ddcd1004c23"},
		{sector.Size2KiB, filled(123), APIv1_1, "cfef0db78bf3b3ab9f1169774d2e7a77bc9054499d954834b51ca7c788110206"},
		{sector.Size4KiB, filled(123), APIv1_1, "6d67c468cf81ab2289c1c9c72fa8777a232de4c1323dc0c6bd552ccc187c770f"},
	} {
		g := newGraph(t, c.size, c.id, c.api)
		ls := NewLayers(g, filled(9), 11, 2)
		if got := ls[10][g.Nodes()-1]; hex.EncodeToString(got[:]) != c.want {
			t.Errorf("%v, api %v: last label %x, want %s", c.size, c.api, got, c.want)
		}
	}
}

func TestGraphRefusesUnknownSize(t *testing.T) {
	if _, err := NewGraph(Config{Size: 3000}); err == nil {
		t.Error("no error for a sector of 3000 bytes")
	}
}

func BenchmarkParents(b *testing.B) {
	g := newGraph(b, sector.Size32GiB, porepID(8), APIv1_1)
	for v := uint64(0); b.Loop(); v = (v + 1<<20 + 7) % g.Nodes() {
		g.Parents(v)
	}
}
