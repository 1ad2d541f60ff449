package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"
)

// stateLetters are the states of a partition in the order of the flow, with a
// letter for those who do not see colours.
var stateLetters = []struct{ state, letter string }{
	{"queued", "·"}, {"making", "w"}, {"ready", "r"}, {"proving", "p"}, {"checking", "c"}, {"done", "✓"},
}

// funcs are what the templates may call.
var funcs = template.FuncMap{
	"states": states, "letter": letter, "tip": tip, "short": short, "span": span,
	"size": size, "percent": percent, "clock": clock, "chart": chart,
}

func states() []string {
	var out []string
	for _, s := range stateLetters {
		out = append(out, s.state)
	}
	return out
}

func letter(state string) string {
	for _, s := range stateLetters {
		if s.state == state {
			return s.letter
		}
	}
	return "?"
}

// tip tells all about a partition.
func tip(p Part) string {
	parts := []string{fmt.Sprintf("partition %d: %s", p.Index, p.State)}
	if p.Device != "" && p.State == "proving" {
		parts = append(parts, "on "+p.Device)
	}
	if p.Synthesis > 0 {
		parts = append(parts, "witness "+span(p.Synthesis))
	}
	if p.Prove > 0 {
		parts = append(parts, "proof "+span(p.Prove))
	}
	if p.Tries > 0 {
		parts = append(parts, fmt.Sprintf("%d failed tries", p.Tries))
	}
	return strings.Join(parts, ", ")
}

// short is a time in one or two units, in whole seconds: 7s, 3m 20s, 2h 5m, 4d 1h.
func short(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm %ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh %dm", s/3600, s%3600/60)
	}
	return fmt.Sprintf("%dd %dh", s/86400, s%86400/3600)
}

// span is a measured time; empty for none.
func span(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return short(d)
}

// size is an amount of bytes with a binary unit.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	x, i := float64(n)/unit, 0
	for ; x >= unit && i < 4; i++ {
		x /= unit
	}
	return fmt.Sprintf("%.1f %ciB", x, "KMGTP"[i])
}

func percent(a, b int64) string { return fmt.Sprintf("%d%%", 100*a/max(b, 1)) }

// clock is a time of day in UTC, with the day if it is not today's.
func clock(t time.Time) string {
	if t = t.UTC(); time.Since(t) > 20*time.Hour {
		return t.Format("01-02 15:04")
	}
	return t.Format("15:04:05")
}

// chart draws the jobs that ended in each minute of the last hour. Nothing in it
// comes from outside but numbers.
func chart(list []Minute) template.HTML {
	const width, height, foot = 600.0, 60.0, 12.0
	top := 1
	for _, m := range list {
		top = max(top, m.Completed+m.Failed)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %.0f %.0f" preserveAspectRatio="none" role="img" aria-label="jobs that ended in each minute of the last hour">`, width, height)
	step := width / float64(max(len(list), 1))
	for i, m := range list {
		y := height - foot
		for _, v := range []struct {
			n     int
			class string
		}{{m.Completed, "c"}, {m.Failed, "f"}} {
			if v.n > 0 {
				h := float64(v.n) / float64(top) * (height - foot - 10)
				y -= h
				fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%d</title></rect>`, v.class, float64(i)*step+.5, y, step-1, h, v.n)
			}
		}
	}
	fmt.Fprintf(&b, `<line class="axis" x1="0" x2="%.0f" y1="%.0f" y2="%.0f"/></svg><p class="muted small">jobs that ended in each minute of the last hour, at most %d</p>`, width, height-foot, height-foot, top)
	return template.HTML(b.String()) //nolint:gosec // numbers only
}
