package event

import (
	"context"
	"sync"
)

// Hub numbers records, keeps the latest and hands every record to each reader.
// The zero value is ready to use and keeps no history; see [NewHub].
type Hub struct {
	mu      sync.Mutex
	seq     uint64
	keep    int
	recent  []Record // ring, oldest at head once full
	head    int
	readers map[*Reader]struct{}
}

// NewHub makes a hub that remembers the last keep records.
func NewHub(keep int) *Hub { return &Hub{keep: max(keep, 0)} }

// Publish numbers the record and hands it on. A reader whose buffer is full
// misses it and can see that from the gap in Seq.
func (h *Hub) Publish(r Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	r.Seq = h.seq
	h.remember(r)
	for rd := range h.readers {
		select {
		case rd.c <- r:
		default:
			rd.missed++
		}
	}
}

func (h *Hub) remember(r Record) {
	switch {
	case h.keep == 0:
	case len(h.recent) < h.keep:
		h.recent = append(h.recent, r)
	default:
		h.recent[h.head] = r
		h.head = (h.head + 1) % h.keep
	}
}

// Recent returns the remembered records, oldest first.
func (h *Hub) Recent() []Record {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.history()
}

func (h *Hub) history() []Record {
	out := make([]Record, 0, len(h.recent))
	out = append(out, h.recent[h.head:]...)
	return append(out, h.recent[:h.head]...)
}

// Reader receives records from the moment that it was made.
type Reader struct {
	hub    *Hub
	c      chan Record
	missed uint64
}

// Subscribe makes a reader with room for buffer records, and returns the
// remembered ones before it: together they have no gap and no doubles. Close
// the reader after use.
func (h *Hub) Subscribe(buffer int) (*Reader, []Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &Reader{hub: h, c: make(chan Record, max(buffer, 1))}
	if h.readers == nil {
		h.readers = map[*Reader]struct{}{}
	}
	h.readers[r] = struct{}{}
	return r, h.history()
}

// Next waits for a record. It fails only with the context's error.
func (r *Reader) Next(ctx context.Context) (Record, error) {
	select {
	case rec := <-r.c:
		return rec, nil
	case <-ctx.Done():
		return Record{}, ctx.Err()
	}
}

// C is the channel behind Next, for use in a select. It is never closed.
func (r *Reader) C() <-chan Record { return r.c }

// Missed counts the records that found the buffer full.
func (r *Reader) Missed() uint64 {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	return r.missed
}

// Close ends the subscription. It may be called twice.
func (r *Reader) Close() {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	delete(r.hub.readers, r)
}
