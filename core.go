package drawbridge

import "context"

// core is the lock that RWMutex and Mutex are made of.
type core struct {
	state word    // see state.go
	mu    section // guards q and every change of state that no fast path makes
	q     *queue  // nil while nobody waits or observes

	stripes pointer[stripes] // nil until the lock was read-hot once
}

// call is one call of a user on its slow path.
type call struct {
	ctx    context.Context // nil for the plain methods, which cannot give up
	lock   any             // the lock as its user knows it
	key    keyed           // of a Keyed, else nil
	policy Policy
	mode   Mode
	scope  *scope  // of a scoped call: keeps the identity of its hold
	wait   uint64  // names the wait, once the observers have been told of it
	caller uintptr // who made the call, if observers want to know
}

// with returns k as a call that can wait only as long as ctx.
func (k call) with(ctx context.Context) call {
	k.ctx = ctx
	return k
}

// keyed is a key of a Keyed that is boxed only for those who want to see it.
type keyed interface{ boxed() any }

// prepare checks the policy when the lock is used for the first time.
func (c *core) prepare(k *call) {
	raceDisable()
	used := c.state.Load()&ready != 0
	raceEnable()
	if used {
		return
	}
	if _, ok := k.lock.(*Mutex); ok {
		k.policy.checkMutex()
	} else {
		k.policy.check()
	}
	raceDisable()
	c.state.CompareAndSwap(0, ready) // or somebody else did
	raceEnable()
}

// canWait collects, outside of everything internal, what a wait depends on.
func (k *call) canWait() (*scope, <-chan struct{}) {
	if k.ctx == nil {
		return nil, nil
	}
	return carried(k.ctx), k.ctx.Done()
}

// picture says who holds and who waits, at one moment.
//
//go:norace
func (c *core) picture() State {
	c.lock()
	defer c.unlock()
	return c.snapshot()
}

// snapshot is picture for a caller that has mu.
//
//go:norace
func (c *core) snapshot() State {
	state := c.state.Load()
	s := State{
		Readers:    max(0, int(c.inside(state))),
		Writer:     state&writing != 0,
		Upgradable: state&upgradable != 0,
	}
	if q := c.q; q != nil {
		s.WaitingReaders = q.readers.len + q.upgradables.len
		s.WaitingWriters = q.writers.len
		if q.drainer != nil {
			s.WaitingWriters++
		}
	}
	return s
}

// lock takes mu for everything up to unlock, unseen by the race detector.
func (c *core) lock() {
	raceDisable()
	c.mu.lock()
}

// unlock leaves mu. Out of line, its empty list is no part of the stack that
// others sleep on.
//
//go:noinline
//go:norace
func (c *core) unlock() {
	c.unlockAndWake(&wakeList{})
}

// unlockAndWake leaves mu, and the queue if it has nothing to keep, and then
// wakes list.
//
//go:norace
func (c *core) unlockAndWake(list *wakeList) {
	if q := c.q; q != nil && q.idle() {
		c.q = nil
		queues.Put(q)
	}
	c.mu.unlock()
	list.wake()
	raceEnable()
}

// queueOf returns the queue, made if there is none.
//
//go:norace
func (c *core) queueOf(k *call) *queue {
	if c.q == nil {
		c.q = queues.Get().(*queue)
		c.q.policy = k.policy
	}
	return c.q
}
