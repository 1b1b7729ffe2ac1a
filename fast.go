package drawbridge

// The fast paths are one atomic read-modify-write. What they do not expect is for
// acquire and release, which take the same steps again. Under the race detector,
// from which each step has to be hidden, everything is: there fastFree and
// fastBusy are never what a lock is.
//
// A writer's are written out in Lock and Unlock, where they are just small enough
// to be inlined. A reader's add rather than compare-and-swap: the addition does
// not have to wait for the load before it. So a reader may find, when it has
// counted itself, that the door was closed in between, and backs out.

// enterReading enters to read, if that is all there is to do.
func (c *core) enterReading() bool {
	old := c.state.Load()
	if old&^passable != fastFree.Load() {
		return c.enterCrowded(old)
	}
	if c.state.Add(1)&closed == 0 {
		return true
	}
	c.backOut()
	return false
}

// enterCrowded is enterReading where others are inside, wait, or have been.
func (c *core) enterCrowded(old uint64) bool {
	switch {
	case raceEnabled || !unseen():
		return false
	case old&(ready|closed|watched|striped) == ready|striped:
		return c.enterStripe()
	case old&(ready|closed|watched) != ready || old&heatMask >= heatLimit:
		return false
	}
	if c.state.Add(warmer(old)-old+1)&closed == 0 {
		return true
	}
	c.backOut()
	return false
}

// leaveReading ends a read hold, if nobody has to be told.
func (c *core) leaveReading() bool {
	old := c.state.Load()
	switch flags := old & (ready | closed | watched | striped | writersWait); {
	case flags == fastFree.Load():
		if now := c.state.Add(^uint64(0)); now&(ready|closed|writersWait) != ready {
			c.left(now)
		}
		return true
	case raceEnabled || !unseen():
		return false
	case flags == ready|striped:
		c.leaveStripe()
		return true
	case flags == ready|writersWait && old&competing != 0 && readers(old) != 0:
		// In a window nobody waits for this reader, but it counts.
		if now := c.state.Add(windowStep - 1); now&(closed|competing) != competing || now&windowMask == 0 {
			// The window is over, or it is time to look at the clock.
			c.settleNow()
		}
		return true
	}
	return false
}

// left looks whether somebody waits for a reader that has left state behind.
func (c *core) left(state uint64) {
	if state&ready == 0 {
		fatal(readerLeaves.misuse()) // the count went below 0
	}
	if state&striped != 0 || readers(state) == 0 && concerns(state+1, readerLeaves) {
		c.settleNow()
	}
}

// backOut undoes the count of a reader that found the door closed.
func (c *core) backOut() { c.left(c.state.Add(^uint64(0))) }

// settleNow settles what fast paths have changed.
func (c *core) settleNow() {
	var list wakeList
	c.lock()
	c.settle(readerLeft, &list)
	c.unlockAndWake(&list)
}

// barge enters by compare-and-swap alone, as long as a newcomer may and nobody
// observes. It gives up at the first look that finds the lock taken: looking more
// often before a call queues was measured to be slower under short sections, since
// two goroutines that both go on running cost the lock's cache line more than a
// sleep.
func (c *core) barge(m Mode) bool {
	raceDisable()
	defer raceEnable()
	for unseen() {
		old := c.state.Load()
		next, ok := enter(old, m)
		switch {
		case old&watched != 0, !ok:
			return false
		case m == Read && old&striped != 0:
			if c.enterStripe() {
				return true
			}
		case c.state.CompareAndSwap(old, next):
			return true
		}
	}
	return false
}

// leaveUnseen makes ch by compare-and-swap alone, as long as it can matter to
// nobody who waits and nobody observes.
//
//go:norace
func (c *core) leaveUnseen(ch change) bool {
	for unseen() {
		old := c.state.Load()
		if old&watched == 0 && old&striped != 0 && ch == readerLeaves {
			c.leaveStripe()
			return true
		}
		if old&watched != 0 || !holds(old, ch) || concerns(old, ch) {
			return false
		}
		next := ch.apply(old)
		if next&writing == 0 && old&writing != 0 {
			next &^= closed
		}
		if old&competing != 0 {
			if next += windowStep; next&windowMask == 0 {
				return false // time to look at the clock
			}
		}
		if c.state.CompareAndSwap(old, next) {
			return true
		}
	}
	return false
}

// concerns reports whether ch may let somebody in who waits in state. While a
// writer is on its way to compete, the other writers are its concern.
func concerns(state uint64, ch change) bool {
	writers := state&writersWait != 0 && state&competing == 0
	switch ch {
	case readerLeaves:
		return readers(state) == 1 && (state&closed != 0 || writers)
	case upgradableLeaves:
		return state&(closed|readersWait) != 0 || writers
	default:
		return state&readersWait != 0 || writers
	}
}

// enterWindow is the fast path of a writer in a window, where it finds the lock
// free but for those who sleep.
func (c *core) enterWindow() bool {
	old := c.state.Load()
	const free = ready | competing
	return !raceEnabled && old&(free|closed|upgradable|striped|watched|readersInside) == free && unseen() &&
		c.state.CompareAndSwap(old, old&^heatMask|writing|closed)
}

// leaveWindow is the fast path of a writer that leaves in a window. Like every
// release there, it counts.
func (c *core) leaveWindow() bool {
	old := c.state.Load()
	const held = ready | competing | writing
	next := old&^(writing|closed) + windowStep
	return !raceEnabled && old&(held|readersWait|watched) == held && next&windowMask != 0 && unseen() &&
		c.state.CompareAndSwap(old, next)
}
