package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"strconv"
	"strings"

	"cuzk/backend/values"
	"cuzk/budget"
	"cuzk/cuda"
	"cuzk/daemon"
	"cuzk/internal/config"
	"cuzk/r1cs"
	"cuzk/srs"
)

// openDevices opens what proves beside the processor. Tests put cards of their own
// here.
var openDevices = accelerators

// accelerators opens the GPUs that the configuration names, or all. A machine
// without a driver has none. A GPU that cannot be opened, or whose kernels fail their
// self-test, is there but lost.
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
	host, err := hostMemory(l)
	if err != nil {
		return nil, err
	}
	pinned := pinnedMemory(l, host.Bytes, true)
	var out []daemon.Accelerator
	for _, info := range list {
		out = append(out, openGPU(context.Background(), info, l.Memory.DeviceMargin, pinned, log))
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

// gpuRoom is left on a card beside a large key, for that of WinningPoSt.
const gpuRoom = 4 * budget.GiB

// need is gpuNeed, or less where the card has less: the sums then go through
// smaller parts, and a key that does not fit at all is streamed.
func (g *gpuCard) need(id srs.ID, n r1cs.Counts, s srs.Shape) budget.Placement {
	p := gpuNeed(id, n, s)
	want, room := p.Key.Device, g.memory-gpuRoom
	if two := want + gpuSecond(n, s); manyPartitions(id) && two <= room && room-want < gpuOther {
		if lists := two + gpuValues(n, s); lists <= room {
			two = lists
		}
		p.Key.Device, p.AtOnce = two, gpuSlots
		return p
	}
	switch least := gpuLeast(n, s); {
	case want <= room:
	case least <= g.memory:
		p.Key.Device = max(least, min(want, room))
	default:
		p.Key = g.streamed(n, s)
		// Where WinningPoSt's key cannot be beside, it waits for no more than a partition.
		if manyPartitions(id) && p.Key.Device <= room {
			p.AtOnce = roundMost
		}
	}
	return p
}

// streamed is what a key takes whose points stay on the host: on the card what
// there is, with room for WinningPoSt's where that leaves enough. The points are
// pinned if they take no more than two thirds of what may be pinned, or else read
// from the mapped file, whose pages the system counts as cache.
func (g *gpuCard) streamed(n r1cs.Counts, s srs.Shape) (k budget.Need) {
	least := gpuStreamed(n, s)
	if k.Device = g.memory - gpuRoom; k.Device < least {
		k.Device = max(g.memory, least)
	}
	if points := gpuPoints(s); points <= g.pinned/3*2 {
		k.Pinned = points + budget.MiB // each list begins a page
	} else {
		k.Host = 9 * budget.Bytes(n.Aux) / 4 // where each list's points are in the file
	}
	return k
}

// isStreamed tells a placement of a streamed key.
func isStreamed(p budget.Placement) bool { return p.Key.Pinned > 0 || p.Key.Host > 0 }

// gpuNeed is what a key and the work on one assignment take on a card with room:
// the points and the assignment; nine vectors of the domain's size, for a, b and
// c, twiddles, and two sums at a time; and what small sums take as well. All of
// it is taken when the key is loaded.
func gpuNeed(_ srs.ID, n r1cs.Counts, s srs.Shape) budget.Placement {
	fixed, vector := gpuFixed(n, s)
	return budget.Placement{Able: true, Key: budget.Need{Device: fixed + 9*vector + 3*budget.GiB}, AtOnce: 1}
}

// gpuSecond is what the work on a second assignment takes beside the first: its
// vectors and sums. What it brings, 3% of the time of a PoRep partition, is less than
// what a second large key on the card does, for which gpuOther is needed.
func gpuSecond(n r1cs.Counts, s srs.Shape) budget.Bytes {
	_, vector := gpuFixed(n, s)
	return 7*vector + 3*budget.GiB
}

const gpuOther = 64 * budget.GiB

// gpuValues is what the lists of a quotient in values take beyond the list h that they
// take the place of, whether the key has them or not: the ledger reserves before it is
// opened.
func gpuValues(n r1cs.Counts, s srs.Shape) budget.Bytes {
	rows := n.Rows + n.Inputs
	f, err := values.New(rows, bits.Len(uint(s.H)))
	if err != nil {
		return 0
	}
	return max(0, gpuG1*budget.Bytes(f.Points()+rows-s.H))
}

// manyPartitions tells whether the jobs of a circuit have many partitions.
func manyPartitions(id srs.ID) bool { return id.Family == srs.PoRep || id.Family == srs.Update }

// gpuLeast is about the least with which a key can be used that stays on the card.
func gpuLeast(n r1cs.Counts, s srs.Shape) budget.Bytes {
	fixed, vector := gpuFixed(n, s)
	return fixed + 4*vector + 512*budget.MiB
}

// gpuStreamed is about the least with which a key can be used that is streamed:
// three vectors, or two and the assignment, which need not be there at the same
// time; the circuit and slices of points.
func gpuStreamed(n r1cs.Counts, s srs.Shape) budget.Bytes {
	_, vector := gpuFixed(n, s)
	return max(3*vector, 2*vector+gpuAssignment(n)) + budget.GiB
}

// gpuFixed is what no plan for a key on the card can do without, and the size of one
// vector.
func gpuFixed(n r1cs.Counts, s srs.Shape) (fixed, vector budget.Bytes) {
	return gpuPoints(s) + gpuAssignment(n), 32 * budget.Bytes(s.H+1)
}

// gpuPoints is the size of all points of a key.
func gpuPoints(s srs.Shape) budget.Bytes {
	return gpuG1*budget.Bytes(s.H+s.L+s.A+s.B) + 2*gpuG1*budget.Bytes(s.B)
}

// gpuG1 is the size of a point of G1, half of that of one of G2.
const gpuG1 = 96

// gpuAssignment is the size of a compact assignment.
func gpuAssignment(n r1cs.Counts) budget.Bytes {
	const element = 32
	return budget.Bytes(n.Bits/8) + element*budget.Bytes(n.Aux-n.Bits+n.Inputs)
}
