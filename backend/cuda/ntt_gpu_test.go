package cuda

import (
	"errors"
	"flag"
	"testing"

	gpu "cuzk/cuda"
)

var (
	flagLogN  = flag.Int("ntt.logn", 0, "log2 of the points of the large transform test; 27 needs 25 GiB of device memory and 22 of host memory")
	flagSmall = flag.Int("ntt.small", 16, "log2 of the largest transform that is compared with the host")
)

// firstCard is the first card, which may be opened; without one the test is skipped.
func firstCard(t testing.TB) gpu.Device {
	t.Helper()
	devices, err := gpu.Devices()
	if errors.Is(err, gpu.ErrNoDriver) {
		t.Skip("needs a GPU")
	}
	if err != nil {
		t.Fatal(err)
	}
	return devices[0]
}

// firstDevice opens the first card, or skips where there is none.
func firstDevice(t testing.TB) *Device {
	t.Helper()
	d, err := Open(firstCard(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b := d.Owner().Balance(); b != (gpu.Balance{}) {
			t.Errorf("memory is left on the device: %+v", b)
		}
		d.Close()
	})
	return d
}

func report(t *testing.T, list []Check, err error) {
	t.Helper()
	for _, c := range list {
		t.Logf("%-40s %v", c.Name, c.Took)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDeviceSelfTest(t *testing.T) {
	list, err := firstDevice(t).SelfTest()
	report(t, list, err)
}

func TestDeviceTransforms(t *testing.T) {
	list, err := firstDevice(t).TransformChecks(14, *flagSmall)
	report(t, list, err)
}

func TestDeviceLargeTransforms(t *testing.T) {
	if *flagLogN == 0 {
		t.Skip("set -ntt.logn")
	}
	d := firstDevice(t)
	for _, full := range []bool{true, false} {
		list, err := d.LargeCheck(*flagLogN, full)
		report(t, list, err)
	}
}

// TestKernelsKeepRegisters fails when a transform kernel puts more than a few words
// in local memory: the driver's compiler then made something else of it than
// what was measured (kernels/README.md).
func TestKernelsKeepRegisters(t *testing.T) {
	facts, err := firstDevice(t).Facts("field", "ntt", "quotient", "small")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range facts {
		if f.Local > 64 {
			t.Errorf("%s uses %d bytes of local memory a thread", f.Kernel, f.Local)
		}
	}
}
