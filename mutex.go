package drawbridge

import "context"

// Mutex is a mutual exclusion lock: [sync.Mutex] with contexts, a choice of
// fairness, and a look at who waits.
//
// The zero value is an unlocked Mutex of the [Balanced] policy: it is fast
// under short sections, waiters enter in order of arrival, and none sleeps for
// more than a millisecond, and what it takes to schedule it, behind newcomers.
// With [FIFO] nobody overtakes: a release hands the lock to the first waiter
// and leaves it locked. The other policies are about readers; with them the
// first use panics.
//
// A Mutex must not be copied after its first use. It is at most 40 bytes. What
// [RWMutex] says about goroutines, misuse, the memory model, costs and
// testing/synctest is true here too.
type Mutex struct {
	// Policy is Balanced or FIFO. Set it before the first use.
	Policy Policy `json:"-"`

	core core
}

func (p Policy) checkMutex() {
	if p != Balanced && p != FIFO {
		panic("drawbridge: a Mutex has no policy " + p.String() + "; use Balanced or FIFO")
	}
}

func (m *Mutex) call() call {
	return call{lock: m, policy: m.Policy, mode: Write}
}

// Lock takes m, and waits while somebody holds it.
func (m *Mutex) Lock() {
	if !m.core.state.CompareAndSwap(fastFree.Load(), busy) {
		m.acquire()
	}
}

// TryLock takes m if Lock would not wait, and reports whether it did. It never
// fails on a Mutex that nobody holds or is calling.
func (m *Mutex) TryLock() bool {
	return m.core.state.CompareAndSwap(fastFree.Load(), busy) || m.try()
}

// Unlock ends the hold. It is a fatal error if there is none.
func (m *Mutex) Unlock() {
	if !m.core.state.CompareAndSwap(fastBusy.Load(), free) {
		m.release()
	}
}

// LockContext is Lock for a call that can wait only as long as ctx, with the
// errors of [RWMutex.LockContext].
func (m *Mutex) LockContext(ctx context.Context) error {
	if ctx != nil && ctx.Err() == nil && m.core.state.CompareAndSwap(fastFree.Load(), busy) {
		return nil
	}
	return m.acquireContext(ctx)
}

// Locked reports whether somebody holds m. It is out of date when it returns:
// use it to report and to assert, not to decide.
func (m *Mutex) Locked() bool { return m.core.picture().Writer }

// State returns who holds m and who waits, at one moment.
func (m *Mutex) State() State { return m.core.picture() }

// WithLock runs fn with m held and returns its error. The hold is carried by
// the context that fn gets: another WithLock inside returns [ErrReentrant]
// instead of waiting for ever. It ends when fn returns, panics or calls
// [runtime.Goexit]. If m cannot be had, WithLock returns an error of
// [RWMutex.LockContext] without calling fn.
func (m *Mutex) WithLock(ctx context.Context, fn func(context.Context) error) error {
	call := m.call().with(ctx)
	return m.core.within(&call, func(ctx context.Context, _ *scope) error { return fn(ctx) })
}

// Observe sends the events of m to o until stop is called, as
// [RWMutex.Observe] does.
func (m *Mutex) Observe(o Observer) (stop func()) {
	k := m.call()
	return m.core.observe(&k, o)
}

func (m *Mutex) acquire() {
	if m.core.enterWindow() {
		return
	}
	k := m.call()
	m.core.takeCaller(&k)
	m.core.mustAcquire(&k)
}

func (m *Mutex) acquireContext(ctx context.Context) error {
	mustContext(ctx)
	k := m.call()
	k.ctx = ctx
	if ctx.Err() != nil {
		return m.core.tooLate(&k)
	}
	m.core.takeCaller(&k)
	return m.core.acquire(&k)
}

func (m *Mutex) try() bool {
	k := m.call()
	return m.core.try(&k)
}

// Kept out of line, it leaves Unlock small enough to be inlined.
//
//go:noinline
func (m *Mutex) release() {
	if m.core.leaveWindow() {
		return
	}
	k := m.call()
	m.core.release(&k, writerLeaves)
}
