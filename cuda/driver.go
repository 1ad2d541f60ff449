package cuda

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// library names, by the loader's search path.
const (
	driverLibrary = "libcuda.so.1"
	nvmlLibrary   = "libnvidia-ml.so.1"
)

// minDriver is the oldest driver API that takes the kernels' PTX (7.0).
const minDriver = 11000

// handles of the driver are opaque pointers that this side never follows.
type (
	handle    = uintptr
	devicePtr = uint64
)

// driver is the table of driver functions; the field's name is the symbol.
type driver struct {
	cuInit                                      func(flags uint32) result
	cuGetErrorName                              func(r result, s **byte) result
	cuGetErrorString                            func(r result, s **byte) result
	cuDriverGetVersion                          func(v *int32) result
	cuDeviceGetCount                            func(n *int32) result
	cuDeviceGet                                 func(d *int32, ordinal int32) result
	cuDeviceGetName                             func(name *byte, n int32, d int32) result
	cuDeviceGetUuid                             func(uuid *[16]byte, d int32) result
	cuDeviceGetPCIBusId                         func(id *byte, n int32, d int32) result
	cuDeviceTotalMem_v2                         func(n *uint64, d int32) result
	cuDeviceGetAttribute                        func(v *int32, attr int32, d int32) result
	cuCtxCreate_v2                              func(c *handle, flags uint32, d int32) result
	cuCtxDestroy_v2                             func(c handle) result
	cuCtxSynchronize                            func() result
	cuMemGetInfo_v2                             func(free, total *uint64) result
	cuMemAlloc_v2                               func(p *devicePtr, n uint64) result
	cuMemFree_v2                                func(p devicePtr) result
	cuMemHostAlloc                              func(p *unsafe.Pointer, n uint64, flags uint32) result
	cuMemFreeHost                               func(p unsafe.Pointer) result
	cuMemHostRegister_v2                        func(p unsafe.Pointer, n uint64, flags uint32) result
	cuMemHostUnregister                         func(p unsafe.Pointer) result
	cuMemcpyHtoD_v2                             func(dst devicePtr, src unsafe.Pointer, n uint64) result
	cuMemcpyDtoH_v2                             func(dst unsafe.Pointer, src devicePtr, n uint64) result
	cuMemcpyHtoDAsync_v2                        func(dst devicePtr, src unsafe.Pointer, n uint64, s handle) result
	cuMemcpyDtoHAsync_v2                        func(dst unsafe.Pointer, src devicePtr, n uint64, s handle) result
	cuMemcpyDtoDAsync_v2                        func(dst, src devicePtr, n uint64, s handle) result
	cuMemsetD8Async                             func(p devicePtr, v uint8, n uint64, s handle) result
	cuStreamCreate                              func(s *handle, flags uint32) result
	cuStreamDestroy_v2                          func(s handle) result
	cuStreamSynchronize                         func(s handle) result
	cuStreamQuery                               func(s handle) result
	cuStreamWaitEvent                           func(s, e handle, flags uint32) result
	cuEventCreate                               func(e *handle, flags uint32) result
	cuEventDestroy_v2                           func(e handle) result
	cuEventRecord                               func(e, s handle) result
	cuEventQuery                                func(e handle) result
	cuEventSynchronize                          func(e handle) result
	cuEventElapsedTime                          func(ms *float32, from, to handle) result
	cuModuleLoadDataEx                          func(m *handle, image unsafe.Pointer, n uint32, opts *int32, vals *unsafe.Pointer) result
	cuModuleUnload                              func(m handle) result
	cuModuleGetFunction                         func(f *handle, m handle, name *byte) result
	cuModuleGetGlobal_v2                        func(p *devicePtr, n *uint64, m handle, name *byte) result
	cuFuncGetAttribute                          func(v *int32, attr int32, f handle) result
	cuFuncSetAttribute                          func(f handle, attr int32, v int32) result
	cuOccupancyMaxActiveBlocksPerMultiprocessor func(n *int32, f handle, block int32, shared uint64) result
	cuLaunchKernel                              func(f handle, gx, gy, gz, bx, by, bz, shared uint32, s handle, params *unsafe.Pointer, extra *unsafe.Pointer) result
}

// load opens the driver once a process.
var load = sync.OnceValues(openDriver)

func openDriver() (*driver, error) {
	lib, err := purego.Dlopen(driverLibrary, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("%w: open %s: %w", ErrNoDriver, driverLibrary, err)
	}
	d := &driver{}
	if err := bind(lib, d); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoDriver, driverLibrary, err)
	}
	clearSelection()
	if err := d.check("cuInit", d.cuInit(0)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	var v int32
	if err := d.check("cuDriverGetVersion", d.cuDriverGetVersion(&v)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	if v < minDriver {
		return nil, fmt.Errorf("%w: driver serves CUDA %d.%d, need %d.0 or later: update the NVIDIA driver", ErrNoDriver, v/1000, v%1000/10, minDriver/1000)
	}
	return d, nil
}

// bind fills a table of functions by its fields' names.
func bind(lib uintptr, table any) error {
	v := reflect.ValueOf(table).Elem()
	var missing []error
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		sym, err := purego.Dlsym(lib, name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		field := reflect.NewAt(v.Field(i).Type(), unsafe.Pointer(v.Field(i).UnsafeAddr()))
		purego.RegisterFunc(field.Interface(), sym)
	}
	return errors.Join(missing...)
}

// clearSelection removes from the C environment the variables by which the
// driver hides or reorders devices, so that the list is the machine's. It
// changes nothing that Go code or child processes see. A libc without the
// symbol keeps them, and devices are still named by UUID.
func clearSelection() {
	sym, err := purego.Dlsym(purego.RTLD_DEFAULT, "unsetenv")
	if err != nil {
		return
	}
	var unsetenv func(name string) int32
	purego.RegisterFunc(&unsetenv, sym)
	unsetenv("CUDA_VISIBLE_DEVICES")
	unsetenv("CUDA_DEVICE_ORDER")
}

// goString copies a C string.
func goString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// cString is s with a final zero.
func cString(s string) *byte { return &append([]byte(s), 0)[0] }

// text is a C string inside a buffer.
func text(buf []byte) string { return goString(&append(buf, 0)[0]) }
