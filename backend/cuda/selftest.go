package cuda

import (
	"errors"
	"fmt"
	"time"

	"cuzk/cuda"
)

// Check is one comparison of the self-test.
type Check struct {
	Name string        // kernel family and size
	Took time.Duration // wall clock, the host's reference included
	Err  error         // nil when equal
}

// KernelFact is what the driver's compiler made of a kernel.
type KernelFact struct {
	Kernel    string
	Registers int // a thread
	Local     int // bytes of local memory a thread: stack and spills
	Shared    int // bytes of static shared memory a block
}

// ErrSelfTest is in the error of a device whose kernels do not compute what they
// should: a driver's compiler or the card is at fault, and no proof may be made
// there.
var ErrSelfTest = errors.New("self-test failed")

// selfTestLogN are the transforms of the start-up test. All kernels of whole
// passes occur: those that compute their twiddles need two passes of nine bits.
// The fused kernels of 2^27 points are left to LargeCheck.
var selfTestLogN = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 18}

// SelfTest compares the field and transform kernels with gnark-crypto on edge and
// random inputs. The checks are all run; the error joins the failed ones.
func (d *Device) SelfTest() ([]Check, error) {
	list := fieldChecks()
	for _, logN := range selfTestLogN {
		list = append(list, transformCheck(logN), quotientCheck(logN))
	}
	return d.runChecks(list)
}

// check is a comparison that runs on the owner's thread.
type check struct {
	name string
	run  func(*Device, *cuda.Context) error
}

func (d *Device) runChecks(list []check) ([]Check, error) {
	out := make([]Check, 0, len(list))
	var errs []error
	for _, ch := range list {
		start := time.Now()
		err := d.owner.Do(func(c *cuda.Context) error { return ch.run(d, c) })
		out = append(out, Check{Name: ch.name, Took: time.Since(start), Err: err})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", ch.name, err))
		}
	}
	if len(errs) > 0 {
		return out, fmt.Errorf("%w on %s (%s): %w", ErrSelfTest, d.info.Name, d.info.UUID, errors.Join(errs...))
	}
	return out, nil
}

// Facts lists registers and memory of every kernel of the named modules, which it
// loads.
func (d *Device) Facts(modules ...string) ([]KernelFact, error) {
	byName, err := index()
	if err != nil {
		return nil, err
	}
	var out []KernelFact
	for _, name := range sortedKeys(byName) {
		for _, m := range modules {
			if byName[name] != m {
				continue
			}
			fact, err := d.fact(name)
			if err != nil {
				return nil, err
			}
			out = append(out, fact)
		}
	}
	return out, nil
}

func (d *Device) fact(name string) (KernelFact, error) {
	fact := KernelFact{Kernel: name}
	err := d.owner.Do(func(c *cuda.Context) error {
		f, err := d.kernel(c, name)
		if err != nil {
			return err
		}
		info, err := c.Info(f)
		fact.Registers, fact.Local, fact.Shared = info.Registers, info.Local, info.Shared
		return err
	})
	return fact, err
}

// scoped runs fn with a collection that is released afterwards.
func scoped(c *cuda.Context, fn func(*memories) error) error {
	var mem memories
	err := fn(&mem)
	return errors.Join(err, mem.free(c))
}

// TransformChecks compares transforms and quotient with gnark-crypto at every
// power of two from 2^from to 2^to points; the host's part takes seconds from
// 2^18 on.
func (d *Device) TransformChecks(from, to int) ([]Check, error) {
	var list []check
	for logN := from; logN <= to; logN++ {
		list = append(list, transformCheck(logN), quotientCheck(logN))
	}
	return d.runChecks(list)
}
