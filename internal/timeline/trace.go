package timeline

import (
	"encoding/json"
	"io"
)

// WriteTrace writes the log in the trace event format that chrome://tracing and
// Perfetto read: one complete event ("X") a span, times in microseconds, one
// thread a row of the picture.
func (l *Log) WriteTrace(w io.Writer) error {
	type item struct {
		Name string         `json:"name"`
		Cat  string         `json:"cat,omitempty"`
		Ph   string         `json:"ph"`
		Ts   float64        `json:"ts"`
		Dur  float64        `json:"dur,omitempty"`
		Pid  int            `json:"pid"`
		Tid  int            `json:"tid"`
		Args map[string]any `json:"args,omitempty"`
	}
	var out struct {
		TraceEvents []item `json:"traceEvents"`
	}
	for i, row := range l.rows() {
		out.TraceEvents = append(out.TraceEvents, item{Name: "thread_name", Ph: "M", Pid: 1, Tid: i + 1, Args: map[string]any{"name": row.title}},
			item{Name: "thread_sort_index", Ph: "M", Pid: 1, Tid: i + 1, Args: map[string]any{"sort_index": i}})
		for _, s := range row.spans {
			out.TraceEvents = append(out.TraceEvents, item{Name: s.label(), Cat: s.What, Ph: "X", Pid: 1, Tid: i + 1,
				Ts: float64(s.From.Nanoseconds()) / 1e3, Dur: float64(s.Took().Nanoseconds()) / 1e3, Args: s.args()})
		}
	}
	return json.NewEncoder(w).Encode(out)
}

func (s *Span) args() map[string]any {
	a := map[string]any{}
	for k, v := range map[string]string{"job": s.Job, "kind": s.Kind, "device": s.Device, "worker": s.Worker, "failed": s.Failed} {
		if v != "" {
			a[k] = v
		}
	}
	if k, ok := s.Partition.Index(); ok {
		a["partition"] = k
	}
	if s.Attempt > 0 {
		a["attempt"] = s.Attempt
	}
	if s.Open {
		a["open"] = true
	}
	return a
}

// label is the short text inside a span.
func (s *Span) label() string {
	if k, ok := s.Partition.Index(); ok {
		return s.Name + " " + number(k)
	}
	return s.Name
}
