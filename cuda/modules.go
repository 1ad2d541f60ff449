package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Image is the PTX or cubin of a module.
type Image struct {
	Name string
	Data []byte
}

// ModuleTime is how long the driver took to load a module: milliseconds where its
// cache has it, seconds where it is compiled.
type ModuleTime struct {
	Name string
	Took time.Duration
}

// LoadModules loads modules side by side, each on a thread of its own, and returns
// them in the order of the images, with the time that each took. After an error those
// that were loaded are released.
//
// It is the one place where other threads use the owner's context: the driver allows
// it, and compiling takes seconds a module.
func (c *Context) LoadModules(images []Image) ([]Module, []ModuleTime, error) {
	out, times, errs := make([]Module, len(images)), make([]ModuleTime, len(images)), make([]error, len(images))
	var wg sync.WaitGroup
	for i, m := range images {
		wg.Go(func() {
			start := time.Now()
			out[i], errs[i] = c.loadBeside(m)
			times[i] = ModuleTime{m.Name, time.Since(start)}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, m := range out {
			err = errors.Join(err, c.UnloadModule(m))
		}
		return nil, times, err
	}
	return out, times, nil
}

// loadBeside loads a module on another thread than the owner's.
func (c *Context) loadBeside(m Image) (out Module, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.drv.check("cuCtxSetCurrent", c.drv.cuCtxSetCurrent(c.h)); err != nil {
		return out, fmt.Errorf("module %s: %w", m.Name, err)
	}
	out, err = c.LoadModule(m.Name, m.Data)
	return out, errors.Join(err, c.drv.check("cuCtxSetCurrent", c.drv.cuCtxSetCurrent(0)))
}
