package inspect

import (
	"runtime"
	"slices"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// order is in which order locks are taken: a graph with an edge for each lock
// that was taken while another was held. A cycle in it can become a deadlock if
// its edges can be there at the same time.
type order struct {
	from    map[lockID]map[lockID][]*edge
	writers map[lockID][]*edge // the last few that took a lock to write, beside nothing
	edges   int
	grown   map[lockID]time.Time // when an edge was added from a lock for the first time
	seen    map[uint64]seenTimes // goroutines

	steps int // of the search under way

	began     time.Time
	snapshots int
	spent     time.Duration // on them
}

// edge is a lock that was taken while another was held.
type edge struct {
	holds, takes *taken
	at           time.Time
	live         map[uint64]presence // the goroutines at that moment, nil if nobody looked
}

type seenTimes struct{ first, last time.Time }

const (
	maxEdges     = 50_000 // or goroutines, or written locks: then all begins anew
	edgesOfPair  = 16     // the last ones
	maxCycle     = 6      // locks
	maxSteps     = 5_000  // of a search, which is given up then
	maxSnapshots = 2_000  // of all goroutines, each of which stops the world
	fewEnough    = 500    // goroutines for a snapshot that no cycle asks for
)

func newOrder() *order {
	return &order{from: make(map[lockID]map[lockID][]*edge), writers: make(map[lockID][]*edge), grown: make(map[lockID]time.Time), seen: make(map[uint64]seenTimes), began: time.Now()}
}

// take adds what t takes beside the locks in t.gates, and returns the cycles
// that this closes.
func (o *order) take(t *taken) (found []Misuse) {
	if max(o.edges, len(o.grown), len(o.seen), len(o.writers)) >= maxEdges {
		began, snapshots, spent := o.began, o.snapshots, o.spent
		*o = *newOrder()
		o.began, o.snapshots, o.spent = began, snapshots, spent
	}
	now := time.Now()
	times := o.seen[t.goroutine]
	if times.first.IsZero() {
		times.first = now
	}
	times.last = now
	o.seen[t.goroutine] = times
	if t.mode == drawbridge.Write {
		o.addWriter(t, now)
	}
	for _, h := range t.gates {
		if h.lockID == t.lockID || h.many && t.many && h.lock == t.lock {
			continue
		}
		e := &edge{holds: h, takes: t, at: now}
		if !o.add(e) {
			continue
		}
		o.steps = 0
		if cycle := o.search([]*edge{e}); cycle != nil {
			m := Misuse{Kind: OrderInversion}
			for _, e := range cycle {
				m.Steps = append(m.Steps, e.holds.step(false), e.takes.step(true))
			}
			found = append(found, m)
		}
	}
	return found
}

// add adds e unless there is one like it, and reports whether it did.
func (o *order) add(e *edge) bool {
	a, b := e.holds.lockID, e.takes.lockID
	to := o.from[a]
	if to == nil {
		to = make(map[lockID][]*edge)
		o.from[a] = to
	}
	back := o.from[b] != nil // a cycle is possible at all
	if i := slices.IndexFunc(to[b], e.like); i < 0 {
		o.grown[a] = e.at
	} else {
		if old := to[b][i]; !back || old.live != nil && o.grown[b].Before(old.at) {
			return false
		}
		// It was added when nobody looked, or before the goroutines were
		// there that go on from b; now it matters who is there.
		to[b] = slices.Delete(to[b], i, i+1)
		o.edges--
	}
	if back || runtime.NumGoroutine() <= fewEnough {
		e.live = o.whoIsThere(e.at)
	}
	if len(to[b]) >= edgesOfPair {
		to[b] = slices.Delete(to[b], 0, 1)
		o.edges--
	}
	to[b] = append(to[b], e)
	o.edges++
	return true
}

// whoIsThere returns the goroutines, or nil if too much was spent on that: a
// tenth of the time, after the first second of it.
func (o *order) whoIsThere(now time.Time) map[uint64]presence {
	if o.snapshots >= maxSnapshots || o.spent > time.Second+now.Sub(o.began)/10 {
		return nil
	}
	o.snapshots++
	live := liveGoroutines()
	o.spent += time.Since(now)
	return live
}

// like reports whether other adds nothing to e.
func (e *edge) like(other *edge) bool {
	return e.takes.goroutine == other.takes.goroutine && e.holds.mode == other.holds.mode && e.takes.mode == other.takes.mode &&
		slices.EqualFunc(e.takes.gates, other.takes.gates, func(a, b *taken) bool { return a.lockID == b.lockID && a.mode == b.mode })
}

// search looks for a way from the last edge of path back to the first, all of
// whose edges can be there at once.
func (o *order) search(path []*edge) []*edge {
	first, last := path[0], path[len(path)-1]
	for next, edges := range o.from[last.takes.lockID] {
		for _, e := range edges {
			if o.steps++; o.steps > maxSteps {
				return nil
			}
			if !o.together(path, e) || !o.blocks(last, e) {
				continue
			}
			if next == first.holds.lockID {
				if o.blocks(e, first) {
					return append(slices.Clone(path), e)
				}
				continue
			}
			if len(path) < maxCycle-1 && !slices.ContainsFunc(path, func(p *edge) bool { return p.holds.lockID == next }) {
				if cycle := o.search(append(slices.Clone(path), e)); cycle != nil {
					return cycle
				}
			}
		}
	}
	return nil
}

// blocks reports whether what a takes waits for what b holds, the same lock:
// because the modes exclude one another, or because a writer can wait between
// two readers.
func (o *order) blocks(a, b *edge) bool {
	if excludes(a.takes.mode, b.holds.mode) {
		return true
	}
	if policyOf(a.takes.lock) == drawbridge.PreferReaders.String() {
		return false
	}
	return slices.ContainsFunc(o.writers[a.takes.lockID], func(w *edge) bool { return o.together([]*edge{a, b}, w) })
}

// addWriter remembers who writes a lock, the last few of them.
func (o *order) addWriter(t *taken, now time.Time) {
	const kept = 4
	l := o.writers[t.lockID]
	if i := slices.IndexFunc(l, func(w *edge) bool { return w.takes.goroutine == t.goroutine }); i >= 0 {
		l[i].at, l[i].takes = now, t
		return
	}
	if len(l) == kept {
		l = slices.Delete(l, 0, 1)
	}
	o.writers[t.lockID] = append(l, &edge{holds: t, takes: t, at: now})
}

// together reports whether e can be there at the same time as each edge of
// path: made by other goroutines, with no lock that keeps the two apart, and
// neither goroutine began after the other's edge nor ended before it. By the
// context of a scoped hold an edge can be of two goroutines; then it counts when
// the one that holds was there, who has started the other.
func (o *order) together(path []*edge, e *edge) bool {
	for _, p := range path {
		if p.takes.goroutine == e.takes.goroutine || p.holds.goroutine == e.takes.goroutine ||
			p.takes.goroutine == e.holds.goroutine || p.holds.goroutine == e.holds.goroutine || gated(p.takes, e.takes) ||
			!o.alive(p.holds.goroutine, e) || !o.alive(e.holds.goroutine, p) {
			return false
		}
	}
	return true
}

// alive reports whether goroutine g was there when e was made. A goroutine tells
// that it has ended before it has: if it ran at that moment, and was started by
// the one that made e, that one may have awaited it. Then it must have been seen
// later.
func (o *order) alive(g uint64, e *edge) bool {
	times := o.seen[g]
	if e.live == nil {
		return !times.first.After(e.at) && !times.last.Before(e.at)
	}
	p, there := e.live[g]
	if !there || !p.runs || times.last.After(e.at) {
		return there
	}
	for by := p.by; by != 0; by = e.live[by].by {
		if by == e.takes.goroutine || by == e.holds.goroutine {
			return false
		}
	}
	return true
}
