package cuda

import (
	"context"

	gpu "cuzk/cuda"
	"cuzk/r1cs"
)

// holding collects allocations of a machine.
type holding struct {
	m    machine
	list []gpu.Memory
}

func (h *holding) alloc(bytes int64) (gpu.Memory, error) {
	mem, err := h.m.alloc(bytes)
	if err == nil {
		h.list = append(h.list, mem)
	}
	return mem, err
}

// put allocates memory for data and enqueues the copy.
func (h *holding) put(ctx context.Context, data []byte) (gpu.Memory, error) {
	mem, err := h.alloc(aligned(int64(len(data))))
	if err != nil || len(data) == 0 {
		return gpu.Memory{Ptr: mem.Ptr}, err
	}
	mem = mem.Slice(0, int64(len(data)))
	return mem, h.m.send(ctx, mem, bytesOf(data))
}

// ranks puts a set into memory.
func (h *holding) ranks(ctx context.Context, r ranks) (d deviceRanks, err error) {
	d.count = r.count
	if d.masks, err = h.put(ctx, rawBytes(r.masks)); err == nil {
		d.before, err = h.put(ctx, rawBytes(r.before))
	}
	return d, err
}

// free releases everything and returns the first error.
func (h *holding) free() (first error) {
	for _, mem := range h.list {
		if err := h.m.free(mem); err != nil && first == nil {
			first = err
		}
	}
	h.list = nil
	return first
}

func (h *holding) bytes() (n int64) {
	for _, mem := range h.list {
		n += mem.Bytes
	}
	return n
}

// rows is a circuit's program on the device.
type rows struct {
	descriptor gpu.Memory // program_t
	units      int
	longUnits  int
	counts     r1cs.Counts
}

// newRows uploads a program.
func newRows(ctx context.Context, h *holding, p *rowsPack, n r1cs.Counts) (rows, error) {
	r := rows{units: p.units, longUnits: p.longUnits, counts: n}
	var descriptor []uint64
	for _, s := range p.sections() {
		mem, err := h.put(ctx, s)
		if err != nil {
			return r, err
		}
		descriptor = append(descriptor, mem.Ptr)
	}
	descriptor = append(descriptor, uint64(len(p.templates))|uint64(p.units)<<32, uint64(p.longUnits))
	var err error
	r.descriptor, err = h.put(ctx, rawBytes(descriptor))
	return r, err
}

// witness is a compact assignment on the device.
type witness struct {
	bits, elements, inputs gpu.Memory
}

// evaluate enqueues a and b, m elements each: the rows, the rows of the inputs,
// zeros.
func (s *steps) evaluate(r *rows, w *witness, a, b gpu.Memory, m int) {
	s.launch("rows_slices", perWarp(r.units), r.descriptor, w.bits, w.elements, w.inputs, a, b)
	if r.longUnits > 0 {
		s.launch("rows_longs", perWarp(r.longUnits), r.descriptor, w.bits, w.elements, w.inputs, a, b)
	}
	tail := perThread(int64(m - r.counts.Rows))
	tail.grid = min(tail.grid, 8*s.facts.sms)
	s.launch("rows_tail", tail, w.inputs, uint32(r.counts.Inputs), uint64(r.counts.Rows), uint64(m), a, b)
}

// perWarp is a launch of one warp an item.
func perWarp(items int) shape { return perThread(32 * int64(items)) }
