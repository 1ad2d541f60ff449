package daemon

import (
	"context"
	"log/slog"
	"sync"

	"cuzk/internal/circuitcache"
	"cuzk/r1cs"
	"cuzk/srs"
)

// once makes a value when it is first asked for. Who asks meanwhile waits; a
// failure is not kept.
type once[T any] struct {
	turn  chan struct{}
	ready bool
	value T
}

func newOnce[T any]() *once[T] { return &once[T]{turn: make(chan struct{}, 1)} }

func (o *once[T]) get(ctx context.Context, make func() (T, error)) (T, error) {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return o.value, ctx.Err()
	}
	if !o.ready {
		v, err := make()
		if err != nil {
			return v, err
		}
		o.value, o.ready = v, true
	}
	return o.value, nil
}

// circuits holds compiled circuits, each compiled or read once. They are small:
// templates, not rows.
type circuits struct {
	dir string
	log *slog.Logger

	mu  sync.Mutex
	all map[srs.ID]*once[*r1cs.Compiled]
}

func newCircuits(dir string, log *slog.Logger) *circuits {
	return &circuits{dir: dir, log: log, all: map[srs.ID]*once[*r1cs.Compiled]{}}
}

func (c *circuits) get(ctx context.Context, id srs.ID) (*r1cs.Compiled, error) {
	c.mu.Lock()
	o := c.all[id]
	if o == nil {
		o = newOnce[*r1cs.Compiled]()
		c.all[id] = o
	}
	c.mu.Unlock()
	return o.get(ctx, func() (*r1cs.Compiled, error) {
		r, err := circuitcache.Get(ctx, c.dir, id)
		if err != nil {
			return nil, err
		}
		if r.Trouble != nil {
			c.log.Warn("circuit cache", "circuit", id.String(), "reason", r.Trouble.Error())
		}
		return r.Compiled, nil
	})
}
