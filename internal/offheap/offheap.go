// Package offheap gives large buffers of a known lifetime memory outside the
// garbage-collected heap.
//
// A prover's buffers are tens of megabytes to gigabytes and live for seconds. In
// the collected heap they stay until the next collection, and let the heap grow
// to twice their size before that. Here they go when they are freed.
//
// Invariants:
//
//  1. Memory is zero when it is handed out, and begins a page.
//  2. Elements hold no pointers: the collector does not look here.
package offheap

import (
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
