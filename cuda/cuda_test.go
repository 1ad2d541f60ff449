package cuda

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// fakeDriver answers as a driver with one device would, for the calls that the
// tests make, and fails where told to.
type fakeDriver struct {
	driver
	memory   int64 // bytes left
	launch   result
	ready    int // calls of cuEventQuery until the event has happened
	finished bool
}

func newFake() *fakeDriver {
	f := &fakeDriver{memory: 1 << 20}
	name := append([]byte("CUDA_ERROR_TEST"), 0)
	f.cuGetErrorName = func(_ result, s **byte) result { *s = &name[0]; return success }
	f.cuCtxCreate_v2 = func(c *handle, _ uint32, _ int32) result { *c = 1; return success }
	f.cuCtxDestroy_v2 = func(handle) result { f.finished = true; return success }
	f.cuMemAlloc_v2 = func(p *devicePtr, n uint64) result {
		if int64(n) > f.memory {
			return resultOutOfMemory
		}
		f.memory -= int64(n)
		*p = 0x1000
		return success
	}
	f.cuMemFree_v2 = func(devicePtr) result { return success }
	f.cuEventQuery = func(handle) result {
		if f.ready--; f.ready >= 0 {
			return resultNotReady
		}
		return success
	}
	f.cuLaunchKernel = func(_ handle, _, _, _, _, _, _, _ uint32, _ handle, _, _ *unsafe.Pointer) result { return f.launch }
	f.cuModuleLoadDataEx = func(_ *handle, _ unsafe.Pointer, _ uint32, _ *int32, vals *unsafe.Pointer) result {
		slots := unsafe.Slice((*uintptr)(unsafe.Pointer(vals)), 4)
		copy(unsafe.Slice(*(**byte)(unsafe.Pointer(&slots[2])), 64), "ptxas error: line 3\x00")
		return 218
	}
	return f
}

func openFake(t *testing.T, f *fakeDriver) *Owner {
	t.Helper()
	o, err := f.open(Device{UUID: "GPU-test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func TestNoDriverIsAnError(t *testing.T) {
	if _, err := load(); err == nil {
		t.Skip("this machine has a driver")
	}
	_, err := Devices()
	if !errors.Is(err, ErrNoDriver) || !strings.Contains(err.Error(), "libcuda.so.1") {
		t.Errorf("Devices: %v", err)
	}
	if _, err := DriverRelease(); !errors.Is(err, ErrNoDriver) {
		t.Errorf("DriverRelease: %v", err)
	}
	if _, err := Open(Device{}); !errors.Is(err, ErrNoDriver) {
		t.Errorf("Open: %v", err)
	}
}

func TestBalanceCountsAllocations(t *testing.T) {
	o := openFake(t, newFake())
	err := o.Do(func(c *Context) error {
		m, err := c.Alloc(1000)
		if err != nil {
			return err
		}
		if b := o.Balance(); b.DeviceBytes != 1000 || b.DeviceCount != 1 {
			t.Errorf("after Alloc: %+v", b)
		}
		return c.Free(m)
	})
	if err != nil {
		t.Fatal(err)
	}
	if b := o.Balance(); b != (Balance{}) {
		t.Errorf("after Free: %+v", b)
	}
}

func TestOutOfMemoryLeavesContextUsable(t *testing.T) {
	o := openFake(t, newFake())
	err := o.Do(func(c *Context) error { _, err := c.Alloc(1 << 30); return err })
	if !errors.Is(err, ErrOutOfMemory) || errors.Is(err, ErrSticky) {
		t.Fatalf("got %v", err)
	}
	if err := o.Do(func(c *Context) error { _, err := c.Alloc(16); return err }); err != nil {
		t.Errorf("after out of memory: %v", err)
	}
}

func TestStickyErrorBreaksOwner(t *testing.T) {
	f := newFake()
	f.launch = 700
	o := openFake(t, f)
	launch := func(c *Context) error { return c.Launch(Function{name: "k"}, Launch{}, nil) }
	if err := o.Do(launch); !errors.Is(err, ErrSticky) || errors.Is(err, ErrDeviceLost) {
		t.Fatalf("first launch: %v", err)
	}
	ran := false
	err := o.Do(func(*Context) error { ran = true; return nil })
	if ran || !errors.Is(err, ErrSticky) || !strings.Contains(err.Error(), "cuLaunchKernel") {
		t.Errorf("later work: ran %v, error %v", ran, err)
	}
	if o.Broken() == nil {
		t.Error("Broken is nil")
	}
}

func TestLostDeviceIsStickyToo(t *testing.T) {
	err := error(&Error{Code: 999})
	if !errors.Is(err, ErrDeviceLost) || !errors.Is(err, ErrSticky) || errors.Is(err, ErrOutOfMemory) {
		t.Error("wrong class for an unknown error")
	}
}

func TestPanicFailsItsTaskOnly(t *testing.T) {
	o := openFake(t, newFake())
	err := o.Do(func(*Context) error { panic("boom") })
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Fatalf("got %v", err)
	}
	if err := o.Do(func(*Context) error { return nil }); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

func TestClosedOwnerRefuses(t *testing.T) {
	f := newFake()
	o := openFake(t, f)
	o.Close()
	o.Close()
	if err := o.Do(func(*Context) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if !f.finished {
		t.Error("the context was not destroyed")
	}
}

func TestWaitPollsAndCancels(t *testing.T) {
	f := newFake()
	f.ready = 3
	o := openFake(t, f)
	if err := o.Wait(context.Background(), Event{}); err != nil {
		t.Fatal(err)
	}
	f.ready = 1 << 30
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if err := o.Wait(ctx, Event{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestModuleErrorCarriesLog(t *testing.T) {
	o := openFake(t, newFake())
	err := o.Do(func(c *Context) error { _, err := c.LoadModule("ntt", []byte("junk")); return err })
	if err == nil || !strings.Contains(err.Error(), "module ntt: ptxas error: line 3") {
		t.Errorf("got %v", err)
	}
}

// TestModulesAreTimed: all are loaded, and one that fails is named.
func TestModulesAreTimed(t *testing.T) {
	f := newFake()
	refuse := f.cuModuleLoadDataEx
	f.cuModuleLoadDataEx = func(m *handle, image unsafe.Pointer, n uint32, opts *int32, vals *unsafe.Pointer) result {
		if *(*byte)(image) == 'j' {
			return refuse(m, image, n, opts, vals)
		}
		*m = 7
		return success
	}
	unloaded := 0
	f.cuModuleUnload = func(handle) result { unloaded++; return success }
	o := openFake(t, f)
	good := []Image{{"a", []byte("ptx")}, {"b", []byte("ptx")}}
	_ = o.Do(func(c *Context) error {
		list, times, err := c.LoadModules(good)
		if err != nil || len(list) != 2 || list[1].name != "b" || len(times) != 2 || times[0].Name != "a" {
			t.Errorf("loaded %v, %v, %v", list, times, err)
		}
		if _, _, err := c.LoadModules(append(good, Image{"c", []byte("junk")})); err == nil || !strings.Contains(err.Error(), "module c: ptxas error") || unloaded != 2 {
			t.Errorf("with junk: %v, %d released", err, unloaded)
		}
		return nil
	})
}

func TestCopiesRefuseOverruns(t *testing.T) {
	o := openFake(t, newFake())
	m := Memory{Ptr: 1, Bytes: 8}
	o.Do(func(c *Context) error {
		if c.Upload(m, make([]byte, 9)) == nil || c.Download(make([]byte, 9), m) == nil {
			t.Error("a copy past the device range was accepted")
		}
		if c.CopyToDevice(m, HostMemory{bytes: 4}, 1, 4, Stream{}) == nil {
			t.Error("a copy past the pinned range was accepted")
		}
		return nil
	})
	defer func() {
		if recover() == nil {
			t.Error("Slice past the end did not panic")
		}
	}()
	m.Slice(4, 5)
}

func TestArgsPointAtValues(t *testing.T) {
	p := Args(Memory{Ptr: 7}, uint32(8), int64(9))
	if *(*uint64)(p[0]) != 7 || *(*uint32)(p[1]) != 8 || *(*int64)(p[2]) != 9 {
		t.Error("arguments differ from the values given")
	}
}

func TestFormatUUID(t *testing.T) {
	u := [16]byte{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	if got := formatUUID(u); got != "GPU-deadbeef-0102-0304-0506-0708090a0b0c" {
		t.Error(got)
	}
}

// TestAbandonedOwnerLetsGo: calls that wait for a driver that does not return end
// when the owner is given up, and so do later ones and Close.
func TestAbandonedOwnerLetsGo(t *testing.T) {
	f := newFake()
	o, err := f.open(Device{UUID: "GPU-test"})
	if err != nil {
		t.Fatal(err)
	}
	stuck, inside := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	errs := make(chan error, 3)
	go func() { errs <- o.Do(func(*Context) error { close(inside); <-stuck; return nil }) }()
	<-inside
	go func() { errs <- o.Do(func(*Context) error { return nil }) }()
	go func() { errs <- o.Wait(context.Background(), Event{}) }()
	why := errors.New("a kernel does not end")
	o.Abandon(why)
	o.Abandon(errors.New("another reason"))
	for range 3 {
		err := <-errs
		if !errors.Is(err, ErrHung) || !errors.Is(err, ErrDeviceLost) || !errors.Is(err, ErrSticky) || !errors.Is(err, why) {
			t.Errorf("a call that waited: %v", err)
		}
	}
	if err := o.Do(func(*Context) error { return nil }); !errors.Is(err, ErrHung) {
		t.Errorf("a later call: %v", err)
	}
	if err := o.Close(); !errors.Is(err, ErrHung) || !errors.Is(o.Broken(), ErrHung) {
		t.Errorf("Close: %v, Broken: %v", err, o.Broken())
	}
}

// TestCloseDoesNotWaitForever: a driver that does not destroy a context is given up.
func TestCloseDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		stuck := make(chan struct{})
		f.cuCtxDestroy_v2 = func(handle) result { <-stuck; return success }
		o, err := f.open(Device{UUID: "GPU-test"})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := o.Close(); !errors.Is(err, ErrHung) || time.Since(start) != closeLimit {
			t.Errorf("Close after %v: %v", time.Since(start), err)
		}
		close(stuck)
	})
}
