package timeline

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"math"
	"strings"
	"time"
)

// Measures of the picture, in pixels.
const (
	leftSide  = 250
	topSide   = 46
	rowHeight = 20
	barHeight = 16
	letter    = 6.2 // width of a letter of 10 pixels
	// titleLength is how many letters fit before the bars.
	titleLength = 38
	// MaxSpans is how many spans a picture may hold; a browser shows no more.
	MaxSpans = 20_000
)

// WriteSVG draws the log, width pixels wide, as one file without outside
// resources. A job has one colour; overlapping regions have a red frame; hovering
// over a span tells all about it.
func (l *Log) WriteSVG(w io.Writer, width int) error {
	if len(l.Spans) > MaxSpans {
		return fmt.Errorf("%d spans are more than a picture holds (%d): choose a job, or the Chrome trace", len(l.Spans), MaxSpans)
	}
	rows := l.rows()
	p := &picture{w: bufio.NewWriter(w), width: max(width, leftSide+100), length: max(l.Length, time.Millisecond), bad: l.overlapping()}
	p.head(topSide+rowHeight*len(rows)+10, l)
	p.axis(len(rows))
	for i, r := range rows {
		p.row(i, r)
	}
	p.printf("</svg>\n")
	return p.w.Flush()
}

// overlapping is the set of spans that are part of an overlap.
func (l *Log) overlapping() map[*Span]bool {
	out := map[*Span]bool{}
	for _, o := range l.overlaps() {
		out[o.A], out[o.B] = true, true
	}
	return out
}

type picture struct {
	w      *bufio.Writer
	width  int
	length time.Duration
	bad    map[*Span]bool
}

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

// x is where a time is.
func (p *picture) x(t time.Duration) float64 {
	return leftSide + float64(t)/float64(p.length)*float64(p.width-leftSide-10)
}

func (p *picture) head(height int, l *Log) {
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="10">`+"\n",
		p.width, height, p.width, height)
	p.printf(`<style>.r{fill:#8882}.t{fill:#333}.g{stroke:#8885}.bad{stroke:#d00;stroke-width:2.5}.open{stroke:#333;stroke-dasharray:3 2}.fail{stroke:#d00;stroke-dasharray:2 2;stroke-width:2}` +
		`.idle{fill:#bbb}@media(prefers-color-scheme:dark){svg{background:#181818}.t{fill:#ddd}.idle{fill:#555}}</style>` + "\n")
	title := fmt.Sprintf("%d records, %s", l.Lines, clock(l.Length))
	if !l.Start.IsZero() {
		title += ", from " + l.Start.UTC().Format(time.RFC3339)
	}
	p.printf(`<text class="t" x="8" y="16" font-size="12">%s</text>`+"\n", escape(title))
}

// axis draws ticks at round times.
func (p *picture) axis(rows int) {
	step := tick(p.length)
	for t := time.Duration(0); t >= 0 && t <= p.length; t += step { // a sum that overflows ends it too
		x := p.x(t)
		p.printf(`<line class="g" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="t" x="%.1f" y="%d">%s</text>`+"\n",
			x, x, topSide-8, topSide+rowHeight*rows, x+2, topSide-10, t.Round(time.Millisecond))
	}
}

// tick is a round time of which about ten fit.
func tick(length time.Duration) time.Duration {
	raw := float64(length) / 10
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*unit >= raw {
			return time.Duration(max(m*unit, 1))
		}
	}
	return length
}

func (p *picture) row(i int, r row) {
	y := topSide + rowHeight*i
	p.printf(`<rect class="r" x="%d" y="%d" width="%d" height="%d"/><text class="t" x="8" y="%d">%s</text>`+"\n",
		leftSide, y, p.width-leftSide-10, barHeight, y+12, escape(cut(r.title, titleLength)))
	for _, s := range r.spans {
		p.span(y, s)
	}
}

func (p *picture) span(y int, s *Span) {
	x, w := p.x(s.From), max(p.x(s.To)-p.x(s.From), 0.7)
	class, fill := "", fmt.Sprintf(` fill="%s"`, colour(s.Job))
	switch {
	case s.What == Idle:
		class, fill = "idle", ""
	case p.bad[s]:
		class = "bad"
	case s.Failed != "":
		class = "fail"
	case s.Open:
		class = "open"
	}
	tip := s.String()
	if s.Failed != "" {
		tip += ", failed: " + s.Failed
	}
	if p.bad[s] {
		tip += ", OVERLAPS with another exclusive region of this device"
	}
	p.printf(`<g><title>%s</title><rect class="%s" x="%.2f" y="%d" width="%.2f" height="%d"%s/>`, escape(tip), class, x, y, w, barHeight, fill)
	if label := s.label(); float64(len(label))*letter < w-4 {
		p.printf(`<text x="%.1f" y="%d" fill="#111">%s</text>`, x+3, y+12, escape(label))
	}
	p.printf("</g>\n")
}

// escape makes a text fit for XML, which has no place for control characters.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?")))
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n-1] + "…"
}

// colours are light enough for black text on them.
var colours = []string{"#8ecae6", "#ffb703", "#90be6d", "#f4a6a0", "#cdb4db", "#f9dc5c", "#80cfa9", "#e0aaff", "#a3bffa", "#ffc49b"}

// colour is the colour of a job.
func colour(job string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(job))
	return colours[h.Sum32()%uint32(len(colours))]
}

// Only keeps the spans of one job, and those of no job.
func (l *Log) Only(job string) *Log {
	c := *l
	c.Spans, c.certain = nil, nil
	for _, s := range l.Spans {
		if s.Job == job || s.Job == "" {
			c.Spans = append(c.Spans, s)
		}
	}
	for _, s := range l.certain {
		if s.Job == job {
			c.certain = append(c.certain, s)
		}
	}
	return &c
}
