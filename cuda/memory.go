package cuda

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Memory is a range of device memory. The zero value is an empty range.
type Memory struct {
	Ptr   uint64 // device address
	Bytes int64
}

// Slice is the part of m from off, n bytes long. It panics when that leaves m,
// like a Go slice expression.
func (m Memory) Slice(off, n int64) Memory {
	if off < 0 || n < 0 || off+n > m.Bytes {
		panic(fmt.Sprintf("cuda: slice [%d:+%d] of %d device bytes", off, n, m.Bytes))
	}
	return Memory{Ptr: m.Ptr + uint64(off), Bytes: n}
}

// HostMemory is page-locked host memory outside the Go heap, from HostAlloc or
// HostRegister.
type HostMemory struct {
	ptr        unsafe.Pointer
	bytes      int64
	registered bool
}

// Bytes is the memory as a slice, valid until it is released.
func (h HostMemory) Bytes() []byte {
	if h.bytes == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(h.ptr), h.bytes)
}

// Alloc takes n bytes of device memory, aligned to 256 bytes.
func (c *Context) Alloc(n int64) (Memory, error) {
	if n <= 0 {
		return Memory{}, fmt.Errorf("allocate %d device bytes: need at least one", n)
	}
	var p devicePtr
	if err := c.drv.check("cuMemAlloc_v2", c.drv.cuMemAlloc_v2(&p, uint64(n)), fmt.Sprintf("%d bytes", n)); err != nil {
		return Memory{}, err
	}
	c.owner.count.deviceBytes.Add(n)
	c.owner.count.deviceCount.Add(1)
	return Memory{Ptr: p, Bytes: n}, nil
}

// Free releases what Alloc gave; an empty range is left alone.
func (c *Context) Free(m Memory) error {
	if m.Bytes == 0 {
		return nil
	}
	if err := c.drv.check("cuMemFree_v2", c.drv.cuMemFree_v2(m.Ptr)); err != nil {
		return err
	}
	c.owner.count.deviceBytes.Add(-m.Bytes)
	c.owner.count.deviceCount.Add(-1)
	return nil
}

// flag of pinned memory: usable from every context of the process.
const hostPortable = 1

// HostAlloc takes n bytes of pinned host memory.
func (c *Context) HostAlloc(n int64) (HostMemory, error) {
	if n <= 0 {
		return HostMemory{}, fmt.Errorf("allocate %d pinned bytes: need at least one", n)
	}
	var p unsafe.Pointer
	if err := c.drv.check("cuMemHostAlloc", c.drv.cuMemHostAlloc(&p, uint64(n), hostPortable), fmt.Sprintf("%d bytes", n)); err != nil {
		return HostMemory{}, err
	}
	c.pinned(n, 1)
	return HostMemory{ptr: p, bytes: n}, nil
}

// HostRegister pins memory that the caller owns outside the Go heap (a mapped
// file, an anonymous mapping) until HostFree.
func (c *Context) HostRegister(mem []byte) (HostMemory, error) {
	if len(mem) == 0 {
		return HostMemory{}, fmt.Errorf("pin an empty range")
	}
	p := unsafe.Pointer(&mem[0])
	if err := c.drv.check("cuMemHostRegister_v2", c.drv.cuMemHostRegister_v2(p, uint64(len(mem)), hostPortable)); err != nil {
		return HostMemory{}, err
	}
	c.pinned(int64(len(mem)), 1)
	return HostMemory{ptr: p, bytes: int64(len(mem)), registered: true}, nil
}

// HostFree releases or unpins h.
func (c *Context) HostFree(h HostMemory) error {
	if h.bytes == 0 {
		return nil
	}
	var err error
	if h.registered {
		err = c.drv.check("cuMemHostUnregister", c.drv.cuMemHostUnregister(h.ptr))
	} else {
		err = c.drv.check("cuMemFreeHost", c.drv.cuMemFreeHost(h.ptr))
	}
	if err == nil {
		c.pinned(-h.bytes, -1)
	}
	return err
}

func (c *Context) pinned(bytes, n int64) {
	c.owner.count.pinnedBytes.Add(bytes)
	c.owner.count.pinnedCount.Add(n)
}

// Upload copies a Go slice to the device and waits until it is there, so that
// any stream may use it. (The driver's own call may return when the bytes are
// staged, and streams that do not block are not ordered behind it.) Bytes per
// second are an eighth of a pinned copy's; for large data use CopyToDevice.
func (c *Context) Upload(dst Memory, src []byte) error {
	if int64(len(src)) > dst.Bytes {
		return fmt.Errorf("upload %d bytes into %d", len(src), dst.Bytes)
	}
	if len(src) == 0 {
		return nil
	}
	err := c.drv.check("cuMemcpyHtoD_v2", c.drv.cuMemcpyHtoD_v2(dst.Ptr, unsafe.Pointer(&src[0]), uint64(len(src))))
	runtime.KeepAlive(src)
	if err != nil {
		return err
	}
	return c.SyncStream(Stream{})
}

// Download copies device memory into a Go slice and waits.
func (c *Context) Download(dst []byte, src Memory) error {
	if int64(len(dst)) > src.Bytes {
		return fmt.Errorf("download %d bytes from %d", len(dst), src.Bytes)
	}
	if len(dst) == 0 {
		return nil
	}
	err := c.drv.check("cuMemcpyDtoH_v2", c.drv.cuMemcpyDtoH_v2(unsafe.Pointer(&dst[0]), src.Ptr, uint64(len(dst))))
	runtime.KeepAlive(dst)
	return err
}

// CopyToDevice enqueues a copy of n bytes of pinned memory from off. The memory
// must stay until the stream has passed.
func (c *Context) CopyToDevice(dst Memory, src HostMemory, off, n int64, s Stream) error {
	if off < 0 || n < 0 || off+n > src.bytes || n > dst.Bytes {
		return fmt.Errorf("copy [%d:+%d] of %d pinned bytes into %d device bytes", off, n, src.bytes, dst.Bytes)
	}
	return c.drv.check("cuMemcpyHtoDAsync_v2", c.drv.cuMemcpyHtoDAsync_v2(dst.Ptr, unsafe.Add(src.ptr, off), uint64(n), s.h))
}

// CopyToHost enqueues a copy of n device bytes into pinned memory from off.
func (c *Context) CopyToHost(dst HostMemory, off int64, src Memory, n int64, s Stream) error {
	if off < 0 || n < 0 || off+n > dst.bytes || n > src.Bytes {
		return fmt.Errorf("copy %d of %d device bytes into [%d:] of %d pinned bytes", n, src.Bytes, off, dst.bytes)
	}
	return c.drv.check("cuMemcpyDtoHAsync_v2", c.drv.cuMemcpyDtoHAsync_v2(unsafe.Add(dst.ptr, off), src.Ptr, uint64(n), s.h))
}

// CopyOnDevice enqueues a copy of all of src to the start of dst.
func (c *Context) CopyOnDevice(dst, src Memory, s Stream) error {
	if src.Bytes > dst.Bytes {
		return fmt.Errorf("copy %d device bytes into %d", src.Bytes, dst.Bytes)
	}
	return c.drv.check("cuMemcpyDtoDAsync_v2", c.drv.cuMemcpyDtoDAsync_v2(dst.Ptr, src.Ptr, uint64(src.Bytes), s.h))
}

// Memset enqueues filling m with the byte v.
func (c *Context) Memset(m Memory, v byte, s Stream) error {
	if m.Bytes == 0 {
		return nil
	}
	return c.drv.check("cuMemsetD8Async", c.drv.cuMemsetD8Async(m.Ptr, v, uint64(m.Bytes), s.h))
}
