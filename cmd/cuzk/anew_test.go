package main

import (
	stdbytes "bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cuzk/backend"
	"cuzk/backend/cpu"
	bcuda "cuzk/backend/cuda"
	"cuzk/budget"
	"cuzk/client"
	"cuzk/cuda"
	"cuzk/daemon"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/internal/config"
	"cuzk/kind"
	"cuzk/r1cs"
	"cuzk/srs"
)

// frailEnv names a file that the frail card makes before it breaks. While it is there
// the card is sound; with alwaysFrail too the card breaks in every process.
const (
	frailEnv    = "CUZK_TEST_FRAIL"
	alwaysFrail = "CUZK_TEST_ALWAYS_FRAIL"
)

// frailMain is the program on a machine with two cards that the processor plays. The
// first breaks in the midst of a proof, as after an illegal address, and cannot be
// opened by the process any more. The second then still has work for a while.
func frailMain() {
	at, broken := make(chan struct{}, 16), make(chan struct{})
	frail, sound := &playedCard{}, &playedCard{}
	frail.before = func(ctx context.Context) error {
		_, err := os.Stat(os.Getenv(frailEnv))
		if frail.failed() != nil || err == nil && os.Getenv(alwaysFrail) == "" {
			return frail.failed()
		}
		await(ctx, at)
		defer close(broken)
		frail.err.Store(&cuda.Error{Call: "cuStreamSynchronize", Code: 700, Name: "CUDA_ERROR_ILLEGAL_ADDRESS"})
		return errors.Join(frail.failed(), os.WriteFile(os.Getenv(frailEnv), nil, 0o600))
	}
	sound.before = func(ctx context.Context) error {
		at <- struct{}{}
		if _, err := os.Stat(os.Getenv(frailEnv)); err != nil {
			await(ctx, broken)
			time.Sleep(300 * time.Millisecond)
		}
		return ctx.Err()
	}
	openDevices = func(*config.Loaded, *slog.Logger) ([]daemon.Accelerator, error) {
		return []daemon.Accelerator{frail.accelerator("GPU-a-frail"), sound.accelerator("GPU-b-sound")}, nil
	}
	main()
}

// await waits for a while.
func await(ctx context.Context, c <-chan struct{}) {
	select {
	case <-c:
	case <-ctx.Done():
	case <-time.After(5 * time.Second):
	}
}

// playedCard is an [openedCard] and its backend.
type playedCard struct {
	cpu.Backend
	before func(context.Context) error // of each proof
	err    atomic.Pointer[cuda.Error]  // of all calls, once broken
}

func (c *playedCard) failed() error {
	if err := c.err.Load(); err != nil {
		return err
	}
	return nil
}

func (c *playedCard) backend(bcuda.Options) cardBackend { return c }
func (c *playedCard) abandon(error)                     {}
func (c *playedCard) close() error                      { return c.failed() }
func (c *playedCard) Close() error                      { return c.failed() }

func (c *playedCard) Load(ctx context.Context, circuit *r1cs.Compiled, key *srs.Key, progress func(float64)) (backend.Prover, error) {
	p, err := c.Backend.Load(ctx, circuit, key, progress)
	return &playedProver{p, c}, errors.Join(err, c.failed())
}

type playedProver struct {
	backend.Prover
	card *playedCard
}

func (p *playedProver) Sums(ctx context.Context, w []*r1cs.Assignment, progress func(string, float64)) ([]backend.Sums, error) {
	if err := p.card.before(ctx); err != nil {
		return nil, err
	}
	return p.Prover.Sums(ctx, w, progress)
}

func (c *playedCard) accelerator(id string) daemon.Accelerator {
	g := &gpuCard{memory: 8 * budget.GiB, open: func(context.Context) (openedCard, error) { return c, openError(c.failed()) }}
	if err := g.Reopen(context.Background()); err != nil {
		panic(err)
	}
	return daemon.Accelerator{Device: sched.Device{ID: id, Name: "played", Class: sched.GPU, Slots: 1, Memory: g.memory}, Backend: g,
		Need: func(srs.ID, r1cs.Counts, srs.Shape) budget.Placement {
			return budget.Placement{Able: true, Key: budget.Need{Device: budget.GiB}}
		},
		Reopen: g.Reopen, Abandon: g.abandon, Close: g.close}
}

// systemd hears what a service says.
type systemd struct {
	mu    sync.Mutex
	said  []string
	alive int // answers to the watchdog
}

func startSystemd(t *testing.T, path string) *systemd {
	t.Helper()
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &systemd{}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := l.Read(b)
			if err != nil {
				return
			}
			for line := range strings.Lines(string(b[:n])) {
				s.hear(strings.TrimSpace(line))
			}
		}
	}()
	return s
}

func (s *systemd) hear(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state, _, _ := strings.Cut(line, "="); state {
	case "READY", "RELOADING", "STOPPING":
		s.said = append(s.said, state)
	case "WATCHDOG":
		s.alive++
	}
}

func (s *systemd) states() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.said, " ")
}

// frailDaemon is a daemon in a process of its own.
type frailDaemon struct {
	t     *testing.T
	cmd   *exec.Cmd
	dir   string
	keys  string
	admin string // address
	log   *stdbytes.Buffer
	sd    *systemd
	calls *client.Client
}

func startFrail(t *testing.T, program string, env ...string) *frailDaemon {
	t.Helper()
	keys, err := windowKeys()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "frail-") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &frailDaemon{t: t, dir: dir, keys: keys, admin: freePort(t), log: &stdbytes.Buffer{}, sd: startSystemd(t, filepath.Join(dir, "notify"))}
	d.cmd = &exec.Cmd{Path: os.Args[0], Stderr: d.log, Args: []string{program, "daemon", "--listen", "unix://" + dir + "/clients", "--admin-listen", d.admin,
		"--state-dir", filepath.Join(dir, "state"), "--params-dir", keys, "--insecure"},
		Env: append(os.Environ(), append(env, "NOTIFY_SOCKET="+dir+"/notify", "WATCHDOG_USEC=100000", frailEnv+"="+filepath.Join(dir, "broke"))...)}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	if d.calls, err = client.Dial("unix://"+dir+"/clients", client.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.calls.Close() })
	return d
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// knock connects again and again, to both addresses, until the context is done. From
// the first time on nobody may be refused.
func (d *frailDaemon) knock(ctx context.Context) error {
	var there [2]bool
	for ctx.Err() == nil {
		for i, where := range [2][2]string{{"unix", d.dir + "/clients"}, {"tcp", d.admin}} {
			c, err := net.Dial(where[0], where[1])
			if err != nil && there[i] {
				return fmt.Errorf("refused: %w", err)
			}
			if err == nil {
				there[i] = true
				_ = c.Close()
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	if !there[0] || !there[1] {
		return errors.New("never let in")
	}
	return nil
}

// command has "cuzk prove" ask for the proofs of a request file, and verifies them.
func (d *frailDaemon) command(name string) error {
	path, proof := filepath.Join("../../testdata/requests", name+".json"), filepath.Join(d.dir, name)
	for tries := 0; ; tries++ {
		code, _, errOut := runIn("prove", path, "--daemon", "unix://"+d.dir+"/clients", "--id", name, "-o", proof)
		if code == exitOK {
			return d.verify(path, proof)
		}
		if tries == 200 || !strings.Contains(errOut, "is a daemon at") { // it is starting
			return errors.New(errOut)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (d *frailDaemon) verify(path, proof string) error {
	if code, _, errOut := runIn("verify", path, proof, "--insecure", "--params-dir", d.keys); code != exitOK {
		return errors.New(errOut)
	}
	return nil
}

// prove sends a request file as often as the daemon is away, and verifies the proofs.
func (d *frailDaemon) prove(ctx context.Context, name string) error {
	path := filepath.Join("../../testdata/requests", name+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rs, err := kind.WireRequests(data, func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(filepath.Dir(path), name)) })
	if err != nil {
		return err
	}
	var all []byte
	for k, r := range rs {
		p, err := d.calls.Prove(ctx, submitted(r, fmt.Sprint(name, k)))
		for ; err != nil && client.Busy(err); p, err = d.calls.Prove(ctx, submitted(r, fmt.Sprint(name, k))) {
			time.Sleep(50 * time.Millisecond)
		}
		if err != nil {
			return err
		}
		all = append(all, p.Proof...)
	}
	proof := filepath.Join(d.dir, name)
	if err := os.WriteFile(proof, all, 0o600); err != nil {
		return err
	}
	return d.verify(path, proof)
}

// proveAll has four partitions proved from three request files, and ends the daemon.
// Each must have ended once, in the process that was started.
func (d *frailDaemon) proveAll() {
	d.t.Helper()
	ctx, stop := context.WithCancel(d.t.Context())
	knocked := make(chan error, 1)
	go func() { knocked <- d.knock(ctx) }()
	names := []string{"window-2KiB-V1-1of2", "window-2KiB-V1_2-2of2"}
	failed := make(chan error, 3)
	for _, name := range names {
		go func() { failed <- d.prove(d.t.Context(), name) }()
	}
	go func() { failed <- d.command("window-2KiB-V1-3of4") }()
	for range cap(failed) {
		if err := <-failed; err != nil {
			d.t.Error(err)
		}
	}
	stop()
	if err := <-knocked; err != nil {
		d.t.Error(err)
	}
	d.end()
	if d.sd.alive < 5 {
		d.t.Errorf("the watchdog was answered %d times", d.sd.alive)
	}
	for request, n := range d.story().ended {
		if n != 1 {
			d.t.Errorf("%s ended %d times", request, n)
		}
	}
	if n := len(d.story().ended); n != 4 {
		d.t.Errorf("%d requests ended", n)
	}
}

// end stops the daemon in order.
func (d *frailDaemon) end() {
	d.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Error(err)
	}
	if err := d.cmd.Wait(); err != nil {
		d.t.Errorf("ended with %v", err)
	}
	d.t.Logf("log:\n%s", d.log)
}

// story is what an event log tells.
type story struct {
	starts, restarts int               // restarts for an illegal address
	broke            int               // proofs that failed for one
	sound, onCPU     int               // proofs of the sound card before the first restart, and of the processor
	ended            map[string]int    // completed, by request
	states           map[string]string // that a device went through
	why              string            // a device was lost
}

func (d *frailDaemon) story() story {
	d.t.Helper()
	f, err := os.Open(filepath.Join(d.dir, "state", "events.jsonl"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	s := story{ended: map[string]int{}, states: map[string]string{}}
	for from := json.NewDecoder(f); ; {
		var r event.Record
		if err := from.Decode(&r); err != nil {
			if err != io.EOF {
				d.t.Fatal(err)
			}
			return s
		}
		s.take(&r)
	}
}

func (s *story) take(r *event.Record) {
	illegal := strings.Contains(r.Reason, "CUDA_ERROR_ILLEGAL_ADDRESS")
	switch r.Type {
	case event.DaemonStarted:
		s.starts++
	case event.DaemonRestarts:
		if illegal {
			s.restarts++
		}
	case event.JobEnded:
		if r.Outcome == "completed" {
			s.ended[r.Request]++
		}
	case event.DeviceState:
		s.states[r.Device] = strings.TrimSpace(s.states[r.Device] + " " + r.State)
		if r.State == "lost" {
			s.why = r.Reason
		}
	case event.StageEnded:
		s.proof(r, illegal)
	}
}

func (s *story) proof(r *event.Record, illegal bool) {
	switch {
	case r.Stage != event.Prove:
	case illegal:
		s.broke++
	case r.Failure != "":
	case r.Device == "cpu":
		s.onCPU++
	case r.Device == "GPU-b-sound" && s.starts == 1:
		s.sound++
	}
}

// TestDaemonStartsAnew: a card that the driver lets the process open no more has the
// daemon replace its process. What the other card proves ends before, every request is
// answered once with a valid proof, the process keeps its number, and systemd hears.
func TestDaemonStartsAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a key and proofs")
	}
	d := startFrail(t, "cuzk-frail")
	d.proveAll()
	s := d.story()
	if card := s.states["GPU-a-frail"]; s.starts != 2 || s.restarts != 1 || s.broke != 1 || card != "in-service reopening restarting in-service" {
		t.Errorf("%d starts, %d restarts, %d broke, the card was %s", s.starts, s.restarts, s.broke, card)
	}
	if s.sound == 0 {
		t.Error("the other card's proof was cut off")
	}
	if got := d.sd.states(); got != "READY RELOADING READY STOPPING" {
		t.Errorf("systemd heard %s", got)
	}
}

// TestDaemonStartsAnewNotForEver: a card that breaks in every process is lost after
// the restarts that are permitted, with the reason; the requests are answered by others.
func TestDaemonStartsAnewNotForEver(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a key and proofs")
	}
	d := startFrail(t, "cuzk-frail", alwaysFrail+"=1", "CUZK_GPUS_RESTARTS_PER_HOUR=1")
	d.proveAll()
	s := d.story()
	if card := s.states["GPU-a-frail"]; s.starts != 2 || s.restarts != 1 || s.broke != 2 || card != "in-service reopening restarting in-service reopening lost" {
		t.Errorf("%d starts, %d restarts, %d broke, the card was %s", s.starts, s.restarts, s.broke, card)
	}
	if !strings.Contains(s.why, "1 restarts within an hour") || !strings.Contains(s.why, "CUDA_ERROR_ILLEGAL_ADDRESS") {
		t.Errorf("lost since %s", s.why)
	}
}
