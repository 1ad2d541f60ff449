package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cuzk/proving"
)

// circuitFlag is the folder of compiled circuits.
type circuitFlag struct{ dir string }

func (c *circuitFlag) register(cmd *cobra.Command) {
	dir := ""
	if user, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(user, "cuzk", "circuits")
	}
	cmd.Flags().StringVar(&c.dir, "circuit-dir", dir, "`directory` of compiled circuits; empty to compile each time")
}

// provingOptions are what package proving needs to know.
func provingOptions(u *ui, k *keyFlags, c *circuitFlag) proving.Options {
	return proving.Options{
		ParamsDir: k.dir, CircuitDir: c.dir, Keys: k.options(u),
		Warn: func(err error) { u.note("warning: %v", err) },
	}
}
