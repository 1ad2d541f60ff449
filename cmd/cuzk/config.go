package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cuzk/internal/config"
)

// configFlags are --config and a flag for each setting that has one.
type configFlags struct {
	file  string
	given map[string]string // setting's key to text
}

// settingFlag is a setting as the flag package sees it.
type settingFlag struct {
	s  *config.Setting
	to map[string]string
}

func (f settingFlag) String() string {
	if f.s == nil {
		return ""
	}
	return strings.Trim(f.s.DefaultText(), `"`)
}

func (f settingFlag) Type() string { return f.s.Type() }

// Set tries the value on a default configuration, so that a mistake is one of
// the command line.
func (f settingFlag) Set(text string) error {
	text = fromHere(f.s.Key, text)
	c := config.Default()
	if err := f.s.Set(&c, text); err != nil {
		return err
	}
	f.to[f.s.Key] = text
	return nil
}

// fromHere makes a directory of the command line absolute: there it is meant
// from where one stands.
func fromHere(key, text string) string {
	if key != "daemon.state_dir" && key != "srs.params_dir" || text == "" || text == "auto" {
		return text
	}
	if abs, err := filepath.Abs(text); err == nil {
		return abs
	}
	return text
}

// registerFile adds --config.
func (f *configFlags) registerFile(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "config", "", "configuration `file` (default $"+config.FileEnv+", else "+config.DefaultFile+" if it is there)")
}

// register adds --config and the settings' flags.
func (f *configFlags) register(cmd *cobra.Command) {
	f.registerFile(cmd)
	f.given = map[string]string{}
	for _, s := range config.Settings() {
		if s.Flag == "" {
			continue
		}
		flag := cmd.Flags().VarPF(settingFlag{s, f.given}, s.Flag, "", usage(s))
		if s.Type() == "true or false" {
			flag.NoOptDefVal = "true"
		}
	}
}

// usage is the first sentence of a setting's meaning, in the form of flags.
func usage(s *config.Setting) string {
	first, _, _ := strings.Cut(s.Doc+" ", ". ")
	first = strings.TrimSuffix(first, ".")
	return strings.ToLower(first[:1]) + first[1:] + " (" + s.Key + ")"
}

// load reads the configuration and says its warnings.
func (f *configFlags) load(u *ui) (*config.Loaded, error) {
	l, err := config.Load(config.Sources{File: f.file, Environ: os.Environ(), Flags: f.given, UID: -1})
	for _, w := range l.Warnings {
		u.note("warning: %s", w)
	}
	return l, configError(err)
}

// configError makes the first problem's hint ours.
func configError(err error) error {
	var p *config.Problem
	if errors.As(err, &p) && p.Hint != "" {
		err = hint(err, "%s", p.Hint)
	}
	return badInput(err)
}

func newConfigCmd() *cobra.Command {
	return group(&cobra.Command{
		Use:   "config",
		Short: "Write, check and explain the daemon's configuration",
		Long: `The daemon needs no configuration. What it is told comes from a TOML file, then
from environment variables (CUZK_SECTION_NAME), then from flags; the last one
counts. An unknown setting in the file is an error. A file of the Rust daemon is
read: what it sets and has no effect here is a warning that says what does.`,
	}, newConfigInitCmd(), newConfigCheckCmd(), newConfigReferenceCmd(), newConfigExplainCmd())
}

func newConfigInitCmd() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write an example file",
		Long: `Init writes a configuration file with every setting, its meaning and its default.
All settings stand behind a comment sign, so the file changes nothing until it is
edited. Without FILE it goes to ` + config.DefaultFile + `; "-" is standard
output. A file that is there is not replaced without --force.`,
		Example: `  # to the place where the daemon looks
  sudo cuzk config init

  # to look at it
  cuzk config init - | less`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := config.DefaultFile
			if len(args) > 0 {
				path = args[0]
			}
			return initConfig(newUI(cmd), path, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that is there")
	return cmd
}

func initConfig(u *ui, path string, force bool) error {
	if path == "-" {
		return u.say("%s", strings.TrimSuffix(config.Example(), "\n"))
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return badInput(fmt.Errorf("write configuration: %w", err))
	}
	f, err := os.OpenFile(path, how, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return hint(badInput(fmt.Errorf("%s is there already", path)), "add --force to replace it")
	}
	if err != nil {
		return badInput(fmt.Errorf("write configuration: %w", err))
	}
	_, err = f.WriteString(config.Example())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return u.say("%s", path)
}

// checkedConfig is what check finds, for programs.
type checkedConfig struct {
	File     string           `json:"file,omitempty"`
	Problems []checkedProblem `json:"problems"`
	Warnings []string         `json:"warnings"`
	Settings []checkedSetting `json:"settings"` // all of them
}

type checkedProblem struct {
	Where string `json:"where,omitempty"`
	Key   string `json:"key,omitempty"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"`
}

type checkedSetting struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // as in TOML
	Origin string `json:"origin"`
}

func newConfigCheckCmd() *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Read the configuration as the daemon would",
		Long: `Check reads the file and the environment as the daemon would and says everything
that is wrong. If nothing is, it prints the settings that differ from the
defaults and where each comes from. It looks at no device and opens no file but
the configuration.

The exit code is 3 if anything is wrong.`,
		Example: `  # what the daemon would use now
  cuzk config check

  # a file before it is put in place
  cuzk config check --config ./cuzk.toml`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return checkConfig(newUI(cmd), &flags, asJSON)
		},
	}
	flags.registerFile(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with all settings")
	return cmd
}

func checkConfig(u *ui, flags *configFlags, asJSON bool) error {
	l, err := config.Load(config.Sources{File: flags.file, Environ: os.Environ(), UID: -1})
	var problems config.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	if asJSON {
		if err := u.json(checkedOf(l, problems)); err != nil || len(problems) == 0 {
			return err
		}
		return badInput(errReported)
	}
	for _, w := range l.Warnings {
		u.note("warning: %s", w)
	}
	for _, p := range problems {
		u.note("%v", p)
		if p.Hint != "" {
			u.note("hint: %s", p.Hint)
		}
	}
	if len(problems) > 0 {
		return badInput(errReported)
	}
	return showSettings(u, l)
}

// showSettings prints what is not at its default.
func showSettings(u *ui, l *config.Loaded) error {
	rows := [][]string{{"SETTING", "VALUE", "FROM"}}
	for _, s := range config.Settings() {
		if o := l.Origin(s.Key); o != "default" {
			rows = append(rows, []string{s.Key, s.Text(&l.Config), o})
		}
	}
	if len(rows) == 1 {
		u.note("every setting has its default")
		return nil
	}
	return u.table(rows)
}

func checkedOf(l *config.Loaded, problems config.Problems) checkedConfig {
	out := checkedConfig{File: l.File, Problems: []checkedProblem{}, Warnings: append([]string{}, l.Warnings...)}
	for _, p := range problems {
		out.Problems = append(out.Problems, checkedProblem(*p))
	}
	for _, s := range config.Settings() {
		out.Settings = append(out.Settings, checkedSetting{s.Key, s.Text(&l.Config), l.Origin(s.Key)})
	}
	return out
}

func newConfigReferenceCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "reference",
		Short: "Print all settings as a page",
		Long: `Reference prints every setting with its default, unit, meaning and flag as a page
in Markdown, and after them the keys and environment variables of the Rust daemon
with what became of each. It is the page docs/configuration.md of this version.`,
		Example: `  cuzk config reference > configuration.md`,
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return newUI(cmd).say("%s", strings.TrimSuffix(config.Reference(), "\n"))
		},
	}
}

func newConfigExplainCmd() *cobra.Command {
	var flags configFlags
	cmd := &cobra.Command{
		Use:   "explain KEY",
		Short: "Say what one setting means and what it is now",
		Long: `Explain says what a setting means, what it may be, its default, its names in the
file, in the environment and on the command line, its value now and where that
comes from. KEY is section.name, a section, or a key of the Rust daemon.`,
		Example: `  cuzk config explain memory.total_budget

  # a section
  cuzk config explain scheduler

  # what became of a key of the Rust daemon
  cuzk config explain pipeline.max_gpu_queue_depth`,
		Args: exactly("KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			u := newUI(cmd)
			// A configuration with mistakes does not keep a setting from being explained.
			l, err := config.Load(config.Sources{File: flags.file, Environ: os.Environ(), UID: -1})
			if err != nil {
				u.note("warning: %v", err)
				l = nil
			}
			text, err := config.Explain(args[0], l)
			if err != nil {
				return configError(err)
			}
			return u.say("%s", strings.TrimSuffix(text, "\n"))
		},
	}
	flags.registerFile(cmd)
	return cmd
}
