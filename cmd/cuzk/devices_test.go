package main

import (
	stdbytes "bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	gpu "cuzk/backend/cuda"
	"cuzk/cuda"
)

// twoGPUs is a machine with a card that cannot be opened and one that is too old.
func twoGPUs() *machineGPUs {
	return &machineGPUs{
		devices: func() ([]cuda.Device, error) {
			return []cuda.Device{
				{Ordinal: 0, UUID: "GPU-1", Name: "NVIDIA H200", PCI: "0000:01:00.0", Memory: 150e9, Major: 9, SMs: 132},
				{Ordinal: 1, UUID: "GPU-2", Name: "Tesla V100", PCI: "0000:02:00.0", Memory: 16e9, Major: 7, SMs: 80},
			}, nil
		},
		release: func() (string, error) { return "580.1", nil },
		health: func(uuid string) (cuda.Health, error) {
			if uuid == "GPU-2" {
				return cuda.Health{}, errors.New("no sensors")
			}
			return cuda.Health{MemoryTotal: 150e9, MemoryUsed: 50e9}, nil
		},
		open: func(cuda.Device) (*gpu.Device, error) { return nil, errors.New("cuCtxCreate_v2: the device is busy") },
	}
}

func listed(t *testing.T, g *machineGPUs, f *devicesFlags) (out, errOut string, err error) {
	t.Helper()
	var o, e stdbytes.Buffer
	u := makeUI(&o, &e)
	r, err := g.report(&cobra.Command{}, u, f)
	u.done()
	if err == nil {
		err = r.say(u, f)
	}
	return o.String(), e.String(), err
}

func TestDevicesTable(t *testing.T) {
	out, _, err := listed(t, twoGPUs(), &devicesFlags{})
	if !errors.Is(err, errReported) {
		t.Errorf("devices that cannot be used: %v", err)
	}
	for _, want := range []string{
		"UUID   NAME         CC   SMS  MEMORY     FREE      DRIVER  PCI           KERNELS\n",
		"GPU-1  NVIDIA H200  9.0  132  139.7 GiB  93.1 GiB  580.1   0000:01:00.0  cuCtxCreate_v2: the device is busy\n",
		"GPU-2  Tesla V100   7.0  80   14.9 GiB   unknown   580.1   0000:02:00.0  too old: compute capability 7.5 is needed\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestDevicesJSON(t *testing.T) {
	out, _, err := listed(t, twoGPUs(), &devicesFlags{json: true, noLoad: true, device: "GPU-1"})
	if err != nil {
		t.Error(err)
	}
	var r devicesReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Devices) != 1 || r.Devices[0].Kernels != "not tried" || *r.Devices[0].Free != 100e9 || r.Devices[0].Capability != "9.0" {
		t.Errorf("%s", out)
	}
}

func TestDevicesWithoutDriver(t *testing.T) {
	g := twoGPUs()
	g.devices = func() ([]cuda.Device, error) {
		return nil, fmt.Errorf("%w: the driver finds no device", cuda.ErrNoDriver)
	}
	out, errOut, err := listed(t, g, &devicesFlags{json: true})
	if !errors.Is(err, errReported) || !strings.Contains(out, "\"devices\": []") || !strings.Contains(out, "the driver finds no device") {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(errOut, "no GPU can be used: no CUDA driver: the driver finds no device\n") {
		t.Error(errOut)
	}
	if _, _, err := listed(t, twoGPUs(), &devicesFlags{device: "GPU-9"}); !errors.Is(err, errBadInput) {
		t.Errorf("a device that is not there: %v", err)
	}
}

// TestDevicesChecks prints a self-test that failed.
func TestDevicesChecks(t *testing.T) {
	var o stdbytes.Buffer
	r := &devicesReport{Devices: []*deviceLine{{UUID: "GPU-1", failed: true, Checks: []testLine{{"fields", 0.5, ""}, {"transform 2^4", 0.001, "point 3 differs"}}}}}
	if err := r.say(makeUI(&o, &o), &devicesFlags{}); !errors.Is(err, errReported) {
		t.Error(err)
	}
	for _, want := range []string{"CHECK ON GPU-1  TIME    RESULT\n", "fields          500 ms  ok\n", "transform 2^4   1 ms    FAILED: point 3 differs\n", "1 of 2 checks failed"} {
		if !strings.Contains(o.String(), want) {
			t.Errorf("no %q in\n%s", want, o.String())
		}
	}
}
