package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cuzk/internal/config"
)

// adminFlags say where a daemon's admin listener is: the commands that look at a
// running daemon.
type adminFlags struct {
	config configFlags
	addr   string
	wait   time.Duration
	json   bool
}

func (f *adminFlags) register(cmd *cobra.Command) {
	f.config.registerFile(cmd)
	cmd.Flags().StringVar(&f.addr, "admin", "", "the daemon's admin `address`, host:port or unix:///path (default daemon.admin_listen)")
	cmd.Flags().DurationVar(&f.wait, "wait", 0, "wait this `long` for a daemon that is starting")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// admin is a connection to a daemon's admin listener.
type admin struct {
	addr   string
	base   string
	client http.Client
	until  time.Time // that the first answer is waited for
}

// adminTimeout is how long a daemon may take to answer: five seconds is what it
// promises under full load.
const adminTimeout = 10 * time.Second

func (f *adminFlags) open(u *ui) (*admin, error) {
	if f.addr == "" {
		l, err := f.config.load(u)
		if err != nil {
			return nil, err
		}
		if f.addr = l.Daemon.AdminListen; f.addr == "" {
			return nil, hint(badInput(errors.New("daemon.admin_listen is off")), "say where the daemon is with --admin")
		}
	}
	a, err := config.ParseAddress(f.addr)
	if err != nil {
		return nil, usageError("--admin: %v", err)
	}
	c := &admin{addr: f.addr, base: "http://" + a.Address, until: time.Now().Add(f.wait)}
	if a.Network == "unix" {
		c.base = "http://localhost"
		c.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", a.Address)
		}}
	}
	return c, nil
}

// get reads a page of JSON.
func (a *admin) get(ctx context.Context, path string, v any) error {
	return a.do(ctx, http.MethodGet, path, v)
}

// waitEvery is how often a daemon that is starting is asked.
const waitEvery = 50 * time.Millisecond

func (a *admin) do(ctx context.Context, method, path string, v any) error {
	err := a.once(ctx, method, path, v)
	for notThere(err) && time.Now().Before(a.until) && pause(ctx, waitEvery) {
		err = a.once(ctx, method, path, v)
	}
	if notThere(err) { // not the class of an error about a file
		return hint(errors.New(err.Error()), "start it with \"cuzk daemon\", or say where it is with --admin")
	}
	return err
}

func notThere(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}

func (a *admin) once(ctx context.Context, method, path string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, nil)
	if err != nil {
		return badInput(err)
	}
	r, err := a.client.Do(req)
	if err != nil {
		return fmt.Errorf("no daemon answers at %s: %w", a.addr, err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, maxFile))
	if err != nil {
		return fmt.Errorf("read from the daemon at %s: %w", a.addr, err)
	}
	if r.StatusCode != http.StatusOK {
		return refused(r, b)
	}
	return json.Unmarshal(b, v)
}

// refused is an answer that is no page.
func refused(r *http.Response, body []byte) error {
	var e struct {
		Error string `json:"error"`
	}
	text := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &e) == nil && e.Error != "" {
		text = e.Error
	}
	err := fmt.Errorf("the daemon says: %s (%s)", text, r.Status)
	if r.StatusCode == http.StatusNotFound {
		return badInput(err)
	}
	return err
}
