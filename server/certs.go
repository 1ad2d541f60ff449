package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certs are the files of TLS. They are read again when they have changed, so that
// a renewed certificate is served without a restart. What cannot be used is told,
// and what was served before goes on.
type certs struct {
	cert, key, clientCA string
	log                 *slog.Logger
	every               time.Duration // how often the files are looked at

	mu     sync.Mutex
	now    *tls.Config
	stamps [3]stamp
	looked time.Time
}

// stamp tells one content of a file from another.
type stamp struct {
	size int64
	time time.Time
}

// lookAtCerts is how often new connections make the files be looked at.
const lookAtCerts = time.Second

// loadTLS is nil if TLS is not asked for.
func loadTLS(cfg Config) (*tls.Config, error) {
	if cfg.CertFile == "" && cfg.KeyFile == "" {
		if cfg.ClientCAFile != "" {
			return nil, errors.New("tls_client_ca needs tls_cert and tls_key")
		}
		return nil, nil
	}
	c := &certs{cert: cfg.CertFile, key: cfg.KeyFile, clientCA: cfg.ClientCAFile, log: cfg.Logger, every: lookAtCerts}
	c.stamps, c.looked = c.look(), time.Now()
	var err error
	if c.now, err = c.read(); err != nil {
		return nil, err
	}
	outer := c.now.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil }
	return outer, nil
}

// current is what the files hold, as far as it can be used.
func (c *certs) current() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < c.every {
		return c.now
	}
	c.looked = time.Now()
	stamps := c.look()
	if stamps == c.stamps {
		return c.now
	}
	c.stamps = stamps
	next, err := c.read()
	if err != nil {
		c.log.Error("certificates cannot be used; those of before are served", "reason", err.Error())
		return c.now
	}
	c.now = next
	c.log.Info("certificates were read again", "tls_cert", c.cert)
	return c.now
}

// look takes the stamps of the files; zero for one that is not there.
func (c *certs) look() (out [3]stamp) {
	for i, path := range []string{c.cert, c.key, c.clientCA} {
		out[i] = stampOf(path)
	}
	return out
}

// stampOf is zero for a file that is not there.
func stampOf(path string) (s stamp) {
	if info, err := os.Stat(path); err == nil {
		s = stamp{info.Size(), info.ModTime()}
	}
	return s
}

func (c *certs) read() (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("load tls_cert and tls_key: %w", err)
	}
	t := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}
	if c.clientCA == "" {
		return t, nil
	}
	raw, err := os.ReadFile(c.clientCA)
	if err != nil {
		return nil, fmt.Errorf("load tls_client_ca: %w", err)
	}
	t.ClientCAs, t.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !t.ClientCAs.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("load tls_client_ca: no certificate in %s", c.clientCA)
	}
	return t, nil
}
