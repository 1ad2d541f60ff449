package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"cuzk/daemon"
	"cuzk/internal/config"
	"cuzk/job"
	"cuzk/server"
)

// dryRun looks at everything that a daemon needs to start.
func dryRun(u *ui, l *config.Loaded) error {
	log := slog.New(slog.DiscardHandler)
	o, err := daemonOptions(l, log)
	if err != nil {
		return err
	}
	host, err := hostMemory(l)
	if err != nil {
		return err
	}
	_, err = serverConfig(l, log)
	err = errors.Join(err, free(l.Daemon.Listen), free(l.Daemon.AdminListen), usable(l.StateDir()))
	rows := [][]string{
		{"configuration", orElse(l.File, "no file, defaults")},
		{"clients", l.Daemon.Listen},
		{"admin page", orElse(l.Daemon.AdminListen, "none")},
		{"state", l.StateDir()},
		{"memory", fmt.Sprintf("%v (%s)", host.Bytes, host.Source)},
		{"keys", l.ParamsDir()},
	}
	there, missing := keyNames(o)
	rows = append(rows, []string{"  there", orElse(there, "none")}, []string{"  missing", orElse(missing, "none")})
	if o.Insecure {
		rows = append(rows, []string{"  INSECURE", "keys whose secrets everybody knows are permitted"})
	}
	for _, a := range o.Accelerators {
		row := fmt.Sprintf("%s, %s, %v", a.ID, a.Name, a.Memory)
		if a.Lost != "" {
			row += ", LOST"
			err = errors.Join(err, fmt.Errorf("device %s is lost: %s", a.ID, a.Lost))
		}
		rows = append(rows, []string{"device", row})
		if a.Close != nil {
			err = errors.Join(err, a.Close())
		}
	}
	rows = append(rows, []string{"device", fmt.Sprintf("cpu, %d cores, policy %s", runtime.GOMAXPROCS(0), l.Scheduler.CPU)})
	return errors.Join(u.table(rows), daemonError(err))
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// keyNames lists the keys that are there and those that are not.
func keyNames(o daemon.Options) (there, missing string) {
	var a, b []string
	for _, k := range daemon.KnownKeys(o) {
		if k.Tier == "missing" {
			b = append(b, k.ID)
		} else {
			a = append(a, k.ID)
		}
	}
	return strings.Join(a, " "), strings.Join(b, " ")
}

// vacant tells at once what would keep the daemon from starting after cards were
// opened and kernels compiled: addresses or a state directory that another one has.
// The process may have some of the sockets already.
func vacant(l *config.Loaded, left *server.Sockets) error {
	err := usable(l.StateDir())
	for _, address := range []string{l.Daemon.Listen, l.Daemon.AdminListen} {
		if err == nil && !left.Has(address) {
			err = free(address)
		}
	}
	return daemonError(err)
}

// free tells whether an address can be listened on. A socket file may be left from
// before; then nobody answers there.
func free(text string) error {
	if text == "" {
		return nil
	}
	a, err := config.ParseAddress(text)
	if err != nil {
		return err
	}
	if a.Network == "unix" {
		c, err := net.DialTimeout(a.Network, a.Address, time.Second)
		if err != nil {
			return nil
		}
		return badInput(errors.Join(fmt.Errorf("socket %s is in use: is another daemon running?", a.Address), c.Close()))
	}
	l, err := net.Listen(a.Network, a.Address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return badInput(fmt.Errorf("address %s is in use: is another daemon running? %w", text, err))
	}
	if err != nil {
		return badInput(fmt.Errorf("listen on %s: %w", text, err))
	}
	return l.Close()
}

// usable tells whether a state directory can be taken.
func usable(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil // it will be made
	}
	lock, err := job.LockDir(dir)
	if err != nil {
		return err
	}
	return lock.Close()
}
