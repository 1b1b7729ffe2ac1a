package drawbridge

// queue is who waits for a lock. A lock has one only while somebody waits or
// observes; core.mu guards it.
type queue struct {
	policy Policy

	readers     list // kept out by the door
	upgradables list // kept out by the door or by another upgradable reader
	writers     list // all but the drainer

	// drainer is the writer or the upgrade that has closed the door and waits
	// for those inside to leave. It is in no list.
	drainer *waiter

	tickets uint64 // given out so far

	watch watch
}

var queues = pool{New: func() any { return new(queue) }}

// idle reports whether q has nothing to keep.
//
//go:norace
func (q *queue) idle() bool {
	return q.readers.len+q.upgradables.len+q.writers.len == 0 && q.drainer == nil && !q.watch.needed()
}

// add puts w where it waits in its turn.
//
//go:norace
func (q *queue) add(w *waiter) {
	q.tickets++
	w.ticket = q.tickets
	q.list(w.mode).pushBack(w)
}

// addUpgrade makes w the drainer. It passes the queue: a writer that was
// draining goes back to its place, the first.
//
//go:norace
func (q *queue) addUpgrade(w *waiter) {
	q.tickets++
	w.ticket = q.tickets
	if q.drainer != nil {
		q.writers.pushFront(q.drainer)
	}
	q.drainer = w
}

// remove takes out a waiter that has not been granted.
//
//go:norace
func (q *queue) remove(w *waiter) {
	if q.drainer == w {
		q.drainer = nil
	} else {
		q.list(w.mode).remove(w)
	}
}

//go:norace
func (q *queue) list(m Mode) *list {
	switch m {
	case Read:
		return &q.readers
	case Upgradable:
		return &q.upgradables
	default:
		return &q.writers
	}
}

// before reports whether a came before b. Nobody comes before somebody.
//
//go:norace
func before(a, b *waiter) bool {
	return a != nil && (b == nil || a.ticket < b.ticket)
}
