package drawbridge

import "context"

// ULock takes rw upgradably: shared with readers, but with no other upgradable
// reader and no writer. It waits where RLock would, and for an upgradable
// reader inside. While it waits for that one alone it keeps no reader out, and
// an upgradable hold keeps none out until it is upgraded.
//
// Use it for "look, and perhaps change": [RWMutex.Upgrade] turns the hold into
// a write hold with no other writer in between, so what was read still stands.
func (rw *RWMutex) ULock() { rw.acquire(Upgradable) }

// ULockContext is ULock for a call that can wait only as long as ctx, with the
// errors of [RWMutex.LockContext].
func (rw *RWMutex) ULockContext(ctx context.Context) error {
	return rw.acquireContext(ctx, Upgradable)
}

// TryULock takes rw upgradably if ULock would not wait, and reports whether it
// did.
func (rw *RWMutex) TryULock() bool { return rw.try(Upgradable) }

// UUnlock ends an upgradable hold. It is a fatal error if there is none, or if
// it waits for its upgrade.
func (rw *RWMutex) UUnlock() { rw.release(Upgradable, upgradableLeaves) }

// Upgrade turns the caller's upgradable hold into a write hold. Under every
// policy it closes the door to new readers, passes everybody in the queue and
// waits for the readers inside. The write hold is ended by Unlock, or turned
// back by [RWMutex.DowngradeToUpgradable]. It is a fatal error if there is no
// upgradable hold.
func (rw *RWMutex) Upgrade() {
	k := rw.call(Write)
	if err := rw.core.upgrade(&k); err != nil {
		panic(err) // as in mustAcquire
	}
}

// UpgradeContext is Upgrade for a call that can wait only as long as ctx. With
// an error, those of [RWMutex.LockContext], the upgradable hold is kept and the
// door is as if the call had not been made.
func (rw *RWMutex) UpgradeContext(ctx context.Context) error {
	mustContext(ctx)
	k := rw.call(Write).with(ctx)
	return rw.core.upgradeContext(&k)
}

// upgradeContext is upgrade for a context that has not been looked at.
func (c *core) upgradeContext(k *call) error {
	if k.ctx.Err() != nil {
		return c.tooLate(k)
	}
	return c.upgrade(k)
}

// Downgrade turns the caller's write hold into a read hold, with no gap in
// which another writer could enter. The readers that may enter when a writer
// leaves, by the policy, enter with it. It is a fatal error if there is no
// write hold.
func (rw *RWMutex) Downgrade() { rw.release(Read, writerReads) }

// DowngradeToUpgradable turns the caller's write hold into an upgradable hold,
// with no gap. It is a fatal error if there is no write hold.
func (rw *RWMutex) DowngradeToUpgradable() { rw.release(Upgradable, writerUpgradable) }

// upgrade turns the caller's upgradable hold into a write hold.
//
//go:norace
func (c *core) upgrade(k *call) error {
	if c.upgradeUnseen() {
		c.raceEnter(Write)
		return nil
	}
	s, done := k.canWait()

	c.lock()
	upgraded := c.upgradeLocked()
	if !upgraded && (s != nil || c.observed()) {
		n := c.current()
		n.hold = c.q.upgradableHold()
		c.unlock()
		if s.reads(c) {
			return ErrUpgrade
		}
		c.emitWaiting(k, n)
		c.lock()
		upgraded = c.upgradeLocked()
	}
	if upgraded {
		n := c.noteUpgraded(k)
		c.unlock()
		c.raceEnter(Write)
		c.emitGranted(k, Upgraded, n, 0)
		return nil
	}
	w := newWaiter(Write)
	w.upgrade = true
	c.queueOf(k).addUpgrade(w)
	return c.await(k, w, s, done)
}

// upgradeUnseen upgrades if the caller is alone inside and nobody waits at the
// door.
func (c *core) upgradeUnseen() bool {
	raceDisable()
	defer raceEnable()
	for unseen() {
		old := c.state.Load()
		if old&(upgradable|closed|watched|striped|readersInside) != upgradable {
			return false
		}
		if c.state.CompareAndSwap(old, old&^(upgradable|heatMask)|writing|closed) {
			return true
		}
	}
	return false
}

// upgradeLocked upgrades with mu if no reader is inside, whoever waits at the
// door.
//
//go:norace
func (c *core) upgradeLocked() bool {
	for {
		old := c.state.Load()
		if old&upgradable == 0 || c.upgrading() {
			fatal("Upgrade without an upgradable hold")
		}
		if readers(old) != 0 || old&striped != 0 {
			return false
		}
		next := old&^(upgradable|heatMask) | writing | closed
		passed := c.q != nil && c.q.drainer != nil
		if passed {
			next |= writersWait
		}
		if c.state.CompareAndSwap(old, next) {
			if passed {
				c.q.writers.pushFront(c.q.drainer)
				c.q.drainer = nil
			}
			return true
		}
	}
}

// upgrading reports whether an upgrade waits.
//
//go:norace
func (c *core) upgrading() bool {
	return c.q != nil && c.q.drainer != nil && c.q.drainer.upgrade
}
