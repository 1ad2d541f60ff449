package server

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// tokenFile is the file with the secret that callers must know. It is read again
// when it has changed, as certificates are; what cannot be used is told, and the
// secret of before goes on.
type tokenFile struct {
	path  string
	log   *slog.Logger
	every time.Duration // how often the file is looked at

	mu     sync.Mutex
	now    string
	stamp  stamp
	looked time.Time
}

// mostToken is the largest file in bytes that is taken for a secret.
const mostToken = 64 << 10

// loadToken gives the secret of the moment: that of the file if one is named, else
// the given one, which may be empty.
func loadToken(cfg Config) (func() string, error) {
	if cfg.TokenFile == "" {
		return func() string { return cfg.Token }, nil
	}
	t := &tokenFile{path: cfg.TokenFile, log: cfg.Logger, every: lookAtCerts, stamp: stampOf(cfg.TokenFile), looked: time.Now()}
	var err error
	if t.now, err = ReadToken(t.path); err != nil {
		return nil, fmt.Errorf("load token_file: %w", err)
	}
	return t.current, nil
}

// current is what the file holds, as far as it can be used.
func (t *tokenFile) current() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.looked) < t.every {
		return t.now
	}
	t.looked = time.Now()
	s := stampOf(t.path)
	if s == t.stamp {
		return t.now
	}
	t.stamp = s
	next, err := ReadToken(t.path)
	if err != nil {
		t.log.Error("the token cannot be used; that of before holds", "reason", err.Error())
		return t.now
	}
	t.now = next
	t.log.Info("the token was read again", "token_file", t.path)
	return t.now
}

// ReadToken reads the secret of a file of at most 64 KiB, without the space around
// it. An empty one is an error.
func ReadToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > mostToken {
		return "", fmt.Errorf("%s is not a file of at most %d bytes", path, mostToken)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return token, nil
}
