package daemon

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend/cpu"
	"cuzk/budget"
	"cuzk/kind"
	"cuzk/r1cs"
	"cuzk/srs"
)

// planner knows what the proof of a circuit takes.
type planner struct {
	cpu   *cpu.Backend // nil: the processor proves nothing
	accel []Accelerator
}

// work is what one partition of a circuit takes, but for the decoded request.
func (p *planner) work(id srs.ID) budget.Work {
	e, ok := kind.Lookup(id)
	if !ok {
		return budget.Work{}
	}
	n, shape := e.Counts, id.Shape()
	w := budget.Work{Witness: witnessBytes(n), Synth: synthBytes(n)}
	if p.cpu != nil {
		w.CPU = budget.Placement{Able: true,
			Key:   budget.Need{Host: budget.Bytes(p.cpu.KeyBytes(n, shape)) + circuitBytes(e)},
			Prove: budget.Need{Host: budget.Bytes(p.cpu.WorkBytesOf(n, shape))}}
	}
	for _, a := range p.accel {
		need := a.Need(id, n, shape)
		if w.Own == nil {
			w.Own = map[string]budget.Placement{}
		}
		w.Own[a.ID] = need
		w.GPU = largest(w.GPU, need)
	}
	return w
}

// own is the placement of a circuit on one accelerator.
func (p *planner) own(device string, id srs.ID) budget.Placement {
	return p.work(id).Own[device]
}

// largest is a placement that is enough for both.
func largest(a, b budget.Placement) budget.Placement {
	if !a.Able || !b.Able {
		if a.Able {
			return a
		}
		return b
	}
	most := func(x, y budget.Need) budget.Need {
		return budget.Need{Host: max(x.Host, y.Host), Pinned: max(x.Pinned, y.Pinned), Device: max(x.Device, y.Device)}
	}
	return budget.Placement{Able: true, Key: most(a.Key, b.Key), Prove: most(a.Prove, b.Prove)}
}

// witnessBytes is what [r1cs.Assignment.Bytes] will be.
func witnessBytes(n r1cs.Counts) budget.Bytes {
	return budget.Bytes(8*((n.Bits+63)/64) + fr.Bytes*(n.Aux-n.Bits+n.Inputs))
}

// synthBytes is more than the witness of any circuit was measured to take while
// it is made: at most as much again, and a small part of large ones, which are
// written in place.
func synthBytes(n r1cs.Counts) budget.Bytes {
	w := witnessBytes(n)
	return budget.MiB + min(w, 128*budget.MiB) + w/16
}

// circuitBytes is about what a compiled circuit takes: its encoding is dense,
// in memory the same numbers are words.
func circuitBytes(e kind.Entry) budget.Bytes { return 8 * budget.Bytes(e.Bytes) }

// decodedBytes bounds a decoded request with the payload that it was read from:
// elements take what they take in bincode, and less than in JSON, which has 3.6
// characters a byte.
func decodedBytes(payload int64) budget.Bytes { return 2*budget.Bytes(payload) + budget.MiB }
