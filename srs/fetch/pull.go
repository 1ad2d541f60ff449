package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Outcomes of one request that decide what happens next.
var (
	errNoRanges = errors.New("the gateway does not serve ranges")
	errRefused  = errors.New("the gateway does not serve this file")
	errSize     = errors.New("the gateway serves a file of another size")
	errStalled  = errors.New("no data came")
)

// source is one gateway during one download.
type source struct {
	d   *download
	url string
}

// from downloads what is missing from one gateway. Without ranges it takes the
// file as one stream.
func (d *download) from(ctx context.Context, gateway string) error {
	s := &source{d: d, url: strings.TrimRight(gateway, "/") + "/" + d.row.Published.CID}
	err := s.ranges(ctx)
	if errors.Is(err, errNoRanges) {
		return s.stream(ctx)
	}
	return err
}

// ranges runs the connections until no part is left. The first part decides
// whether the gateway is any good, so it is taken alone.
func (s *source) ranges(ctx context.Context) error {
	if err := s.worker(ctx, 1); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for range s.d.o.Parallel {
		g.Go(func() error { return s.worker(ctx, -1) })
	}
	return g.Wait()
}

// worker takes parts, at most n of them if n is not negative.
func (s *source) worker(ctx context.Context, n int) error {
	for ; n != 0; n-- {
		k, ok := s.d.take()
		if !ok {
			return nil
		}
		if err := s.part(ctx, k); err != nil {
			s.d.put(k)
			return err
		}
	}
	return nil
}

// part downloads one part, going on where a connection ended.
func (s *source) part(ctx context.Context, k int) error {
	start, end := s.d.span(k)
	from := start
	err := s.persist(ctx, func() (int64, error) {
		n, err := s.ranged(ctx, from, end)
		from += n
		return n, err
	})
	if err != nil {
		s.d.meter.add(start - from) // the part is to be done again
		return err
	}
	return s.d.finish(k)
}

// ranged asks for a range and writes it. It returns how much it wrote.
func (s *source) ranged(ctx context.Context, from, to int64) (int64, error) {
	body, err := s.open(ctx, fmt.Sprintf("bytes=%d-%d", from, to-1), func(r *http.Response) error {
		return s.rangeAnswer(r, from, to)
	})
	if err != nil {
		return 0, err
	}
	defer body.Close()
	return s.write(body, from, to)
}

// stream downloads the whole file at once. A stream that is cut begins again at
// zero, and counts as progress only once it has come further than before.
func (s *source) stream(ctx context.Context) error {
	best := s.d.prefix()
	s.d.meter.set(best)
	return s.persist(ctx, func() (int64, error) {
		pos, err := s.whole(ctx, best)
		gain := max(pos-best, 0)
		best += gain
		return gain, err
	})
}

// whole asks for the file, passes over what is there and writes the rest. It
// returns how far it came.
func (s *source) whole(ctx context.Context, skip int64) (int64, error) {
	body, err := s.open(ctx, "", s.wholeAnswer)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	if n, err := io.CopyN(io.Discard, body, skip); err != nil {
		return n, body.why(err)
	}
	pos := skip
	for pos < s.d.row.Want {
		k := int(pos / s.d.notes.Part)
		_, end := s.d.span(k)
		n, err := s.write(body, pos, end)
		if pos += n; err != nil {
			return pos, err
		}
		if err := s.d.finish(k); err != nil {
			return pos, err
		}
	}
	return pos, nil
}

// write copies the body to its place in the file.
func (s *source) write(body *body, from, to int64) (int64, error) {
	buf := make([]byte, min(to-from, 256<<10))
	pos := from
	for pos < to {
		n, err := body.Read(buf[:min(int64(len(buf)), to-pos)])
		if n > 0 {
			if _, err := s.d.file.WriteAt(buf[:n], pos); err != nil {
				return pos - from, fmt.Errorf("%w: %w", errDisk, err)
			}
			pos += int64(n)
			s.d.meter.add(int64(n))
		}
		if err != nil && pos < to {
			return pos - from, body.why(unexpected(err))
		}
	}
	return pos - from, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// persist repeats a request until it has all, or has failed so often in a row
// without progress that the gateway is given up.
func (s *source) persist(ctx context.Context, try func() (int64, error)) error {
	for tries := 1; ; tries++ {
		n, err := try()
		if n > 0 {
			tries = 1
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errNoRanges), errors.Is(err, errRefused), errors.Is(err, errSize), errors.Is(err, errDisk):
			return err
		}
		if tries >= s.d.o.Retries {
			return fmt.Errorf("given up after %d tries without progress: %w", tries, err)
		}
		if err := pause(ctx, s.d.o.wait(tries, err)); err != nil {
			return err
		}
	}
}

// wait is how long to wait after the given number of failures: doubled each
// time, or what the gateway asks for.
func (o *Options) wait(tries int, err error) time.Duration {
	w := o.Backoff << min(tries-1, 10)
	var busy *busyError
	if errors.As(err, &busy) {
		w = max(w, busy.after)
	}
	return min(w, max(maxBackoff, o.Backoff))
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open sends a request and judges the answer. The body ends with an error when
// no byte comes for [Options.Stall].
func (s *source) open(ctx context.Context, ranges string, judge func(*http.Response) error) (*body, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	b := &body{ctx: ctx, cancel: cancel, stall: s.d.o.Stall}
	b.alarm = time.AfterFunc(2*b.stall, func() { cancel(fmt.Errorf("%w for %v", errStalled, b.stall)) })
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	if ranges != "" {
		req.Header.Set("Range", ranges)
	}
	resp, err := s.d.o.Client.Do(req)
	if err != nil {
		err = b.why(err)
		b.Close()
		return nil, err
	}
	b.r = resp.Body
	if err := judge(resp); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// body is an answer's body with an alarm.
type body struct {
	r      io.ReadCloser // nil until the answer came
	ctx    context.Context
	cancel context.CancelCauseFunc
	alarm  *time.Timer
	stall  time.Duration
}

// Read puts the alarm off with every byte.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if n > 0 {
		b.alarm.Reset(b.stall)
	}
	return n, err
}

// why prefers what cancelled the request to what that led to.
func (b *body) why(err error) error {
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	return err
}

// Close ends the request.
func (b *body) Close() {
	b.alarm.Stop()
	b.cancel(nil)
	if b.r != nil {
		b.r.Close() //nolint:errcheck // nothing was written to it
	}
}

// busyError is an answer after which the same gateway may be asked again.
type busyError struct {
	status string
	after  time.Duration // that the gateway asks to wait; 0 if it does not
}

// Error names the status.
func (e *busyError) Error() string { return "the gateway answers " + e.status }

// refusal classes an answer that is no success.
func refusal(r *http.Response) error {
	switch c := r.StatusCode; {
	case c >= 500, c == http.StatusTooManyRequests, c == http.StatusRequestTimeout:
		after, _ := strconv.Atoi(r.Header.Get("Retry-After"))
		return &busyError{r.Status, time.Duration(max(after, 0)) * time.Second}
	}
	return fmt.Errorf("%w: it answers %s", errRefused, r.Status)
}

// rangeAnswer wants exactly the range that was asked for, of a file of the
// right size.
func (s *source) rangeAnswer(r *http.Response, from, to int64) error {
	switch r.StatusCode {
	case http.StatusPartialContent:
		want := fmt.Sprintf("bytes %d-%d/%d", from, to-1, s.d.row.Want)
		got := r.Header.Get("Content-Range")
		if got != want && got != fmt.Sprintf("bytes %d-%d/*", from, to-1) {
			return fmt.Errorf("%w: range %q instead of %q", errSize, got, want)
		}
		return nil
	case http.StatusOK:
		if err := s.wholeAnswer(r); err != nil {
			return err
		}
		if from == 0 && to == s.d.row.Want {
			return nil
		}
		return errNoRanges
	case http.StatusRequestedRangeNotSatisfiable:
		return fmt.Errorf("%w: it answers %s", errSize, r.Status)
	}
	return refusal(r)
}

// wholeAnswer wants the whole file, of the right size where it is told.
func (s *source) wholeAnswer(r *http.Response) error {
	if r.StatusCode != http.StatusOK {
		return refusal(r)
	}
	if r.ContentLength >= 0 && r.ContentLength != s.d.row.Want {
		return fmt.Errorf("%w: %d bytes instead of %d", errSize, r.ContentLength, s.d.row.Want)
	}
	return nil
}
