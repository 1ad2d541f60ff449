// Package offheap gives large buffers of a known lifetime memory outside the
// garbage-collected heap.
//
// A prover's buffers are tens of megabytes to gigabytes and live for seconds. In
// the collected heap they stay until the next collection, and let the heap grow
// to twice their size before that. Here they go when they are freed.
//
// Invariants:
//
//  1. Memory of Make is zero when it is handed out, and begins a page.
//  2. Elements hold no pointers: the collector does not look here.
package offheap

import (
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// small is the size in bytes up to which the ordinary heap is used.
const small = 1 << 16

// mapped holds the mappings by their first byte.
var (
	mu     sync.Mutex
	mapped = map[*byte][]byte{}
	inUse  int64
)

// Make is make([]T, n) outside the heap. Small slices, and those that the system
// refuses to map, are ordinary ones. The slice must be given to [Free], whole;
// an ordinary one may be forgotten. T must not contain pointers.
func Make[T any](n int) []T {
	var t T
	size := n * int(unsafe.Sizeof(t))
	if size < small {
		return make([]T, n)
	}
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]T, n)
	}
	mu.Lock()
	defer mu.Unlock()
	mapped[&b[0]] = b
	inUse += int64(size)
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// Poison makes Uncleared fill memory with ones, for tests that look for values that
// nobody writes. It is set before anything else runs.
var Poison bool

// Uncleared is make([]T, n) in the collected heap, but with values left over from
// earlier use where the heap has such memory: clearing gigabytes that are written
// in full anyway takes one core a good part of a second. Large ones ask for huge
// pages. It needs no Free. T must not contain pointers.
func Uncleared[T any](n int) []T {
	var t T
	size := n * int(unsafe.Sizeof(t))
	if size < small {
		return make([]T, n)
	}
	// A builder's buffer is the one allocation of the language that is not cleared.
	// A large one begins a page.
	var b strings.Builder
	b.Grow(size)
	b.WriteByte(0)
	first := unsafe.StringData(b.String())
	mem := unsafe.Slice(first, size)
	advise(mem)
	if Poison {
		for i := range mem {
			mem[i] = 0xff
		}
	}
	return unsafe.Slice((*T)(unsafe.Pointer(first)), n)
}

// hugePage is the size of the pages asked for.
const hugePage = 2 << 20

// advise asks for huge pages in the part of b that can have them; a system without
// them answers with an error, and nothing changes.
func advise(b []byte) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	skip := -int(at) & (hugePage - 1)
	if n := (len(b) - skip) &^ (hugePage - 1); skip < len(b) && n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE)
	}
}

// Free gives back a slice that Make returned; its length and capacity may have
// changed, not its beginning. Nothing may use the memory afterwards. Other slices
// are left to the collector.
func Free[T any](s []T) {
	if cap(s) == 0 {
		return
	}
	first := (*byte)(unsafe.Pointer(unsafe.SliceData(s)))
	mu.Lock()
	defer mu.Unlock()
	b, ok := mapped[first]
	if !ok {
		return
	}
	delete(mapped, first)
	inUse -= int64(len(b))
	if err := unix.Munmap(b); err != nil {
		panic("offheap: " + err.Error()) // the mapping was ours: the books are wrong
	}
}

// InUse is the size in bytes of what was made outside the heap and not freed.
func InUse() int64 {
	mu.Lock()
	defer mu.Unlock()
	return inUse
}
