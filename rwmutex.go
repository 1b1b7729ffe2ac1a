package drawbridge

import (
	"context"
	"sync"
)

// RWMutex is a read-write lock: any number of readers hold it at once, a
// writer holds it alone. It does all that [sync.RWMutex] does under the same
// method names, so that changing the type changes nothing else, and adds
//
//   - calls that end with a context: [RWMutex.LockContext] and its kin;
//   - scoped calls, whose context knows what they hold, so that a read inside
//     a read works and a deadlock is an error: [RWMutex.WithRLock],
//     [RWMutex.WithLock], [RWMutex.WithULock];
//   - upgradable reads: [RWMutex.ULock] and [RWMutex.Upgrade];
//   - downgrades without a gap: [RWMutex.Downgrade];
//   - a choice of who goes first: [Policy];
//   - a look at who is inside and who waits: [RWMutex.State] and
//     [RWMutex.Observe].
//
// The zero value is an unlocked lock of the [Balanced] policy. An RWMutex must
// not be copied after its first use. It is at most 64 bytes.
//
// As with the standard type, a hold belongs to no goroutine: one may lock and
// another unlock. A plain RLock inside a read hold waits behind a waiting
// writer, who waits for that hold: use the scoped calls where reads nest.
// A call that ends a hold that is not there ends the process.
//
// In the terms of the Go memory model, the n'th call that ends a write hold
// synchronizes before every later grant, and a call that ends a read hold
// synchronizes before the grant of every later writer. A call that returns an
// error or false synchronizes with nothing.
//
// Uncontended calls are one atomic read-modify-write and allocate nothing; the
// scoped ones allocate their context, and WithULock the upgrade that it passes.
// A wait allocates nothing, or its channel if its context can end. To enqueue,
// to give up and to hand over takes constant time however many wait. A lock
// that many read at once on several processors takes 128 bytes more for each of
// four stripes a processor; State may then count a reader that is just entering
// or leaving, and an RUnlock without a hold is found by the next writer.
//
// In a [testing/synctest] bubble a wait for the lock is durably blocking, as it
// is not for the standard types, so that fake time goes on. The price: a
// goroutine in a bubble must not wait for a holder outside it, nor one outside
// for a holder inside; the test ends if it does. A wait whose context was made
// outside the bubble is not durably blocking. Contended in a bubble, a lock
// stays usable outside it, and the other way round.
type RWMutex struct {
	// Policy says who goes first. Set it before the first use.
	Policy Policy `json:"-"`

	core core
}

// call describes a call on rw.
func (rw *RWMutex) call(m Mode) call {
	return call{lock: rw, policy: rw.Policy, mode: m}
}

// Lock takes rw to write. If anybody holds rw, Lock waits.
func (rw *RWMutex) Lock() {
	if !rw.core.state.CompareAndSwap(fastFree.Load(), busy) {
		rw.lock()
	}
}

// TryLock takes rw to write if Lock would not wait, and reports whether it
// did. It never fails on a lock that nobody holds or is calling.
func (rw *RWMutex) TryLock() bool {
	return rw.core.state.CompareAndSwap(fastFree.Load(), busy) || rw.tryLock()
}

// Unlock ends a write hold. It is a fatal error if there is none.
func (rw *RWMutex) Unlock() {
	if !rw.core.state.CompareAndSwap(fastBusy.Load(), free) {
		rw.unlock()
	}
}

// RLock takes rw to read. It waits while a writer holds and, unless the policy
// is [PreferReaders], while a writer waits.
func (rw *RWMutex) RLock() {
	c := &rw.core
	if old := c.state.Load(); old&^passable == fastFree.Load() {
		if c.state.Add(1)&closed == 0 {
			return
		}
		c.backOut()
	} else if c.enterCrowded(old) {
		return
	}
	rw.acquire(Read)
}

// TryRLock takes rw to read if RLock would not wait, and reports whether it did.
func (rw *RWMutex) TryRLock() bool {
	return rw.core.enterReading() || rw.try(Read)
}

// RUnlock ends a read hold. It is a fatal error if there is none.
func (rw *RWMutex) RUnlock() {
	c := &rw.core
	if c.state.Load()&(ready|closed|watched|striped|writersWait) == fastFree.Load() {
		if now := c.state.Add(^uint64(0)); now&(ready|closed|writersWait) != ready {
			c.left(now)
		}
	} else if !c.leaveReading() {
		rw.release(Read, readerLeaves)
	}
}

// RLocker returns a [sync.Locker] whose Lock and Unlock are rw's RLock and
// RUnlock.
func (rw *RWMutex) RLocker() sync.Locker { return (*rlocker)(rw) }

type rlocker RWMutex

func (r *rlocker) Lock()   { (*RWMutex)(r).RLock() }
func (r *rlocker) Unlock() { (*RWMutex)(r).RUnlock() }

// LockContext is Lock for a call that can wait only as long as ctx. It returns
// nil with the lock held, or an error without it and with nothing of the call
// left behind:
//
//   - a [*WaitError], which matches ctx's error and its cause, if ctx ended
//     while the call waited or before it. A done ctx gets no lock, even if the
//     lock is free. If ctx ends during a call that need not wait, either
//     outcome is right;
//   - [ErrUpgrade] or [ErrReentrant], at once, if the call would wait and ctx
//     carries a scoped hold of rw, for which it would wait for ever;
//   - a [*DeadlockError], which matches [ErrDeadlock], if ctx carries a scoped
//     hold of another lock and the wait would close a cycle.
//
// LockContext panics if ctx is nil.
func (rw *RWMutex) LockContext(ctx context.Context) error {
	if ctx != nil && ctx.Err() == nil && rw.core.state.CompareAndSwap(fastFree.Load(), busy) {
		return nil
	}
	return rw.acquireContext(ctx, Write)
}

// RLockContext is RLock for a call that can wait only as long as ctx, with the
// errors of [RWMutex.LockContext]. If ctx carries a scoped read of rw, the call
// does not wait behind a waiting writer; it ends its hold by RUnlock like any
// other.
func (rw *RWMutex) RLockContext(ctx context.Context) error {
	if ctx != nil && ctx.Err() == nil {
		c := &rw.core
		if old := c.state.Load(); old&^passable == fastFree.Load() {
			if c.state.Add(1)&closed == 0 {
				return nil
			}
			c.backOut()
		} else if c.enterCrowded(old) {
			return nil
		}
	}
	return rw.acquireContext(ctx, Read)
}

// State returns who holds rw and who waits, at one moment.
func (rw *RWMutex) State() State { return rw.core.picture() }

// Observe sends the events of rw to o until stop is called. An observed lock
// takes the slow path in every call.
func (rw *RWMutex) Observe(o Observer) (stop func()) {
	k := rw.call(0)
	return rw.core.observe(&k, o)
}

// Kept out of line, these leave Lock, TryLock and Unlock small enough to be
// inlined.

//go:noinline
func (rw *RWMutex) lock() {
	if !rw.core.enterWindow() {
		k := rw.call(Write)
		rw.core.takeCaller(&k)
		rw.core.mustAcquire(&k)
	}
}

//go:noinline
func (rw *RWMutex) tryLock() bool { return rw.try(Write) }

//go:noinline
func (rw *RWMutex) unlock() {
	if !rw.core.leaveWindow() {
		rw.release(Write, writerLeaves)
	}
}

func (rw *RWMutex) acquire(m Mode) {
	k := rw.call(m)
	rw.core.takeCaller(&k)
	rw.core.mustAcquire(&k)
}

func (rw *RWMutex) acquireContext(ctx context.Context, m Mode) error {
	mustContext(ctx)
	k := rw.call(m)
	k.ctx = ctx
	if ctx.Err() != nil {
		return rw.core.tooLate(&k)
	}
	rw.core.takeCaller(&k)
	return rw.core.acquire(&k)
}

func (rw *RWMutex) try(m Mode) bool {
	k := rw.call(m)
	return rw.core.try(&k)
}

func (rw *RWMutex) release(m Mode, ch change) {
	k := rw.call(m)
	rw.core.release(&k, ch)
}
