package inspect

import (
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// span is a wait or a hold that is over: a piece of a lane.
type span struct {
	lane     uint64 // as in call
	from, to time.Duration
	mode     drawbridge.Mode
	kind     spanKind
	pc       uintptr
	labels   labels
	key      any
}

type spanKind uint8

const (
	waitedSpan spanKind = iota + 1
	gaveUpSpan
	held
	readers // there were plain readers inside
)

func (k spanKind) String() string {
	switch k {
	case waitedSpan:
		return "waited"
	case gaveUpSpan:
		return "gave up"
	case held:
		return "held"
	case readers:
		return "readers inside"
	}
	return "unknown"
}

func waitSpan(k drawbridge.EventKind) spanKind {
	if k == drawbridge.GaveUp {
		return gaveUpSpan
	}
	return waitedSpan
}

// spans keeps the last of them: few for a lock that nobody looks at, more from
// the moment on that somebody does.
type spans struct {
	ring    []span
	added   uint64
	viewers int
}

const (
	spansKept   = 32
	spansViewed = 2048
)

func (s *spans) add(sp span) {
	if s.ring == nil {
		s.ring = make([]span, spansKept)
	}
	s.ring[s.added%uint64(len(s.ring))] = sp
	s.added++
}

// view counts a viewer in (1) or out (-1).
func (s *spans) view(n int) {
	s.viewers += n
	size := spansKept
	if s.viewers > 0 {
		size = spansViewed
	}
	if size == len(s.ring) {
		return
	}
	kept, _ := s.after(0)
	kept = kept[max(0, len(kept)-size):]
	s.ring = make([]span, size)
	for i := range kept {
		s.ring[(s.added-uint64(len(kept)-i))%uint64(size)] = kept[i]
	}
}

// after returns a copy of the spans from the n'th on, and how many of them are
// gone.
func (s *spans) after(n uint64) (l []span, gone uint64) {
	oldest := s.added - min(s.added, uint64(len(s.ring)))
	if n < oldest {
		n, gone = oldest, oldest-n
	}
	for ; n < s.added; n++ {
		if sp := s.ring[n%uint64(len(s.ring))]; sp.kind != 0 {
			l = append(l, sp)
		}
	}
	return l, gone
}
