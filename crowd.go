package drawbridge

// Reads that cannot give up and that nobody observes have nothing to be told
// apart by once they wait. They wait as a crowd: one waiter, whose grant counts
// all of them inside and whose wake is one broadcast. So the one who lets ten
// thousand readers in touches a waiter and not ten thousand, and each of them
// sleeps on a short stack.

// awaitInCrowd waits in the crowd that came last, or as the first of one. The
// caller has mu; awaitInCrowd leaves it.
//
//go:noinline
//go:norace
func (c *core) awaitInCrowd(k *call) error {
	w := c.queueOf(k).join()
	if w == nil {
		w = newWaiter(Read)
		w.crowd = true
		c.q.add(w)
		c.settleFor(w)
	}
	// One who joins has nothing to settle: whatever opens the door finds the
	// bit that says that readers wait, and does so with mu.
	if w.granted.Load() {
		c.unlock()
	} else {
		w.park(&c.mu, nil)
		raceEnable()
	}
	if w.seq != 0 { // somebody began to observe meanwhile
		return c.conclude(k, w)
	}
	w.leave()
	c.raceEnter(Read)
	return nil
}

// join makes the caller one more call of the crowd that came last, if there is
// one that may be joined: under FIFO, nobody may have come after it.
//
//go:norace
func (q *queue) join() *waiter {
	w := q.readers.last
	if w == nil || !w.crowd || q.policy == FIFO && w.ticket != q.tickets {
		return nil
	}
	w.calls++
	w.joined()
	q.readers.len++
	return w
}

// leaveCrowd is leave for a crowd of several, which has been granted and woken.
// The last one to leave gives w back; for the others w is another one's once
// they are counted.
//
//go:noinline
//go:norace
func (w *waiter) leaveCrowd() (before int32) {
	calls := w.calls
	before = w.depart()
	if before+1 < calls {
		return before
	}
	w.taken.Store(0)
	w.free()
	return before
}
