package poseidon

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// tableDigest is SHA-256 over the 32-byte little-endian encodings.
func tableDigest(rows ...[]fr.Element) string {
	h := sha256.New()
	var b [32]byte
	for _, r := range rows {
		for _, e := range r {
			fr.LittleEndian.PutElement(&b, e)
			h.Write(b[:])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sparseRows(p *Params) (rows [][]fr.Element) {
	for _, s := range p.Sparse {
		rows = append(rows, s.WHat, s.VRest)
	}
	return rows
}

// Digests of whole tables as neptune computes them: compressed keys, raw round
// constants, pre-sparse matrix, sparse matrices.
func TestTablesMatchNeptune(t *testing.T) {
	for _, c := range []struct {
		arity, keys                     int
		compressed, raw, pre, sparseAll string
	}{
		{2, 79, "b768b730ce5198394d948d76421ab53b08cc16ec1ac082cf503f370192253e16", "cf4dfb7448132022e22b32e3dce6b125cb06329448f9e8d8fe53a71c73cbe6d4", "13d6e8e5ba45b0d2096617d055499f36adad1aab6853de143ed42b14eea9a0f6", "a2fe507a83bddb8d57e5a00e7e58e79800c272b0db7dd4141943f6e567e99138"},
		{4, 96, "3e4ec19ded2c86a89f3d6bddc13d9571a0cc5473e7207cfbaf6a8169a69f5709", "91e463d6553415b3901b9f26b2ad53e6298ac3e5ab0ef260d397bafe8bdde98e", "aee67dfb1ae8c43eca89f5742a745c6309f2d302ab741b75d2641b7025d87413", "f1c3c3a9fe9ea4a3c38c91971e5f379da38123fe1dcf960b461d84c5ba759f2b"},
		{8, 129, "f5a94aea73a583d080abdf7d71259fab9107f5523a4a1eddc41468f94564dd16", "9a4a743575f0eaf285c93d73f8adaf4e7ef4042c2445b42bddaf1a64e5face72", "dcfbdaea3eb7e347664c8f881c5443b1895f10c85cab0878022eb287defa8587", "3f823785875d8cc161c963d2a62d103a3fefab30eb4244cef877d8e624fb79f4"},
		{11, 153, "2d7c0e4e9b98eda82102b69f1a964ae59ccf98b0008b6d3d632d86f4fea79d1d", "479dc0d71d694cd50d853dec0c94aeb37df2a69929eaa23b545a52b1226aec06", "f2a7353f0ce5ad724a7a58bf2db0e37f7c5662f064a6c97466021af83279a96e", "810a4d7f126f6e5fb3eb1980b57c70f90bb835219373d955726e30b3ca931556"},
	} {
		p := ForArity(c.arity)
		if len(p.Keys) != c.keys {
			t.Errorf("arity %d: %d compressed keys, want %d", c.arity, len(p.Keys), c.keys)
		}
		for _, x := range []struct{ name, got, want string }{
			{"compressed keys", tableDigest(p.Keys), c.compressed},
			{"round constants", tableDigest(roundConstants(p.T, p.RP)...), c.raw},
			{"pre-sparse", tableDigest(p.PreSparse...), c.pre},
			{"sparse", tableDigest(sparseRows(p)...), c.sparseAll},
		} {
			if x.got != x.want {
				t.Errorf("arity %d: digest of %s is %s, want %s", c.arity, x.name, x.got, x.want)
			}
		}
	}
}

// Single values of arity 2, which say where a table went wrong.
func TestSpotValuesOfArity2(t *testing.T) {
	p := ForArity(2)
	rk := roundConstants(3, 55)
	for _, c := range []struct {
		name string
		got  fr.Element
		want string
	}{
		{"rk[0]", rk[0][0], "669f064bfa3ae17a23bd51861dbb4a24501eac92a2758b36a7320a009d6ed3d8"},
		{"last rk", rk[62][2], "60dfbfa5d5dd06351a917a05466e5884ed12e38ec24d5bb80be0abe065395e5c"},
		{"K[3]", p.Keys[3], "0bfc421d38531805382624c9d2d2d02b1f2f5590316c401b2f5f56ca2f12a0d1"},
		{"last K", p.Keys[78], "1c84e3e9450113a4b5489decd8dcc8b25f057797f37899354931a0eea88d7d5d"},
		{"M[0][0]", p.M[0][0], "4d491a377113a8daccd13ab0066be558e27e6d5755543d54aaaaaaaa00000001"},
		{"pre_sparse[0][1]", p.PreSparse[0][1], "69321c24c1cca37406c6aa610cf3eae4365bec86202785510ef2a763f5e42c3e"},
		{"sparse[0].w_hat[1]", p.Sparse[0].WHat[1], "59d39397f9b91a3745685546ac8e905f0374bec2c68a96278d2f73d4d6a692a2"},
		{"sparse[0].v_rest[0]", p.Sparse[0].VRest[0], "58967f7ecb83470ce5990816f118fc84a0713c868c352b00eb409bffd891fcd4"},
		{"last w_hat[1]", p.Sparse[54].WHat[1], "0000000000000000000000000000000000000000000000000000000000000003"},
	} {
		if got := hexOf(c.got); got != c.want {
			t.Errorf("%s = %s, want %s", c.name, got, c.want)
		}
	}
}

func TestParamsAreBuiltOnce(t *testing.T) {
	if ForArity(8) != ForArity(8) || Custom1() != Custom1() {
		t.Error("parameters are built anew")
	}
	if c, m := Custom1(), ForArity(2); c.Tag == m.Tag || &c.Keys[0] != &m.Keys[0] {
		t.Error("the custom parameters differ from arity 2 in more or less than the tag")
	}
	if !Supported(11) || Supported(3) {
		t.Error("Supported is wrong")
	}
}

// hexOf is the integer in big-endian hex.
func hexOf(e fr.Element) string {
	b := e.Bytes()
	return hex.EncodeToString(b[:])
}
