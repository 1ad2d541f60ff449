package proving

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cuzk/backend/cpu"
	"cuzk/groth16"
	"cuzk/kind"
	"cuzk/srs"
)

const requests = "../testdata/requests/"

// job reads a request; spoil may change the files that it names.
func job(t *testing.T, name string, spoil func(b []byte)) *kind.Job {
	t.Helper()
	data, err := os.ReadFile(requests + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	j, err := kind.Parse(data, func(f string) ([]byte, error) {
		b, err := os.ReadFile(requests + f)
		if spoil != nil {
			spoil(b)
		}
		return b, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// session makes a key and opens it.
func session(t *testing.T, id srs.ID) *Session {
	t.Helper()
	o := Options{ParamsDir: t.TempDir(), Keys: srs.Options{Insecure: true}}
	c, err := Compile(t.Context(), o, id, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := MakeInsecureKey(t.Context(), o.ParamsDir, id, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 {
		t.Fatalf("files %q", files)
	}
	s, err := Open(t.Context(), cpu.New(cpu.Options{}), o, id, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestSession proves, and meets what cannot be proved.
func TestSession(t *testing.T) {
	if testing.Short() {
		t.Skip("a key and four proofs: runs without -short")
	}
	j := job(t, "window-2KiB-V1-3of4", nil)
	s := session(t, j.Circuit)
	t.Run("proves every partition", func(t *testing.T) { provesAll(t, s, j) })
	t.Run("names the gadget", func(t *testing.T) { namesGadget(t, s) })
	t.Run("names what is wrong", func(t *testing.T) { namesPath(t, s) })
	t.Run("refuses another circuit", func(t *testing.T) {
		other := job(t, "winning-2KiB", nil)
		if _, err := s.Prove(t.Context(), other, groth16.Fixed{}, Watch{}); err == nil || !strings.Contains(err.Error(), "winning-2KiB cannot be proved with window-2KiB") {
			t.Errorf("error %v", err)
		}
	})
}

func provesAll(t *testing.T, s *Session, j *kind.Job) {
	var stages []string
	w := Watch{Ended: func(st Stage) { stages = append(stages, st.Name) }}
	b, err := s.Prove(t.Context(), j, groth16.Random{Reader: rand.Reader}, w)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"vanilla proof", "partition 0, witness", "partition 0, proof", "partition 1, witness", "partition 1, proof"}
	// The check runs beside the proof.
	if got := slices.Index(stages, "vanilla proof"); got > 0 {
		stages = slices.Insert(slices.Delete(stages, got, got+1), 0, "vanilla proof")
	}
	if !slices.Equal(stages, want) {
		t.Errorf("stages %q, want %q", stages, want)
	}
	proofs, err := groth16.DecodeProofs(b)
	if err != nil || len(proofs) != 2 {
		t.Fatalf("%d proofs, %v", len(proofs), err)
	}
	for i := range proofs {
		if err := groth16.Verify(s.Key.VK, j.Partitions[i].Inputs, &proofs[i]); err != nil {
			t.Errorf("partition %d: %v", i, err)
		}
	}
}

// namesGadget proves a vanilla proof with a bad bit, unchecked: the proof fails
// its self-check, and the first constraint that does not hold is named.
func namesGadget(t *testing.T, s *Session) {
	bad := job(t, "window-2KiB-V1-1of2", func(b []byte) { b[3000] ^= 1 })
	if err := Check(t.Context(), bad, Watch{}); !errors.Is(err, kind.ErrBadInput) {
		t.Errorf("check: %v", err)
	}
	_, err := s.ProveChecked(t.Context(), bad, groth16.Fixed{}, Watch{})
	if !errors.Is(err, groth16.ErrSelfCheck) || !strings.Contains(err.Error(), "window-2KiB/sector[0]/path-R 8-8[") {
		t.Errorf("error %v", err)
	}
}

// namesPath proves the same with the check beside it: the check's error counts.
func namesPath(t *testing.T, s *Session) {
	bad := job(t, "window-2KiB-V1-1of2", func(b []byte) { b[3000] ^= 1 })
	out, err := s.Prove(t.Context(), bad, groth16.Fixed{}, Watch{})
	if !errors.Is(err, kind.ErrBadInput) || errors.Is(err, groth16.ErrSelfCheck) || !strings.Contains(err.Error(), "sector 2126961807: challenge") || out != nil {
		t.Errorf("%d bytes, error %v", len(out), err)
	}
}

func TestBeside(t *testing.T) {
	wrong, broken := errors.New("wrong"), errors.New("broken")
	for _, c := range []struct {
		name         string
		check, prove error
		early        bool // prove fails before it calls ready
		want         error
	}{
		{"both end well", nil, nil, false, nil},
		{"the check fails", wrong, nil, false, wrong},
		{"the proof fails", nil, broken, false, broken},
		{"both fail", wrong, broken, false, wrong},
		{"the witness fails, and so does the check", wrong, broken, true, wrong},
		{"the witness fails", nil, broken, true, broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			witness := false
			check := func(context.Context) error {
				if !witness && !c.early {
					t.Error("the check begins before the witness is there")
				}
				return c.check
			}
			err := Beside(t.Context(), check, func(ctx context.Context, ready func()) error {
				if c.early {
					return c.prove
				}
				witness = true
				ready()
				if c.check != nil && c.prove == nil {
					<-ctx.Done()
					return ctx.Err()
				}
				return c.prove
			})
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestCancelledKeyLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	id, err := srs.ParseID("window-2KiB")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compile(t.Context(), Options{}, id, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = MakeInsecureKey(ctx, dir, id, c, func(section string, _, _ int) {
		if section == groth16.SectionH {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
