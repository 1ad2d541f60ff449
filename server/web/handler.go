package web

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"
)

//go:embed page.html style.css app.js
var files embed.FS

// sections are the parts of the page that are updated, by their template and id.
var sections = []string{"head", "jobs", "devices", "memory", "queues", "keys", "history", "faults"}

// policy forbids everything that the page does not need.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// Times and limits of the stream.
const (
	every      = time.Second      // between two looks at the source
	beat       = 10 * time.Second // between two messages at most
	slow       = 20 * time.Second // a reader that takes longer for a message is cut off
	patience   = 5 * time.Second  // for the source
	maxReaders = 64
)

type handler struct {
	source Source
	pages  *template.Template
	slots  chan struct{}

	mu   sync.Mutex // one look at a time
	at   time.Time
	last map[string]string // section to HTML
}

// New makes the page's handler: / is the page, /web/ what belongs to it. All
// links are relative, so a proxy may put it below another path.
func New(s Source) http.Handler {
	h := &handler{source: s, pages: template.Must(template.New("").Funcs(funcs).ParseFS(files, "page.html")), slots: make(chan struct{}, maxReaders)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.page)
	mux.HandleFunc("GET /web/stream", h.stream)
	mux.HandleFunc("GET /web/style.css", h.file("style.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /web/app.js", h.file("app.js", "text/javascript; charset=utf-8"))
	return guarded(mux)
}

func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func (h *handler) file(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		raw, err := files.ReadFile(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(raw) // the reader may have gone
	}
}

// page renders the whole page.
func (h *handler) page(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	s, err := h.source.Snapshot(ctx)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	var b bytes.Buffer
	if err := h.pages.ExecuteTemplate(&b, "page", s); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// look renders the sections, or takes those of a moment ago.
func (h *handler) look(ctx context.Context) (map[string]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last != nil && time.Since(h.at) < every*9/10 {
		return h.last, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := h.source.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, name := range sections {
		var b bytes.Buffer
		if err := h.pages.ExecuteTemplate(&b, name, s); err != nil {
			return nil, err
		}
		out[name] = b.String()
	}
	h.last, h.at = out, time.Now()
	return out, nil
}

// stream sends what changes until the reader goes away.
func (h *handler) stream(w http.ResponseWriter, r *http.Request) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy's buffer would hold the stream back
	out := http.NewResponseController(w)
	seen := map[string]string{}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var sent time.Time
	for {
		now, err := h.look(r.Context())
		if err != nil {
			now = map[string]string{"head": failure(err)}
		}
		news := changed(seen, now)
		if len(news) > 0 || time.Since(sent) >= beat {
			if err := send(out, w, news); err != nil {
				return
			}
			sent = time.Now()
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

func failure(err error) string {
	return `<p class="alarm">` + template.HTMLEscapeString(err.Error()) + `</p>`
}

// changed lists the sections that differ from what was sent, and notes them.
func changed(seen, now map[string]string) map[string]string {
	news := map[string]string{}
	for id, html := range now {
		if seen[id] != html {
			news[id], seen[id] = html, html
		}
	}
	return news
}

// send writes one message.
func send(out *http.ResponseController, w http.ResponseWriter, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// Not every connection knows deadlines; those of net/http do.
	_ = out.SetWriteDeadline(time.Now().Add(slow))
	if _, err := fmt.Fprintf(w, "data: %s\n\n", raw); err != nil {
		return err
	}
	return out.Flush()
}
