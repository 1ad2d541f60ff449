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

// MakeInsecureKey makes the key of a circuit from the known secrets, both
// parts, under the names that begin with "insecure-", and returns the two
// paths. Whoever knows this program can forge proofs under it.
func MakeInsecureKey(ctx context.Context, dir string, id srs.ID, c *r1cs.Compiled, progress func(section string, done, total int)) (paths []string, err error) {
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
	open := func(v *srs.VerifyingKey, s srs.Shape) (groth16.Sink, error) {
		vk = v
		w, err = srs.Create(params, v, s)
		return w, err
	}
	if err := groth16.Setup(ctx, c, groth16.InsecureSecrets(), open, progress); err != nil {
		return nil, err
	}
	if err := srs.WriteVerifyingKey(vkPath, vk); err != nil {
		return nil, err
	}
	if err := w.Commit(); err != nil {
		return nil, err
	}
	return []string{params, vkPath}, nil
}
