package timeline

import (
	"sort"
	"strconv"
)

func number(k int) string { return "#" + strconv.Itoa(k) }

// row is a line of the picture: spans of one sort that do not overlap.
type row struct {
	title string
	order string // by which rows are sorted
	spans []*Span
}

// group is where a span belongs: first the devices with their exclusive use,
// what they prove, their keys and their idle times, then the processor.
func (l *Log) group(s *Span) (order, title string) {
	device := s.Device
	if n := l.Names[device]; n != "" {
		device = n + " " + s.Device
	}
	switch {
	case s.What == Idle:
		return "0 " + device + " 3", "idle: " + device
	case s.What == Region:
		return "0 " + device + " 0", "exclusive: " + device
	case s.What == Key:
		return "0 " + device + " 2", "key: " + device
	case s.Device != "" && s.Name == "prove":
		return "0 " + device + " 1", "prove: " + device
	}
	stages := map[string]string{"decode": "1", "synthesise": "2", "prove": "3", "check": "4", "join": "5"}
	return "1 " + stages[s.Name], s.Name
}

// rows puts the spans into as few rows as they need side by side.
func (l *Log) rows() []row {
	groups := map[string][]row{}
	titles := map[string]string{}
	for _, s := range l.Spans {
		order, title := l.group(s)
		titles[order] = title
		groups[order] = place(groups[order], s)
	}
	var out []row
	for order, lanes := range groups {
		for i, r := range lanes {
			r.title, r.order = titles[order], order+" "+strconv.Itoa(1000+i)
			if len(lanes) > 1 {
				r.title += " " + strconv.Itoa(i+1)
			}
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].order < out[j].order })
	return out
}

// place puts a span into the first lane that is free.
func place(lanes []row, s *Span) []row {
	for i := range lanes {
		if last := lanes[i].spans[len(lanes[i].spans)-1]; last.To <= s.From {
			lanes[i].spans = append(lanes[i].spans, s)
			return lanes
		}
	}
	return append(lanes, row{spans: []*Span{s}})
}
