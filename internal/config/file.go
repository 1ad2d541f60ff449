package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// entry is one value of a file.
type entry struct {
	key   string // dotted
	value any
	where string // file:line:column
}

// readTOML lists the values of a file in the order in which they stand there.
func readTOML(name string, data []byte) ([]entry, error) {
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		return nil, syntaxProblem(name, err)
	}
	at := positions(data)
	var out []entry
	flatten("", tree, func(key string, v any) {
		out = append(out, entry{key, v, name})
	})
	slices.SortFunc(out, func(a, b entry) int {
		p, q := at[a.key], at[b.key]
		return 2*cmpInt(p.Line, q.Line) + cmpInt(p.Column, q.Column)
	})
	for i := range out {
		if p, ok := at[out[i].key]; ok {
			out[i].where = fmt.Sprintf("%s:%d:%d", name, p.Line, p.Column)
		}
	}
	return out, nil
}

func cmpInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func syntaxProblem(name string, err error) error {
	p := &Problem{Where: name, Text: strings.TrimPrefix(err.Error(), "toml: ")}
	var d *toml.DecodeError
	if errors.As(err, &d) {
		row, col := d.Position()
		p.Where = fmt.Sprintf("%s:%d:%d", name, row, col)
	}
	return Problems{p}
}

// flatten walks to the leaves. Tables deeper than section.name are leaves, and
// so is an empty table that is no section, so that nothing is lost.
func flatten(prefix string, tree map[string]any, leaf func(string, any)) {
	for k, v := range tree {
		key := k
		if prefix != "" {
			key = prefix + "." + k
		}
		sub, isTable := v.(map[string]any)
		if isTable && prefix == "" && (len(sub) > 0 || isSection(k)) {
			flatten(key, sub, leaf)
			continue
		}
		leaf(key, v)
	}
}

func isSection(name string) bool {
	sections, _ := tree()
	return slices.ContainsFunc(sections, func(s section) bool { return s.name == name }) || name == "pipeline"
}

// positions finds where each key stands. It runs over a file that was read
// before without error; a key that it does not find is reported without a line.
func positions(data []byte) map[string]unstable.Position {
	at := map[string]unstable.Position{}
	var p unstable.Parser
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = keyOf(&p, nil, e, at)
		case unstable.KeyValue:
			note(&p, table, e, at)
		}
	}
	return at
}

func note(p *unstable.Parser, prefix []string, e *unstable.Node, at map[string]unstable.Position) {
	key := keyOf(p, prefix, e, at)
	v := e.Value()
	if v == nil || v.Kind != unstable.InlineTable {
		return
	}
	for it := v.Children(); it.Next(); {
		if n := it.Node(); n.Kind == unstable.KeyValue {
			note(p, key, n, at)
		}
	}
}

// keyOf joins the parts of a dotted key to the prefix and remembers where each
// part was seen first.
func keyOf(p *unstable.Parser, prefix []string, e *unstable.Node, at map[string]unstable.Position) []string {
	key := slices.Clone(prefix)
	for it := e.Key(); it.Next(); {
		n := it.Node()
		key = append(key, string(n.Data))
		dotted := strings.Join(key, ".")
		if _, seen := at[dotted]; !seen {
			at[dotted] = p.Shape(n.Raw).Start
		}
	}
	return key
}
