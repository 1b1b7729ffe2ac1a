//go:build explore

package drawbridge

import (
	"context"
	"fmt"
	"strings"

	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
)

// What follows shows a lock to the explorer. Nothing of it is a step.

func init() {
	sched.Core.Fingerprint = func(lock any, h *sched.Hash) { coreOf(lock).fingerprint(h) }
	sched.Core.Idle = func(lock any) string { return coreOf(lock).leftovers() }
	sched.Core.Leftover = func(_ any, actor int) bool {
		waiters.begin()
		return waiters.live[actor] != nil
	}
	sched.Core.Window = func(lock any) bool { return coreOf(lock).state.v&competing != 0 }
	sched.Core.Flags = func(lock any) string { return coreOf(lock).wrongFlags() }
	sched.Core.Picture = func(lock any) (p sched.Picture) {
		sched.Outside(func() {
			c := coreOf(lock)
			s := c.snapshot()
			p = sched.Picture{
				Readers: s.Readers, Writer: s.Writer, Upgradable: s.Upgradable,
				WaitingReaders: s.WaitingReaders, WaitingWriters: s.WaitingWriters,
			}
		})
		return p
	}
	sched.Core.Start = func(lock any, name string) bool {
		start, ok := starts[name]
		if ok {
			start(coreOf(lock), lock)
		}
		return ok
	}
}

// starts are the states in which a program may begin.
var starts = map[string]func(*core, any){
	"":     func(*core, any) {},
	"used": func(c *core, lock any) { c.state.v = free },
	"striped": func(c *core, _ any) {
		c.state.v = free | striped
		c.stripes.v = newStripes()
	},
	"hot": func(c *core, _ any) { c.state.v = free | heatLimit }, // the next reader makes it striped
	"watched": func(c *core, lock any) {
		c.state.v = free
		c.watchFor(lock)
	},
	"striped-watched": func(c *core, lock any) {
		c.state.v = free | striped
		c.stripes.v = newStripes()
		c.watchFor(lock)
	},
}

// watchFor gives c, the core of lock, an observer.
func (c *core) watchFor(lock any) {
	k := call{lock: lock}
	if rw, ok := lock.(*RWMutex); ok {
		k.policy = rw.Policy
	} else {
		k.policy = lock.(*Mutex).Policy
	}
	c.observe(&k, ignoring{})
}

type ignoring struct{}

func (ignoring) Observe(context.Context, Event) {}

func coreOf(lock any) *core {
	switch l := lock.(type) {
	case *RWMutex:
		return &l.core
	case *Mutex:
		return &l.core
	}
	panic(fmt.Sprintf("explore: no core in %T", lock))
}

// fingerprint adds everything that an actor could find out about c, with the
// waiters in use and those that wait to be used again. TestFingerprintIsComplete
// fails when a field is added to one of the types and not looked at here.
func (c *core) fingerprint(h *sched.Hash) {
	h.Add(c.state.v)
	h.Add(c.mu.held)
	if c.stripes.v != nil {
		for i := range *c.stripes.v {
			h.Add(uint64((*c.stripes.v)[i].readers.v))
		}
	}
	if q := c.q; q == nil {
		h.Add(0)
	} else {
		q.fingerprint(h)
	}
	waiters.begin()
	for i, w := range waiters.live {
		if w != nil {
			h.Add(uint64(i))
			w.fingerprint(h)
		}
	}
	for _, v := range waiters.free {
		v.(*waiter).fingerprint(h)
	}
	queues.begin()
	for _, v := range queues.free {
		q := *v.(*queue)
		q.policy = 0 // set for each use
		q.fingerprint(h)
	}
}

func (q *queue) fingerprint(h *sched.Hash) {
	h.Add(uint64(q.policy) + 1)
	h.Bool(q.readers.last != nil && q.readers.last.ticket == q.tickets) // others may join under FIFO
	for _, l := range []*list{&q.readers, &q.upgradables, &q.writers} {
		h.Add(uint64(l.len))
		for w := l.first; w != nil; w = w.next {
			h.Add(who(w))
		}
		h.Add(who(l.last))
	}
	h.Add(who(q.drainer))
	// The numbers of events and holds go up for ever and decide nothing.
	h.Bool(q.watch.seq != 0)
	h.Add(uint64(len(q.watch.observers)))
	h.Bool(q.watch.kept)
	h.Bool(q.watch.writer.hold != 0)
	h.Bool(q.watch.upgradable.hold != 0)
}

func (w *waiter) fingerprint(h *sched.Hash) {
	h.Add(who(w.next))
	h.Add(who(w.prev))
	h.Add(who(w.after))
	h.Add(uint64(w.mode))
	h.Bool(w.upgrade)
	h.Bool(w.granted.v)
	h.Bool(w.signalled)
	h.Add(w.rank())
	if w.used() {
		h.Add(uint64(w.since))
	}
	h.Bool(w.seq != 0)
	h.Add(uint64(w.calls))
	h.Add(uint64(w.taken.v))
	h.Bool(w.crowd)
	h.Bool(w.cancellable)
	h.Bool(w.over())
	for _, s := range w.sleepers {
		h.Add(2 + uint64(s.owner.Index))
		h.Bool(s.asleep)
		h.Add(uint64(s.wakes))
	}
}

// rank is how many of the waiters in use came before w: tickets are only
// compared.
func (w *waiter) rank() (n uint64) {
	if !w.used() {
		return 0
	}
	for _, v := range waiters.live {
		if v != nil && v.ticket < w.ticket {
			n++
		}
	}
	return n
}

func who(w *waiter) uint64 {
	switch {
	case w == nil:
		return 0
	case !w.used():
		return 1
	}
	return 2 + uint64(w.sleepers[0].owner.Index)
}

// leftovers says what an unused lock still has.
func (c *core) leftovers() string {
	var left []string
	if s := c.state.v &^ (ready | watched | heatMask); s&^striped != 0 && s&striped == 0 {
		left = append(left, "the state is "+describeState(c.state.v))
	} else if c.stripes.v != nil {
		n := int64(int32(readers(s)))
		for i := range *c.stripes.v {
			n += (*c.stripes.v)[i].readers.v
		}
		if n != 0 || s&^(striped|readersInside) != 0 {
			left = append(left, fmt.Sprintf("%d readers are counted and the state is %s", n, describeState(c.state.v)))
		}
	}
	if c.mu.held != 0 {
		left = append(left, "somebody is in the internal mutex")
	}
	if q := c.q; q != nil {
		if q.readers.len+q.upgradables.len+q.writers.len != 0 || q.drainer != nil {
			left = append(left, "somebody is in the queue")
		} else if !q.watch.needed() {
			left = append(left, "the queue is still there")
		}
	}
	waiters.begin()
	for _, w := range waiters.live {
		if w != nil {
			left = append(left, w.sleepers[0].owner.Name+"'s waiter was not given back")
		}
	}
	return strings.Join(left, ", ")
}

// wrongFlags says which flags do not agree with who waits, at a moment in which
// nobody is in mu. A flag too many keeps the fast paths out for nothing, which
// nothing else would show.
func (c *core) wrongFlags() string {
	q := c.q
	if q == nil {
		q = &nobody
	}
	is := c.state.v & (closed | writersWait | readersWait)
	var want uint64
	if c.state.v&writing != 0 || q.drainer != nil {
		want |= closed
	}
	if q.writers.len > 0 {
		want |= writersWait
	}
	if q.readers.len+q.upgradables.len > 0 {
		want |= readersWait
	}
	if is == want {
		return ""
	}
	return fmt.Sprintf("the flags of the state are %s, and by the queue %s", describeFlags(is), describeFlags(want))
}

func describeFlags(flags uint64) string {
	if flags == 0 {
		return "none"
	}
	return describeState(flags)
}

// describeState writes a state in words.
func describeState(state uint64) string {
	var parts []string
	if n := readers(state); n != 0 {
		parts = append(parts, fmt.Sprintf("readers=%d", int32(n)))
	}
	for _, f := range []struct {
		bit  uint64
		name string
	}{
		{writing, "writing"}, {closed, "closed"}, {writersWait, "writersWait"}, {readersWait, "readersWait"},
		{upgradable, "upgradable"}, {competing, "competing"}, {watched, "watched"}, {striped, "striped"},
	} {
		if state&f.bit != 0 {
			parts = append(parts, f.name)
		}
	}
	if n := state & heatMask; n != 0 {
		parts = append(parts, fmt.Sprintf("heat=%d", n/heatStep))
	}
	if n := state & windowMask; n != 0 {
		parts = append(parts, fmt.Sprintf("window=%d", n/windowStep))
	}
	switch {
	case state == 0:
		return "unused"
	case len(parts) == 0:
		return "free"
	}
	return strings.Join(parts, "+")
}
