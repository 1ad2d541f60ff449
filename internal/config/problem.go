package config

import (
	"fmt"
	"strings"
)

// Problem is something wrong with one setting, or with the file.
type Problem struct {
	Where string // file:line:column, environment NAME, flag --name; empty for a rule between settings
	Key   string // the setting; empty for a fault of syntax
	Text  string // what is wrong
	Hint  string // what to do; may be empty
}

// Error is one line, without the hint.
func (p *Problem) Error() string {
	var parts []string
	for _, s := range []string{p.Where, p.Key, p.Text} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// Problems is the error of [Load]: everything that is wrong, at least one.
type Problems []*Problem

// Error is the first problem and how many more there are.
func (p Problems) Error() string {
	switch len(p) {
	case 0:
		return "configuration: nothing is wrong"
	case 1:
		return "configuration: " + p[0].Error()
	}
	return fmt.Sprintf("configuration: %s; and %d more", p[0].Error(), len(p)-1)
}

// Unwrap lists the problems for errors.As.
func (p Problems) Unwrap() []error {
	var out []error
	for _, e := range p {
		out = append(out, e)
	}
	return out
}

// Nearest is the name with the fewest edits to the given one, if it is near
// enough to be meant; empty otherwise.
func Nearest(name string, names []string) string {
	best, at := "", 1+max(2, len(name)/3)
	for _, n := range names {
		if d := distance(name, n); d < at {
			best, at = n, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// nearestKey is the setting that was probably meant: the one of exactly that
// name in another section, else the nearest key, else the nearest name.
func nearestKey(key string) string {
	var keys []string
	byName := map[string][]string{}
	for _, s := range Settings() {
		keys = append(keys, s.Key)
		byName[s.Name()] = append(byName[s.Name()], s.Key)
	}
	name := key[strings.LastIndexByte(key, '.')+1:]
	if n := byName[name]; len(n) == 1 {
		return n[0]
	}
	if n := Nearest(key, keys); n != "" {
		return n
	}
	var names []string
	for _, s := range Settings() {
		names = append(names, s.Name())
	}
	if n := byName[Nearest(name, names)]; len(n) == 1 {
		return n[0]
	}
	return ""
}

// didYouMean is a hint about an unknown key.
func didYouMean(key string) string {
	if n := nearestKey(key); n != "" {
		return fmt.Sprintf("did you mean %s?", n)
	}
	return "\"cuzk config reference\" lists the settings"
}
