package proving

import (
	"context"
	"sync"
)

// Beside runs a check of what is proved beside the proofs. The check begins when
// prove calls ready, which is best done when the first witness is there: until
// then the processor has nothing to spare. When the check fails, the context of
// prove ends. Its error counts before that of prove, which may only follow from
// it, so prove's result may be used only if Beside returns nil.
func Beside(ctx context.Context, check func(context.Context) error, prove func(ctx context.Context, ready func()) error) error {
	begin, failed := make(chan struct{}), make(chan error, 1)
	ready := sync.OnceFunc(func() { close(begin) })
	pctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-begin
		err := check(ctx)
		if err != nil {
			cancel()
		}
		failed <- err
	}()
	err := func() error {
		defer ready()
		return prove(pctx, ready)
	}()
	if wrong := <-failed; wrong != nil {
		return wrong
	}
	return err
}

// locked makes a watch that several goroutines may tell.
func (w Watch) locked() Watch {
	var mu sync.Mutex
	return Watch{
		Progress: func(stage string, done float64) {
			mu.Lock()
			defer mu.Unlock()
			w.Report(stage, done)
		},
		Ended: func(s Stage) {
			mu.Lock()
			defer mu.Unlock()
			if w.Ended != nil {
				w.Ended(s)
			}
		},
	}
}
