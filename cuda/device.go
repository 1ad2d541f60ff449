package cuda

import (
	"encoding/hex"
	"fmt"
)

// Device is one GPU as the driver describes it.
type Device struct {
	Ordinal int    // the driver's number in this process; not a stable name
	UUID    string // GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, the stable name
	Name    string
	PCI     string // domain:bus:device.function
	Major   int    // compute capability
	Minor   int
	Memory  int64 // bytes
	SMs     int   // multiprocessors
	L2      int64 // bytes
	Shared  int   // bytes of shared memory a block may ask for
	Clock   int   // kHz, the highest of the SMs

	handle int32
}

// attributes of cuDeviceGetAttribute; values from cuda.h.
const (
	attrClock        = 13
	attrSMs          = 16
	attrL2           = 38
	attrMajor        = 75
	attrMinor        = 76
	attrSharedOptin  = 97
	uuidGroupsString = "GPU-%s-%s-%s-%s-%s"
)

// DriverVersion is the CUDA version that the driver serves, as 1000*major +
// 10*minor.
func DriverVersion() (int, error) {
	d, err := load()
	if err != nil {
		return 0, err
	}
	var v int32
	if err := d.check("cuDriverGetVersion", d.cuDriverGetVersion(&v)); err != nil {
		return 0, err
	}
	return int(v), nil
}

// Devices lists the machine's GPUs in the driver's order. No GPU at all is
// ErrNoDriver.
func Devices() ([]Device, error) {
	d, err := load()
	if err != nil {
		return nil, err
	}
	return d.devices()
}

func (d *driver) devices() ([]Device, error) {
	var n int32
	if err := d.check("cuDeviceGetCount", d.cuDeviceGetCount(&n)); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("%w: the driver finds no device", ErrNoDriver)
	}
	out := make([]Device, n)
	for i := range out {
		dev, err := d.describe(i)
		if err != nil {
			return nil, fmt.Errorf("describe device %d: %w", i, err)
		}
		out[i] = dev
	}
	return out, nil
}

func (d *driver) describe(ordinal int) (Device, error) {
	dev := Device{Ordinal: ordinal}
	if err := d.check("cuDeviceGet", d.cuDeviceGet(&dev.handle, int32(ordinal))); err != nil {
		return dev, err
	}
	var name, pci [256]byte
	var uuid [16]byte
	var mem uint64
	for _, c := range []struct {
		call string
		r    result
	}{
		{"cuDeviceGetName", d.cuDeviceGetName(&name[0], int32(len(name)), dev.handle)},
		{"cuDeviceGetPCIBusId", d.cuDeviceGetPCIBusId(&pci[0], int32(len(pci)), dev.handle)},
		{"cuDeviceGetUuid", d.cuDeviceGetUuid(&uuid, dev.handle)},
		{"cuDeviceTotalMem_v2", d.cuDeviceTotalMem_v2(&mem, dev.handle)},
	} {
		if err := d.check(c.call, c.r); err != nil {
			return dev, err
		}
	}
	dev.Name, dev.PCI, dev.UUID, dev.Memory = text(name[:]), text(pci[:]), formatUUID(uuid), int64(mem)
	return dev, d.attributes(&dev)
}

func (d *driver) attributes(dev *Device) error {
	var l2 int
	for attr, to := range map[int32]*int{
		attrClock: &dev.Clock, attrSMs: &dev.SMs, attrL2: &l2, attrMajor: &dev.Major,
		attrMinor: &dev.Minor, attrSharedOptin: &dev.Shared,
	} {
		var v int32
		if err := d.check("cuDeviceGetAttribute", d.cuDeviceGetAttribute(&v, attr, dev.handle)); err != nil {
			return fmt.Errorf("attribute %d: %w", attr, err)
		}
		*to = int(v)
	}
	dev.L2 = int64(l2)
	return nil
}

// formatUUID writes the sixteen bytes as NVIDIA's tools do.
func formatUUID(u [16]byte) string {
	h := hex.EncodeToString(u[:])
	return fmt.Sprintf(uuidGroupsString, h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}
