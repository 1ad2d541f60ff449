package vanilla

import (
	"errors"
	"fmt"
)

// Error is a fault in what the caller sent. Callers tell it from a failure of
// this program with errors.As.
type Error struct {
	Where string // place in the input, outermost first; may be empty
	Err   error
}

func (e *Error) Error() string {
	if e.Where == "" {
		return e.Err.Error()
	}
	return e.Where + ": " + e.Err.Error()
}

// Unwrap gives the fault without its place.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error without a place.
func Errorf(format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...)}
}

// At puts a place before the place of err; nil stays nil. An err that is no
// Error becomes one.
func At(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	where := fmt.Sprintf(format, args...)
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Where: where, Err: err}
	}
	if e.Where != "" {
		where += ": " + e.Where
	}
	return &Error{Where: where, Err: e.Err}
}
