package porep

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/go-json-experiment/json/jsontext"

	"cuzk/vanilla"
)

// reader reads JSON of a known form. Its methods read one value each, or fail
// with the place where it stands.
type reader struct {
	*jsontext.Decoder
}

// newReader reads from r; a *bytes.Buffer is read without a copy.
func newReader(r io.Reader) *reader { return &reader{jsontext.NewDecoder(r)} }

// field is a member of an object and the function that reads it.
type field struct {
	name     string
	read     func() error
	optional bool
}

// object reads an object that has exactly the given fields, in any order.
func (r *reader) object(fields ...field) error {
	if err := r.delimiter('{', "an object"); err != nil {
		return err
	}
	seen := 0 // bit i: fields[i] was there
	for r.PeekKind() != '}' {
		name, err := r.token("a name")
		if err != nil {
			return err
		}
		i := find(fields, name)
		if i < 0 {
			return r.fail("unknown name")
		}
		seen |= 1 << i
		if err := fields[i].read(); err != nil {
			return err
		}
	}
	if err := r.delimiter('}', "the end of the object"); err != nil {
		return err
	}
	for i, f := range fields {
		if seen>>i&1 == 0 && !f.optional {
			return r.fail("%s is missing", f.name)
		}
	}
	return nil
}

func find(fields []field, name jsontext.Token) int {
	s := name.String()
	for i := range fields {
		if fields[i].name == s {
			return i
		}
	}
	return -1
}

// array reads an array of n items, each with read.
func (r *reader) array(n int, what string, read func(i int) error) error {
	got, err := r.list(n, what, read)
	if err == nil && got != n {
		return r.fail("%d %s, want %d", got, what, n)
	}
	return err
}

// list reads an array of at most limit items and returns their number.
func (r *reader) list(limit int, what string, read func(i int) error) (int, error) {
	if err := r.delimiter('[', "an array of "+what); err != nil {
		return 0, err
	}
	n := 0
	for ; r.PeekKind() != ']'; n++ {
		if n == limit {
			return n, r.fail("more than %d %s", limit, what)
		}
		if err := read(n); err != nil {
			return n, err
		}
	}
	return n, r.delimiter(']', "the end of the array")
}

// delimiter reads a bracket.
func (r *reader) delimiter(kind jsontext.Kind, what string) error {
	t, err := r.token(what)
	if err == nil && t.Kind() != kind {
		return r.fail("%s, want %s", describe(t.Kind()), what)
	}
	return err
}

func (r *reader) token(what string) (jsontext.Token, error) {
	t, err := r.ReadToken()
	if err != nil {
		return t, r.broken(err, what)
	}
	return t, nil
}

// uint reads an integer from 0 to limit.
func (r *reader) uint(limit uint64) (uint64, error) {
	t, err := r.token("an integer")
	if err != nil {
		return 0, err
	}
	if t.Kind() != '0' {
		return 0, r.fail("%s, want an integer", describe(t.Kind()))
	}
	x, err := strconv.ParseUint(t.String(), 10, 64)
	if err != nil || x > limit {
		return 0, r.fail("%s, want an integer from 0 to %d", short(t.String()), limit)
	}
	return x, nil
}

// text reads a string.
func (r *reader) text() (string, error) {
	t, err := r.token("a string")
	if err != nil {
		return "", err
	}
	if t.Kind() != '"' {
		return "", r.fail("%s, want a string", describe(t.Kind()))
	}
	return t.String(), nil
}

// null reads null.
func (r *reader) null() error {
	t, err := r.token("null")
	if err == nil && t.Kind() != 'n' {
		return r.fail("%s, want null", describe(t.Kind()))
	}
	return err
}

// digest reads an array of 32 numbers from 0 to 255.
func (r *reader) digest(to *vanilla.Domain) error {
	if k := r.PeekKind(); k != '[' {
		_, err := r.token("32 bytes")
		if err == nil {
			err = r.fail("%s, want an array of 32 bytes", describe(k))
		}
		return err
	}
	v, err := r.ReadValue()
	if err != nil {
		return r.broken(err, "32 bytes")
	}
	if why := parseDigest(v, to); why != "" {
		return r.fail("%s, want 32 integers from 0 to 255", why)
	}
	return nil
}

// element reads a digest that is a field element.
func (r *reader) element(to *fr.Element) error {
	var b vanilla.Domain
	if err := r.digest(&b); err != nil {
		return err
	}
	e, err := b.Element()
	if err != nil {
		return r.fail("%s is %v", b, err)
	}
	*to = e
	return nil
}

// parseDigest reads the text of a well-formed JSON array. It returns what is
// wrong with it.
func parseDigest(v []byte, to *vanilla.Domain) string {
	n, x, digits := 0, 0, 0
	for _, c := range v[1:] {
		switch {
		case '0' <= c && c <= '9':
			if x = 10*x + int(c-'0'); x > 255 {
				return "a number above 255"
			}
			digits++
		case c == ',' || c == ']':
			if digits == 0 {
				return fmt.Sprintf("%d bytes", n)
			}
			if n == len(to) {
				return "more than 32 bytes"
			}
			to[n] = byte(x)
			n, x, digits = n+1, 0, 0
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		default:
			return fmt.Sprintf("byte %d is not an integer from 0 to 255", n)
		}
	}
	if n != len(to) {
		return fmt.Sprintf("%d bytes", n)
	}
	return ""
}

// FormatError says what is wrong with a phase-1 output, and where.
type FormatError struct {
	Place  string // for example: partition 3, challenge 5, comm_d_proofs/data/Single/leaf
	Offset int64  // bytes of JSON read
	Reason string
	Err    error // the reader's error, if the JSON is broken
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s (byte %d): %s", e.Place, e.Offset, e.Reason)
}

// Unwrap returns the reader's error.
func (e *FormatError) Unwrap() error { return e.Err }

func (r *reader) fail(format string, args ...any) error {
	return &FormatError{Place: place(r.StackPointer()), Offset: r.InputOffset(), Reason: fmt.Sprintf(format, args...)}
}

// broken reports an error of the JSON itself.
func (r *reader) broken(err error, what string) error {
	e := &FormatError{Place: place(r.StackPointer()), Offset: r.InputOffset(), Err: err}
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Reason = "the text ends, want " + what
	case errors.Is(err, jsontext.ErrDuplicateName):
		e.Reason = "the name stands twice in one object"
		if errors.As(err, &syntax) {
			e.Place = place(syntax.JSONPointer)
		}
	case errors.As(err, &syntax):
		e.Place, e.Offset = place(syntax.JSONPointer), syntax.ByteOffset
		e.Reason = "not JSON: " + syntax.Err.Error()
	default:
		e.Reason = err.Error()
	}
	return e
}

// place names a position in the fields' own terms.
func place(p jsontext.Pointer) string {
	if p == "" {
		return "top level"
	}
	t := strings.Split(short(strings.TrimPrefix(string(p), "/")), "/")
	if t[0] != "vanilla_proofs" || len(t) < 3 {
		return strings.Join(t, "/")
	}
	out := "partition " + t[2]
	if len(t) > 3 {
		out += ", challenge " + t[3]
	}
	if len(t) > 4 {
		out += ", " + strings.Join(t[4:], "/")
	}
	return out
}

func describe(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{', '}':
		return "an object"
	case '[', ']':
		return "an array"
	}
	return "nothing"
}

// short makes a text of the caller fit for a message: of bounded length,
// without control characters.
func short(s string) string {
	const limit = 160 // longer than any place in an output
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
