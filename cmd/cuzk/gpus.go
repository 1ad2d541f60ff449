package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	bcuda "cuzk/backend/cuda"
	"cuzk/budget"
	"cuzk/cuda"
	"cuzk/daemon"
	"cuzk/engine/sched"
	"cuzk/internal/config"
	"cuzk/r1cs"
	"cuzk/srs"
)

// accelerators opens the GPUs that the configuration names, or all. A machine
// without a driver has none. A GPU whose kernels fail their self-test is left
// out, loudly.
func accelerators(l *config.Loaded, log *slog.Logger) ([]daemon.Accelerator, error) {
	list, err := cuda.Devices()
	if errors.Is(err, cuda.ErrNoDriver) && len(l.GPUs.Devices) == 0 {
		return nil, nil
	}
	if err == nil {
		list, err = chosen(list, l.GPUs.Devices)
	}
	if err != nil {
		return nil, hint(fmt.Errorf("gpus.devices: %w", err), "\"nvidia-smi -L\" lists the devices")
	}
	var out []daemon.Accelerator
	for _, info := range list {
		a, err := openGPU(info, l.Memory.DeviceMargin)
		if err != nil {
			log.Error("device is not used", "device", info.UUID, "name", info.Name, "reason", err.Error())
			continue
		}
		out = append(out, a)
	}
	return out, nil
}

// chosen finds the devices that are meant; all if none is named.
func chosen(list []cuda.Device, names []string) ([]cuda.Device, error) {
	if len(names) == 0 {
		return list, nil
	}
	var out []cuda.Device
	for _, n := range names {
		i := -1
		for k, d := range list {
			if d.UUID == n || strings.EqualFold(d.PCI, n) || strconv.Itoa(d.Ordinal) == n {
				i = k
			}
		}
		if i < 0 {
			return nil, badInput(fmt.Errorf("%q is none of the %d devices of this machine", n, len(list)))
		}
		out = append(out, list[i])
	}
	return out, nil
}

func openGPU(info cuda.Device, margin budget.Bytes) (daemon.Accelerator, error) {
	dev, err := bcuda.Open(info)
	if err != nil {
		return daemon.Accelerator{}, err
	}
	if _, err := dev.SelfTest(); err != nil {
		return daemon.Accelerator{}, errors.Join(err, dev.Close())
	}
	b := bcuda.New(dev, bcuda.Options{})
	return daemon.Accelerator{
		Device:  sched.Device{ID: info.UUID, Name: info.Name, Class: sched.GPU, Slots: 1, Memory: max(budget.Bytes(info.Memory)-margin, 0)},
		Backend: b, Need: gpuNeed,
		Close: func() error { return errors.Join(b.Close(), dev.Close()) },
	}, nil
}

// gpuNeed is about what a key and the work on one assignment take on a card: all
// points, the vectors a, b and c, their table of twiddles, two vectors' worth of
// memory for sums, the assignment, and what the driver keeps. All of it is taken
// when the key is loaded.
func gpuNeed(_ srs.ID, n r1cs.Counts, s srs.Shape) budget.Placement {
	const g1, g2, element, other = 96, 192, 32, 512 << 20
	points := g1*int64(s.H+s.L+s.A+s.B) + g2*int64(s.B)
	vector := element * (int64(s.H) + 1)
	witness := int64(n.Bits/8) + element*int64(n.Aux-n.Bits+n.Inputs)
	return budget.Placement{Able: true, Key: budget.Need{Device: budget.Bytes(points + 6*vector + witness + other)}}
}
