package fake

import (
	"time"

	"cuzk/budget"
	"cuzk/engine"
	"cuzk/job"
)

// Kinds are fakes of the four real kinds, with their names, numbers, classes,
// partitions and about their memory, that take times in the proportions of the
// real ones: one partition of a 32 GiB PoRep takes unit.
func Kinds(unit time.Duration) []*Kind {
	work := func(witness, key, prove budget.Bytes) budget.Work {
		return budget.Work{Decoded: 64 * budget.MiB, Synth: 64 * budget.MiB, Witness: witness,
			CPU: budget.Placement{Able: true, Key: budget.Need{Host: 64 * budget.MiB}, Prove: budget.Need{Host: 4 * budget.GiB}},
			GPU: budget.Placement{Able: true, Key: budget.Need{Device: key}, Prove: budget.Need{Device: prove}}}
	}
	return []*Kind{
		{ID: "porep-c2", Wire: 1, Priority: job.Normal, Key: "porep-32g", Parts: 10, Synthesise: unit / 4, Check: unit / 100,
			Work: work(80*budget.MiB, 45*budget.GiB, 12*budget.GiB)},
		{ID: "snap-update", Wire: 2, Priority: job.Normal, Key: "snap-32g", Parts: 16, Synthesise: unit / 4, Check: unit / 100,
			Work: work(80*budget.MiB, 27*budget.GiB, 8*budget.GiB)},
		{ID: "window-post", Wire: 3, Priority: job.High, Key: "wpost-32g", Parts: 1, Synthesise: unit, Check: unit / 100,
			Work: work(4*budget.GiB, 57*budget.GiB, 16*budget.GiB)},
		{ID: "winning-post", Wire: 4, Priority: job.Critical, Key: "winning-32g", Parts: 1, Synthesise: unit / 50, Check: unit / 100,
			Work: work(110*budget.MiB, 180*budget.MiB, 500*budget.MiB)},
	}
}

// Engines turns fakes into what an engine's configuration wants.
func Engines(ks []*Kind) []engine.Kind {
	out := make([]engine.Kind, len(ks))
	for i, k := range ks {
		out[i] = k
	}
	return out
}

// Keys are the proving keys of kinds, all of them on disk.
type Keys []*Kind

// List implements [engine.Keys].
func (ks Keys) List() []engine.Key {
	var out []engine.Key
	for _, k := range ks {
		out = append(out, engine.Key{ID: k.Key, Kind: k.ID, Bytes: k.Work.GPU.Key.Device, Tier: "cold", Work: k.Work})
	}
	return out
}
