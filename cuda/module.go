package cuda

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// Module is loaded device code.
type Module struct {
	h    handle
	name string
}

// Function is a kernel of a module.
type Function struct {
	h    handle
	name string
}

// Name is the kernel's symbol.
func (f Function) Name() string { return f.name }

// FunctionInfo is what the driver's compiler made of a kernel.
type FunctionInfo struct {
	Registers  int // a thread
	Local      int // bytes of local memory a thread: stack and spills
	Shared     int // bytes of static shared memory a block
	MaxThreads int // a block
}

// Launch is the shape of a launch.
type Launch struct {
	Grid   [3]int // blocks; zero counts as one
	Block  [3]int // threads of a block; zero counts as one
	Shared int    // bytes of dynamic shared memory
	Stream Stream
}

// options of cuModuleLoadDataEx; values from cuda.h.
const (
	jitInfoBuffer      = 3
	jitInfoBufferSize  = 4
	jitErrorBuffer     = 5
	jitErrorBufferSize = 6
	jitLogBytes        = 16 << 10
)

// attributes of cuFuncGetAttribute; values from cuda.h.
const (
	funcMaxThreads = 0
	funcShared     = 1
	funcLocal      = 3
	funcRegisters  = 4
	funcMaxDynamic = 8
)

// LoadModule compiles PTX (or loads a cubin) for the device. name appears in
// errors, with the compiler's log.
func (c *Context) LoadModule(name string, image []byte) (Module, error) {
	data := append(append([]byte{}, image...), 0)
	errLog, infoLog := make([]byte, jitLogBytes), make([]byte, jitLogBytes)
	opts := []int32{jitInfoBuffer, jitInfoBufferSize, jitErrorBuffer, jitErrorBufferSize}
	// The driver takes sizes as values in pointer slots; the words live in a
	// plain array so that the collector never sees them as pointers.
	vals := [4]uintptr{
		uintptr(unsafe.Pointer(&infoLog[0])), jitLogBytes,
		uintptr(unsafe.Pointer(&errLog[0])), jitLogBytes,
	}
	var m Module
	r := c.drv.cuModuleLoadDataEx(&m.h, unsafe.Pointer(&data[0]), uint32(len(opts)), &opts[0], (*unsafe.Pointer)(unsafe.Pointer(&vals[0])))
	runtime.KeepAlive(errLog)
	runtime.KeepAlive(infoLog)
	if r != success {
		detail := fmt.Sprintf("module %s: %s", name, strings.TrimSpace(text(errLog)))
		return m, c.drv.check("cuModuleLoadDataEx", r, detail)
	}
	m.name = name
	return m, nil
}

// UnloadModule releases the module and its functions.
func (c *Context) UnloadModule(m Module) error {
	if m.h == 0 {
		return nil
	}
	return c.drv.check("cuModuleUnload", c.drv.cuModuleUnload(m.h))
}

// Function finds a kernel by its symbol.
func (c *Context) Function(m Module, name string) (Function, error) {
	f := Function{name: name}
	sym := cString(name)
	r := c.drv.cuModuleGetFunction(&f.h, m.h, sym)
	runtime.KeepAlive(sym)
	return f, c.drv.check("cuModuleGetFunction", r, fmt.Sprintf("%s in module %s", name, m.name))
}

// Global finds a device variable by its symbol.
func (c *Context) Global(m Module, name string) (Memory, error) {
	var p devicePtr
	var n uint64
	sym := cString(name)
	r := c.drv.cuModuleGetGlobal_v2(&p, &n, m.h, sym)
	runtime.KeepAlive(sym)
	return Memory{Ptr: p, Bytes: int64(n)}, c.drv.check("cuModuleGetGlobal_v2", r, fmt.Sprintf("%s in module %s", name, m.name))
}

// Info reads what the compiler made of the kernel.
func (c *Context) Info(f Function) (FunctionInfo, error) {
	var info FunctionInfo
	for attr, to := range map[int32]*int{
		funcMaxThreads: &info.MaxThreads, funcShared: &info.Shared, funcLocal: &info.Local, funcRegisters: &info.Registers,
	} {
		var v int32
		if err := c.drv.check("cuFuncGetAttribute", c.drv.cuFuncGetAttribute(&v, attr, f.h), f.name); err != nil {
			return info, err
		}
		*to = int(v)
	}
	return info, nil
}

// AllowShared raises the dynamic shared memory that launches of f may ask for,
// above the 48 KiB that need no permission.
func (c *Context) AllowShared(f Function, bytes int) error {
	return c.drv.check("cuFuncSetAttribute", c.drv.cuFuncSetAttribute(f.h, funcMaxDynamic, int32(bytes)), fmt.Sprintf("%s: %d bytes of shared memory", f.name, bytes))
}

// BlocksPerSM is how many blocks of this shape one multiprocessor holds.
func (c *Context) BlocksPerSM(f Function, threads, shared int) (int, error) {
	var n int32
	err := c.drv.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", c.drv.cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f.h, int32(threads), uint64(shared)), f.name)
	return int(n), err
}

// Launch enqueues the kernel. params point at the arguments in order; they are
// read before Launch returns.
func (c *Context) Launch(f Function, l Launch, params []unsafe.Pointer) error {
	var p *unsafe.Pointer
	if len(params) > 0 {
		p = &params[0]
	}
	g, b := l.Grid, l.Block
	for i := range g {
		g[i], b[i] = max(g[i], 1), max(b[i], 1)
	}
	r := c.drv.cuLaunchKernel(f.h, uint32(g[0]), uint32(g[1]), uint32(g[2]), uint32(b[0]), uint32(b[1]), uint32(b[2]), uint32(l.Shared), l.Stream.h, p, nil)
	runtime.KeepAlive(params)
	if r == success {
		return nil
	}
	return c.drv.check("cuLaunchKernel", r, fmt.Sprintf("%s: grid %v, block %v, %d bytes of shared memory", f.name, l.Grid, l.Block, l.Shared))
}

// Args lists kernel arguments for Launch: Memory (its address), uint32, int32,
// uint64, int64, or an unsafe.Pointer to a struct laid out as in the kernel.
// Another type is a mistake of the caller and panics.
func Args(values ...any) []unsafe.Pointer {
	out := make([]unsafe.Pointer, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case unsafe.Pointer:
			out[i] = v
		case Memory:
			out[i] = unsafe.Pointer(&v.Ptr)
		case uint32:
			out[i] = unsafe.Pointer(&v)
		case int32:
			out[i] = unsafe.Pointer(&v)
		case uint64:
			out[i] = unsafe.Pointer(&v)
		case int64:
			out[i] = unsafe.Pointer(&v)
		default:
			panic(fmt.Sprintf("cuda: kernel argument %d has type %T", i, v))
		}
	}
	return out
}
