package config

import (
	"fmt"
	"sort"
	"strings"
)

// Example is a configuration file with every setting, its meaning and its
// default, all of them behind a comment sign: it changes nothing until it is
// edited.
func Example() string {
	var b strings.Builder
	b.WriteString("# Configuration of the cuzk daemon. Made by \"cuzk config init\".\n" +
		"# What is behind a comment sign shows the default. An unknown setting is an error.\n" +
		"# The environment (CUZK_SECTION_NAME) overrides this file, flags override both.\n" +
		"# Sizes: 512MiB, 64GiB, 1TB. Durations: 90s, 5m, 12h, 3d.\n")
	sections, all := tree()
	for _, sec := range sections {
		fmt.Fprintf(&b, "\n# %s\n[%s]\n", sec.doc, sec.name)
		for _, s := range all {
			if s.Section() != sec.name {
				continue
			}
			fmt.Fprintf(&b, "\n%s# %s = %s\n", wrap(s.Doc+s.bounds(), "# ", 100), s.Name(), s.DefaultText())
		}
	}
	return b.String()
}

// bounds says which values are permitted, for the end of a text.
func (s *Setting) bounds() string {
	var parts []string
	if s.Unit != "" {
		parts = append(parts, "in "+s.Unit)
	}
	if len(s.Choices) > 0 {
		parts = append(parts, "one of "+strings.Join(s.Choices, ", "))
	}
	if s.Min != "" && s.Max != "" {
		parts = append(parts, s.Min+" to "+s.Max)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// wrap breaks a text into lines that begin with the prefix.
func wrap(text, prefix string, width int) string {
	var b strings.Builder
	line := prefix
	for _, w := range strings.Fields(text) {
		if len(line)+len(w) > width && line != prefix {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = prefix
		}
		line += w + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return b.String()
}

// Reference is the page about all settings, in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Configuration\n\nMade by `cuzk config reference` from the program; do not edit.\n\n" +
		"Settings come from a TOML file (`--config`, else `" + FileEnv + "`, else `" + DefaultFile + "` if it is there), " +
		"then from the environment, then from flags; the last one counts. No file is needed. " +
		"An unknown setting in the file is an error.\n\n" +
		"Sizes are `512MiB`, `64GiB`, `1TB` or a number of bytes. Durations are `90s`, `5m`, `12h`, `3d` or a number of seconds. " +
		"A list in the environment or in a flag is separated by commas.\n")
	sections, all := tree()
	for _, sec := range sections {
		fmt.Fprintf(&b, "\n## [%s]\n\n%s\n\n| setting | default | meaning | flag |\n|---|---|---|---|\n", sec.name, sec.doc)
		for _, s := range all {
			if s.Section() == sec.name {
				fmt.Fprintf(&b, "| `%s` | `%s` | %s%s | %s |\n", s.Name(), s.DefaultText(), s.Doc, s.bounds(), s.flagCell())
			}
		}
	}
	b.WriteString("\nThe environment variable of `section.name` is `CUZK_SECTION_NAME`.\n")
	b.WriteString(formerPage())
	return b.String()
}

func (s *Setting) flagCell() string {
	if s.Flag == "" {
		return ""
	}
	return "`--" + s.Flag + "`"
}

// formerPage is the part of the reference for who comes from the Rust daemon.
func formerPage() string {
	var b strings.Builder
	b.WriteString("\n## Coming from the Rust daemon\n\nIts file is read. Keys that are not listed here have kept their names. " +
		"A listed key is a warning, never an error.\n\n| key | now |\n|---|---|\n")
	table(&b, formerKeys, "")
	b.WriteString("\n| environment | now |\n|---|---|\n")
	table(&b, formerEnv, "")
	table(&b, formerPrefixes, "...")
	return b.String()
}

func table(b *strings.Builder, m map[string]Former, suffix string) {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Fprintf(b, "| `%s%s` | %v |\n", k, suffix, m[k])
	}
}

// Explain says everything about one key: a setting, or a name that the Rust
// daemon knew. Loaded may be nil; then nothing is said about the present value.
func Explain(key string, l *Loaded) (string, error) {
	if f, ok := formerKeys[key]; ok {
		text := fmt.Sprintf("%s was a key of the Rust daemon and %v\n", key, f)
		if f.Now == "" {
			return text, nil
		}
		rest, err := Explain(f.Now, l)
		return text + "\n" + rest, err
	}
	s := Find(key)
	if s == nil {
		if isSection(key) && key != "pipeline" {
			return explainSection(key), nil
		}
		return "", &Problem{Key: key, Text: "unknown setting", Hint: didYouMean(key)}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", s.Key, wrap(s.Doc, "  ", 80))
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", name, value)
		}
	}
	line("type", s.Type())
	line("permitted", strings.Trim(s.bounds(), " ()"))
	line("default", s.DefaultText())
	line("in the file", fmt.Sprintf("[%s] %s = ...", s.Section(), s.Name()))
	line("environment", s.Env())
	line("flag", strings.Trim(s.flagCell(), "`"))
	if l != nil {
		line("now", fmt.Sprintf("%s (%s)", s.Text(&l.Config), l.Origin(s.Key)))
		line("resolved", l.resolved(s.Key))
	}
	return b.String(), nil
}

// resolved is what auto stands for, where this package knows it.
func (l *Loaded) resolved(key string) string {
	switch key {
	case "daemon.state_dir":
		return l.StateDir()
	case "srs.params_dir":
		return l.ParamsDir()
	case "logging.events":
		return l.EventsFile()
	}
	return ""
}

func explainSection(name string) string {
	var b strings.Builder
	sections, all := tree()
	for _, sec := range sections {
		if sec.name == name {
			fmt.Fprintf(&b, "[%s]\n\n%s\n", name, wrap(sec.doc, "  ", 80))
		}
	}
	for _, s := range all {
		if s.Section() == name {
			fmt.Fprintf(&b, "  %-20s %s\n", s.Name(), s.DefaultText())
		}
	}
	return b.String()
}
