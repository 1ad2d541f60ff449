package cuda

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	"cuzk/backend/conformance"
	"cuzk/groth16"
	"cuzk/r1cs"
	"cuzk/srs"
)

// fileBytes is a sink of both kinds that keeps the bytes of the file.
type fileBytes struct {
	bytes.Buffer
	lists []sinkList
}

// sinkList is a query still to come.
type sinkList struct{ points, size int }

func newFileBytes(vk *srs.VerifyingKey, s srs.Shape) *fileBytes {
	f := &fileBytes{lists: []sinkList{{s.H, 96}, {s.L, 96}, {s.A, 96}, {s.B, 96}, {s.B, 192}}}
	f.Write(vk.Encode())
	f.head()
	return f
}

// head writes the lengths of the lists that begin.
func (f *fileBytes) head() {
	f.Write(binary.BigEndian.AppendUint32(nil, uint32(f.lists[0].points)))
}

// Raw implements RawSink.
func (f *fileBytes) Raw(points []byte) error {
	l := &f.lists[0]
	if len(points)%l.size != 0 || len(points)/l.size > l.points {
		return errors.New("not whole points of one query")
	}
	f.Write(points)
	for l.points -= len(points) / l.size; len(f.lists) > 0 && f.lists[0].points == 0; {
		if f.lists = f.lists[1:]; len(f.lists) > 0 {
			f.head()
		}
	}
	return nil
}

// G1 implements groth16.Sink.
func (f *fileBytes) G1(points []bls12381.G1Affine) error {
	for i := range points {
		b := points[i].RawBytes()
		if err := f.Raw(b[:]); err != nil {
			return err
		}
	}
	return nil
}

// G2 implements groth16.Sink.
func (f *fileBytes) G2(points []bls12381.G2Affine) error {
	for i := range points {
		b := points[i].RawBytes()
		if err := f.Raw(b[:]); err != nil {
			return err
		}
	}
	return nil
}

// sameFile makes a key by groth16.Setup and by fn.
func sameFile(t *testing.T, circuit *r1cs.Compiled, fn func(open func(*srs.VerifyingKey, srs.Shape) (RawSink, error), progress func(string, int64, int64)) error) {
	t.Helper()
	var want, got *fileBytes
	err := groth16.Setup(context.Background(), circuit, groth16.InsecureSecrets(), func(vk *srs.VerifyingKey, s srs.Shape) (groth16.Sink, error) {
		want = newFileBytes(vk, s)
		return want, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	err = fn(func(vk *srs.VerifyingKey, s srs.Shape) (RawSink, error) {
		got = newFileBytes(vk, s)
		return got, nil
	}, func(_ string, done, total int64) {
		if done > total {
			t.Errorf("%d bytes of %d done", done, total)
		}
		last = done
	})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := sha256.Sum256(got.Bytes()), sha256.Sum256(want.Bytes()); a != b || last == 0 {
		t.Errorf("%d bytes with SHA-256 %x, want %d with %x", got.Len(), a, want.Len(), b)
	}
}

// TestHostedSetupFile compares whole files.
func TestHostedSetupFile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("seconds for the tables of multiples")
	}
	for _, c := range []*conformance.Mixed{{Inputs: 1, Groups: 2, Seed: 2}, {Inputs: 40, Groups: 5, Seed: 3}} {
		t.Run(c.Name(), func(t *testing.T) {
			m, circuit, secrets := newHostedMachine(t), conformance.Compile(t, c), Secrets(*groth16.InsecureSecrets())
			sameFile(t, circuit, func(open func(*srs.VerifyingKey, srs.Shape) (RawSink, error), progress func(string, int64, int64)) error {
				return fileOn(context.Background(), m, 64, circuit, &secrets, open, progress)
			})
			if m.bytes != 0 {
				t.Errorf("%d bytes are left on the device", m.bytes)
			}
		})
	}
}

// refusing is a sink that takes nothing.
type refusing struct{ err error }

func (r refusing) Raw([]byte) error { return r.err }

// TestHostedSetupFileFails stops at a sink's error, at a cancelled context and at
// secrets that make no key.
func TestHostedSetupFileFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("seconds for the tables of multiples")
	}
	m, circuit, secrets := newHostedMachine(t), conformance.Compile(t, &conformance.Mixed{Inputs: 3, Groups: 3, Seed: 5}), Secrets(*groth16.InsecureSecrets())
	full := errors.New("disk full")
	open := func(*srs.VerifyingKey, srs.Shape) (RawSink, error) { return refusing{full}, nil }
	if err := fileOn(context.Background(), m, 64, circuit, &secrets, open, nil); !errors.Is(err, full) {
		t.Errorf("with a full disk: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := fileOn(ctx, m, 1<<10, circuit, &secrets, open, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	secrets.Delta.SetZero()
	if err := fileOn(context.Background(), m, 64, circuit, &secrets, open, nil); err == nil {
		t.Error("made a key with delta 0")
	}
	if m.bytes != 0 {
		t.Errorf("%d bytes are left on the device", m.bytes)
	}
}

// TestSetupFile compares whole files on a GPU.
func TestSetupFile(t *testing.T) {
	b := openFirst(t, Options{})
	for _, c := range []*conformance.Mixed{{Inputs: 1, Groups: 2, Seed: 2}, {Inputs: 40, Groups: 300, Seed: 3}} {
		circuit, secrets := conformance.Compile(t, c), Secrets(*groth16.InsecureSecrets())
		sameFile(t, circuit, func(open func(*srs.VerifyingKey, srs.Shape) (RawSink, error), progress func(string, int64, int64)) error {
			return b.SetupFile(context.Background(), circuit, &secrets, open, progress)
		})
	}
}

// TestHostedFileSelfTest runs the self-test's check of key files, and lets it see a
// wrong byte.
func TestHostedFileSelfTest(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("seconds for the tables of multiples")
	}
	circuit, err := r1cs.Compile(probe{})
	if err != nil {
		t.Fatal(err)
	}
	m := newHostedMachine(t)
	var sink *pointBytes
	run := func(open func(*srs.VerifyingKey, srs.Shape) (RawSink, error)) error {
		return fileOn(context.Background(), m, 256, circuit, &probeSecrets, func(vk *srs.VerifyingKey, s srs.Shape) (RawSink, error) {
			o, err := open(vk, s)
			sink = o.(*pointBytes)
			return o, err
		}, nil)
	}
	if err := checkFile(circuit, run); err != nil {
		t.Error(err)
	}
	if err := checkFile(circuit, func(open func(*srs.VerifyingKey, srs.Shape) (RawSink, error)) error {
		o, err := open(nil, srs.Shape{})
		wrong := bytes.Clone(sink.Bytes())
		wrong[len(wrong)/2] ^= 1
		return errors.Join(err, o.Raw(wrong))
	}); err == nil {
		t.Error("a wrong byte passed")
	}
}
