package cuda

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	gpu "cuzk/cuda"
	"cuzk/kernels"
)

// device is what the sums need of a GPU. Tests put a stand-in here.
type device interface {
	// do runs fn where kernels can be enqueued; what it enqueues runs in order.
	do(fn func(queue) error) error
	// wait returns when the work up to mark i has been done.
	wait(ctx context.Context, i int) error
	facts() facts
}

// queue takes work in order. Uploads and downloads are the exception: they are
// done at once, so they need memory that no enqueued work touches.
type queue interface {
	launch(kernel string, s shape, args ...any) error
	fill(m gpu.Memory, v byte) error
	upload(dst gpu.Memory, src []byte) error
	download(dst []byte, src gpu.Memory) error
	mark(i int) error
	stage(name string) error
}

// shape is the form of a launch.
type shape struct {
	grid, rows    int // blocks in x and y
	block, shared int // threads; bytes of dynamic shared memory
}

// facts are the numbers of a device that plans depend on.
type facts struct {
	sms       int
	shared    int            // bytes a block may ask for
	opsBlocks map[string]int // blocks of 128 threads an SM holds, by kernel
	async     bool           // additions by asynchronous copies
	binBlock  int            // threads of a block that sorts bins; 0 for those that move
	depth     int            // additions of a lane that share an inversion; 0 for opsDepth
}

// marks is how many marks a device has.
const marks = 3

// sumModules are the modules with the kernels of sums, and what is used of each.
var sumModules = map[string][]string{
	"msm_g1":       {"g1_ops"},
	"msm_g2":       {"g2_ops"},
	"msm_g1_async": {"g1_ops_async"},
	"msm_g2_async": {"g2_ops_async"},
	"msm_sort": {
		"msm_recode", "msm_fixed_refs", "msm_count_digits", "msm_sort_flags", "msm_move_digits", "msm_sort_bins",
		"msm_count_pairs", "msm_move_pairs", "msm_clear_ranges", "msm_bounds", "msm_ends_to_sizes",
	},
	"msm_tree": {
		"msm_sizes", "msm_scan_sums", "msm_scan_top", "msm_scan_apply", "msm_tree_bases", "msm_tree_even", "msm_tree_ops", "msm_tree_refs",
		"msm_reduce_ops", "msm_copy_ops", "msm_bit_ops", "msm_pair_ops", "msm_table_ops", "msm_bits_count", "msm_bits_list",
	},
}

// card is the device of production: an owner's context and one of its streams.
type card struct {
	owner  *gpu.Owner
	stream gpu.Stream
	code   *sumCode
	marks  [marks]gpu.Event
	stages *stageLog
}

// sumCode is the loaded kernels, shared by all streams of an owner.
type sumCode struct {
	modules []gpu.Module
	took    []gpu.ModuleTime
	kernels map[string]gpu.Function
	facts   facts
}

// asyncMajor is the compute capability from which cards copy asynchronously.
const asyncMajor = 8

// loadSums loads the modules and reads what the plans need. Of the two forms of
// the additions only the one that suits the card is compiled.
func loadSums(c *gpu.Context) (*sumCode, error) {
	code := &sumCode{kernels: map[string]gpu.Function{}}
	async := c.Device().Major >= asyncMajor
	var images []gpu.Image
	for _, name := range sortedKeys(sumModules) {
		_, has := sumModules[name+"_async"]
		isAsync := strings.HasSuffix(name, "_async")
		if has && async || isAsync && !async {
			continue
		}
		image, err := kernels.PTX(name)
		if err == nil && isAsync {
			image, err = raiseTarget(image)
		}
		if err != nil {
			return nil, err
		}
		images = append(images, gpu.Image{Name: name, Data: image})
	}
	if err := code.loadImages(c, images); err != nil {
		return nil, err
	}
	return code, code.prepare(c, async)
}

// raiseTarget declares PTX for the first target with asynchronous copies. All
// modules are compiled for an older one; these instructions come in as text.
func raiseTarget(ptx []byte) ([]byte, error) {
	for _, line := range [][2]string{{".version 6.3\n", ".version 7.0\n"}, {".target sm_75\n", ".target sm_80\n"}} {
		if !bytes.Contains(ptx, []byte(line[0])) {
			return nil, fmt.Errorf("no line %q in the module: the kernels are built for another target", line[0])
		}
		ptx = bytes.Replace(ptx, []byte(line[0]), []byte(line[1]), 1)
	}
	return ptx, nil
}

// load adds a module and some of its kernels.
func (s *sumCode) load(c *gpu.Context, name string, image []byte, list []string) error {
	m, err := c.LoadModule(name, image)
	if err != nil {
		return err
	}
	s.modules = append(s.modules, m)
	for _, k := range list {
		if s.kernels[k], err = c.Function(m, k); err != nil {
			return err
		}
	}
	return nil
}

// loadImages loads modules of sums with their kernels.
func (s *sumCode) loadImages(c *gpu.Context, images []gpu.Image) (err error) {
	if s.modules, s.took, err = c.LoadModules(images); err != nil {
		return err
	}
	for i, m := range images {
		for _, k := range sumModules[m.Name] {
			if s.kernels[k], err = c.Function(s.modules[i], k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sumCode) prepare(c *gpu.Context, async bool) error {
	d := c.Device()
	s.facts = facts{sms: d.SMs, shared: d.Shared, opsBlocks: map[string]int{}, async: async}
	for _, k := range []string{"msm_move_digits", "msm_sort_bins", "msm_move_pairs"} {
		if err := c.AllowShared(s.kernels[k], d.Shared); err != nil {
			return err
		}
	}
	for _, cv := range []curve{curveG1, curveG2} {
		kernel, shared := s.facts.additions(cv)
		if shared > 0 {
			if err := c.AllowShared(s.kernels[kernel], shared); err != nil {
				return err
			}
		}
		n, err := c.BlocksPerSM(s.kernels[kernel], opsThreads, shared)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("kernel %s does not fit device %s", kernel, d.UUID)
		}
		s.facts.opsBlocks[cv.ops] = n
	}
	return nil
}

// additions is the kernel of a curve's additions and its dynamic shared memory.
func (f facts) additions(cv curve) (kernel string, shared int) {
	if f.async {
		return cv.ops + "_async", cv.stage * opsThreads / 32
	}
	return cv.ops, 0
}

func (d *card) facts() facts { return d.code.facts }

func (d *card) do(fn func(queue) error) error {
	return d.owner.Do(func(c *gpu.Context) error { return fn(&cardQueue{d, c}) })
}

// eagerLooks is how often a wait asks before it starts to sleep: about a
// millisecond, the length of the pauses of a small sum.
const eagerLooks = 100

func (d *card) wait(ctx context.Context, i int) error {
	for range eagerLooks {
		ready := false
		err := d.owner.Do(func(c *gpu.Context) (err error) {
			ready, err = c.EventReady(d.marks[i])
			return err
		})
		if err != nil || ready {
			return err
		}
	}
	return d.owner.Wait(ctx, d.marks[i])
}

// cardQueue is a card inside a call of its owner.
type cardQueue struct {
	*card
	ctx *gpu.Context
}

func (q *cardQueue) launch(kernel string, s shape, args ...any) error {
	f, ok := q.code.kernels[kernel]
	if !ok {
		return fmt.Errorf("no kernel %s", kernel)
	}
	l := gpu.Launch{Grid: [3]int{s.grid, s.rows}, Block: [3]int{s.block}, Shared: s.shared, Stream: q.stream}
	return q.ctx.Launch(f, l, gpu.Args(args...))
}

func (q *cardQueue) fill(m gpu.Memory, v byte) error { return q.ctx.Memset(m, v, q.stream) }

// upload waits for the default stream too: a copy from pageable memory returns
// when the driver has the data, which may be before the device has, and the
// default stream does not order it before work of ours.
func (q *cardQueue) upload(dst gpu.Memory, src []byte) error {
	if err := q.ctx.Upload(dst, src); err != nil {
		return err
	}
	return q.ctx.SyncStream(gpu.Stream{})
}

func (q *cardQueue) download(dst []byte, src gpu.Memory) error { return q.ctx.Download(dst, src) }

func (q *cardQueue) mark(i int) error { return q.ctx.Record(q.marks[i], q.stream) }

func (q *cardQueue) stage(name string) error {
	if q.stages == nil {
		return nil
	}
	return q.stages.begin(q.ctx, q.stream, name)
}

// stageLog times the stages of a call by events, for profiles.
type stageLog struct {
	mu     sync.Mutex
	names  []string
	events []gpu.Event
}

func (l *stageLog) begin(c *gpu.Context, s gpu.Stream, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, err := c.NewEvent()
	if err != nil {
		return err
	}
	l.names, l.events = append(l.names, name), append(l.events, e)
	return c.Record(e, s)
}

// StageTime is the device time of the stages of one name.
type StageTime struct {
	Stage string
	Took  time.Duration
	Count int
}

// take sums the times between the events and releases them.
func (l *stageLog) take(c *gpu.Context) ([]StageTime, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []StageTime
	at := map[string]int{}
	for i := range len(l.events) - 1 {
		d, err := c.Elapsed(l.events[i], l.events[i+1])
		if err != nil {
			return nil, err
		}
		if _, ok := at[l.names[i]]; !ok {
			at[l.names[i]] = len(out)
			out = append(out, StageTime{Stage: l.names[i]})
		}
		s := &out[at[l.names[i]]]
		s.Took += d
		s.Count++
	}
	for _, e := range l.events {
		if err := c.CloseEvent(e); err != nil {
			return nil, err
		}
	}
	l.names, l.events = nil, nil
	return out, nil
}
