package main

import (
	"github.com/spf13/cobra"

	"cuzk"
)

func newVersionCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say what this program was built from",
		Long: `Version prints the release, the commit and its time, the compiler and the platform.
A "+" behind the commit means that files had been changed since. The daemon says
the same in its log, its status page and the metric cuzk_build_info, and "cuzk
bench" beside its figures.`,
		Example: `  cuzk version

  # for programs
  cuzk version --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if b := cuzk.ThisBuild(); asJSON {
				return newUI(cmd).json(b)
			}
			return newUI(cmd).say("cuzk %s", cuzk.ThisBuild())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
