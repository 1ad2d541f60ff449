package cuda

import (
	gpu "cuzk/cuda"
	"cuzk/kernels"
)

// LoadAll is LoadTimed without the times.
func (b *Backend) LoadAll() error { _, err := b.LoadTimed(); return err }

// LoadTimed loads every kernel of proofs and keys on the device, which makes the driver
// compile those that are not in its cache. They stay loaded until
// backend and device are closed. The times are those of the modules.
func (b *Backend) LoadTimed() ([]gpu.ModuleTime, error) {
	m, err := b.stand() // loads those of sums
	if err != nil {
		return nil, err
	}
	var times []gpu.ModuleTime
	if c, ok := m.sums.dev.(*card); ok {
		times = append(times, c.code.took...)
	}
	if err := m.close(); err != nil {
		return nil, err
	}
	more, err := b.dev.loadOthers()
	return append(times, more...), err
}

// loadOthers loads all modules but those of sums that are not loaded yet, and but
// that of points, which no proof needs.
func (d *Device) loadOthers() (times []gpu.ModuleTime, err error) {
	names, err := kernels.Names()
	if err != nil {
		return nil, err
	}
	err = d.owner.Do(func(c *gpu.Context) error {
		var images []gpu.Image
		for _, name := range names {
			_, sums := sumModules[name]
			if _, has := d.modules[name]; has || sums || name == pointsModule {
				continue
			}
			ptx, err := kernels.PTX(name)
			if err != nil {
				return err
			}
			images = append(images, gpu.Image{Name: name, Data: ptx})
		}
		list, took, err := c.LoadModules(images)
		for i, m := range list {
			d.modules[images[i].Name] = m
		}
		times = took
		return err
	})
	return times, err
}
