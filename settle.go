package drawbridge

import "time"

// patience is how long a writer takes part in windows. After it, the lock is
// handed to it. The standard library's Mutex uses the same figure.
const patience = time.Millisecond

// change is what a caller does to the state before the queue is looked at.
type change uint8

const (
	nothing          change = iota // somebody came or gave up
	writerLeaves                   // a write hold ends
	writerReads                    // it becomes a read hold
	writerUpgradable               // it becomes an upgradable hold
	upgradableLeaves               // an upgradable hold ends
	readerLeaves                   // a read hold ends
	readerLeft                     // one has ended, by a fast path
)

func (ch change) apply(state uint64) uint64 {
	switch ch {
	case writerLeaves:
		return state &^ writing
	case writerReads:
		return state&^writing + 1
	case writerUpgradable:
		return state&^writing | upgradable
	case upgradableLeaves:
		return state &^ upgradable
	case readerLeaves:
		return state - 1
	}
	return state
}

// leaves returns the change that ends a hold.
func leaves(m Mode) change {
	switch m {
	case Read:
		return readerLeaves
	case Upgradable:
		return upgradableLeaves
	default:
		return writerLeaves
	}
}

// misuse says what was called when there is no hold for ch.
func (ch change) misuse() string {
	switch ch {
	case writerReads:
		return "Downgrade without a write hold"
	case writerUpgradable:
		return "DowngradeToUpgradable without a write hold"
	case upgradableLeaves:
		return "UUnlock without an upgradable hold, or while it waits for its upgrade"
	case readerLeaves:
		return "RUnlock without a read hold"
	default:
		return "Unlock without a write hold"
	}
}

// settle makes change and then everything that follows from it for those who
// wait: who is granted, who closes the door, who is woken to compete. It is
// the one place where any of this is decided, whatever brought it about. The
// new state and the grants are one compare-and-swap; those granted find the
// lock theirs when they wake. The caller has mu and must wake list after it.
//
// Only fast paths change the state meanwhile, so the plan is made for the
// state that was seen and made anew when that has changed. On a striped lock it
// may take two rounds: one closes the door, the next counts who is inside.
//
//go:norace
func (c *core) settle(ch change, list *wakeList) {
	for again := true; again; {
		old := c.state.Load()
		p := plan{c: c, q: c.q, old: old, state: ch.apply(old)}
		if p.q == nil {
			p.q = &nobody
		}
		p.make(ch)
		if c.state.CompareAndSwap(old, p.state) {
			p.carryOut(list)
			ch, again = nothing, p.again
		}
	}
}

// nobody is the queue of a lock that has none.
var nobody queue

// plan is what settle is about to do. Making it changes nothing; the lists are
// changed by carryOut, after the state.
type plan struct {
	c     *core
	q     *queue
	old   uint64
	state uint64 // to be

	readers    int     // how many of the first readers are granted
	upgradable *waiter // granted
	writer     *waiter // granted
	drainer    *waiter // the drainer to be
	competitor *waiter // woken to compete
	again      bool    // settle once more
}

//go:norace
func (p *plan) make(ch change) {
	q := p.q
	p.drainer = q.drainer
	if first := q.writers.first; first == nil || !first.signalled {
		// The writer that was woken to compete has run, or is gone.
		p.endWindow()
	}
	if p.state&writing == 0 {
		if q.drainer == nil {
			p.admit(ch)
		}
		p.drain()
	}
	p.setBits()
}

// admit decides, while no writer holds and nobody drains, who enters and
// which writer takes its turn.
//
//go:norace
func (p *plan) admit(ch change) {
	q := p.q
	writer := q.writers.first
	switch {
	case writer == nil:
		p.admitReaders(nil)
	case q.policy == FIFO:
		p.admitReaders(writer)
		p.drainer = writer
	case q.policy == PreferWriters:
		p.drainer = writer
	case q.policy == PreferReaders:
		// The writer does not close the door; it is granted when the last
		// one leaves.
		p.admitReaders(nil)
		if p.state&(readersInside|upgradable) == 0 {
			p.drainer = writer
		}
	default:
		p.admitBalanced(ch, writer)
	}
}

// admitBalanced decides whether the phase changes: the readers enter when a
// writer has left, not when one gave up or when readers leave, so that each
// phase of readers is paid for by a writer.
//
//go:norace
func (p *plan) admitBalanced(ch change, writer *waiter) {
	left := ch == writerLeaves || ch == writerReads || ch == writerUpgradable
	window := p.state&competing != 0
	if ch != nothing {
		p.state &^= windowMask // the clock is looked at below
	}
	if left || window {
		p.admitReaders(nil)
	}
	switch {
	case !window && ch != writerLeaves, ch != nothing && overdue(writer):
		// Close the door in place, or take the lock if nobody is inside,
		// even if a wake is on its way. There is no window after a downgrade
		// or when the writer before gave up either.
		p.drainer = writer
	case !window:
		p.competitor = writer
	}
}

// overdue reports whether w has waited for longer than patience. A negative
// age comes from comparing clocks in and out of a synctest bubble, and a writer
// that waits across them is not made to wait for more windows.
//
//go:norace
func overdue(w *waiter) bool {
	age := w.since.age()
	return age > patience || age < 0
}

// admitReaders grants the readers and one upgradable reader that came before
// limit, or all of them when it is nil.
//
//go:norace
func (p *plan) admitReaders(limit *waiter) {
	q := p.q
	n := q.readers.len
	if limit != nil {
		n = 0
		for w := q.readers.first; before(w, limit); w = w.next {
			n += int(w.calls)
		}
	}
	p.readers = n
	p.state += uint64(n)
	p.admitUpgradable(limit)
}

//go:norace
func (p *plan) admitUpgradable(limit *waiter) {
	if w := p.q.upgradables.first; p.state&upgradable == 0 && w != nil && (limit == nil || before(w, limit)) {
		p.upgradable = w
		p.state |= upgradable
	}
}

// drain grants the drainer once nobody else is inside.
//
//go:norace
func (p *plan) drain() {
	w := p.drainer
	if w == nil {
		return
	}
	if w.upgrade {
		if !p.emptied() {
			return
		}
		p.state &^= upgradable
	} else {
		// Under FIFO an upgradable reader that came before the writer may
		// still wait, for another upgradable reader alone.
		if p.q.policy == FIFO && before(p.q.upgradables.first, w) {
			p.admitUpgradable(w)
		}
		if p.state&upgradable != 0 || !p.emptied() {
			return
		}
	}
	p.state = p.state&^heatMask | writing
	if p.old&striped != 0 {
		p.state = p.c.unstripe(p.state)
	}
	p.writer, p.drainer = w, nil
}

// emptied reports whether no reader is inside.
//
//go:norace
func (p *plan) emptied() bool {
	if p.old&striped == 0 {
		return readers(p.state) == 0
	}
	if p.old&closed == 0 {
		p.again = true // the count means nothing before the door is closed
		return false
	}
	n := p.c.inside(p.state)
	if n < 0 {
		fatal(readerLeaves.misuse())
	}
	return n == 0
}

// setBits makes the flags agree with the lists as they will be.
//
//go:norace
func (p *plan) setBits() {
	q := p.q

	waiting := q.writers.len
	if w := p.writer; w != nil && w != q.drainer {
		waiting--
	}
	if w := p.drainer; w != nil && w != q.drainer {
		waiting--
	}
	p.set(writersWait, waiting > 0)

	waiting = q.readers.len - p.readers + q.upgradables.len
	if p.upgradable != nil {
		waiting--
	}
	p.set(readersWait, waiting > 0)

	p.set(closed, p.state&writing != 0 || p.drainer != nil)

	if p.competitor != nil {
		p.state = p.state&^windowMask | competing
	} else if first := q.writers.first; first != nil && (p.writer == first || p.drainer == first) {
		p.endWindow()
	}
}

//go:norace
func (p *plan) endWindow() { p.state &^= windowMask | competing }

//go:norace
func (p *plan) set(bit uint64, on bool) {
	if on {
		p.state |= bit
	} else {
		p.state &^= bit
	}
}

// carryOut does to the lists what the state says already.
//
//go:norace
func (p *plan) carryOut(list *wakeList) {
	q := p.q
	for n := p.readers; n > 0; {
		w := q.readers.first
		if n > 1 || list.reader == nil {
			list.reader = w
		}
		n -= int(w.calls)
		q.readers.remove(w)
		q.noteGrant(w)
		list.grant(w)
	}
	if w := p.upgradable; w != nil {
		q.upgradables.remove(w)
		q.noteGrant(w)
		list.grant(w)
	}
	if w := p.writer; w != nil {
		p.c.fold(p.old)
		if w == q.drainer {
			q.drainer = nil
		} else {
			q.writers.remove(w)
		}
		q.noteGrant(w)
		list.grant(w)
	}
	if w := p.drainer; w != q.drainer {
		if w != nil {
			q.writers.remove(w)
		}
		q.drainer = w
	}
	if w := p.competitor; w != nil {
		list.compete(w)
	}
}
