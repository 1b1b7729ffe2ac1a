package inspect

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// traceEvent is an event of the Chrome trace-event format, which
// ui.perfetto.dev and chrome://tracing open.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat"`
	Phase string         `json:"ph"`
	Time  float64        `json:"ts"` // microseconds
	Dur   *float64       `json:"dur,omitempty"`
	PID   uint64         `json:"pid"` // a lock is a process,
	TID   int            `json:"tid"` // a lane is a thread
	Args  map[string]any `json:"args,omitempty"`
}

// writeTrace writes the spans and the calls under way of locks. Time 0 is the
// beginning of the oldest of them.
func writeTrace(w io.Writer, locks []Lock) error {
	b := bufio.NewWriter(w)
	b.WriteString(`{"displayTimeUnit":"ms","traceEvents":[` + "\n")
	enc := json.NewEncoder(b) // ends each event with a line break
	first := true
	write := func(e traceEvent) {
		if !first {
			b.WriteByte(',')
		}
		first = false
		enc.Encode(e)
	}
	var begin time.Duration // before the report
	lanes := make([][]lane, len(locks))
	for i := range locks {
		lanes[i] = lanesOf(&locks[i])
		for _, l := range lanes[i] {
			begin = max(begin, l.spans[0].Began)
		}
	}
	micro := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	for i := range locks {
		l := &locks[i]
		write(traceEvent{Name: "process_name", Cat: "__metadata", Phase: "M", PID: l.ID, Args: map[string]any{"name": l.Name}})
		for n, lane := range lanes[i] {
			write(traceEvent{Name: "thread_name", Cat: "__metadata", Phase: "M", PID: l.ID, TID: n + 1, Args: map[string]any{"name": lane.name(n)}})
			for _, s := range lane.spans {
				dur := micro(s.Began - s.Ended)
				e := traceEvent{Name: s.Kind + " to " + s.Mode, Cat: s.Kind, Phase: "X", PID: l.ID, TID: n + 1,
					Time: micro(begin - s.Began), Dur: &dur, Args: map[string]any{}}
				if s.Kind == readers.String() {
					e.Name = s.Kind
				}
				for _, l := range s.Labels {
					e.Args["label "+l.Key] = l.Value
				}
				if s.Site != nil {
					e.Args["site"] = fmt.Sprintf("%s (%s:%d)", s.Site.Function, s.Site.File, s.Site.Line)
				}
				if s.Key != "" {
					e.Args["key"] = s.Key
				}
				write(e)
			}
		}
	}
	b.WriteString("]}\n")
	return b.Flush()
}

// lane has spans that do not overlap.
type lane struct {
	spans   []Span
	readers bool
}

func (l lane) name(n int) string {
	if l.readers {
		return "plain readers"
	}
	return fmt.Sprintf("lane %d", n+1)
}

// lanesOf puts the spans of l, and its calls under way, in as few lanes as
// hold them: a hold after its wait, others in the first lane that is free when
// they begin. Plain readers
// have one lane together, the first.
func lanesOf(l *Lock) []lane {
	spans := slices.Clone(l.Spans)
	now := func(calls []Call, kind string) {
		for _, c := range calls {
			s := Span{Call: c.ID, Kind: kind, Mode: c.Mode, Began: c.InMode, Key: c.Key, Labels: c.Labels}
			if len(c.Stack) > 0 {
				s.Site = &c.Stack[0]
			}
			spans = append(spans, s)
		}
	}
	now(l.Holders, "holds")
	now(l.Waiters, "waits")
	slices.SortStableFunc(spans, func(a, b Span) int { return int(b.Began - a.Began) })

	var lanes []lane
	plain := lane{readers: true}
	for _, s := range spans {
		if s.Kind == readers.String() {
			plain.spans = append(plain.spans, s)
			continue
		}
		last := func(l lane) Span { return l.spans[len(l.spans)-1] }
		free := slices.IndexFunc(lanes, func(l lane) bool { return last(l).Call == s.Call })
		if free < 0 {
			free = slices.IndexFunc(lanes, func(l lane) bool { return last(l).Ended >= s.Began })
		}
		if free < 0 {
			free = len(lanes)
			lanes = append(lanes, lane{})
		}
		lanes[free].spans = append(lanes[free].spans, s)
	}
	if len(plain.spans) > 0 {
		lanes = append([]lane{plain}, lanes...)
	}
	return lanes
}
