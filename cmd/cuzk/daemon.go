package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cuzk"
	"cuzk/budget"
	"cuzk/daemon"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/internal/config"
	"cuzk/internal/sdnotify"
	"cuzk/job"
	"cuzk/server"
	"cuzk/server/telemetry"
	"cuzk/server/web"
)

type daemonFlags struct {
	config configFlags
	dryRun bool
}

func newDaemonCmd() *cobra.Command {
	var f daemonFlags
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "Prove for others until stopped",
		Long: `Daemon accepts requests over gRPC (cuzk.v1.ProvingEngine, as Curio sends them),
keeps them safe, proves them, verifies every proof and hands it out. It needs no
configuration: "cuzk config reference" lists what can be set.

Jobs that were accepted survive the end of the process, however it ends: the next
start goes on with the partitions that are missing.

On SIGTERM or Ctrl-C it accepts no more jobs, ends those that have begun, within
daemon.drain_timeout, and stops. A second signal ends it at once. Under systemd
(Type=notify) it says when it is ready and answers the watchdog.

After some errors of a card the driver lets the process open it no more. Then the
daemon lets running partitions end and starts itself anew, in the same process,
gpus.restarts_per_hour times at most.

When it is ready, it prints the address that it listens on. Log lines go to
standard error.`,
		Example: `  # with published keys in the usual place
  cuzk daemon

  # a setup for tests, with keys of "cuzk params setup"
  cuzk daemon --params-dir ./keys --state-dir ./state --insecure

  # look at what it would use, and start nothing
  cuzk daemon --dry-run`,
		Args:        exactly(),
		Annotations: map[string]string{patient: "yes"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			left, err := leftSockets() // before settings are read
			if err != nil {
				return err
			}
			l, err := f.config.load(newUI(cmd))
			if err != nil {
				return err
			}
			if f.dryRun {
				return dryRun(newUI(cmd), l)
			}
			again, err := runDaemon(cmd, l, left)
			if again != nil {
				return again.exec()
			}
			return err
		},
	}
	f.config.register(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "check the configuration, ports, directories, keys and devices, and stop")
	return cmd
}

// runDaemon serves until the daemon has ended. If it is to start anew then, it says
// by what.
func runDaemon(cmd *cobra.Command, l *config.Loaded, left *server.Sockets) (*anew, error) {
	log, err := logger(cmd, l)
	if err != nil {
		return nil, err
	}
	again := newAnew(l, log, left)
	err = serveUntilEnd(cmd, l, log, again)
	if !again.due(cmd.Context()) {
		return nil, err
	}
	if err != nil {
		log.Warn("the end before the new start", "reason", err.Error())
	}
	return again, nil
}

func serveUntilEnd(cmd *cobra.Command, l *config.Loaded, log *slog.Logger, again *anew) error {
	u := newUI(cmd)
	defer alive(log, startLimit)()
	if l.Synthesis.Threads > 0 {
		runtime.GOMAXPROCS(l.Synthesis.Threads)
	}
	defer heedHangup(log)()
	abort, end := abortOnSecond(u)
	defer end()
	log.Info("daemon starts", "version", cuzk.ThisBuild().String(), "state_dir", l.StateDir(), "params_dir", l.ParamsDir(), "config", l.File)
	if err := vacant(l, again.sockets); err != nil {
		return err
	}
	o, err := daemonOptions(l, log)
	if err != nil {
		return err
	}
	o.StartAnew = again.ask
	cfg, err := serverConfig(l, log)
	if err != nil {
		return err
	}
	d, err := daemon.Open(cmd.Context(), o)
	if err != nil {
		return daemonError(err)
	}
	stopTelling, err := tell(l, o.Events, d, &cfg)
	if err != nil {
		return errors.Join(err, d.Close(cmd.Context()))
	}
	defer stopTelling()
	cfg.Abort, cfg.Restart, cfg.Sockets = abort, again.wanted, again.sockets
	stopWatch := func() {}
	cfg.Ready = func(a server.Addresses) {
		_ = u.say("listening on %s", addressText(a.Listen))
		stopWatch = ready(log, d, a)
	}
	ended := make(chan struct{})
	go draining(cmd.Context(), ended, log, l.Daemon.DrainTimeout)
	err = d.Run(cmd.Context(), cfg)
	close(ended)
	stopWatch()
	return daemonError(err)
}

// daemonError classes what keeps a daemon from starting.
func daemonError(err error) error {
	switch {
	case errors.Is(err, job.ErrLocked), errors.Is(err, job.ErrNewer), errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EADDRNOTAVAIL):
		return badInput(err)
	case errors.Is(err, job.ErrCorrupt):
		return hint(badInput(err), "the jobs in it are lost; callers send them again")
	}
	return err
}

// logger writes to standard error.
func logger(cmd *cobra.Command, l *config.Loaded) (*slog.Logger, error) {
	place := telemetry.Place{Journal: os.Getenv("JOURNAL_STREAM") != ""}
	if f, ok := cmd.ErrOrStderr().(*os.File); ok {
		place.Terminal = term.IsTerminal(int(f.Fd()))
	}
	h, err := telemetry.NewHandler(cmd.ErrOrStderr(), l.Logging.Format, l.Logging.Level, place)
	if err != nil {
		return nil, badInput(err)
	}
	return slog.New(h), nil
}

// hostMemory is the budget and who says so.
func hostMemory(l *config.Loaded) (budget.Limit, error) {
	if !l.Memory.TotalBudget.Auto {
		return budget.Limit{Bytes: l.Memory.TotalBudget.Bytes, Source: "memory.total_budget"}, nil
	}
	limit, err := budget.Detect(os.DirFS("/"))
	if err != nil {
		return limit, hint(err, "set memory.total_budget")
	}
	limit.Bytes = max(limit.Bytes-l.Memory.SafetyMargin, limit.Bytes/2)
	return limit, nil
}

// daemonOptions turns settings into what package daemon wants.
func daemonOptions(l *config.Loaded, log *slog.Logger) (daemon.Options, error) {
	host, err := hostMemory(l)
	if err != nil {
		return daemon.Options{}, err
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(host.Bytes))
	}
	accel, err := openDevices(l, log)
	if err != nil {
		return daemon.Options{}, err
	}
	s := l.Scheduler
	return daemon.Options{
		StateDir: l.StateDir(), ParamsDir: l.ParamsDir(), Insecure: l.SRS.Insecure, Preload: l.SRS.Preload,
		Host: host.Bytes, Pinned: pinnedMemory(l, host.Bytes, len(accel) > 0), Accelerators: accel,
		KeepResults: l.Jobs.KeepProofs, SpoolLimit: l.Jobs.SpoolLimit, MinFreeDisk: l.Jobs.MinFreeDisk,
		Sched: sched.Config{MaxJobs: s.MaxJobs, Making: s.Witnesses, Ahead: s.WitnessesAhead, AgeStep: s.AgeStep, MaxAttempts: s.MaxAttempts,
			Reserve: min(l.Memory.CriticalReserve, host.Bytes/8), CPU: sched.CPUPolicy(s.CPU), HangFactor: s.HangFactor, HangFloor: s.HangFloor, HangUnknown: hangUnknown, StopLimit: stopLimit, KeyIdle: l.SRS.KeyIdle, KeyHold: l.Memory.EvictionMinIdle},
		Events: event.NewHub(recentEvents), Log: log,
	}, nil
}

// pinnedMemory is how much of the host's memory may be pinned.
func pinnedMemory(l *config.Loaded, host budget.Bytes, accelerated bool) budget.Bytes {
	usual := budget.Bytes(0)
	if accelerated {
		usual = host / 4 * 3
	}
	return l.Memory.PinnedBudget.Or(usual)
}

// hangUnknown is when a stage has hung of which the daemon has seen none before: a
// WindowPoSt takes half an hour on a small processor. stopLimit is when a device is
// given up that was told to stop; a slice of work takes 0.3 s.
const (
	hangUnknown = 2 * time.Hour
	stopLimit   = time.Minute
)

// recentEvents is how many records are kept for those who come to look.
const recentEvents = 4096

// serverConfig turns settings into what package server wants.
func serverConfig(l *config.Loaded, log *slog.Logger) (server.Config, error) {
	if _, err := readToken(l.Daemon.TokenFile); err != nil {
		return server.Config{}, fmt.Errorf("daemon.token_file: %w", err)
	}
	return server.Config{Listen: l.Daemon.Listen, Admin: l.Daemon.AdminListen, CertFile: l.Daemon.TLSCert, KeyFile: l.Daemon.TLSKey,
		ClientCAFile: l.Daemon.TLSClientCA, TokenFile: l.Daemon.TokenFile, AllowPlaintext: l.Daemon.AllowPlaintext, MaxReceiving: l.Daemon.MaxReceiving,
		CancelOnLeave: l.Daemon.OnDisconnect == "cancel", DrainTimeout: l.Daemon.DrainTimeout, Logger: log}, nil
}

// tell hands events to the log, the metrics, the dashboard and the event log,
// until the function that it returns is called.
func tell(l *config.Loaded, hub *event.Hub, d *daemon.Daemon, cfg *server.Config) (stop func(), err error) {
	metrics := telemetry.NewMetrics(d.Engine)
	live := web.NewLive(d.Engine, web.About{Version: shownVersion(cuzk.ThisBuild()), Insecure: l.SRS.Insecure})
	sinks := []telemetry.Sink{telemetry.NewLogs(cfg.Logger), metrics, live}
	var file *telemetry.File
	if path := l.EventsFile(); path != "" {
		if file, err = telemetry.OpenFile(path, int64(l.Logging.EventsLimit), cfg.Logger); err != nil {
			return nil, err
		}
		sinks = append(sinks, file)
	}
	cfg.Events, cfg.Metrics, cfg.Web = hub, metrics, web.New(live)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		telemetry.Consume(ctx, hub, sinks...)
		close(done)
	}()
	return func() {
		cancel()
		<-done
		if file != nil {
			if err := file.Close(); err != nil {
				cfg.Logger.Warn("event log", "reason", err.Error())
			}
		}
	}, nil
}

// shownVersion is what the dashboard has room for.
func shownVersion(b cuzk.Build) string {
	if b.Version == "devel" {
		return b.Commit()
	}
	return b.Version
}

// startLimit is how long a start may take, as the unit's TimeoutStartSec has it.
const startLimit = 2 * time.Minute

// alive answers systemd's watchdog until the function that it returns is called, or
// for so long: after a start in place it is already watching, and opening cards takes
// a while.
func alive(log *slog.Logger, limit time.Duration) (stop func()) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	if every := sdnotify.Watchdog(); every > 0 {
		go func() {
			for ctx.Err() == nil {
				notify(log, sdnotify.Alive)
				select {
				case <-ctx.Done():
				case <-time.After(every / 2):
				}
			}
		}()
	}
	return cancel
}

// ready tells everybody that requests are taken, and answers systemd's watchdog
// as long as the engine does.
func ready(log *slog.Logger, d *daemon.Daemon, a server.Addresses) (stop func()) {
	log.Info("daemon is ready", "listen", addressText(a.Listen), "admin", addressText(a.Admin))
	ctx, cancel := context.WithCancel(context.Background())
	notify(log, sdnotify.Ready, sdnotify.Status("listening on %s", addressText(a.Listen)))
	if every := sdnotify.Watchdog(); every > 0 {
		go func() {
			for ctx.Err() == nil {
				ask, end := context.WithTimeout(ctx, every/2)
				if d.Engine.Ping(ask) == nil {
					notify(log, sdnotify.Alive)
				}
				end()
				select {
				case <-ctx.Done():
				case <-time.After(every / 2):
				}
			}
		}()
	}
	return cancel
}

func notify(log *slog.Logger, messages ...string) {
	if _, err := sdnotify.Send(messages...); err != nil {
		log.Warn("systemd", "reason", err.Error())
	}
}

// draining says what the first signal began.
func draining(ctx context.Context, ended <-chan struct{}, log *slog.Logger, timeout time.Duration) {
	select {
	case <-ctx.Done():
	case <-ended:
		return
	}
	log.Info("stopping: running jobs end, no others begin; a second signal ends it at once", "timeout", timeout.String())
	notify(log, sdnotify.Stopping, sdnotify.Extend(timeout+time.Minute), sdnotify.Status("draining"))
}

// heedHangup keeps a hangup signal, which asks other daemons to read their settings
// again, from ending this one.
func heedHangup(log *slog.Logger) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for range signals {
			log.Info("hangup: certificates and token are read again when they change; other settings need a restart")
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// abortGrace is how long the end may take after the second signal.
const abortGrace = 3 * time.Second

// abortOnSecond gives a context that the second signal ends. What does not end
// soon then is cut off: nothing that was accepted is lost.
func abortOnSecond(u *ui) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range 2 {
			select {
			case <-signals:
			case <-ctx.Done():
				return
			}
		}
		u.note("ended by the second signal; unfinished jobs go on at the next start")
		cancel()
		time.Sleep(abortGrace)
		os.Exit(exitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

// addressText is how a client says it.
func addressText(a net.Addr) string {
	switch {
	case a == nil:
		return ""
	case a.Network() == "unix":
		return "unix://" + a.String()
	}
	return a.String()
}
