package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"cuzk/backend"
	"cuzk/backend/conformance"
	"cuzk/groth16"
	"cuzk/internal/testutil"
	"cuzk/r1cs"
	"cuzk/srs"
)

// tinySlice is one of the fewest points.
const tinySlice = sliceGrain * 192

// leastCap is the smallest memory that the circuit can be planned for.
func leastCap(t testing.TB, circuit *r1cs.Compiled, f facts, o Options) int64 {
	t.Helper()
	n, err := needOn(circuit, f, o)
	if err != nil {
		t.Fatal(err)
	}
	low, high := int64(0), int64(1<<34)
	for high-low > 1<<10 {
		mid := (low + high) / 2
		if _, err := newProverPlan(n, mid); err != nil {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// streamFacts are the hosted card's with little memory for inversions, so that it
// is the key that a cap is about.
func streamFacts(m *hostedMachine) { m.fact.depth = 3 }

// streamingBackend makes provers with the least memory and the smallest slices.
type streamingBackend struct {
	t    testing.TB
	opt  Options
	more int64 // beyond the least
	last *prover
}

func (b *streamingBackend) Name() string { return "hosted, streamed" }

func (b *streamingBackend) Load(ctx context.Context, circuit *r1cs.Compiled, key *srs.Key, progress func(float64)) (backend.Prover, error) {
	m := newHostedMachine(b.t)
	streamFacts(m)
	p, err := newProver(m, circuit, leastCap(b.t, circuit, m.fact, b.opt)+b.more, b.opt)
	if err != nil {
		return nil, err
	}
	b.last = p
	out, err := loaded(ctx, p, key, progress)
	if err == nil && p.Bytes() > p.plan.Total() {
		b.t.Errorf("prover of %s holds %d bytes, planned were %d", circuit.Name(), p.Bytes(), p.plan.Total())
	}
	b.t.Cleanup(func() {
		if m.bytes != 0 || m.pinned != 0 {
			b.t.Errorf("prover of %s left %d bytes on the device, %d pinned", circuit.Name(), m.bytes, m.pinned)
		}
	})
	return out, err
}

// TestHostedStreamConformance runs the suite of all backends with keys that are
// streamed.
func TestHostedStreamConformance(t *testing.T) {
	t.Parallel()
	testutil.Slow(t, "minutes of one core")
	conformance.Run(t, func(t testing.TB) backend.Backend { return &streamingBackend{t: t, opt: Options{slice: tinySlice}} })
}

// sameSums compares two lists but for times.
func sameSums(t *testing.T, what string, got, want []backend.Sums) {
	t.Helper()
	for i := range want {
		g, w := got[i], want[i]
		if g.H != w.H || g.L != w.L || g.A != w.A || g.B1 != w.B1 || g.B2 != w.B2 {
			t.Errorf("%s: sums of assignment %d differ", what, i)
		}
	}
}

// references are sums by their definitions.
func references(t *testing.T, circuit *r1cs.Compiled, key *srs.Key, ws []*r1cs.Assignment) (out []backend.Sums) {
	t.Helper()
	for _, w := range ws {
		s, err := conformance.Reference(circuit, key, w)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *s)
	}
	return out
}

// different are assignments of a circuit: its own, all ones, and what satisfies
// nothing.
func different(c *conformance.Mixed, circuit *r1cs.Compiled) []*r1cs.Assignment {
	return []*r1cs.Assignment{r1cs.Run(c).Assignment(), probeAssignment(circuit.Counts()), r1cs.NewAssignment(circuit.Counts())}
}

// TestHostedStream sweeps caps from the least to one that holds the key, with the
// points in pinned memory and in the key file: every plan keeps its cap, and all
// sums are the same.
func TestHostedStream(t *testing.T) {
	t.Parallel()
	testutil.Slow(t, "a minute and a half of one core: ten provers")
	ctx, c := context.Background(), &conformance.Mixed{Inputs: 40, Groups: 100, Seed: 3}
	circuit := conformance.Compile(t, c)
	key, ws := conformance.Key(t, circuit), different(c, circuit)
	want := references(t, circuit, key, ws)
	modes := map[string]int{}
	for _, pinned := range []int64{0, -1} {
		for _, more := range []int64{0, 60 << 10, 160 << 10, 240 << 10, 1 << 30} {
			b := &streamingBackend{t: t, opt: Options{slice: tinySlice, Pinned: pinned}, more: more}
			if more == 1<<30 {
				b.opt.slice = 0
			}
			loaded, err := b.Load(ctx, circuit, key, nil)
			if err != nil {
				t.Fatal(err)
			}
			p := b.last
			name := fmt.Sprintf("%d KiB beyond the least, pinned %t, %d queries away", more>>10, p.plan.Pinned, len(p.plan.away))
			t.Log(name)
			modes[fmt.Sprint(len(p.plan.away), p.plan.Pinned)]++
			got, err := loaded.Sums(ctx, ws, nil)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, p.plan)
			}
			sameSums(t, name, got, want)
			if err := loaded.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if modes["5 true"] == 0 || modes["5 false"] == 0 || modes["0 false"] == 0 || len(modes) < 5 {
		t.Errorf("plans by queries away and pinned: %v", modes)
	}
}

// TestHostedStreamRounds has more assignments than a round, and looks at how often
// the points are brought.
func TestHostedStreamRounds(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of one core")
	}
	t.Parallel()
	ctx, c := context.Background(), &conformance.Mixed{Inputs: 3, Groups: 56, Seed: 5}
	circuit := conformance.Compile(t, c)
	key := conformance.Key(t, circuit)
	b := &streamingBackend{t: t, opt: Options{slice: tinySlice, Pinned: -1}}
	loaded, err := b.Load(ctx, circuit, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	p := b.last
	if p.plan.Slice == 0 || p.plan.Round < 2 {
		t.Fatalf("nothing to see:\n%s", p.plan)
	}
	p.plan.Round = 2
	ws := different(c, circuit)[:2]
	want := references(t, circuit, key, ws)
	calls := p.machine.(*hostedMachine).calls
	before := calls["key_g2"]
	got, err := loaded.Sums(ctx, slices.Concat(ws, ws[:1]), nil)
	if err != nil {
		t.Fatal(err)
	}
	sameSums(t, "rounds", got, append(want, want[0]))
	slicesG2 := 0
	for _, l := range p.key.lists("b_g2") {
		l.slices(func(int, int) { slicesG2++ })
	}
	if n := calls["key_g2"] - before; n != 2*slicesG2 || slicesG2 < 2 {
		t.Errorf("%d slices of b_g2 were brought in two rounds, want %d", n, 2*slicesG2)
	}
}

// TestHostedStreamCancel cancels after each stage's end: the error says so, and the
// prover works afterwards.
func TestHostedStreamCancel(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a dozen proofs")
	}
	c := &conformance.Mixed{Inputs: 3, Groups: 60, Seed: 5}
	circuit := conformance.Compile(t, c)
	key, ws := conformance.Key(t, circuit), []*r1cs.Assignment{r1cs.Run(c).Assignment()}
	for _, pinned := range []int64{0, -1} {
		b := &streamingBackend{t: t, opt: Options{slice: tinySlice, Pinned: pinned}}
		p, err := b.Load(context.Background(), circuit, key, nil)
		if err != nil {
			t.Fatal(err)
		}
		for stop := range 6 {
			ctx, cancel := context.WithCancel(context.Background())
			seen := 0
			_, err := p.Sums(ctx, ws, func(string, float64) {
				if seen++; seen > 2*stop {
					cancel()
				}
			})
			if cancel(); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled at report %d: %v", 2*stop, err)
			}
		}
		got, err := p.Sums(context.Background(), ws, nil)
		if err != nil {
			t.Fatal(err)
		}
		sameSums(t, "after cancelled calls", got, references(t, circuit, key, ws))
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHostedStreamSetup makes a key in pinned memory.
func TestHostedStreamSetup(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("seconds for the tables of multiples")
	}
	ctx, c := context.Background(), &conformance.Mixed{Inputs: 40, Groups: 5, Seed: 3}
	circuit, secrets := conformance.Compile(t, c), Secrets(*groth16.InsecureSecrets())
	key, ws := conformance.Key(t, circuit), different(c, circuit)
	for _, pinned := range []int64{0, -1} {
		m := newHostedMachine(t)
		streamFacts(m)
		o := Options{slice: tinySlice, Pinned: pinned}
		p, err := newProver(m, circuit, leastCap(t, circuit, m.fact, o), o)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = made(ctx, p, &secrets, nil)
		if pinned < 0 {
			if err == nil {
				t.Error("made a key that has no place")
			}
		} else if err != nil {
			t.Fatal(err)
		} else {
			got, err := p.Sums(ctx, ws, nil)
			if err != nil {
				t.Fatal(err)
			}
			sameSums(t, "key made in place", got, references(t, circuit, key, ws))
		}
		if err := p.Close(); err != nil || m.bytes != 0 || m.pinned != 0 {
			t.Errorf("closed with %d and %d bytes left: %v", m.bytes, m.pinned, err)
		}
	}
}
