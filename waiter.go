package drawbridge

import "time"

// waiter is one call in the queue of a lock, or a crowd: calls to read that
// cannot give up wait together, and are let in and woken by one step each.
//
// Its plain fields are guarded by the lock's mu, except that the caller may read
// what a grant wrote once it has seen granted, and that the next of a granted
// waiter belongs to the one who wakes it.
//
// In a long queue each waiter comes from memory and not from a cache. It has two
// cache lines: this one for those who decide, parking for those who wake.
type waiter struct {
	next, prev *waiter // in its list; once granted, next is in a wakeList
	after      *waiter // whose wake this one passes on

	// granted is set by the one who changed the state for this waiter: from
	// then on the waiter owns the lock. It is never unset while the waiter
	// is in use.
	granted flag

	// signalled: a wake is on its way and has not been taken yet. Nobody
	// sends a second one meanwhile.
	signalled bool

	upgrade bool // the caller holds upgradably and wants to write
	crowd   bool // others may join
	mode    Mode

	calls int32   // that wait here
	taken counter // of a crowd that was granted: by how many of them

	ticket uint64 // order of arrival, among all waiters of the lock
	since  moment // when it came, if anybody will want to know
	seq    uint64 // of the grant, on an observed lock; of a crowd, the first one's

	parking
}

// waiters are used again: a wait allocates nothing.
//
// A waiter may travel between testing/synctest bubbles in this pool, so it
// keeps nothing that belongs to one. A channel would: used outside the bubble
// that made it, it ends the process. The list inside a sync.Cond does not.
var waiters = pool{New: func() any { return new(waiter) }}

//go:noinline
//go:norace
func newWaiter(m Mode) *waiter {
	w := waiters.Get().(*waiter)
	w.mode, w.calls = m, 1
	w.joined()
	return w
}

// waited is how long w has waited. It is 0 if nobody wanted to know when w came,
// and somebody began to observe meanwhile.
//
//go:norace
func (w *waiter) waited() time.Duration {
	if w.since == 0 {
		return 0
	}
	return w.since.age()
}

// leave ends the use of w by one of its calls and returns how many have left
// before. No wake may be on its way to that call.
//
//go:norace
func (w *waiter) leave() (before int32) {
	if w.calls == 1 {
		w.free()
		return 0
	}
	return w.leaveCrowd()
}

// free delivers the wake that w was given to pass on and gives w back.
//
//go:norace
func (w *waiter) free() {
	if after := w.after; after != nil {
		w.after = nil
		raceDisable()
		after.wake()
		raceEnable()
	}
	w.next, w.prev = nil, nil
	w.upgrade, w.crowd, w.signalled = false, false, false
	w.granted.Store(false)
	w.calls, w.since, w.seq = 0, 0, 0
	w.parking.reset()
	w.left()
	waiters.Put(w)
}

// wakeList collects the waiters that are to be woken once mu is left: ten
// thousand readers that enter together must not meet the mutex of the one who
// lets them in.
type wakeList struct {
	first, last *waiter // granted, and so in no other list
	competitor  *waiter // not granted
	reader      *waiter // has the last but one of the readers in it, or the only one
	self        *waiter // the caller's own waiter, which is awake
}

// grant makes w the owner and promises it a wake, unless one is on its way
// already. The state has been changed for it in the same critical section.
//
//go:norace
func (l *wakeList) grant(w *waiter) {
	w.granted.Store(true)
	if w.signalled || w == l.self {
		return
	}
	w.signalled = true
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
}

// compete wakes w, a writer, to compete. If readers were granted in the same
// step it is one of them that will wake it, when it runs: a writer that runs
// before them closes the door on all of them at once, to wait for each of them to
// come and go, and then it is their turn to wait, and so on, in lockstep. The
// last but one is the last that the scheduler lets run; in a crowd, whoever is
// the last to leave its waiter wakes the writer.
//
//go:norace
func (l *wakeList) compete(w *waiter) {
	w.signalled = true
	if l.reader == nil {
		l.competitor = w
	} else {
		l.reader.after = w
	}
}

// wake delivers the wakes, in order, without mu.
//
//go:norace
func (l *wakeList) wake() {
	for w := l.first; w != nil; {
		// Once woken, a waiter may be gone and used again.
		next := w.next
		w.next = nil
		w.wake()
		w = next
	}
	if w := l.competitor; w != nil {
		w.wake()
	}
}

// list is a doubly linked list of waiters in order of arrival. Its operations
// take constant time.
type list struct {
	first, last *waiter
	len         int // in calls
}

//go:norace
func (l *list) pushBack(w *waiter) {
	w.prev, w.next = l.last, nil
	if l.last != nil {
		l.last.next = w
	} else {
		l.first = w
	}
	l.last = w
	l.len += int(w.calls)
}

//go:norace
func (l *list) pushFront(w *waiter) {
	w.prev, w.next = nil, l.first
	if l.first != nil {
		l.first.prev = w
	} else {
		l.last = w
	}
	l.first = w
	l.len += int(w.calls)
}

//go:norace
func (l *list) remove(w *waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.last = w.prev
	}
	w.next, w.prev = nil, nil
	l.len -= int(w.calls)
}
