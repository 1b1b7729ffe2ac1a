package mem

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// server is what all machines share. Everything is guarded by mu.
type server struct {
	mu       sync.Mutex
	revision int64 // rises with every change
	lines    map[string]*line
	values   map[string]*value
}

// line is the queue of one name: entries in the order in which they came, the granted ones first.
type line struct {
	entries []*entry
	writes  int64 // how many writers have been granted; kept when the line is empty
}

type entry struct {
	cluster.Entry
	shared bool // its token comes with the grant
	lease  *lease
	news   chan struct{} // closed when it is granted or gone
	ended  chan struct{} // closed when it is gone
	gone   bool
}

type lease struct {
	ttl     time.Duration
	expiry  *time.Timer
	entries map[*entry]string // and the name of its line
	over    bool
}

type value struct {
	cluster.Value
	changed chan struct{} // closed with the next change
}

func newServer() *server {
	return &server{lines: make(map[string]*line), values: make(map[string]*value)}
}

func (s *server) do(op func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	op()
}

func (s *server) newLease(ttl time.Duration) *lease {
	l := &lease{ttl: ttl, entries: make(map[*entry]string)}
	l.expiry = time.AfterFunc(ttl, func() { s.do(func() { s.endLease(l) }) })
	return l
}

// renew reports whether the lease still is.
func (l *lease) renew() bool {
	if !l.over {
		l.expiry.Reset(l.ttl)
	}
	return !l.over
}

func (s *server) endLease(l *lease) {
	l.over = true
	l.expiry.Stop()
	for e, name := range maps.Clone(l.entries) {
		s.remove(name, e)
	}
}

func (s *server) line(name string) *line {
	q := s.lines[name]
	if q == nil {
		q = new(line)
		s.lines[name] = q
	}
	return q
}

// blocked reports whether an entry of this mode would wait behind the others.
func blocked(mode cluster.Mode, before []*entry) bool {
	return slices.ContainsFunc(before, func(e *entry) bool {
		return mode == cluster.Write || e.Mode == cluster.Write
	})
}

func (s *server) add(name string, e *entry) {
	q := s.line(name)
	s.revision++
	if !e.shared {
		e.Token = cluster.Token(s.revision)
	}
	e.lease.entries[e] = name
	q.entries = append(q.entries, e)
	s.grant(q)
}

// grant lets in whoever may enter now.
func (s *server) grant(q *line) {
	for i, e := range q.entries {
		if e.Granted {
			continue
		}
		if blocked(e.Mode, q.entries[:i]) {
			break
		}
		e.Granted = true
		if e.Mode == cluster.Write {
			q.writes++
		}
		if e.shared {
			// Never 0, so that the first reader has a token too.
			e.Token = cluster.Token(q.writes + 1)
		}
		close(e.news)
	}
}

// remove reports whether e was there.
func (s *server) remove(name string, e *entry) bool {
	if e.gone {
		return false
	}
	e.gone = true
	s.revision++
	q := s.line(name)
	q.entries = slices.DeleteFunc(q.entries, func(x *entry) bool { return x == e })
	delete(e.lease.entries, e)
	if !e.Granted {
		close(e.news)
	}
	close(e.ended)
	s.grant(q)
	return true
}

func (s *server) value(name string) *value {
	v := s.values[name]
	if v == nil {
		v = &value{changed: make(chan struct{})}
		s.values[name] = v
	}
	return v
}

func (s *server) setValue(name string, next cluster.Value) {
	s.revision++
	v := s.value(name)
	next.Version = uint64(s.revision)
	v.Value = next
	close(v.changed)
	v.changed = make(chan struct{})
}

func (s *server) deleteValue(name string) {
	if v := s.value(name); v.Version > 0 && !v.Deleted {
		s.setValue(name, cluster.Value{Deleted: true})
	}
}
