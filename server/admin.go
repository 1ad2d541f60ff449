package server

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/job"
)

// The admin listener speaks HTTP:
//
//	GET  /metrics                    Prometheus text
//	GET  /healthz                    200 while the engine answers
//	GET  /readyz                     200 while jobs are accepted; JSON: what can be proved now
//	GET  /status                     the status page of the inherited daemon, JSON
//	GET  /api/status                 all that the engine tells, JSON
//	GET  /api/jobs                   live jobs with their partitions
//	GET  /api/jobs/recent            the latest jobs, ended or not
//	GET  /api/jobs/{id}              one job
//	GET  /api/events                 events as they happen (server-sent events)
//	POST /api/jobs/{id}/cancel
//	POST /api/devices/{id}/return    puts a quarantined device back into service
//
// It has no password: it listens on this machine alone unless told otherwise,
// answers only to names of this machine then, and refuses requests that other
// sites' pages make.
func (s *server) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.serveMetrics)
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("GET /readyz", s.serveReady)
	mux.HandleFunc("GET /status", s.serveOldStatus)
	mux.HandleFunc("GET /api/status", get(func(r *http.Request) (any, error) { return statusView(s.engine.Status(r.Context())) }))
	mux.HandleFunc("GET /api/jobs", get(func(r *http.Request) (any, error) { return jobViews(s.engine.Jobs(r.Context())) }))
	mux.HandleFunc("GET /api/jobs/recent", get(s.recent))
	mux.HandleFunc("GET /api/jobs/{id}", get(func(r *http.Request) (any, error) {
		j, err := s.engine.Job(r.Context(), r.PathValue("id"))
		return jobView(j), err
	}))
	mux.HandleFunc("GET /api/events", s.serveEvents)
	mux.HandleFunc("POST /api/jobs/{id}/cancel", get(func(r *http.Request) (any, error) {
		was, err := s.engine.Cancel(r.Context(), r.PathValue("id"), "cancelled at the admin page")
		return map[string]bool{"was_running": was}, err
	}))
	mux.HandleFunc("POST /api/devices/{id}/return", get(func(r *http.Request) (any, error) {
		return map[string]bool{"returned": true}, s.engine.ReturnDevice(r.Context(), r.PathValue("id"))
	}))
	if s.cfg.Web != nil {
		mux.Handle("/", s.cfg.Web)
	}
	return s.onlyThisMachine(http.NewCrossOriginProtection().Handler(mux))
}

// onlyThisMachine refuses names that are not this machine's while the listener
// is: a foreign name that leads here is an attack on the browser.
func (s *server) onlyThisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := s.admin.Addr().(*net.TCPAddr)
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if local != nil && local.IP.IsLoopback() && !loopback(strings.Trim(host, "[]")) {
			http.Error(w, "unknown host name", http.StatusForbidden)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// get answers with JSON.
func get(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		if err != nil {
			reply(w, codeOf(err), map[string]string{"error": err.Error()})
			return
		}
		reply(w, http.StatusOK, v)
	}
}

func reply(w http.ResponseWriter, code int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(append(raw, '\n')) // the reader may have gone
}

func codeOf(err error) int {
	switch {
	case errors.Is(err, job.ErrNotFound), errors.Is(err, engine.ErrDevice):
		return http.StatusNotFound
	case errors.Is(err, engine.ErrStopping):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func (s *server) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	if s.cfg.Metrics == nil {
		http.Error(w, "this daemon keeps no metrics", http.StatusNotFound)
		return
	}
	text, err := s.cfg.Metrics.Text()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(text))
}

// healthTimeout is how soon a healthy engine answers.
const healthTimeout = 5 * time.Second

func (s *server) serveHealth(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	if err := s.engine.Ping(ctx); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// Ready is the body of /readyz.
type Ready struct {
	Ready   bool        `json:"ready"`
	Reason  string      `json:"reason,omitempty"` // why not
	Devices int         `json:"devices"`          // in service
	Kinds   []KindReady `json:"kinds"`
}

// KindReady tells whether a kind can be proved now.
type KindReady struct {
	Kind   string   `json:"kind"`
	Loaded []string `json:"loaded"` // its keys that are resident
	Keys   []string `json:"keys"`   // its keys that are there
}

func (s *server) serveReady(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	st, err := s.engine.Status(ctx)
	if err != nil {
		reply(w, http.StatusServiceUnavailable, Ready{Reason: err.Error()})
		return
	}
	v := ready(&st)
	code := http.StatusOK
	if !v.Ready {
		code = http.StatusServiceUnavailable
	}
	reply(w, code, v)
}

func ready(st *engine.Status) Ready {
	v := Ready{Reason: st.Refusing, Kinds: []KindReady{}}
	for _, d := range st.Devices {
		if d.State == sched.InService {
			v.Devices++
		}
	}
	if v.Devices == 0 && v.Reason == "" {
		v.Reason = "no device is in service"
	}
	v.Ready = v.Reason == ""
	at := map[string]int{}
	for _, k := range st.Known {
		i, ok := at[k.Kind]
		if !ok {
			i = len(v.Kinds)
			at[k.Kind] = i
			v.Kinds = append(v.Kinds, KindReady{Kind: k.Kind, Loaded: []string{}, Keys: []string{}})
		}
		row := &v.Kinds[i]
		if k.Tier != "missing" {
			row.Keys = append(row.Keys, k.ID)
		}
		for _, r := range st.View.Keys {
			if r.Key == k.ID && r.State == "loaded" {
				row.Loaded = append(row.Loaded, k.ID)
				break
			}
		}
	}
	return v
}

func (s *server) recent(r *http.Request) (any, error) {
	js, err := s.engine.Recent(r.Context(), 200)
	out := make([]JobView, 0, len(js))
	for _, j := range js {
		out = append(out, jobView(engine.JobStatus{Job: j}))
	}
	return out, err
}

// serveEvents sends the remembered events and then each as it happens.
func (s *server) serveEvents(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Events == nil {
		http.Error(w, "this daemon keeps no events", http.StatusNotFound)
		return
	}
	rd, past := s.cfg.Events.Subscribe(4096)
	defer rd.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out, flush := json.NewEncoder(w), http.NewResponseController(w)
	for i := 0; ; i++ {
		var rec any
		if i < len(past) {
			rec = past[i]
		} else {
			if i == len(past) && flush.Flush() != nil {
				return
			}
			next, err := rd.Next(r.Context())
			if err != nil {
				return
			}
			rec = next
		}
		if _, err := w.Write([]byte("data: ")); err != nil || out.Encode(rec) != nil {
			return
		}
		if _, err := w.Write([]byte("\n")); err != nil || i >= len(past) && flush.Flush() != nil {
			return
		}
	}
}
