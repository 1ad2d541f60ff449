package proving

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"cuzk/groth16"
	"cuzk/r1cs"
	"cuzk/srs"
)

// KeyMaker makes a key: it calls open once, when the verifying key is known, and
// then feeds the writer.
type KeyMaker func(open func(*srs.VerifyingKey, srs.Shape) (*srs.Writer, error)) error

// MakeInsecureKey makes the key of a circuit from the known secrets on the
// processor, both parts, under the names that begin with "insecure-", and returns
// the two paths. Whoever knows this program can forge proofs under it.
func MakeInsecureKey(ctx context.Context, dir string, id srs.ID, c *r1cs.Compiled, progress func(section string, done, total int)) (paths []string, err error) {
	return SaveInsecureKey(dir, id, func(open func(*srs.VerifyingKey, srs.Shape) (*srs.Writer, error)) error {
		sink := func(vk *srs.VerifyingKey, s srs.Shape) (groth16.Sink, error) { return open(vk, s) }
		return groth16.Setup(ctx, c, groth16.InsecureSecrets(), sink, progress)
	})
}

// SaveInsecureKey saves what a maker makes from the known secrets, as
// MakeInsecureKey does. Both files appear whole, at the end, or not at all; the
// space of the large one is reserved before its first point is made.
func SaveInsecureKey(dir string, id srs.ID, make KeyMaker) (paths []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make key %s: %w", id, err)
	}
	params := filepath.Join(dir, id.InsecureFileName(srs.Params))
	vkPath := filepath.Join(dir, id.InsecureFileName(srs.VK))
	var w *srs.Writer
	var vk *srs.VerifyingKey
	defer func() {
		if err != nil && w != nil {
			w.Abort()
		}
	}()
	open := func(v *srs.VerifyingKey, s srs.Shape) (*srs.Writer, error) {
		vk = v
		w, err = srs.Create(params, v, s)
		return w, err
	}
	if err := make(open); err != nil {
		return nil, err
	}
	if w == nil {
		return nil, fmt.Errorf("make key %s: its maker made nothing", id)
	}
	if err := srs.WriteVerifyingKey(vkPath, vk); err != nil {
		return nil, err
	}
	if err := w.Commit(); err != nil {
		return nil, err
	}
	return []string{params, vkPath}, nil
}
