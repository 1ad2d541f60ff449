package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"

	"cuzk/backend"
	bcuda "cuzk/backend/cuda"
	"cuzk/cuda"
	"cuzk/daemon"
	"cuzk/internal/config"
	"cuzk/r1cs"
	"cuzk/srs"
)

// spoilMain is the program on a machine with a card, whose second proof meets a kernel
// that writes to an address that nobody has. While the file that frailEnv names is
// there, nothing happens.
func spoilMain() {
	openDevices = func(l *config.Loaded, log *slog.Logger) ([]daemon.Accelerator, error) {
		list, err := accelerators(l, log)
		if _, before := os.Stat(os.Getenv(frailEnv)); before != nil {
			for _, a := range list {
				if g, ok := a.Backend.(*gpuCard); ok && g.card != nil {
					g.card = &spoiledCard{realCard: g.card.(realCard)}
				}
			}
		}
		return list, err
	}
	main()
}

// spoiledCard is a card with a context that breaks in its second proof.
type spoiledCard struct {
	realCard
	proofs atomic.Int32
}

func (c *spoiledCard) backend(o bcuda.Options) cardBackend {
	return &spoiledBackend{c.realCard.backend(o), c}
}

type spoiledBackend struct {
	cardBackend
	card *spoiledCard
}

func (b *spoiledBackend) Load(ctx context.Context, circuit *r1cs.Compiled, key *srs.Key, progress func(float64)) (backend.Prover, error) {
	p, err := b.cardBackend.Load(ctx, circuit, key, progress)
	if err != nil {
		return nil, err
	}
	return &spoiledProver{p, b.card}, nil
}

type spoiledProver struct {
	backend.Prover
	card *spoiledCard
}

// Sums lets the first proof pass. The kernel's error is found by what comes after it,
// as that of a kernel of our own would be.
func (p *spoiledProver) Sums(ctx context.Context, w []*r1cs.Assignment, progress func(string, float64)) ([]backend.Sums, error) {
	if p.card.proofs.Add(1) != 2 {
		return p.Prover.Sums(ctx, w, progress)
	}
	if err := p.card.dev.Owner().Do(writeNowhere); err != nil {
		return nil, errors.Join(err, os.WriteFile(os.Getenv(frailEnv), nil, 0o600))
	}
	out, err := p.Prover.Sums(ctx, w, progress)
	return out, errors.Join(err, os.WriteFile(os.Getenv(frailEnv), nil, 0o600))
}

// nowhere is a kernel that writes to address 16.
const nowhere = `.version 6.3
.target sm_75
.address_size 64
.visible .entry nowhere()
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<2>;
	mov.u64 %rd1, 16;
	mov.u32 %r1, 1;
	st.global.u32 [%rd1], %r1;
	ret;
}
`

func writeNowhere(c *cuda.Context) error {
	m, err := c.LoadModule("nowhere", []byte(nowhere))
	if err != nil {
		return err
	}
	f, err := c.Function(m, "nowhere")
	if err != nil {
		return err
	}
	return c.Launch(f, cuda.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}}, nil)
}

// TestDaemonHealsACard: after an illegal address on a card every request is answered
// once with a valid proof of that card, which is in service again, in the same process;
// by a new start where the driver wants one.
func TestDaemonHealsACard(t *testing.T) {
	if _, err := cuda.Devices(); err != nil {
		t.Skipf("needs a GPU: %v", err)
	}
	d := startFrail(t, "cuzk-spoilt")
	d.proveAll()
	s := d.story()
	t.Logf("%d starts, %d restarts, %v", s.starts, s.restarts, s.states)
	for device, states := range s.states {
		want := "in-service reopening in-service"
		if s.restarts > 0 {
			want = "in-service reopening restarting in-service"
		}
		if device != "cpu" && states != want {
			t.Errorf("%s was %s, want %s", device, states, want)
		}
	}
	if s.starts != s.restarts+1 || s.restarts > 1 || s.broke == 0 || s.onCPU > 0 {
		t.Errorf("%d starts, %d restarts, %d proofs broke, %d were made by the processor", s.starts, s.restarts, s.broke, s.onCPU)
	}
}
