package server

import (
	"fmt"
	"os"
	"strings"
)

// mostToken is the largest file in bytes that is taken for a secret.
const mostToken = 64 << 10

// loadToken gives the secret of the moment: that of the file if one is named, else
// the given one, which may be empty.
func loadToken(cfg Config) (func() string, error) {
	if cfg.TokenFile == "" {
		return func() string { return cfg.Token }, nil
	}
	r := &reread[string]{
		files: []string{cfg.TokenFile}, read: func() (string, error) { return ReadToken(cfg.TokenFile) }, log: cfg.Logger,
		again: "the token was read again", kept: "the token cannot be used; that of before holds", setting: "token_file",
	}
	if err := r.open(); err != nil {
		return nil, fmt.Errorf("load token_file: %w", err)
	}
	return r.current, nil
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
