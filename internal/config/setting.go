package config

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Setting is one field of [Config] as a person sees it.
type Setting struct {
	Key     string   // section.name
	Doc     string   // one to three sentences
	Unit    string   // what a number counts; empty for types that carry their unit
	Default string   // text form
	Flag    string   // name on the command line, without dashes; empty for none
	Choices []string // the only values; empty for any
	Min     string   // text form; empty for none
	Max     string

	index []int // of the field in Config
	kind  *kindOf
}

// Section is the first part of the key.
func (s *Setting) Section() string { return s.Key[:strings.IndexByte(s.Key, '.')] }

// Name is the last part of the key.
func (s *Setting) Name() string { return s.Key[strings.IndexByte(s.Key, '.')+1:] }

// Env is the name of the environment variable: CUZK_SECTION_NAME.
func (s *Setting) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// Type is the type in words: text, number, size and so on.
func (s *Setting) Type() string { return s.kind.name }

// Text is the value in c as it would stand behind the equals sign of a TOML
// file.
func (s *Setting) Text(c *Config) string { return s.kind.write(s.field(c)) }

// DefaultText is the default in the same form.
func (s *Setting) DefaultText() string {
	c := Default()
	return s.Text(&c)
}

// Set reads a value from text, as flags and environment variables give it. A
// list is separated by commas.
func (s *Setting) Set(c *Config, text string) error { return s.set(c, text) }

func (s *Setting) field(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(s.index)
}

// set reads a string, or a value from a TOML file.
func (s *Setting) set(c *Config, v any) error {
	next := reflect.New(s.field(c).Type()).Elem()
	if err := s.kind.read(next, v); err != nil {
		return err
	}
	if err := s.permit(next); err != nil {
		return err
	}
	s.field(c).Set(next)
	return nil
}

// permit checks choices and limits.
func (s *Setting) permit(v reflect.Value) error {
	if len(s.Choices) > 0 {
		for _, c := range s.Choices {
			if v.String() == c {
				return nil
			}
		}
		return fmt.Errorf("%q is not one of %s", v.String(), strings.Join(s.Choices, ", "))
	}
	for i, limit := range []string{s.Min, s.Max} {
		if limit == "" {
			continue
		}
		l := reflect.New(v.Type()).Elem()
		if err := s.kind.read(l, limit); err != nil {
			return fmt.Errorf("limit of %s: %w", s.Key, err)
		}
		if i == 0 && v.Int() < l.Int() || i == 1 && v.Int() > l.Int() {
			return fmt.Errorf("%s is outside %s to %s", s.kind.plain(v), s.Min, s.Max)
		}
	}
	return nil
}

// section is a table of the file.
type section struct{ name, doc string }

var tree = sync.OnceValues(func() ([]section, []*Setting) {
	var sections []section
	var all []*Setting
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		f := t.Field(i)
		sections = append(sections, section{f.Tag.Get("toml"), f.Tag.Get("doc")})
		for k := range f.Type.NumField() {
			g := f.Type.Field(k)
			all = append(all, newSetting(f.Tag.Get("toml"), g, []int{i, k}))
		}
	}
	return sections, all
})

func newSetting(section string, f reflect.StructField, index []int) *Setting {
	s := &Setting{Key: section + "." + f.Tag.Get("toml"), Doc: f.Tag.Get("doc"), Unit: f.Tag.Get("unit"),
		Default: f.Tag.Get("default"), Flag: f.Tag.Get("flag"), Min: f.Tag.Get("min"), Max: f.Tag.Get("max"),
		index: index, kind: kinds[f.Type]}
	if of := f.Tag.Get("of"); of != "" {
		s.Choices = strings.Split(of, "|")
	}
	return s
}

// Settings lists all settings in the order of the struct.
func Settings() []*Setting {
	_, all := tree()
	return all
}

// Find is the setting with this key; nil if there is none.
func Find(key string) *Setting {
	for _, s := range Settings() {
		if s.Key == key {
			return s
		}
	}
	return nil
}

// Default is the configuration before anything was set.
func Default() Config {
	var c Config
	for _, s := range Settings() {
		if err := s.set(&c, s.Default); err != nil {
			panic(fmt.Sprintf("default of %s: %v", s.Key, err)) // a broken build, found by the first test
		}
	}
	return c
}
