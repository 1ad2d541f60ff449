package cuda

import (
	"fmt"
	"regexp"
	"sync"
	"unsafe"

	"cuzk/cuda"
	"cuzk/kernels"
)

// Device is one GPU with its kernels. Modules are compiled by the driver when a
// kernel of theirs is first asked for; the driver keeps the result in its cache.
type Device struct {
	owner   *cuda.Owner
	info    cuda.Device
	modules map[string]cuda.Module   // by module name; owner's thread only
	kernels map[string]cuda.Function // by kernel name; owner's thread only
}

// Open makes a context on the device. Close releases it.
func Open(info cuda.Device) (*Device, error) {
	owner, err := cuda.Open(info)
	if err != nil {
		return nil, err
	}
	return &Device{
		owner: owner, info: info, modules: map[string]cuda.Module{},
		kernels: map[string]cuda.Function{},
	}, nil
}

// OpenUUID opens the device with this UUID.
func OpenUUID(uuid string) (*Device, error) {
	devices, err := cuda.Devices()
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if d.UUID == uuid {
			return Open(d)
		}
	}
	return nil, fmt.Errorf("no device %s among the %d of this machine: see cuzk devices", uuid, len(devices))
}

// Info describes the device.
func (d *Device) Info() cuda.Device { return d.info }

// Owner is the goroutine that holds the device's context.
func (d *Device) Owner() *cuda.Owner { return d.owner }

// Close destroys the context and all that lives in it.
func (d *Device) Close() error { return d.owner.Close() }

var entry = regexp.MustCompile(`\.entry ([A-Za-z0-9_]+)`)

// index maps every embedded kernel to its module.
var index = sync.OnceValues(func() (map[string]string, error) {
	names, err := kernels.Names()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, module := range names {
		ptx, err := kernels.PTX(module)
		if err != nil {
			return nil, err
		}
		for _, m := range entry.FindAllSubmatch(ptx, -1) {
			if other, twice := out[string(m[1])]; twice {
				return nil, fmt.Errorf("kernel %s is in modules %s and %s", m[1], other, module)
			}
			out[string(m[1])] = module
		}
	}
	return out, nil
})

// kernel returns a function by its symbol, loading its module at first use.
func (d *Device) kernel(c *cuda.Context, name string) (cuda.Function, error) {
	if f, ok := d.kernels[name]; ok {
		return f, nil
	}
	byName, err := index()
	if err != nil {
		return cuda.Function{}, err
	}
	module, ok := byName[name]
	if !ok {
		return cuda.Function{}, fmt.Errorf("no kernel %q in the embedded modules", name)
	}
	m, err := d.module(c, module)
	if err != nil {
		return cuda.Function{}, err
	}
	f, err := c.Function(m, name)
	if err == nil {
		d.kernels[name] = f
	}
	return f, err
}

func (d *Device) module(c *cuda.Context, name string) (cuda.Module, error) {
	if m, ok := d.modules[name]; ok {
		return m, nil
	}
	ptx, err := kernels.PTX(name)
	if err != nil {
		return cuda.Module{}, err
	}
	m, err := c.LoadModule(name, ptx)
	if err == nil {
		d.modules[name] = m
	}
	return m, err
}

// launch enqueues a kernel by its symbol.
func (d *Device) launch(c *cuda.Context, name string, l cuda.Launch, args ...any) error {
	f, err := d.kernel(c, name)
	if err != nil {
		return err
	}
	return c.Launch(f, l, cuda.Args(args...))
}

// over is the shape of a launch with one thread an item.
func over(items, threads int, s cuda.Stream) cuda.Launch {
	return cuda.Launch{Grid: [3]int{(items + threads - 1) / threads}, Block: [3]int{threads}, Stream: s}
}

// upload allocates device memory for a slice of plain values and copies it.
func upload[T any](c *cuda.Context, v []T) (cuda.Memory, error) {
	data := rawBytes(v)
	m, err := c.Alloc(int64(len(data)))
	if err != nil {
		return m, err
	}
	return m, c.Upload(m, data)
}

// rawBytes is the memory of a slice of pointer-free values.
func rawBytes[T any](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// memories collects allocations that are released together.
type memories struct {
	list []cuda.Memory
}

func (m *memories) alloc(c *cuda.Context, bytes int64) (cuda.Memory, error) {
	mem, err := c.Alloc(bytes)
	if err == nil {
		m.list = append(m.list, mem)
	}
	return mem, err
}

// keep takes over an allocation.
func (m *memories) keep(mem cuda.Memory, err error) (cuda.Memory, error) {
	if mem.Bytes > 0 {
		m.list = append(m.list, mem)
	}
	return mem, err
}

// free releases all and returns the first error.
func (m *memories) free(c *cuda.Context) error {
	var first error
	for _, mem := range m.list {
		if err := c.Free(mem); err != nil && first == nil {
			first = err
		}
	}
	m.list = nil
	return first
}

// bytes is what the collection holds.
func (m *memories) bytes() int64 {
	var n int64
	for _, mem := range m.list {
		n += mem.Bytes
	}
	return n
}
