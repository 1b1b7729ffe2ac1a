package drawbridge

import (
	"context"
	"unsafe"
)

// core is the lock that RWMutex and Mutex are made of.
type core struct {
	state word    // see state.go
	mu    section // guards q and every change of state that no fast path makes
	q     *queue  // nil while nobody waits or observes
}

// call is one call of a user on its slow path.
type call struct {
	ctx    context.Context // nil for the plain methods, which cannot give up
	lock   any             // the lock as its user knows it
	key    keyed           // of a Keyed, else nil
	policy Policy
	mode   Mode
	scope  *scope // of a scoped call: keeps the identity of its hold
}

// keyed is a key of a Keyed that is boxed only for those who want to see it.
type keyed interface{ boxed() any }

// barging is how often a call looks at the lock again before it queues. A
// short section on another processor is over sooner than a sleep would begin.
const barging = 30

// The fast paths try once, with one compare-and-swap, and are small enough to
// be inlined into the methods of RWMutex and Mutex. What they do not expect is
// for acquire and release, which take the same steps again. Under the race
// detector, where each step has to be hidden from it, everything is.

func (c *core) enterWriting() bool {
	return !raceEnabled && !everywhere.active.Load() && c.state.cas(free, free|writing|closed)
}

func (c *core) enterReading() bool {
	old := c.state.load()
	return !raceEnabled && old&(ready|closed|watched) == ready && !everywhere.active.Load() &&
		c.state.cas(old, old+1)
}

func (c *core) leaveWriting() bool {
	return !raceEnabled && !everywhere.active.Load() && c.state.cas(free|writing|closed, free)
}

func (c *core) leaveReading() bool {
	old := c.state.load()
	return !raceEnabled && old&readersInside != 0 && old&(closed|writersWait|watched) == 0 &&
		!everywhere.active.Load() && c.state.cas(old, old-1)
}

// acquireContext takes the lock for k, whose context has been looked at.
func (c *core) acquireContext(k *call) error {
	switch {
	case k.mode == Read && c.enterReading(), k.mode == Write && c.enterWriting():
		return nil
	}
	return c.acquire(k)
}

// leave ends the hold of k.
func (c *core) leave(k *call) {
	switch {
	case k.mode == Read && c.leaveReading(), k.mode == Write && c.leaveWriting():
	default:
		c.release(k, leaves(k.mode))
	}
}

// prepare checks the policy when the lock is used for the first time.
func (c *core) prepare(k *call) {
	raceDisable()
	used := c.state.load()&ready != 0
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
	c.state.cas(0, ready) // or somebody else did
	raceEnable()
}

// acquire takes the lock for k and waits for it if it must.
//
//go:norace
func (c *core) acquire(k *call) error {
	c.prepare(k)
	if c.barge(k.mode, barging) {
		c.raceEnter(k.mode)
		return nil
	}
	s, done := k.canWait()

	c.lock()
	entered := c.enterLocked(k.mode)
	if !entered && (s != nil || c.observed()) {
		// Before it waits, a call asks what its own scopes hold and tells
		// the observers. Neither happens with mu, so it looks again after.
		n := c.current()
		c.unlock()
		if inside, err := s.enterPast(c, k); inside || err != nil {
			return err
		}
		c.emit(k, Waiting, n, 0, nil)
		c.lock()
		entered = c.enterLocked(k.mode)
	}
	if entered {
		n := c.noteEntered(k)
		c.unlock()
		c.raceEnter(k.mode)
		c.emitGranted(k, Granted, n, 0)
		return nil
	}
	w := newWaiter(k.mode)
	c.queueOf(k).add(w)
	return c.await(k, w, s, done)
}

// try takes the lock for k if a newcomer may enter.
//
//go:norace
func (c *core) try(k *call) bool {
	c.prepare(k)
	if c.barge(k.mode, 1) {
		c.raceEnter(k.mode)
		return true
	}
	c.lock()
	if !c.observed() || !c.enterLocked(k.mode) {
		// Not observed, the lock was looked at already.
		c.unlock()
		return false
	}
	n := c.noteEntered(k)
	c.unlock()
	c.raceEnter(k.mode)
	c.emitGranted(k, Granted, n, 0)
	return true
}

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
		c.emit(k, Waiting, n, 0, nil)
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

// canWait collects, outside of everything internal, what a wait depends on.
func (k *call) canWait() (*scope, <-chan struct{}) {
	if k.ctx == nil {
		return nil, nil
	}
	return carried(k.ctx), k.ctx.Done()
}

// await sees the newcomer w, which is in the queue, through to its grant or to
// its end. The caller has mu; await leaves it.
//
//go:norace
func (c *core) await(k *call, w *waiter, s *scope, done <-chan struct{}) error {
	// What a newcomer changes lets nobody else in, so there is nobody to wake.
	c.settle(nothing, &wakeList{self: w})

	var left State
	var deadlock *DeadlockError
	granted := w.granted.Load()
	switch {
	case granted:
		c.unlock()
	case s.holdsOther(c):
		// Being in the queue comes first and being known to the others
		// second: of two calls that close a cycle together, the later one
		// to be known sees the other.
		w.prepare(true)
		c.unlock()
		var known *wait
		known, deadlock = cycles.enter(c, k, w, s)
		c.lock()
		if deadlock != nil {
			granted, left = c.withdraw(w)
		} else {
			granted, left = c.sleep(w, done)
		}
		cycles.leave(known)
	default:
		w.prepare(done != nil)
		granted, left = c.sleep(w, done)
	}

	since, n := w.since, c.noteGranted(w)
	kind, back := Granted, leaves(k.mode)
	if w.upgrade {
		kind, back = Upgraded, writerUpgradable
	}
	w.free()
	switch {
	case granted && (k.ctx == nil || k.ctx.Err() == nil):
		c.raceEnter(k.mode)
		c.emitGranted(k, kind, n, now().Sub(since))
		return nil
	case granted:
		// The grant came too late for the context: it goes to the next.
		left = c.giveBack(back)
	case deadlock != nil:
		c.emit(k, GaveUp, n, now().Sub(since), deadlock)
		return deadlock
	}
	err := newWaitError(k, now().Sub(since), left)
	c.emit(k, GaveUp, n, err.Waited, err)
	return err
}

// sleep waits until w is granted or done is closed. If it ends without a
// grant, w is out of the queue. The caller has mu; sleep leaves it.
//
//go:norace
func (c *core) sleep(w *waiter, done <-chan struct{}) (granted bool, left State) {
	for {
		expired := w.park(&c.mu, done)
		if !expired && w.granted.Load() {
			raceEnable()
			return true, State{}
		}
		c.mu.lock()
		if expired {
			return c.withdraw(w)
		}
		// Woken to compete. It keeps its place, and from here on the door is
		// its to close: either it gets the lock now, or it waits for those
		// inside as the drainer, or for the writer that overtook it, whose
		// release will find nobody on the way. No one else can enter by
		// that, so there is nobody to wake.
		w.signalled = false
		c.settle(nothing, &wakeList{self: w})
		if w.granted.Load() {
			c.unlock()
			return true, State{}
		}
	}
}

// withdraw takes w out of the queue, unless it has been granted meanwhile. A
// waiter that gives up may have been the reason why others wait, so this is
// settled like a release. The caller has mu; withdraw leaves it.
//
//go:norace
func (c *core) withdraw(w *waiter) (granted bool, left State) {
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
		return true, State{}
	}
	c.q.remove(w)
	var list wakeList
	c.settle(nothing, &list)
	left = c.snapshot()
	c.unlockAndWake(&list)
	return false, left
}

// giveBack undoes a grant that came too late.
//
//go:norace
func (c *core) giveBack(ch change) State {
	var list wakeList
	c.lock()
	c.settle(ch, &list)
	c.noteLeft(ch)
	left := c.snapshot()
	c.unlockAndWake(&list)
	return left
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
	c.mustHold(c.state.load(), ch)
	c.settle(ch, &list)
	n := c.noteLeft(ch)
	c.unlockAndWake(&list)
	c.emitLeft(k, ch, n)
}

// barge enters by compare-and-swap alone, as long as a newcomer may and nobody
// observes. It looks so many times.
func (c *core) barge(m Mode, looks int) bool {
	raceDisable()
	defer raceEnable()
	for looks > 0 && !everywhere.active.Load() {
		old := c.state.load()
		next, ok := enter(old, m)
		switch {
		case old&watched != 0:
			return false
		case !ok:
			looks--
		case c.state.cas(old, next):
			return true
		}
	}
	return false
}

// enterLocked enters with mu, if a newcomer may.
func (c *core) enterLocked(m Mode) bool {
	for {
		old := c.state.load()
		next, ok := enter(old, m)
		if !ok {
			return false
		}
		if c.state.cas(old, next) {
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
	c.state.add(1)
	n := c.noteEntered(k)
	c.unlock()
	c.raceEnter(Read)
	c.emitGranted(k, Granted, n, 0)
}

// upgradeUnseen upgrades if the caller is alone inside and nobody waits at the
// door.
func (c *core) upgradeUnseen() bool {
	raceDisable()
	defer raceEnable()
	for !everywhere.active.Load() {
		old := c.state.load()
		if old&(upgradable|closed|watched|readersInside) != upgradable {
			return false
		}
		if c.state.cas(old, old&^upgradable|writing|closed) {
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
		old := c.state.load()
		if old&upgradable == 0 || c.upgrading() {
			fatal("Upgrade without an upgradable hold")
		}
		if readers(old) != 0 {
			return false
		}
		next := old&^upgradable | writing | closed
		passed := c.q != nil && c.q.drainer != nil
		if passed {
			next |= writersWait
		}
		if c.state.cas(old, next) {
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

// leaveUnseen makes ch by compare-and-swap alone, as long as it can matter to
// nobody who waits and nobody observes.
//
//go:norace
func (c *core) leaveUnseen(ch change) bool {
	for !everywhere.active.Load() {
		old := c.state.load()
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
		if c.state.cas(old, next) {
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

// holds reports whether state has a hold that ch could end.
func holds(state uint64, ch change) bool {
	switch ch {
	case readerLeaves:
		return readers(state) != 0
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

// State returns a picture of the lock.
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
	state := c.state.load()
	s := State{
		Readers:    int(readers(state)),
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

// The edges that the lock promises, at three addresses of its own: what
// writers did comes before whoever enters later, what readers did before
// later writers, what upgradable readers did also before later upgradable
// ones. See race_on.go.

func (c *core) raceEnter(m Mode) {
	raceAcquire(unsafe.Pointer(&c.state))
	switch m {
	case Upgradable:
		raceAcquire(unsafe.Pointer(&c.q))
	case Write:
		raceAcquire(unsafe.Pointer(&c.mu))
	}
}

func (c *core) raceLeave(ch change) {
	switch ch {
	case readerLeaves:
		raceReleaseMerge(unsafe.Pointer(&c.mu))
	case upgradableLeaves:
		raceReleaseMerge(unsafe.Pointer(&c.mu))
		raceReleaseMerge(unsafe.Pointer(&c.q))
	default:
		raceRelease(unsafe.Pointer(&c.state))
	}
}
