package drawbridge

// On many cores, readers of one lock are slowed down by nothing but the word
// in which they are counted: each has to have its cache line for itself. A
// read-hot lock is therefore striped: a reader adds one to the count of a stripe
// of its own and looks at the state, which nobody changes and which so stays in
// every cache. The readers inside are those of the state and those of all
// stripes together; one may leave by another stripe than it came by, and the
// count of a stripe alone means nothing.
//
//   - Enter: add one to a stripe, then look at the state. If the door is closed
//     or the lock is not striped any more, take the one back from the same
//     stripe.
//   - Leave: take one from any stripe, then look at the state. If somebody
//     waits for those inside, settle.
//   - A writer closes the door, and only then sums the stripes. A reader that
//     entered looked at the door before it was closed, so its one is in the
//     sum. One that backs out adds and takes back in one place, so it can hide
//     nobody: the sum is never below the number of readers inside. If it is 0
//     nobody is.
//
// The scheme is that of the percpu-rwsem of Linux, and of SRCU, with a count
// where those have two, since backing out is bound to a stripe.
//
// A lock becomes striped when heatLimit readers have found others inside with
// no writer in between, and stops being it when a writer has been granted: the
// sum is 0 then, and what the state counts is moved to a stripe so that both
// are. So a writer pays for the stripes once for each time that many readers
// have gained by them, and a lock with frequent writers is never striped. A
// lock of PreferReaders is not either: its writers must not close the door to
// count.
type stripes []stripe

// stripe has two cache lines, since processors fetch them in pairs.
type stripe struct {
	readers stripeCount
	_       [120]byte
}

// newStripes makes stripes, which take 128 bytes each and stay with the lock.
//
//go:norace
func newStripes() *stripes {
	s := make(stripes, stripeNumber())
	return &s
}

// own returns the stripe of the calling goroutine.
//
//go:norace
func (s stripes) own() *stripe { return &s[stripeHash()&uintptr(len(s)-1)] }

// sum returns how many readers the stripes count.
//
//go:norace
func (s stripes) sum() (n int64) {
	for i := range s {
		n += s[i].readers.Load()
	}
	return n
}

// inside returns how many readers hold, at least, once the door is closed.
func (c *core) inside(state uint64) int64 {
	n := int64(readers(state))
	if state&striped != 0 {
		n += c.stripes.Load().sum()
	}
	return n
}

// enterStripe enters a striped lock to read.
func (c *core) enterStripe() bool {
	own := c.stripes.Load().own()
	own.readers.Add(1)
	if c.state.Load()&(closed|watched|striped) == striped && unseen() {
		return true
	}
	own.readers.Add(-1)
	c.leftStripe()
	return false
}

// leaveStripe leaves a striped lock. The hold keeps it striped.
func (c *core) leaveStripe() {
	c.stripes.Load().own().readers.Add(-1)
	c.leftStripe()
}

// leftStripe looks whether somebody waits for the reader that has left.
func (c *core) leftStripe() {
	if c.state.Load()&(closed|writing) == closed {
		c.settleNow()
	}
}

// stripe makes a read-hot lock striped, or lets it cool down if it must not be.
//
//go:norace
func (c *core) stripe(p Policy) {
	c.lock()
	defer c.unlock()
	for {
		old := c.state.Load()
		if old&heatMask < heatLimit {
			return
		}
		next := old &^ heatMask
		if p != PreferReaders && old&(closed|writersWait|watched) == 0 {
			if c.stripes.Load() == nil {
				c.stripes.Store(newStripes())
			}
			next |= striped
		}
		if c.state.CompareAndSwap(old, next) {
			return
		}
	}
}

// tryStriped is enterLocked for a writer on a striped lock: it closes the door,
// counts, and opens it again if it may not enter. A Try call that meets the
// closed door looks again with mu, so none fails for another.
func (c *core) tryStriped() bool {
	for {
		old := c.state.Load()
		if old&(striped|closed|upgradable) != striped {
			return false
		}
		if !c.state.CompareAndSwap(old, old|closed) {
			continue
		}
		for {
			old := c.state.Load()
			next := old &^ closed
			empty := c.inside(old) == 0
			if empty {
				next = c.unstripe(old) | writing
			}
			if c.state.CompareAndSwap(old, next) {
				if empty {
					c.fold(old)
				}
				return empty
			}
		}
	}
}

// unstripe returns state as it is for a writer that has been granted: nobody is
// inside, so the readers that it counts have left by the stripes.
func (c *core) unstripe(state uint64) uint64 {
	return state &^ (striped | heatMask | readersInside)
}

// fold moves what a striped state counted to a stripe: from then on the stripes
// sum up to 0, like the state. Nobody looks at them in between, since that and
// making the lock striped again take mu.
func (c *core) fold(state uint64) {
	if n := readers(state); state&striped != 0 && n != 0 {
		c.stripes.Load().own().readers.Add(int64(n))
	}
}
