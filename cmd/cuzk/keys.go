package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cuzk/srs"
)

const (
	// defaultParamsDir is where Filecoin's own tools keep keys.
	defaultParamsDir = "/var/tmp/filecoin-proof-parameters"
	// paramsDirEnv is the variable by which they are told of another place.
	paramsDirEnv = "FIL_PROOFS_PARAMETER_CACHE"
)

// keyFlags are the flags of every command that reads keys.
type keyFlags struct {
	dir      string
	cache    string
	insecure bool
}

// register adds the flags that say where keys and their digests are.
func (k *keyFlags) register(cmd *cobra.Command) {
	k.registerDir(cmd)
	cache := ""
	if user, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(user, "cuzk")
	}
	cmd.Flags().StringVar(&k.cache, "cache-dir", cache, "`directory` where digests of key files are remembered; empty to read the files each time")
}

// registerDir adds the flag that says where keys are.
func (k *keyFlags) registerDir(cmd *cobra.Command) {
	dir := os.Getenv(paramsDirEnv)
	if dir == "" {
		dir = defaultParamsDir
	}
	cmd.Flags().StringVar(&k.dir, "params-dir", dir, "`directory` of the keys")
}

// registerInsecure adds the permission to use keys whose secrets are known.
func (k *keyFlags) registerInsecure(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&k.insecure, "insecure", false, "permit keys whose secrets are known; for tests only")
}

// options are what package srs needs to know.
func (k *keyFlags) options(u *ui) srs.Options {
	return srs.Options{
		Insecure: k.insecure,
		CacheDir: k.cache,
		Progress: func(file string, done, total int64) { u.progress("digest of "+short(file), done, total) },
		Warn:     func(err error) { u.note("warning: %v", err) },
	}
}

// short keeps the two ends of a long file name.
func short(name string) string {
	if len(name) <= 48 {
		return name
	}
	return name[:22] + "..." + name[len(name)-20:]
}

// hint adds what a user can do about a key that was not found.
func (k *keyFlags) hint(err error) error {
	switch {
	case errors.Is(err, srs.ErrKeyMissing):
		return hint(err, "say where the keys are with --params-dir or %s, or get them with \"cuzk params fetch\"", paramsDirEnv)
	case errors.Is(err, srs.ErrNotOfficial) && !k.insecure:
		return hint(err, "add --insecure to use insecure keys in tests; never for real proofs")
	case errors.Is(err, srs.ErrNotOfficial), errors.Is(err, srs.ErrCorrupt):
		return hint(err, "\"cuzk params check\" tells which keys are good")
	}
	return err
}
