package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// loadTLS is nil if TLS is not asked for.
func loadTLS(cfg Config) (*tls.Config, error) {
	if cfg.CertFile == "" && cfg.KeyFile == "" {
		if cfg.ClientCAFile != "" {
			return nil, errors.New("tls_client_ca needs tls_cert and tls_key")
		}
		return nil, nil
	}
	r := &reread[*tls.Config]{
		files: []string{cfg.CertFile, cfg.KeyFile, cfg.ClientCAFile}, read: func() (*tls.Config, error) { return readTLS(cfg) }, log: cfg.Logger,
		again: "certificates were read again", kept: "certificates cannot be used; those of before are served", setting: "tls_cert",
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	outer := r.current().Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.current(), nil }
	return outer, nil
}

func readTLS(cfg Config) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(cfg.CertFile, cfg.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("load tls_cert and tls_key: %w", err)
	}
	t := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}
	if cfg.ClientCAFile == "" {
		return t, nil
	}
	raw, err := os.ReadFile(cfg.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("load tls_client_ca: %w", err)
	}
	t.ClientCAs, t.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !t.ClientCAs.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("load tls_client_ca: no certificate in %s", cfg.ClientCAFile)
	}
	return t, nil
}
