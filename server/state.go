package server

import (
	"cuzk"
	"cuzk/budget"
	"cuzk/engine"
)

// StatusView is the engine's state in the admin listener's JSON. Amounts are
// bytes, times milliseconds.
type StatusView struct {
	Build    cuzk.Build   `json:"build"` // what the daemon was built from
	UptimeMs int64        `json:"uptime_ms"`
	Refusing string       `json:"refusing,omitempty"` // why no jobs are accepted
	Draining bool         `json:"draining"`
	Host     PoolView     `json:"host"`
	Pinned   PoolView     `json:"pinned"`
	Spool    PoolView     `json:"spool"` // payloads on disk; limit 0: none
	Unsaved  int          `json:"unsaved"`
	Live     int          `json:"live"` // jobs
	Devices  []DeviceView `json:"devices"`
	Keys     []KeyView    `json:"keys"`
	Kinds    []KindView   `json:"kinds"`
}

// PoolView is a kind of memory.
type PoolView struct {
	Limit int64 `json:"limit"`
	Used  int64 `json:"used"`
	Peak  int64 `json:"peak,omitempty"`
}

// DeviceView is a physical device.
type DeviceView struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Class  string     `json:"class"`
	State  string     `json:"state"` // in-service, reopening, restarting, quarantined, stuck, lost
	Reason string     `json:"reason,omitempty"`
	Memory PoolView   `json:"memory"`
	Work   []WorkView `json:"work"`
}

// WorkView is a proof that a device makes.
type WorkView struct {
	Job       string `json:"job"`
	Kind      string `json:"kind"`
	Partition int    `json:"partition"`
}

// KeyView is a proving key and where it is.
type KeyView struct {
	ID       string         `json:"id"`
	Kind     string         `json:"kind,omitempty"`
	Bytes    int64          `json:"bytes"`
	Tier     string         `json:"tier"` // hot, warm, cold, missing
	Resident []ResidentView `json:"resident"`
}

// ResidentView is a key on a device.
type ResidentView struct {
	Device    string `json:"device"`
	State     string `json:"state"`             // loading, loaded, dropping
	Percent   int    `json:"percent,omitempty"` // while loading
	Bytes     int64  `json:"bytes"`
	Refs      int    `json:"refs"`
	Preloaded bool   `json:"preloaded"`
}

// KindView counts the jobs of a kind.
type KindView struct {
	Name       string `json:"name"`
	Pending    int    `json:"pending"`
	InProgress int    `json:"in_progress"`
	Completed  uint64 `json:"completed"`
	Failed     uint64 `json:"failed"`
	Cancelled  uint64 `json:"cancelled"`
	TimedOut   uint64 `json:"timeout"`
}

func poolView(p budget.Pool) PoolView {
	return PoolView{Limit: int64(p.Limit), Used: int64(p.Used), Peak: int64(p.Peak)}
}

func statusView(st engine.Status, err error) (*StatusView, error) {
	if err != nil {
		return nil, err
	}
	v := &StatusView{Build: cuzk.ThisBuild(), UptimeMs: st.Uptime.Milliseconds(), Refusing: st.Refusing, Draining: st.Draining, Host: poolView(st.Host),
		Pinned: poolView(st.Pinned), Spool: PoolView{Limit: st.SpoolLimit, Used: st.SpoolUsed}, Unsaved: st.Unsaved, Live: st.Live,
		Devices: []DeviceView{}, Keys: keyViews(&st), Kinds: []KindView{}}
	for _, d := range st.Devices {
		row := DeviceView{ID: d.ID, Name: d.Name, Class: string(d.Class), State: string(d.State), Reason: d.Reason, Memory: poolView(d.Pool), Work: []WorkView{}}
		for _, w := range d.Work {
			row.Work = append(row.Work, WorkView{Job: w.Job, Kind: st.KindOf[w.Job], Partition: w.Partition})
		}
		v.Devices = append(v.Devices, row)
	}
	for _, k := range st.Kinds {
		v.Kinds = append(v.Kinds, KindView{k.Name, k.Pending, k.InProgress, k.Completed, k.Failed, k.Cancelled, k.TimedOut})
	}
	return v, nil
}

// keyViews lists the known keys, then those that are only resident.
func keyViews(st *engine.Status) []KeyView {
	out := []KeyView{}
	at := map[string]int{}
	for _, k := range st.Known {
		at[k.ID] = len(out)
		out = append(out, KeyView{ID: k.ID, Kind: k.Kind, Bytes: int64(k.Bytes), Tier: k.Tier, Resident: []ResidentView{}})
	}
	for _, r := range st.View.Keys {
		i, ok := at[r.Key]
		if !ok {
			i = len(out)
			at[r.Key] = i
			out = append(out, KeyView{ID: r.Key, Tier: "cold"})
		}
		if r.State == "loaded" {
			out[i].Tier = "hot"
		}
		out[i].Resident = append(out[i].Resident, ResidentView{Device: r.Device, State: r.State, Percent: st.Loading[[2]string{r.Key, r.Device}],
			Bytes: int64(r.Need.Host + r.Need.Pinned + r.Need.Device), Refs: r.Refs, Preloaded: r.Preloaded})
	}
	return out
}
