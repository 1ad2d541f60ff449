package srs

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"golang.org/x/sync/errgroup"
)

// VerifyingKey is what a verifier needs. IC has one point a public input, the
// constant one included.
type VerifyingKey struct {
	AlphaG1 bls12381.G1Affine
	BetaG1  bls12381.G1Affine // the prover's; the verifier does not use it
	BetaG2  bls12381.G2Affine
	GammaG2 bls12381.G2Affine
	DeltaG1 bls12381.G1Affine // the prover's; the verifier does not use it
	DeltaG2 bls12381.G2Affine
	IC      []bls12381.G1Affine
}

// Inputs is the number of public inputs without the constant one.
func (vk *VerifyingKey) Inputs() int { return len(vk.IC) - 1 }

// Bytes is the size of the encoding.
func (vk *VerifyingKey) Bytes() int { return vkHeader + g1Size*len(vk.IC) }

// Encode writes the key as bellperson does, uncompressed.
func (vk *VerifyingKey) Encode() []byte {
	b := make([]byte, 0, vk.Bytes())
	b = appendG1(b, &vk.AlphaG1)
	b = appendG1(b, &vk.BetaG1)
	b = appendG2(b, &vk.BetaG2)
	b = appendG2(b, &vk.GammaG2)
	b = appendG1(b, &vk.DeltaG1)
	b = appendG2(b, &vk.DeltaG2)
	b = binary.BigEndian.AppendUint32(b, uint32(len(vk.IC)))
	for i := range vk.IC {
		b = appendG1(b, &vk.IC[i])
	}
	return b
}

func appendG1(b []byte, p *bls12381.G1Affine) []byte { r := p.RawBytes(); return append(b, r[:]...) }
func appendG2(b []byte, p *bls12381.G2Affine) []byte { r := p.RawBytes(); return append(b, r[:]...) }

// DecodeVerifyingKey reads a whole .vk file with every check: size, canonical
// coordinates, curve and subgroup of every point, and no point at infinity.
//
// Upstream refuses infinity in ic alone. Here it is refused everywhere: with
// gamma or delta at infinity anyone can forge, and no setup produces it.
func DecodeVerifyingKey(b []byte) (*VerifyingKey, error) {
	n, err := vkLength(b, int64(len(b)))
	if err != nil {
		return nil, err
	}
	if extra := int64(len(b)) - n; extra > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many after the verifying key", ErrCorrupt, extra)
	}
	return decodeVK(b)
}

// vkLength reads how long the verifying key at the start of a file of the given
// size is. head holds at least the first vkHeader bytes if the file has them.
func vkLength(head []byte, size int64) (int64, error) {
	if size < vkHeader+g1Size {
		return 0, fmt.Errorf("%w: %d bytes are too few for a key: the smallest verifying key has %d", ErrCorrupt, size, vkHeader+g1Size)
	}
	var alpha bls12381.G1Affine
	if err := checkG1(&alpha, head); err != nil {
		return 0, fmt.Errorf("%w: not a Groth16 key: alpha_g1: %w", ErrCorrupt, err)
	}
	n := int64(binary.BigEndian.Uint32(head[vkHeader-countSize:]))
	if n == 0 {
		return 0, fmt.Errorf("%w: list ic is empty", ErrCorrupt)
	}
	if vkHeader+g1Size*n > size {
		return 0, cutShort("ic", n, (size-vkHeader)/g1Size)
	}
	return vkHeader + g1Size*n, nil
}

func cutShort(list string, want, have int64) error {
	return fmt.Errorf("%w: cut short: list %s says %d points, the file ends after %d", ErrCorrupt, list, want, have)
}

// decodeVK reads the verifying key at the start of b, whose length was checked.
func decodeVK(b []byte) (*VerifyingKey, error) {
	vk := &VerifyingKey{}
	off := 0
	for _, f := range []struct {
		name string
		p    any
	}{{"alpha_g1", &vk.AlphaG1}, {"beta_g1", &vk.BetaG1}, {"beta_g2", &vk.BetaG2},
		{"gamma_g2", &vk.GammaG2}, {"delta_g1", &vk.DeltaG1}, {"delta_g2", &vk.DeltaG2}} {
		var err error
		switch p := f.p.(type) {
		case *bls12381.G1Affine:
			err = checkG1(p, b[off:])
			off += g1Size
		case *bls12381.G2Affine:
			err = checkG2(p, b[off:])
			off += g2Size
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrCorrupt, f.name, err)
		}
	}
	vk.IC = make([]bls12381.G1Affine, binary.BigEndian.Uint32(b[off:]))
	return vk, decodeIC(vk.IC, b[vkHeader:])
}

// decodeIC checks the points of ic on all cores: 40 microseconds each, 25,840 of
// them in window-32GiB.
func decodeIC(ic []bls12381.G1Affine, b []byte) error {
	const chunk = 256
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < len(ic); from += chunk {
		to := min(from+chunk, len(ic))
		g.Go(func() error {
			return Guard(b, func() error {
				for i := from; i < to; i++ {
					if err := checkG1(&ic[i], b[i*g1Size:]); err != nil {
						return fmt.Errorf("%w: ic, point %d of %d: %w", ErrCorrupt, i, len(ic), err)
					}
				}
				return nil
			})
		})
	}
	return g.Wait()
}

// maxVKBytes bounds what ReadVerifyingKey takes in: ten times the largest
// published verifying key.
const maxVKBytes = 32 << 20

// ReadVerifyingKey reads and checks a .vk file. The caller decides whether to
// trust it; [OpenVK] does so by digest.
func ReadVerifyingKey(path string) (*VerifyingKey, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, missing(err)
	}
	defer f.Close()
	b, err := readVK(f)
	if err != nil {
		return nil, fmt.Errorf("read verifying key %s: %w", path, err)
	}
	vk, err := DecodeVerifyingKey(b)
	if err != nil {
		return nil, fmt.Errorf("read verifying key %s: %w", path, err)
	}
	return vk, nil
}

func readVK(f *os.File) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, maxVKBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxVKBytes {
		return nil, fmt.Errorf("%w: longer than any verifying key; a proving key ends in .params", ErrCorrupt)
	}
	return b, nil
}
