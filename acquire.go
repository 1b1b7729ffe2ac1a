package drawbridge

// acquireContext takes the lock for k, whose context has been looked at.
func (c *core) acquireContext(k *call) error {
	switch {
	case k.mode == Read && c.enterReading(),
		k.mode == Write && c.state.CompareAndSwap(fastFree.Load(), busy):
		return nil
	}
	return c.acquire(k)
}

// mustAcquire is acquire for a call without a context, which has nothing to fail
// for.
func (c *core) mustAcquire(k *call) {
	if err := c.acquire(k); err != nil {
		panic(err)
	}
}

// tooLate is the error of a call whose context was done before it. Out of line,
// it is no part of the stack that others sleep on.
//
//go:noinline
func (c *core) tooLate(k *call) error { return newWaitError(k, 0, c.picture(), contextError(k.ctx)) }

// acquire takes the lock for k and waits for it if it must.
//
//go:norace
func (c *core) acquire(k *call) error {
	c.prepare(k)
	if k.mode == Read && c.state.Load()&heatMask >= heatLimit {
		c.stripe(k.policy)
	}
	if c.barge(k.mode) {
		c.raceEnter(k.mode)
		return nil
	}
	s, done := k.canWait()

	c.lock()
	entered := c.enterLocked(k.mode)
	if !entered && (s != nil || c.observed()) {
		if over, err := c.ask(k, s); over {
			return err
		}
		entered = c.enterLocked(k.mode)
	}
	if entered {
		c.concludeEntered(k)
		return nil
	}
	if k.mode == Read && k.ctx == nil && !c.observed() {
		return c.awaitInCrowd(k)
	}
	w := newWaiter(k.mode)
	c.queueOf(k).add(w)
	return c.await(k, w, s, done)
}

// ask is for a call that is about to wait: it asks what the call's own scopes
// hold, which may end it, and tells the observers. Neither happens with mu, so
// the caller, who has mu before and after, looks at the lock again.
//
//go:noinline
//go:norace
func (c *core) ask(k *call, s *scope) (over bool, err error) {
	n := c.current()
	c.unlock()
	if inside, err := s.enterPast(c, k); inside || err != nil {
		return true, err
	}
	c.emitWaiting(k, n)
	c.lock()
	return false, nil
}

// concludeEntered ends a call that has entered with mu, and leaves mu.
//
//go:noinline
//go:norace
func (c *core) concludeEntered(k *call) {
	n := c.noteEntered(k)
	c.unlock()
	c.raceEnter(k.mode)
	c.emitGranted(k, Granted, n, 0)
}

// try takes the lock for k if a newcomer may enter.
//
//go:norace
func (c *core) try(k *call) bool {
	c.prepare(k)
	if c.barge(k.mode) {
		c.raceEnter(k.mode)
		return true
	}
	c.lock()
	// An observed lock has not been looked at yet. On one that was ever striped
	// the look may have met the door of another Try.
	again := c.observed() || c.stripes.Load() != nil
	if !again || !c.enterLocked(k.mode) && (k.mode != Write || !c.tryStriped()) {
		c.unlock()
		return false
	}
	c.concludeEntered(k)
	return true
}

// enterLocked enters with mu, if a newcomer may.
func (c *core) enterLocked(m Mode) bool {
	for {
		old := c.state.Load()
		next, ok := enter(old, m)
		if !ok {
			return false
		}
		if c.state.CompareAndSwap(old, next) {
			return true
		}
	}
}

// enterPastDoor adds a reader although the door may be closed. The caller has
// pinned a hold that keeps writers out.
//
//go:norace
func (c *core) enterPastDoor(k *call) {
	c.lock()
	c.state.Add(1)
	n := c.noteEntered(k)
	c.unlock()
	c.raceEnter(Read)
	c.emitGranted(k, Granted, n, 0)
}

// await sees the newcomer w, which is in the queue, through to its grant or to
// its end. The caller has mu; await leaves it.
//
// This is the stack that a goroutine sleeps on, and many sleep: what is not
// needed for that is in functions of its own.
//
//go:norace
func (c *core) await(k *call, w *waiter, s *scope, done <-chan struct{}) error {
	if k.ctx != nil || k.mode == Write && k.policy == Balanced || c.observed() {
		w.since = clock()
	}
	c.settleFor(w)
	granted := w.granted.Load()
	switch {
	case granted:
		c.unlock()
	case s.holdsOther(c):
		return c.awaitKnown(k, w, s, done)
	default:
		w.prepare(done != nil)
		granted = c.sleep(w, done)
	}
	switch {
	case !granted:
		// The context's mutex is met here, where the stack need not grow
		// for it: ten thousand that give up together copy no stacks.
		return c.giveUp(k, w, contextError(k.ctx))
	case w.seq == 0 && (k.ctx == nil || k.ctx.Err() == nil):
		w.leave()
		c.raceEnter(k.mode)
		return nil
	}
	return c.conclude(k, w)
}

// awaitKnown is await for a call that carries a hold of another lock, and so
// may be part of a deadlock.
//
//go:noinline
//go:norace
func (c *core) awaitKnown(k *call, w *waiter, s *scope, done <-chan struct{}) error {
	// Being in the queue comes first and being known to the others second: of
	// two calls that close a cycle together, the later one to be known sees
	// the other.
	w.prepare(true)
	c.unlock()
	known, deadlock := cycles.enter(c, k, w, s)
	if deadlock != nil {
		return c.giveUp(k, w, deadlock)
	}
	c.lock()
	granted := c.sleep(w, done)
	cycles.leave(known)
	if !granted {
		return c.giveUp(k, w, contextError(k.ctx))
	}
	return c.conclude(k, w)
}

// conclude ends the wait of w, which was granted, for its caller.
//
//go:noinline
//go:norace
func (c *core) conclude(k *call, w *waiter) error {
	waited := w.waited()
	n := c.noteGranted(w)
	kind, back := Granted, leaves(k.mode)
	if w.upgrade {
		kind, back = Upgraded, writerUpgradable
	}
	before := w.leave()
	if n.seq != 0 {
		n.seq += uint64(before)
	}
	if k.ctx == nil || k.ctx.Err() == nil {
		c.raceEnter(k.mode)
		c.emitGranted(k, kind, n, waited)
		return nil
	}
	// The grant came too late for the context: it goes to the next.
	c.giveBack(back)
	err := newWaitError(k, waited, c.picture(), contextError(k.ctx))
	c.emit(k, GaveUp, n, waited, err)
	return err
}

// giveUp ends the wait of w for a caller who has a reason: the end of its context,
// or a deadlock. It may have been granted meanwhile.
//
//go:noinline
//go:norace
func (c *core) giveUp(k *call, w *waiter, why error) error {
	granted, left := c.withdraw(w)
	if granted {
		return c.conclude(k, w)
	}
	waited := w.waited()
	n := c.noteGranted(w)
	w.leave()
	if _, refused := why.(*DeadlockError); !refused {
		why = newWaitError(k, waited, left, why)
	}
	c.emit(k, GaveUp, n, waited, why)
	return why
}

// settleFor settles the queue for w, whose caller is about to sleep with mu and
// so keeps it. Nobody else is let in by that, but for one writer at most, whose
// last reader has left and is still on its way to mu; it is woken here.
//
//go:norace
func (c *core) settleFor(w *waiter) {
	list := wakeList{self: w}
	c.settle(nothing, &list)
	list.wake()
}

// sleep waits until w is granted or done is closed, and reports whether it was
// granted. If not, w may still be in the queue. The caller has mu; sleep leaves
// it.
//
//go:norace
func (c *core) sleep(w *waiter, done <-chan struct{}) (granted bool) {
	for {
		expired := w.park(&c.mu, done)
		if expired || w.granted.Load() {
			raceEnable()
			return !expired
		}
		c.mu.lock()
		// Woken to compete. It keeps its place, and from here on the door is
		// its to close: either it gets the lock now, or it waits for those
		// inside as the drainer, or for the writer that overtook it, whose
		// release will find nobody on the way.
		w.signalled = false
		c.settleFor(w)
		if w.granted.Load() {
			c.unlock()
			return true
		}
	}
}

// withdraw takes w out of the queue, unless it has been granted meanwhile, and
// returns what is left. A waiter that gives up may have been the reason why others
// wait, so this is settled like a release, unless it stood behind another one,
// which still is the reason.
//
//go:norace
func (c *core) withdraw(w *waiter) (granted bool, left State) {
	c.lock()
	if w.signalled {
		// A wake is on its way. It is taken here, so that it cannot meet w
		// in its next use.
		c.mu.unlock()
		w.takeWake()
		c.mu.lock()
		w.signalled = false
	}
	if w.granted.Load() {
		c.unlock()
		return true, left
	}
	behind := w.prev != nil
	c.q.remove(w)
	var list wakeList
	if !behind {
		c.settle(nothing, &list)
	}
	left = c.snapshot()
	c.unlockAndWake(&list)
	return false, left
}

// giveBack undoes a grant that came too late.
//
//go:norace
func (c *core) giveBack(ch change) notice {
	var list wakeList
	c.lock()
	n := c.noteLeft(ch) // before settle grants the next hold, which takes its place
	c.settle(c.uncount(ch), &list)
	c.unlockAndWake(&list)
	return n
}
