package cuda

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/ebitengine/purego"
)

// nvml is the table of NVML functions; the field's name is the symbol.
type nvml struct {
	nvmlInit_v2                   func() int32
	nvmlErrorString               func(r int32) *byte
	nvmlSystemGetDriverVersion    func(s *byte, n uint32) int32
	nvmlDeviceGetHandleByUUID     func(uuid *byte, h *handle) int32
	nvmlDeviceGetMemoryInfo       func(h handle, m *[3]uint64) int32
	nvmlDeviceGetUtilizationRates func(h handle, u *[2]uint32) int32
	nvmlDeviceGetPowerUsage       func(h handle, milliwatt *uint32) int32
	nvmlDeviceGetTemperature      func(h handle, sensor int32, celsius *uint32) int32
	nvmlDeviceGetClockInfo        func(h handle, kind int32, mhz *uint32) int32
}

// Health is a reading of a device's sensors.
type Health struct {
	MemoryTotal int64 // bytes
	MemoryUsed  int64 // bytes, by all processes
	GPUPercent  int   // share of the last sample in which a kernel ran
	Milliwatts  int
	Celsius     int
	SMClock     int // MHz
}

var loadNVML = sync.OnceValues(openNVML)

func openNVML() (*nvml, error) {
	lib, err := purego.Dlopen(nvmlLibrary, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("%w: open %s: %w", ErrNoDriver, nvmlLibrary, err)
	}
	n := &nvml{}
	if err := bind(lib, n); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoDriver, nvmlLibrary, err)
	}
	return n, n.check("nvmlInit_v2", n.nvmlInit_v2())
}

func (n *nvml) check(call string, r int32) error {
	if r == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s (%d)", call, goString(n.nvmlErrorString(r)), r)
}

// DriverRelease is the installed driver's version, for example 580.159.04.
func DriverRelease() (string, error) {
	n, err := loadNVML()
	if err != nil {
		return "", err
	}
	var buf [96]byte
	if err := n.check("nvmlSystemGetDriverVersion", n.nvmlSystemGetDriverVersion(&buf[0], uint32(len(buf)))); err != nil {
		return "", err
	}
	return text(buf[:]), nil
}

// ReadHealth reads the sensors of the device with this UUID. It may be called
// from any goroutine.
func ReadHealth(uuid string) (Health, error) {
	n, err := loadNVML()
	if err != nil {
		return Health{}, err
	}
	return n.health(uuid)
}

func (n *nvml) health(uuid string) (Health, error) {
	var h handle
	name := cString(uuid)
	err := n.check("nvmlDeviceGetHandleByUUID", n.nvmlDeviceGetHandleByUUID(name, &h))
	runtime.KeepAlive(name)
	if err != nil {
		return Health{}, fmt.Errorf("device %s: %w", uuid, err)
	}
	var mem [3]uint64 // total, free, used
	var use [2]uint32 // GPU, memory
	var power, temp, clock uint32
	for _, c := range []struct {
		call string
		r    int32
	}{
		{"nvmlDeviceGetMemoryInfo", n.nvmlDeviceGetMemoryInfo(h, &mem)},
		{"nvmlDeviceGetUtilizationRates", n.nvmlDeviceGetUtilizationRates(h, &use)},
		{"nvmlDeviceGetPowerUsage", n.nvmlDeviceGetPowerUsage(h, &power)},
		{"nvmlDeviceGetTemperature", n.nvmlDeviceGetTemperature(h, 0, &temp)},
		{"nvmlDeviceGetClockInfo", n.nvmlDeviceGetClockInfo(h, 1, &clock)},
	} {
		if err := n.check(c.call, c.r); err != nil {
			return Health{}, fmt.Errorf("device %s: %w", uuid, err)
		}
	}
	return Health{
		MemoryTotal: int64(mem[0]), MemoryUsed: int64(mem[2]), GPUPercent: int(use[0]),
		Milliwatts: int(power), Celsius: int(temp), SMClock: int(clock),
	}, nil
}
