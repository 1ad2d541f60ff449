package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"cuzk/daemon"
	"cuzk/internal/config"
	"cuzk/internal/sdnotify"
	"cuzk/server"
)

// anew replaces the daemon's process by a new one of the same program, arguments and
// environment: an error of a card may leave the process unable to open it, and jobs
// survive a restart. The number of the process stays, so systemd and shells notice
// nothing; gpus.restarts_per_hour bounds how often.
type anew struct {
	restarts *daemon.Restarts
	most     int
	log      *slog.Logger
	signals  chan os.Signal // that ask the daemon to end

	sockets *server.Sockets // of the process before, or for the next

	mu     sync.Mutex
	asked  bool
	wanted chan struct{} // closed when asked
}

func newAnew(l *config.Loaded, log *slog.Logger, left *server.Sockets) *anew {
	most := l.GPUs.RestartsPerHour
	a := &anew{restarts: daemon.NewRestarts(l.StateDir(), most), most: most, log: log, signals: make(chan os.Signal, 1), sockets: left, wanted: make(chan struct{})}
	signal.Notify(a.signals, os.Interrupt, syscall.SIGTERM)
	return a
}

// ask wants a restart for a device. The error says why there is none.
func (a *anew) ask(device string, why error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked { // for another device
		return nil
	}
	n, err := a.restarts.Take()
	if err != nil {
		return err
	}
	notify(a.log, sdnotify.Status("starts itself anew, %d of at most %d times an hour, for %s: %v", n, a.most, device, why))
	a.asked = true
	close(a.wanted)
	return nil
}

// due tells, when the daemon has ended, whether a new process is to begin: one was
// asked for, and nobody has asked for the end meanwhile.
func (a *anew) due(ctx context.Context) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.asked || ctx.Err() != nil {
		signal.Stop(a.signals)
		return false
	}
	return true
}

// exec replaces the process. It returns only if that failed, or if a signal asked for
// the end at the last moment. Signals that come later end the new process.
func (a *anew) exec() error {
	program, err := thisProgram()
	if err != nil {
		return fmt.Errorf("start anew: %w", err)
	}
	notify(a.log, sdnotify.Reloading, sdnotify.Monotonic(), sdnotify.Alive)
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	signal.Stop(a.signals) // those that came before are in the channel now
	if len(a.signals) > 0 {
		return nil
	}
	closeOnExec()
	left, err := handOn(a.sockets)
	if err != nil {
		return fmt.Errorf("start anew: %w", err)
	}
	return fmt.Errorf("start %s anew: %w", program, syscall.Exec(program, os.Args, append(os.Environ(), socketsEnv+"="+left)))
}

// socketsEnv tells the new process of listening sockets that it has: an object from
// addresses to numbers of open files. It is not for people.
const socketsEnv = "CUZK_LEFT_SOCKETS"

// handOn keeps sockets open for the new process.
func handOn(s *server.Sockets) (string, error) {
	numbers := map[string]int{}
	for address, f := range s.All() {
		numbers[address] = int(f.Fd())
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil {
			return "", fmt.Errorf("hand on the socket of %s: %w", address, err)
		}
	}
	text, err := json.Marshal(numbers)
	return string(text), err
}

// leftSockets are those that the process before has handed on. Nobody else is to see
// the variable, neither the settings nor another process.
func leftSockets() (*server.Sockets, error) {
	s, text := &server.Sockets{}, os.Getenv(socketsEnv)
	if text == "" {
		return s, nil
	}
	if err := os.Unsetenv(socketsEnv); err != nil {
		return nil, err
	}
	var numbers map[string]int
	if err := json.Unmarshal([]byte(text), &numbers); err != nil {
		return nil, badInput(fmt.Errorf("%s: %w", socketsEnv, err))
	}
	for address, fd := range numbers {
		if fd <= 2 {
			return nil, badInput(fmt.Errorf("%s: %d is no socket", socketsEnv, fd))
		}
		unix.CloseOnExec(fd)
		s.Put(address, os.NewFile(uintptr(fd), address))
	}
	return s, nil
}

// thisProgram is where the running program is, also if its file was removed or
// replaced meanwhile: then the name of the process in lists changes.
func thisProgram() (string, error) {
	const running = "/proc/self/exe"
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Stat(path)
	own, procErr := os.Stat(running)
	if procErr == nil && (err != nil || !os.SameFile(file, own)) {
		return running, nil
	}
	return path, err
}

// closeOnExec has files closed that others have opened in this process, the driver
// for one. Our own are anyway.
func closeOnExec() {
	open, _ := filepath.Glob("/proc/self/fd/*") // elsewhere than on Linux there is no such folder, and no driver
	for _, name := range open {
		if fd, err := strconv.Atoi(filepath.Base(name)); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
