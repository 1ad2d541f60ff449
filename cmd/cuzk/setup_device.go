package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/spf13/cobra"

	gpu "cuzk/backend/cuda"
	"cuzk/groth16"
	"cuzk/proving"
	"cuzk/r1cs"
	"cuzk/srs"
)

// setupOnDevice makes the key on a GPU and saves it, or looks at its bytes alone.
func setupOnDevice(cmd *cobra.Command, u *ui, f *setupFlags, id srs.ID, compiled *r1cs.Compiled, r *setupReport) (err error) {
	d, err := openDevice(f.device)
	if err != nil {
		return err
	}
	b := gpu.New(d, gpu.Options{})
	defer func() { err = errors.Join(err, b.Close(), d.Close()) }()
	r.Device = d.Info().UUID
	u.note("making the INSECURE key of %s on %s, %s", id, d.Info().Name, d.Info().UUID)
	secrets, pace := gpu.Secrets(*groth16.InsecureSecrets()), pace{u: u, what: "key of " + id.String()}
	make := func(open func(*srs.VerifyingKey, srs.Shape) (gpu.RawSink, error)) error {
		return b.SetupFile(cmd.Context(), compiled, &secrets, open, pace.show)
	}
	if f.noSave {
		var sum *keySum
		err = make(func(vk *srs.VerifyingKey, s srs.Shape) (gpu.RawSink, error) {
			sum = newKeySum(vk, s)
			return sum, nil
		})
		if err == nil {
			r.SHA256, r.Bytes, err = sum.end()
		}
		return err
	}
	r.Files, err = proving.SaveInsecureKey(f.keys.dir, id, func(open func(*srs.VerifyingKey, srs.Shape) (*srs.Writer, error)) error {
		err := make(func(vk *srs.VerifyingKey, s srs.Shape) (gpu.RawSink, error) { return open(vk, s) })
		u.show("bringing "+id.String()+" to disk", "")
		return err
	})
	if err == nil {
		r.Bytes, err = sizeOfFile(r.Files[0])
	}
	return err
}

// sizeOfFile is the length of a file.
func sizeOfFile(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// pace shows how far a stream of bytes is and how fast.
type pace struct {
	u     *ui
	what  string
	begun time.Time
}

func (p *pace) show(section string, done, total int64) {
	if p.begun.IsZero() {
		p.begun = time.Now()
	}
	rate := float64(done) / 1e9 / max(time.Since(p.begun).Seconds(), 1e-3)
	p.u.show(p.what, fmt.Sprintf("%s, %d%%, %.1f GB/s", section, 100*done/max(total, 1), rate))
}

// sampleEvery is how many points come for each that keySum looks at.
const sampleEvery = 1 << 14

// keySum takes a key as a file would, and keeps its digest alone. Every so many
// points one is checked, curve and subgroup.
type keySum struct {
	sum   hash.Hash
	bytes int64
	lists []keyList
	seen  int64 // points
}

// keyList is a query still to come.
type keyList struct{ points, size int }

func newKeySum(vk *srs.VerifyingKey, s srs.Shape) *keySum {
	const g1, g2 = bls12381.SizeOfG1AffineUncompressed, bls12381.SizeOfG2AffineUncompressed
	k := &keySum{sum: sha256.New(), lists: []keyList{{s.H, g1}, {s.L, g1}, {s.A, g1}, {s.B, g1}, {s.B, g2}}}
	k.write(vk.Encode())
	k.length()
	return k
}

func (k *keySum) write(b []byte) {
	k.sum.Write(b) // never fails
	k.bytes += int64(len(b))
}

// length writes the lengths of the lists that begin.
func (k *keySum) length() {
	for len(k.lists) > 0 {
		k.write(binary.BigEndian.AppendUint32(nil, uint32(k.lists[0].points)))
		if k.lists[0].points > 0 {
			return
		}
		k.lists = k.lists[1:]
	}
}

// Raw implements [gpu.RawSink].
func (k *keySum) Raw(points []byte) error {
	if len(k.lists) == 0 || len(points)%k.lists[0].size != 0 || len(points)/k.lists[0].size > k.lists[0].points {
		return fmt.Errorf("%d bytes of points are not what comes next in a key", len(points))
	}
	l := &k.lists[0]
	n := len(points) / l.size
	for i := int((sampleEvery - k.seen%sampleEvery) % sampleEvery); i < n; i += sampleEvery {
		if err := checkPoint(points[i*l.size : (i+1)*l.size]); err != nil {
			return fmt.Errorf("point %d of %d still to come in its list: %w", i, l.points, err)
		}
	}
	k.seen += int64(n)
	k.write(points)
	if l.points -= n; l.points == 0 {
		k.lists = k.lists[1:]
		k.length()
	}
	return nil
}

// checkPoint decodes a point with all checks.
func checkPoint(b []byte) error {
	if len(b) == bls12381.SizeOfG1AffineUncompressed {
		_, err := new(bls12381.G1Affine).SetBytes(b)
		return err
	}
	_, err := new(bls12381.G2Affine).SetBytes(b)
	return err
}

// end is the digest in hex and the length.
func (k *keySum) end() (digest string, n int64, err error) {
	if len(k.lists) > 0 {
		return "", 0, fmt.Errorf("%d points are missing", k.lists[0].points)
	}
	return hex.EncodeToString(k.sum.Sum(nil)), k.bytes, nil
}
