// Package budget says what fits: one ledger for host memory, pinned host memory
// and the memory of every device.
//
// A reservation is made before the memory is taken and given back after it was
// freed. Pinned memory is host memory that cannot move, so it is charged to both
// pools. Limits come from the machine and its cgroups ([Detect]).
//
// Invariants ([Ledger] keeps them by construction, the tests check them):
//
//  1. Used never exceeds the limit of a pool and never falls below zero.
//  2. A reservation is taken whole or not at all.
//  3. A need that no waiting can satisfy is told apart from one that must wait:
//     [Impossible] carries the numbers, [ErrFull] does not last.
//  4. Giving back twice gives back once.
//
// A Ledger has one owner and does no locking.
package budget

import (
	"errors"
	"fmt"
	"sort"
)

// ErrFull means that the need would fit if others gave back what they hold.
var ErrFull = errors.New("memory budget is full")

// Need is memory that one activity takes, in bytes. Device bytes are those of
// the device named by On.
type Need struct {
	Host   Bytes // pageable
	Pinned Bytes // page-locked; counts as host memory too
	Device Bytes
	On     string // device id; empty if Device is 0
}

// Plus adds two needs of one device.
func (n Need) Plus(m Need) Need {
	on := n.On
	if on == "" {
		on = m.On
	}
	return Need{Host: n.Host + m.Host, Pinned: n.Pinned + m.Pinned, Device: n.Device + m.Device, On: on}
}

// Impossible is the error for a need above a pool's limit.
type Impossible struct {
	Pool        string // host memory, pinned memory, or memory of device ID
	Need, Limit Bytes
}

// Error names the pool and both numbers.
func (e *Impossible) Error() string {
	return fmt.Sprintf("needs %v of %s, the limit is %v", e.Need, e.Pool, e.Limit)
}

// Pool is the state of one kind of memory.
type Pool struct {
	Limit, Used, Peak Bytes
}

// Free is what is left.
func (p Pool) Free() Bytes { return p.Limit - p.Used }

// Ledger is the account of all pools. Make it with [New].
type Ledger struct {
	host, pinned Pool
	devices      map[string]*Pool
}

// New makes a ledger with the limits of host memory and of the part of it that
// may be pinned.
func New(host, pinned Bytes) *Ledger {
	return &Ledger{
		host:    Pool{Limit: max(host, 0)},
		pinned:  Pool{Limit: max(min(pinned, host), 0)},
		devices: map[string]*Pool{},
	}
}

// AddDevice opens the pool of a device, or sets the limit of one that is there.
func (l *Ledger) AddDevice(id string, limit Bytes) {
	if p := l.devices[id]; p != nil {
		p.Limit = max(limit, 0)
		return
	}
	l.devices[id] = &Pool{Limit: max(limit, 0)}
}

// Host is the state of host memory.
func (l *Ledger) Host() Pool { return l.host }

// Pinned is the state of pinned memory.
func (l *Ledger) Pinned() Pool { return l.pinned }

// Device is the state of a device's memory; zero for an unknown one.
func (l *Ledger) Device(id string) Pool {
	if p := l.devices[id]; p != nil {
		return *p
	}
	return Pool{}
}

// Devices lists the ids that have a pool, sorted.
func (l *Ledger) Devices() []string {
	out := make([]string, 0, len(l.devices))
	for id := range l.devices {
		out = append(out, id)
	}
	sort.Strings(out)
	return out
}

// Possible tells whether an empty ledger could hold the need. The error is an
// [*Impossible].
func (l *Ledger) Possible(n Need) error {
	return l.each(n, func(pool string, p Pool, need Bytes) error {
		if need > p.Limit || need < 0 {
			return &Impossible{Pool: pool, Need: need, Limit: p.Limit}
		}
		return nil
	})
}

// Fits tells whether the need can be reserved now.
func (l *Ledger) Fits(n Need) bool {
	return l.Possible(n) == nil && l.each(n, func(_ string, p Pool, need Bytes) error {
		if need > p.Free() {
			return ErrFull
		}
		return nil
	}) == nil
}

// Reserve takes the need, whole or not at all. The error is an [*Impossible] or
// [ErrFull].
func (l *Ledger) Reserve(n Need) (*Lease, error) {
	if err := l.Possible(n); err != nil {
		return nil, err
	}
	if !l.Fits(n) {
		return nil, ErrFull
	}
	l.add(n, +1)
	return &Lease{ledger: l, need: n}, nil
}

func (l *Ledger) each(n Need, f func(pool string, p Pool, need Bytes) error) error {
	if err := f("host memory", l.host, sum(n.Host, n.Pinned)); err != nil {
		return err
	}
	if err := f("pinned memory", l.pinned, n.Pinned); err != nil {
		return err
	}
	if n.Device == 0 {
		return nil
	}
	return f("memory of device "+n.On, l.Device(n.On), n.Device)
}

// sum is negative, hence refused, when either part is or when it overflows.
func sum(a, b Bytes) Bytes {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

func (l *Ledger) add(n Need, sign Bytes) {
	charge(&l.host, sign*(n.Host+n.Pinned))
	charge(&l.pinned, sign*n.Pinned)
	if p := l.devices[n.On]; p != nil {
		charge(p, sign*n.Device)
	}
}

func charge(p *Pool, d Bytes) {
	p.Used += d
	p.Peak = max(p.Peak, p.Used)
}

// Lease is a reservation that has been made.
type Lease struct {
	ledger *Ledger
	need   Need
}

// Need is what the lease still holds; zero for nil and after Release.
func (s *Lease) Need() Need {
	if s == nil {
		return Need{}
	}
	return s.need
}

// Shrink gives back all above keep, for example when the witness turned out
// smaller than planned. Pools in which keep is larger stay as they are.
func (s *Lease) Shrink(keep Need) {
	if s == nil {
		return
	}
	give := Need{
		Host:   max(s.need.Host-max(keep.Host, 0), 0),
		Pinned: max(s.need.Pinned-max(keep.Pinned, 0), 0),
		Device: max(s.need.Device-max(keep.Device, 0), 0),
		On:     s.need.On,
	}
	s.ledger.add(give, -1)
	s.need = Need{Host: s.need.Host - give.Host, Pinned: s.need.Pinned - give.Pinned,
		Device: s.need.Device - give.Device, On: s.need.On}
}

// Release gives back everything. It may be called twice, and on nil.
func (s *Lease) Release() { s.Shrink(Need{}) }
