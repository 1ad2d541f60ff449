package cuda

import (
	"fmt"

	gpu "cuzk/cuda"
	"cuzk/kernels"
)

// LoadAll loads every kernel that is used on the device, which makes the driver
// compile those that are not in its cache. They stay loaded until backend and device
// are closed.
func (b *Backend) LoadAll() error {
	m, err := b.stand() // loads those of sums
	if err != nil {
		return err
	}
	if err := m.close(); err != nil {
		return err
	}
	names, err := kernels.Names()
	if err != nil {
		return err
	}
	return b.dev.owner.Do(func(c *gpu.Context) error {
		for _, name := range names {
			if _, sums := sumModules[name]; sums {
				continue
			}
			if _, err := b.dev.module(c, name); err != nil {
				return fmt.Errorf("module %s: %w", name, err)
			}
		}
		return nil
	})
}
