package cuda

import (
	"errors"
	"testing"

	gpu "cuzk/cuda"
	"cuzk/internal/testutil"
)

// smallCard are the facts of a card with 70 SMs.
var smallCard = facts{sms: 70, shared: 99 << 10, opsBlocks: map[string]int{"g1_ops": 3, "g2_ops": 1}}

// TestPlansOfLargeCircuits plans the circuits of 32 GiB for cards of usual sizes: a
// plan is never over its cap, and stays on the device or is streamed as it must.
func TestPlansOfLargeCircuits(t *testing.T) {
	t.Parallel()
	testutil.Slow(t, "four circuits of full size are compiled")
	const resident, streamed, refused = "resident", "streamed", "refused"
	caps := []int64{8, 12, 16, 24, 32, 48, 80, 141}
	modes := map[string][]string{
		"porep-32GiB":   {refused, refused, streamed, streamed, streamed, streamed, resident, resident},
		"update-32GiB":  {refused, refused, streamed, streamed, streamed, resident, resident, resident},
		"window-32GiB":  {refused, refused, streamed, streamed, streamed, streamed, resident, resident},
		"winning-32GiB": {resident, resident, resident, resident, resident, resident, resident, resident},
	}
	for name, want := range modes {
		n := needOf(t, name, h200)
		for _, f := range []facts{h200, smallCard} {
			n.facts = f
			for i, gib := range caps {
				limit := gib<<30 - 500<<20 // what a driver leaves
				p, err := newProverPlan(n, limit)
				mode := resident
				switch {
				case errors.Is(err, gpu.ErrOutOfMemory):
					mode = refused
				case err != nil:
					t.Fatal(err)
				case p.Total() > limit:
					t.Errorf("%s in %d MiB: the plan takes %d", name, limit>>20, p.Total()>>20)
				case p.Slice > 0:
					mode = streamed
				}
				t.Logf("%d SMs, %s\n%v", f.sms, p, err)
				if mode != want[i] {
					t.Errorf("%s in %d GiB of a card with %d SMs is %s, want %s", name, gib, f.sms, mode, want[i])
				}
			}
		}
	}
}
