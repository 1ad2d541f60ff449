package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"cuzk/api/cuzkv1"
	"cuzk/backend/fake"
	"cuzk/budget"
	"cuzk/client"
	"cuzk/event"
	"cuzk/job"
	"cuzk/server"
)

const childEnv = "CUZK_SERVER_TEST_DIR"

// TestKillLosesNothing kills the daemon with SIGKILL at seeded random moments
// of a batch of mixed jobs and starts it again, until the batch is done: every
// accepted job ends once, with a valid proof.
func TestKillLosesNothing(t *testing.T) {
	if dir := os.Getenv(childEnv); dir != "" {
		serveUntilKilled(t, dir)
		return
	}
	kills := 100
	if testing.Short() {
		kills = 4
	}
	b := &batch{t: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(6, 28)), jobs: map[string]*cuzkv1.SubmitProofRequest{}}
	for round := range kills {
		b.round(round)
	}
	b.finish()
}

// serveUntilKilled is the daemon to kill.
func serveUntilKilled(t *testing.T, dir string) {
	l, err := job.LockDir(dir)
	must(t, err)
	defer l.Close()
	d := &daemon{t: t, dir: dir, unit: 4 * time.Millisecond, cfg: server.Config{Events: event.NewHub(0)}}
	d.devices = []*fake.Device{fake.GPU("GPU-0", 80*budget.GiB, d.unit), fake.CPU(d.unit)}
	cfg := server.Config{Listen: "unix://" + dir + "/sock", Ready: func(server.Addresses) { fmt.Println("ready") }}
	must(t, server.Run(context.Background(), cfg, d.engine()))
}

type batch struct {
	t    *testing.T
	dir  string
	rng  *rand.Rand
	n    int
	mu   sync.Mutex
	jobs map[string]*cuzkv1.SubmitProofRequest // accepted, by id
}

func (b *batch) start() *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillLosesNothing$")
	cmd.Env = append(os.Environ(), childEnv+"="+b.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(b.t, err)
	must(b.t, cmd.Start())
	sc := bufio.NewScanner(out)
	for sc.Scan() && sc.Text() != "ready" {
	}
	go func() {
		for sc.Scan() { // keeps the pipe empty
		}
	}()
	return cmd
}

// round submits some jobs and kills the daemon while it works on them.
func (b *batch) round(k int) {
	cmd := b.start()
	c, err := client.Dial("unix://"+b.dir+"/sock", client.Options{})
	must(b.t, err)
	defer c.Close()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { b.submit(c, k) })
	}
	b.mu.Lock()
	pause := time.Duration(b.rng.IntN(40)) * time.Millisecond
	b.mu.Unlock()
	time.Sleep(pause)
	must(b.t, cmd.Process.Kill())
	wg.Wait()
	_ = cmd.Wait()
}

func (b *batch) submit(c *client.Client, k int) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for range 3 {
		b.mu.Lock()
		b.n++
		n := uint64(b.n)
		m := []*cuzkv1.SubmitProofRequest{porep(1, n, ""), snap(1, n), window(n, 2), winning(n)}[b.rng.IntN(4)]
		b.mu.Unlock()
		id, err := c.Submit(ctx, m)
		if err != nil {
			return // killed: not accepted, as far as the caller knows
		}
		b.mu.Lock()
		if other := b.jobs[id]; other != nil {
			b.t.Errorf("round %d: job id %s was given twice", k, id)
		}
		b.jobs[id] = m
		b.mu.Unlock()
	}
}

// finish lets the daemon work in peace and asks for every accepted job.
func (b *batch) finish() {
	cmd := b.start()
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	c, err := client.Dial("unix://"+b.dir+"/sock", client.Options{})
	must(b.t, err)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for id, m := range b.jobs {
		r, err := c.Await(ctx, id, 0)
		var failed *client.Failed
		if errors.As(err, &failed) || err != nil {
			b.t.Errorf("job %s (%s): %v", id, m.RequestId, err)
			continue
		}
		if k := kinds[m.ProofKind]; !fake.Valid(content(k.name, m), k.parts, r.Proof) {
			b.t.Errorf("job %s (%s) has a wrong proof", id, m.RequestId)
		}
		if again, err := c.Submit(ctx, m); err != nil || again != id {
			b.t.Errorf("job %s (%s): the same request is job %s, %v", id, m.RequestId, again, err)
		}
	}
	b.t.Logf("%d jobs were accepted", len(b.jobs))
}

func TestSecondDaemonOnOneStateDirectory(t *testing.T) {
	dir := t.TempDir()
	b := &batch{t: t, dir: dir}
	cmd := b.start()
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if _, err := job.LockDir(dir); !errors.Is(err, job.ErrLocked) {
		t.Fatalf("got %v", err)
	}
}
