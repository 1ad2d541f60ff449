package telemetry

import (
	"context"

	"cuzk/event"
)

// Sink takes records, in order, from one goroutine.
type Sink interface {
	Take(event.Record)
	// Missed tells of records that were lost because the sinks were too slow.
	Missed(n uint64)
}

// buffer is how many records may wait for the sinks: a batch of mixed jobs makes
// some thousand a second at most, for a moment.
const buffer = 1 << 14

// Consume hands records to the sinks until the context ends, those included
// that the hub remembered before and those that were published until then.
func Consume(ctx context.Context, hub *event.Hub, sinks ...Sink) {
	reader, recent := hub.Subscribe(buffer)
	defer reader.Close()
	for _, r := range recent {
		each(sinks, r)
	}
	var missed uint64
	for {
		select {
		case r := <-reader.C():
			each(sinks, r)
		case <-ctx.Done():
			drain(reader, sinks)
			return
		}
		if m := reader.Missed(); m != missed {
			for _, s := range sinks {
				s.Missed(m - missed)
			}
			missed = m
		}
	}
}

func each(sinks []Sink, r event.Record) {
	for _, s := range sinks {
		s.Take(r)
	}
}

// drain takes what is in the buffer.
func drain(reader *event.Reader, sinks []Sink) {
	for {
		select {
		case r := <-reader.C():
			each(sinks, r)
		default:
			return
		}
	}
}
