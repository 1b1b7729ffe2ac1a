package drawbridge

import (
	"context"
	"sync/atomic"
	"unsafe"
)

// core is the lock that RWMutex and Mutex are made of.
type core struct {
	state word    // see state.go
	mu    section // guards q and every change of state that no fast path makes
	q     *queue  // nil while nobody waits or observes

	stripes atomic.Pointer[stripes] // nil until the lock was read-hot once
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

// The fast paths are one atomic read-modify-write. What they do not expect is for
// acquire and release, which take the same steps again. Under the race detector,
// from which each step has to be hidden, everything is: there fastFree and
// fastBusy are never what a lock is.
//
// A writer's are written out in Lock and Unlock, where they are just small enough
// to be inlined. A reader's add rather than compare-and-swap: the addition does
// not have to wait for the load before it. So a reader may find, when it has
// counted itself, that the door was closed in between, and backs out.

func (c *core) enterReading() bool {
	old := c.state.Load()
	if old&^heatMask != fastFree.Load() {
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
	step := uint64(1)
	if readers(old) != 0 {
		step += heatStep
	}
	if c.state.Add(step)&closed == 0 {
		return true
	}
	c.backOut()
	return false
}

func (c *core) leaveReading() bool {
	old := c.state.Load() & (ready | closed | watched | striped | writersWait)
	switch {
	case old == fastFree.Load():
		if now := c.state.Add(^uint64(0)); now&(ready|closed|writersWait) != ready {
			c.left(now)
		}
		return true
	case old == free|striped && unseen() && !raceEnabled:
		c.leaveStripe()
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
	c.settle(nothing, &list)
	c.unlockAndWake(&list)
}

// acquireContext takes the lock for k, whose context has been looked at.
func (c *core) acquireContext(k *call) error {
	switch {
	case k.mode == Read && c.enterReading(),
		k.mode == Write && c.state.CompareAndSwap(fastFree.Load(), busy):
		return nil
	}
	return c.acquire(k)
}

// leave ends the hold of k.
func (c *core) leave(k *call) {
	switch {
	case k.mode == Read && c.leaveReading(),
		k.mode == Write && c.state.CompareAndSwap(fastBusy.Load(), free):
	default:
		c.release(k, leaves(k.mode))
	}
}

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

// acquire takes the lock for k and waits for it if it must.
//
//go:norace
func (c *core) acquire(k *call) error {
	c.prepare(k)
	if k.mode == Read && c.state.Load()&heatMask >= heatLimit {
		c.stripe(k.policy)
	}
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
	// An observed lock has not been looked at yet. On one that was ever striped
	// the look may have met the door of another Try.
	again := c.observed() || c.stripes.Load() != nil
	if !again || !c.enterLocked(k.mode) && (k.mode != Write || !c.tryStriped()) {
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
	c.settleFor(w)

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
		// release will find nobody on the way.
		w.signalled = false
		c.settleFor(w)
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
	c.settle(c.uncount(ch), &list)
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
	c.mustHold(c.state.Load(), ch)
	c.settle(c.uncount(ch), &list)
	n := c.noteLeft(ch)
	c.unlockAndWake(&list)
	c.emitLeft(k, ch, n)
}

// barge enters by compare-and-swap alone, as long as a newcomer may and nobody
// observes. It looks so many times.
func (c *core) barge(m Mode, looks int) bool {
	raceDisable()
	defer raceEnable()
	for looks > 0 && unseen() {
		old := c.state.Load()
		next, ok := enter(old, m)
		switch {
		case old&watched != 0:
			return false
		case !ok:
			looks--
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

// uncount takes a reader that leaves out of the stripes. Elsewhere settle does
// it. The caller has mu, so the lock stays striped or not.
func (c *core) uncount(ch change) change {
	if ch == readerLeaves && c.state.Load()&striped != 0 {
		c.stripes.Load().own().readers.Add(-1)
		return nothing
	}
	return ch
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
