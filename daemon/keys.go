package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"cuzk/budget"
	"cuzk/engine"
	"cuzk/groth16"
	"cuzk/job"
	"cuzk/kind"
	"cuzk/srs"
)

// keys opens key files and tells which there are. It implements [engine.Keys].
type keys struct {
	dir     string
	opt     srs.Options
	planner *planner
	log     *slog.Logger

	mu     sync.Mutex
	open   map[srs.ID]*openKey
	list   []engine.Key
	listed time.Time
	behind bool // a look at the directory is under way
}

// openKey is one mapped key and who uses it.
type openKey struct {
	turn     chan struct{} // held while the file is opened or closed
	key      *srs.Key      // nil while nobody uses it
	users    int
	prepared *groth16.PreparedKey // of the key that was opened last
}

func newKeys(o Options, p *planner, cache string) *keys {
	k := &keys{dir: o.ParamsDir, planner: p, log: o.Log, open: map[srs.ID]*openKey{}}
	k.opt = srs.Options{Insecure: o.Insecure, CacheDir: cache, Warn: func(err error) { o.Log.Warn("key files", "reason", err.Error()) }}
	k.list, k.listed = k.look(), time.Now()
	return k
}

func (k *keys) entry(id srs.ID) *openKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	o := k.open[id]
	if o == nil {
		o = &openKey{turn: make(chan struct{}, 1)}
		k.open[id] = o
	}
	return o
}

// use opens a key or joins those who have it open. The first opening of a
// published key reads the whole file; progress, which may be nil, hears of that.
func (k *keys) use(ctx context.Context, id srs.ID, progress func(done, total budget.Bytes)) (*srs.Key, error) {
	o := k.entry(id)
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if o.key == nil {
		if err := k.openFile(ctx, id, o, progress); err != nil {
			return nil, keyError(err, k.opt.Insecure)
		}
	}
	o.users++
	return o.key, nil
}

func (k *keys) openFile(ctx context.Context, id srs.ID, o *openKey, progress func(done, total budget.Bytes)) error {
	opt := k.opt
	if progress != nil {
		opt.Progress = func(_ string, done, total int64) { progress(budget.Bytes(done), budget.Bytes(total)) }
	}
	key, err := srs.Open(ctx, k.dir, id.String(), opt)
	if err != nil {
		return err
	}
	prepared, err := groth16.Prepare(key.VK)
	if err != nil {
		return errors.Join(err, key.Close())
	}
	if !key.Official {
		k.log.Warn("INSECURE key in use: everybody knows its secrets, proofs made with it convince nobody", "circuit", id.String(), "file", key.Path)
	}
	k.mu.Lock()
	o.key, o.prepared = key, prepared
	k.mu.Unlock()
	return nil
}

// drop ends one use.
func (k *keys) drop(id srs.ID) error {
	o := k.entry(id)
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if o.users--; o.users > 0 {
		return nil
	}
	key := o.key
	k.mu.Lock()
	o.key = nil
	k.mu.Unlock()
	return key.Close()
}

// verifier is the verifying part of the key that devices used last.
func (k *keys) verifier(id srs.ID) (*groth16.PreparedKey, error) {
	o := k.entry(id)
	k.mu.Lock()
	defer k.mu.Unlock()
	if o.prepared == nil {
		return nil, fmt.Errorf("no key of %s was opened yet", id)
	}
	return o.prepared, nil
}

// keyError gives errors about key files their class and says what helps.
func keyError(err error, insecure bool) error {
	switch {
	case errors.Is(err, srs.ErrKeyMissing):
		return engine.Fail(job.NoKey, fmt.Errorf("%w; \"cuzk params fetch\" gets published keys, params_dir says where keys are", err))
	case errors.Is(err, srs.ErrNotOfficial) && !insecure:
		return engine.Fail(job.NoKey, fmt.Errorf("%w; start the daemon with --insecure in tests, never for real proofs", err))
	case errors.Is(err, srs.ErrNotOfficial), errors.Is(err, srs.ErrCorrupt):
		return engine.Fail(job.NoKey, fmt.Errorf("%w; \"cuzk params check\" tells which keys are good", err))
	}
	return err
}

// lookEvery is how old the list of keys may be before it is made anew.
const lookEvery = 5 * time.Second

// List implements [engine.Keys]. It answers at once: an old list is renewed
// behind the caller's back, since a directory may be on a slow disk.
func (k *keys) List() []engine.Key {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.listed) > lookEvery && !k.behind {
		k.behind = true
		go k.renew()
	}
	out := append([]engine.Key(nil), k.list...)
	for i := range out {
		if id, err := kind.ParseCircuit(out[i].ID); err == nil && k.open[id] != nil && k.open[id].key != nil {
			out[i].Tier = tierWarm
		}
	}
	return out
}

func (k *keys) renew() {
	list := k.look()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list, k.listed, k.behind = list, time.Now(), false
}

// Tiers of a key that no device has.
const (
	tierWarm    = "warm"    // mapped
	tierCold    = "cold"    // on disk
	tierMissing = "missing" // or not what it should be
)

// look lists the keys of published circuits, there or not, and the insecure ones
// that may be used.
func (k *keys) look() []engine.Key {
	opt := k.opt
	opt.Warn = nil
	rows, err := srs.List(k.dir, opt)
	found := map[srs.ID]srs.Row{}
	for _, r := range rows {
		if r.Part == srs.Params && r.Usable() && (k.opt.Insecure || !r.Insecure()) && !found[r.ID].Usable() {
			found[r.ID] = r
		}
	}
	if err != nil && !errors.Is(err, srs.ErrKeyMissing) {
		k.log.Warn("key files", "reason", err.Error())
	}
	var out []engine.Key
	for _, e := range kind.Catalog() {
		_, published := e.ID.Published(srs.Params)
		r, there := found[e.ID]
		w, _ := kind.WireOf(e.ID)
		key := engine.Key{ID: kind.WireID(e.ID), Kind: w.Name, Tier: tierMissing, Bytes: budget.Bytes(e.ID.Shape().ParamsBytes()), Work: k.planner.work(e.ID)}
		if there {
			key.Tier, key.Bytes = tierCold, budget.Bytes(r.Bytes)
		}
		if there || published {
			out = append(out, key)
		}
	}
	return out
}

// KnownKeys lists the keys as a daemon with these options would see them, and
// opens none.
func KnownKeys(o Options) []engine.Key {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return newKeys(o, &planner{}, o.StateDir).List()
}
