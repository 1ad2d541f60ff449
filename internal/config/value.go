package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"cuzk/budget"
)

// kindOf is how values of one Go type are read and written.
type kindOf struct {
	name  string
	read  func(to reflect.Value, from any) error
	plain func(v reflect.Value) string // for a person
	write func(v reflect.Value) string // for TOML
}

var kinds = map[reflect.Type]*kindOf{
	reflect.TypeFor[string]():        {"text", readString, reflect.Value.String, quoted(reflect.Value.String)},
	reflect.TypeFor[bool]():          {"true or false", readBool, writeBool, writeBool},
	reflect.TypeFor[int]():           {"number", readInt, writeInt, writeInt},
	reflect.TypeFor[[]string]():      {"list of texts", readList, writeList, writeList},
	reflect.TypeFor[budget.Bytes]():  {"size", readBytes, writeBytes, quoted(writeBytes)},
	reflect.TypeFor[Size]():          {"size or auto", readSize, writeSize, quoted(writeSize)},
	reflect.TypeFor[time.Duration](): {"duration", readDuration, writeDuration, quoted(writeDuration)},
}

func quoted(f func(reflect.Value) string) func(reflect.Value) string {
	return func(v reflect.Value) string { return quote(f(v)) }
}

// quote writes a TOML basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// wrong says what was found in a file instead of what is wanted.
func wrong(want string, got any) error {
	switch v := got.(type) {
	case string:
		return fmt.Errorf("%q is not %s", v, want)
	case []any:
		return fmt.Errorf("a list is not %s", want)
	case map[string]any:
		return fmt.Errorf("a table is not %s", want)
	}
	return fmt.Errorf("%v is not %s", got, want)
}

func readString(to reflect.Value, from any) error {
	s, ok := from.(string)
	if !ok {
		return wrong("text in quotes", from)
	}
	to.SetString(s)
	return nil
}

func readBool(to reflect.Value, from any) error {
	switch v := from.(type) {
	case bool:
		to.SetBool(v)
		return nil
	case string:
		if b, err := strconv.ParseBool(v); err == nil {
			to.SetBool(b)
			return nil
		}
	}
	return wrong("true or false", from)
}

func writeBool(v reflect.Value) string { return strconv.FormatBool(v.Bool()) }

func readInt(to reflect.Value, from any) error {
	switch v := from.(type) {
	case int64:
		to.SetInt(v)
		return nil
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			to.SetInt(n)
			return nil
		}
	}
	return wrong("a whole number", from)
}

func writeInt(v reflect.Value) string { return strconv.FormatInt(v.Int(), 10) }

// readList takes numbers as texts, since the Rust daemon names devices by
// number.
func readList(to reflect.Value, from any) error {
	var out []string
	switch v := from.(type) {
	case string:
		for _, s := range strings.Split(v, ",") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	case []any:
		for _, e := range v {
			switch e := e.(type) {
			case string:
				out = append(out, e)
			case int64:
				out = append(out, strconv.FormatInt(e, 10))
			default:
				return wrong("a text or a number of a list", e)
			}
		}
	default:
		return wrong("a list of texts", from)
	}
	to.Set(reflect.ValueOf(out))
	return nil
}

func writeList(v reflect.Value) string {
	var b []string
	for i := range v.Len() {
		b = append(b, quote(v.Index(i).String()))
	}
	return "[" + strings.Join(b, ", ") + "]"
}

func readBytes(to reflect.Value, from any) error {
	switch v := from.(type) {
	case int64:
		if v >= 0 {
			to.SetInt(v)
			return nil
		}
	case string:
		b, err := budget.ParseBytes(v)
		if err == nil {
			to.SetInt(int64(b))
		}
		return err
	}
	return wrong("a size such as 64GiB or a number of bytes", from)
}

func writeBytes(v reflect.Value) string {
	b, _ := budget.Bytes(v.Int()).MarshalText() // never fails
	return string(b)
}

func readSize(to reflect.Value, from any) error {
	if from == "auto" {
		to.Set(reflect.ValueOf(Size{Auto: true}))
		return nil
	}
	return readBytes(to.FieldByName("Bytes"), from)
}

func writeSize(v reflect.Value) string {
	if v.FieldByName("Auto").Bool() {
		return "auto"
	}
	return writeBytes(v.FieldByName("Bytes"))
}

// readDuration takes a plain number as seconds, as the Rust daemon does.
func readDuration(to reflect.Value, from any) error {
	var d time.Duration
	var err error
	switch v := from.(type) {
	case int64:
		d, err = ParseDuration(strconv.FormatInt(v, 10))
	case string:
		d, err = ParseDuration(v)
	default:
		err = wrong("a duration such as 90s, 5m or 3d", from)
	}
	to.SetInt(int64(d))
	return err
}

const (
	day    = 24 * time.Hour
	maxDay = 36500 // days in a duration; keeps sums far from overflow
)

// ParseDuration reads what time.ParseDuration reads, days (3d, 1.5d) and a plain
// number of seconds. Negative durations are errors.
func ParseDuration(text string) (time.Duration, error) {
	s := strings.TrimSpace(text)
	bad := fmt.Errorf("%q is not a duration such as 90s, 5m, 12h or 3d", text)
	if n, err := strconv.ParseUint(s, 10, 32); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	if rest, ok := strings.CutSuffix(s, "d"); ok {
		x, err := strconv.ParseFloat(rest, 64)
		if err != nil || !(x >= 0 && x <= maxDay) || strings.ContainsAny(rest, "eEpPxX_") {
			return 0, bad
		}
		return time.Duration(x * float64(day)), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxDay*day {
		return 0, bad
	}
	return d, nil
}

// writeDuration drops the parts that are zero: 15m, not 15m0s.
func writeDuration(v reflect.Value) string {
	s := time.Duration(v.Int()).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
