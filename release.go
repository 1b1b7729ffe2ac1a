package drawbridge

// leave ends the hold of k.
func (c *core) leave(k *call) {
	switch {
	case k.mode == Read && c.leaveReading(),
		k.mode == Write && c.state.CompareAndSwap(fastBusy.Load(), free):
	default:
		c.release(k, leaves(k.mode))
	}
}

// release ends or changes a hold.
//
//go:norace
func (c *core) release(k *call, ch change) {
	c.raceLeave(ch)
	raceDisable()
	done := c.leaveUnseen(ch)
	raceEnable()
	if done {
		return
	}
	var list wakeList
	c.lock()
	c.mustHold(c.state.Load(), ch)
	n := c.noteLeft(ch) // as in giveBack
	c.settle(c.uncount(ch), &list)
	c.unlockAndWake(&list)
	c.emitLeft(k, ch, n)
}

// holds reports whether state has a hold that ch could end.
func holds(state uint64, ch change) bool {
	switch ch {
	case readerLeaves:
		// On a striped lock, the next writer finds out.
		return readers(state) != 0 || state&striped != 0
	case upgradableLeaves:
		return state&upgradable != 0
	default:
		return state&writing != 0
	}
}

// mustHold ends the process if there is no hold for ch. An upgradable hold that
// waits for its upgrade cannot be released.
func (c *core) mustHold(state uint64, ch change) {
	if !holds(state, ch) || ch == upgradableLeaves && c.upgrading() {
		fatal(ch.misuse())
	}
}

// uncount takes a reader that leaves out of the stripes. Elsewhere settle does
// it. The caller has mu, so the lock stays striped or not.
func (c *core) uncount(ch change) change {
	if ch == readerLeaves && c.state.Load()&striped != 0 {
		c.stripes.Load().own().readers.Add(-1)
		return nothing
	}
	return ch
}
