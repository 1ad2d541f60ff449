package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"cuzk/srs"
)

// check looks at values that depend on each other or have a form of their own.
// It reads no file and opens no port; "cuzk doctor" does.
func (l *Loaded) check() Problems {
	var out Problems
	for _, rule := range []struct {
		key string
		err error
	}{
		{"daemon.listen", l.checkListen(l.Daemon.Listen, l.Daemon.TLSCert != "")},
		{"daemon.admin_listen", l.checkAdmin()},
		{"daemon.tls_key", l.checkTLS()},
		{"daemon.state_dir", absolute(l.StateDir())},
		{"srs.params_dir", absolute(l.ParamsDir())},
		{"srs.preload", checkCircuits(l.SRS.Preload)},
		{"fetch.gateways", checkGateways(l.Fetch.Gateways)},
		{"memory.total_budget", l.checkMemory()},
		{"memory.pinned_budget", l.checkPinned()},
		{"gpus.devices", checkDevices(l.GPUs.Devices)},
	} {
		if rule.err != nil {
			out = append(out, &Problem{l.where(rule.key), rule.key, rule.err.Error(), Find(rule.key).hint()})
		}
	}
	return out
}

func (l *Loaded) where(key string) string {
	if o := l.Origin(key); o != "default" {
		return o
	}
	return ""
}

// Address is an address to listen on.
type Address struct {
	Network string // tcp or unix
	Address string // host:port, or the path of a socket
}

// ParseAddress reads host:port, :port, or unix:///path.
func ParseAddress(text string) (Address, error) {
	if path, ok := strings.CutPrefix(text, "unix://"); ok {
		if !strings.HasPrefix(path, "/") {
			return Address{}, fmt.Errorf("%q: the path of a socket begins with a slash: unix:///run/cuzk/cuzk.sock", text)
		}
		return Address{"unix", path}, nil
	}
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return Address{}, fmt.Errorf("%q is neither host:port nor unix:///path", text)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Address{}, fmt.Errorf("%q: port %q is not a number from 0 to 65535", text, port)
	}
	return Address{"tcp", text}, nil
}

// Local tells whether only this machine can reach the address.
func (a Address) Local() bool {
	if a.Network == "unix" {
		return true
	}
	host, _, _ := net.SplitHostPort(a.Address)
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (l *Loaded) checkListen(text string, tls bool) error {
	a, err := ParseAddress(text)
	if err != nil {
		return err
	}
	if !a.Local() && !tls && !l.Daemon.AllowPlaintext {
		return fmt.Errorf("other machines can reach %s, which would be served in plaintext and without a password: "+
			"use 127.0.0.1, set tls_cert and tls_key, or set allow_plaintext", text)
	}
	return nil
}

func (l *Loaded) checkAdmin() error {
	if l.Daemon.AdminListen == "" {
		return nil
	}
	if err := l.checkListen(l.Daemon.AdminListen, false); err != nil {
		return err
	}
	a, _ := ParseAddress(l.Daemon.AdminListen)
	if l.Daemon.AdminListen == l.Daemon.Listen && !strings.HasSuffix(a.Address, ":0") {
		return errors.New("is the same as daemon.listen")
	}
	return nil
}

func (l *Loaded) checkTLS() error {
	d := l.Daemon
	switch {
	case (d.TLSCert == "") != (d.TLSKey == ""):
		return errors.New("tls_cert and tls_key belong together")
	case d.TLSClientCA != "" && d.TLSCert == "":
		return errors.New("tls_client_ca needs tls_cert and tls_key")
	}
	return nil
}

func absolute(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is not an absolute path", path)
	}
	return nil
}

// wireFamilies are the families' names on the wire, see [Circuit].
var wireFamilies = map[string]string{"porep": srs.PoRep, "winning": srs.Winning, "wpost": srs.Window, "snap": srs.Update}

// Circuit reads a circuit's name, porep-32GiB, or the name that it has on the
// wire, porep-32g.
func Circuit(name string) (srs.ID, error) {
	id, err := srs.ParseID(name)
	if err == nil {
		return id, nil
	}
	family, size, _ := strings.Cut(name, "-")
	unit := map[string]string{"k": "KiB", "m": "MiB", "g": "GiB"}
	if f := wireFamilies[family]; f != "" && len(size) > 1 && unit[size[len(size)-1:]] != "" {
		if id, err := srs.ParseID(f + "-" + size[:len(size)-1] + unit[size[len(size)-1:]]); err == nil {
			return id, nil
		}
	}
	return srs.ID{}, err
}

func checkCircuits(names []string) error {
	for _, n := range names {
		if _, err := Circuit(n); err != nil {
			return err
		}
	}
	return nil
}

func checkGateways(list []string) error {
	if len(list) == 0 {
		return errors.New("at least one gateway is needed")
	}
	for _, g := range list {
		u, err := url.Parse(g)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return fmt.Errorf("%q is not an address such as https://proofs.filecoin.io/ipfs/", g)
		}
	}
	return nil
}

func (l *Loaded) checkMemory() error {
	if t := l.Memory.TotalBudget; !t.Auto && t.Bytes <= l.Memory.CriticalReserve {
		return fmt.Errorf("%v is not more than critical_reserve, %v", t.Bytes, l.Memory.CriticalReserve)
	}
	return nil
}

func (l *Loaded) checkPinned() error {
	p, t := l.Memory.PinnedBudget, l.Memory.TotalBudget
	if !p.Auto && !t.Auto && p.Bytes > t.Bytes {
		return fmt.Errorf("%v is more than total_budget, %v, of which it is a part", p.Bytes, t.Bytes)
	}
	return nil
}

// checkDevices wants UUIDs, PCI addresses or numbers, each once.
func checkDevices(list []string) error {
	seen := map[string]bool{}
	for _, d := range list {
		_, err := strconv.ParseUint(d, 10, 8)
		if err != nil && !strings.HasPrefix(d, "GPU-") && !strings.HasPrefix(d, "MIG-") && strings.Count(d, ":") == 0 {
			return fmt.Errorf("%q is neither a UUID (GPU-...), nor a PCI address, nor a number", d)
		}
		if seen[d] {
			return fmt.Errorf("%q stands there twice", d)
		}
		seen[d] = true
	}
	return nil
}
