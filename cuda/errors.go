package cuda

import (
	"errors"
	"fmt"
)

// Sentinels that callers branch on.
var (
	// ErrNoDriver: libcuda.so.1 cannot be opened, is too old, or finds no device.
	ErrNoDriver = errors.New("no CUDA driver")
	// ErrOutOfMemory: the device or the pinned pool has no room; the context
	// stays usable.
	ErrOutOfMemory = errors.New("out of device memory")
	// ErrSticky: a kernel or the hardware failed so that every later call on the
	// context fails too; close the owner and open another.
	ErrSticky = errors.New("device context is broken")
	// ErrDeviceLost: the device no longer answers; opening it again may fail.
	ErrDeviceLost = errors.New("device is lost")
	// ErrHung: work on the device does not end, or the driver does not return from a
	// call, and the owner was given up. Its thread and its memory stay with the
	// process. It is also lost and sticky.
	ErrHung = errors.New("device hangs")
	// ErrClosed: the owner was closed.
	ErrClosed = errors.New("device owner is closed")
)

// hang is the error of an owner that was given up.
type hang struct {
	uuid string
	why  error
}

func (h *hang) Error() string { return fmt.Sprintf("device %s hangs: %v", h.uuid, h.why) }
func (h *hang) Unwrap() error { return h.why }
func (h *hang) Is(target error) bool {
	return target == ErrHung || target == ErrDeviceLost || target == ErrSticky
}

// result is a CUresult.
type result int32

// Results that change what a caller does; values from cuda.h.
const (
	success             result = 0
	resultOutOfMemory   result = 2
	resultDeinitialized result = 4
	resultNoDevice      result = 100
	resultNotReady      result = 600
)

// sticky lists the results after which the context is unusable.
var sticky = map[result]bool{
	214: true, // ECC_UNCORRECTABLE
	220: true, // NVLINK_UNCORRECTABLE
	226: true, // CONTAINED
	700: true, // ILLEGAL_ADDRESS
	702: true, // LAUNCH_TIMEOUT
	709: true, // CONTEXT_IS_DESTROYED
	710: true, // ASSERT
	714: true, // HARDWARE_STACK_ERROR
	715: true, // ILLEGAL_INSTRUCTION
	716: true, // MISALIGNED_ADDRESS
	717: true, // INVALID_ADDRESS_SPACE
	718: true, // INVALID_PC
	719: true, // LAUNCH_FAILED
}

// lost lists the results after which the device itself is in doubt.
var lost = map[result]bool{
	resultDeinitialized: true,
	46:                  true, // DEVICE_UNAVAILABLE
	101:                 true, // INVALID_DEVICE
	999:                 true, // UNKNOWN: what a card that fell off the bus gives
}

// Error is a failed driver call.
type Error struct {
	Call   string // name of the driver function
	Code   int    // CUresult
	Name   string // for example CUDA_ERROR_OUT_OF_MEMORY
	Detail string // the driver's text, the JIT log, what was asked for
}

// Error says call, name, number and detail.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%d)", e.Call, e.Name, e.Code)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Is matches the sentinels of this package by the result's class. A sticky or
// lost device is not out of memory, and a lost one is also sticky: the context
// is gone in both cases.
func (e *Error) Is(target error) bool {
	code := result(e.Code)
	switch target {
	case ErrOutOfMemory:
		return code == resultOutOfMemory
	case ErrSticky:
		return sticky[code] || lost[code]
	case ErrDeviceLost:
		return lost[code]
	}
	return false
}

// check turns a result into an error; nil for success.
func (d *driver) check(call string, r result, detail ...string) error {
	if r == success {
		return nil
	}
	e := &Error{Call: call, Code: int(r), Name: d.errorName(r)}
	switch {
	case len(detail) > 0:
		e.Detail = detail[0]
	default:
		e.Detail = d.errorText(r)
	}
	return e
}

func (d *driver) errorName(r result) string {
	var p *byte
	if d.cuGetErrorName == nil || d.cuGetErrorName(r, &p) != success || p == nil {
		return "CUDA_ERROR"
	}
	return goString(p)
}

func (d *driver) errorText(r result) string {
	var p *byte
	if d.cuGetErrorString == nil || d.cuGetErrorString(r, &p) != success || p == nil {
		return ""
	}
	return goString(p)
}
