package offheap

import (
	"testing"
	"unsafe"
)

func TestMakeAndFree(t *testing.T) {
	before := InUse()
	for _, n := range []int{0, 1, 100, 1 << 14, 100_003} {
		s := Make[[3]uint64](n)
		if len(s) != n {
			t.Fatalf("%d elements, want %d", len(s), n)
		}
		for i := range s {
			if s[i] != ([3]uint64{}) {
				t.Fatalf("element %d of %d is not zero", i, n)
			}
			s[i][2] = uint64(i)
		}
		if size := int64(24 * n); size >= small {
			if got := InUse() - before; got != size {
				t.Errorf("%d bytes in use, want %d", got, size)
			}
			if uintptr(unsafe.Pointer(&s[0]))%4096 != 0 {
				t.Error("not at the start of a page")
			}
		}
		Free(s[:0])
		if got := InUse(); got != before {
			t.Errorf("%d bytes in use after Free, want %d", got, before)
		}
	}
}

func TestFreeLeavesOthersAlone(t *testing.T) {
	s := make([]byte, 1<<20)
	Free(s)
	Free[int](nil)
	s[0] = 1
}

func TestUncleared(t *testing.T) {
	Poison = true
	defer func() { Poison = false }()
	for _, n := range []int{0, 1, 100, 100_003, 1 << 20} {
		s := Uncleared[[3]uint64](n)
		if len(s) != n {
			t.Fatalf("%d elements, want %d", len(s), n)
		}
		set := 24*n >= small
		for i := range s {
			if (s[i] == [3]uint64{^uint64(0), ^uint64(0), ^uint64(0)}) != set {
				t.Fatalf("element %d of %d is %x", i, n, s[i])
			}
			s[i][1] = uint64(i) // all of it may be written
		}
		if set && uintptr(unsafe.Pointer(&s[0]))%4096 != 0 {
			t.Error("not at the start of a page")
		}
	}
}
