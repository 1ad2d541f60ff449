package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

const (
	envPrefix = "CUZK_"
	// FileEnv names the file where no flag does.
	FileEnv = "CUZK_CONFIG"
	// DefaultFile is read where neither does, if it is there.
	DefaultFile = "/etc/cuzk/cuzk.toml"
	paramsEnv   = "FIL_PROOFS_PARAMETER_CACHE"
)

// Sources is where settings come from.
type Sources struct {
	File    string                            // empty: CUZK_CONFIG, else DefaultFile if it is there
	Environ []string                          // NAME=VALUE, as os.Environ gives it
	Flags   map[string]string                 // setting's key to text, of the flags that were given
	Read    func(path string) ([]byte, error) // nil: os.ReadFile
	UID     int                               // of the user; -1: os.Getuid
}

// Loaded is a configuration and where it came from.
type Loaded struct {
	Config
	File     string   // that was read; empty for none
	Warnings []string // for a person, one line each

	origin map[string]string
	env    map[string]string
	uid    int
}

// Origin is where the value of a setting came from: default, FILE:LINE:COLUMN,
// environment NAME, or flag --NAME.
func (l *Loaded) Origin(key string) string {
	if o := l.origin[key]; o != "" {
		return o
	}
	return "default"
}

// Load reads the file, then the environment, then the flags, and checks the
// outcome. The error is a [Problems] with everything that is wrong; Loaded is
// then not for use but for its warnings.
func Load(s Sources) (*Loaded, error) {
	l := &Loaded{Config: Default(), origin: map[string]string{}, env: map[string]string{}, uid: s.UID}
	for _, kv := range s.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			l.env[name] = value
		}
	}
	if s.UID < 0 {
		l.uid = os.Getuid()
	}
	problems := l.readFile(s)
	problems = append(problems, l.readEnv()...)
	problems = append(problems, l.readFlags(s.Flags)...)
	if len(problems) == 0 {
		problems = l.check()
	}
	if len(problems) > 0 {
		return l, problems
	}
	return l, nil
}

// readFile finds the file and takes its values.
func (l *Loaded) readFile(s Sources) Problems {
	path, must := s.File, true
	if path == "" {
		path = l.env[FileEnv]
	}
	if path == "" {
		path, must = DefaultFile, false
	}
	read := s.Read
	if read == nil {
		read = os.ReadFile
	}
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil
	}
	if err != nil {
		return Problems{{Where: path, Text: fmt.Sprintf("cannot be read: %v", err), Hint: "\"cuzk config init\" writes an example"}}
	}
	l.File = path
	return l.takeFile(path, data)
}

func (l *Loaded) takeFile(path string, data []byte) Problems {
	entries, err := readTOML(path, data)
	var problems Problems
	if errors.As(err, &problems) {
		return problems
	}
	for _, e := range entries {
		if p := l.take(e); p != nil {
			problems = append(problems, p)
		}
	}
	return problems
}

// take sets the value of one entry, under its present or its former name.
func (l *Loaded) take(e entry) *Problem {
	key := e.key
	if f, ok := formerKeys[key]; ok {
		l.warn("%s: %s %v", e.where, key, f)
		if key = f.Now; key == "" {
			return nil
		}
	}
	s := Find(key)
	if s == nil {
		return &Problem{e.where, key, "unknown setting", didYouMean(key)}
	}
	if first := l.origin[key]; first != "" && e.key != key {
		return &Problem{e.where, e.key, fmt.Sprintf("%s is set too, at %s", key, first), "keep one of the two"}
	}
	if err := s.set(&l.Config, e.value); err != nil {
		return &Problem{e.where, e.key, err.Error(), s.hint()}
	}
	l.origin[key] = e.where
	return nil
}

func (s *Setting) hint() string {
	return fmt.Sprintf("\"cuzk config explain %s\" says what it may be", s.Key)
}

func (l *Loaded) warn(format string, args ...any) {
	l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
}

// readEnv takes the variables. A name that nothing reads is a warning and no
// error, since a container platform may make variables of its own that begin
// with a service's name.
func (l *Loaded) readEnv() Problems {
	var problems Problems
	for _, s := range Settings() {
		v, ok := l.env[s.Env()]
		if !ok {
			continue
		}
		where := "environment " + s.Env()
		if err := s.set(&l.Config, v); err != nil {
			problems = append(problems, &Problem{where, s.Key, err.Error(), s.hint()})
			continue
		}
		l.origin[s.Key] = where
	}
	l.warnEnv()
	return problems
}

func (l *Loaded) warnEnv() {
	known := []string{FileEnv}
	for _, s := range Settings() {
		known = append(known, s.Env())
	}
	var names []string
	for n := range l.env {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		if f, ok := formerVariable(n); ok {
			l.warn("environment %s %v", n, f)
			continue
		}
		if !strings.HasPrefix(n, envPrefix) || slices.Contains(known, n) {
			continue
		}
		if near := Nearest(n, known); near != "" {
			l.warn("environment %s is not read; did you mean %s?", n, near)
		} else {
			l.warn("environment %s is not read", n)
		}
	}
}

func (l *Loaded) readFlags(flags map[string]string) Problems {
	var problems Problems
	for _, s := range Settings() {
		v, ok := flags[s.Key]
		if !ok {
			continue
		}
		where := "flag --" + s.Flag
		if err := s.set(&l.Config, v); err != nil {
			problems = append(problems, &Problem{where, "", err.Error(), s.hint()})
			continue
		}
		l.origin[s.Key] = where
	}
	return problems
}

// StateDir is the directory of the state, auto resolved.
func (l *Loaded) StateDir() string {
	if l.Daemon.StateDir != "auto" {
		return l.Daemon.StateDir
	}
	switch {
	case l.env["STATE_DIRECTORY"] != "": // systemd; several are separated by colons
		return strings.SplitN(l.env["STATE_DIRECTORY"], ":", 2)[0]
	case l.uid == 0, l.env["HOME"] == "" && l.env["XDG_STATE_HOME"] == "":
		return "/var/lib/cuzk"
	case l.env["XDG_STATE_HOME"] != "":
		return filepath.Join(l.env["XDG_STATE_HOME"], "cuzk")
	}
	return filepath.Join(l.env["HOME"], ".local", "state", "cuzk")
}

// ParamsDir is the directory of the keys, auto resolved.
func (l *Loaded) ParamsDir() string {
	switch {
	case l.SRS.ParamsDir != "auto":
		return l.SRS.ParamsDir
	case l.env[paramsEnv] != "":
		return l.env[paramsEnv]
	}
	return "/var/tmp/filecoin-proof-parameters"
}

// EventsFile is the file of the event log, auto resolved; empty for none.
func (l *Loaded) EventsFile() string {
	switch l.Logging.Events {
	case "off", "":
		return ""
	case "auto":
		return filepath.Join(l.StateDir(), "events.jsonl")
	}
	return l.Logging.Events
}
