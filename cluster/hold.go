package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Hold is a granted lock. It belongs to no goroutine. It ends by [Hold.Unlock], or it is lost.
type Hold struct {
	locker *Locker
	name   string
	token  Token
	ctx    context.Context
	end    context.CancelCauseFunc

	// With the mutex of the Locker.
	grant    *grant        // changes when the readers of an older claim move to a newer one
	released chan struct{} // made by the first Unlock; closed when outcome is known
	outcome  error
}

// A grant is a claim that the engine granted, and the holds of this process that stand on it: one, or several readers.
// All but the constants is guarded by the mutex of the Locker.
type grant struct {
	queue *queue
	claim Claim
	token Token
	lease *Lease
	watch context.Context // ends with the lease, and by stop
	stop  context.CancelFunc
	mode  Mode
	holds map[*Hold]struct{}
	done  func(error) // is told of the release; nil before it is asked for
}

// Context has the values of the context that the lock was taken with and ends with the hold, before the engine gives
// the lock to anybody else (on what that rests, see the package documentation). Its cause is ErrUnlocked or matches
// ErrLost. Calls on the same lock with this context, or one made from it, know the hold.
func (h *Hold) Context() context.Context { return h.ctx }

// Name is the name of the lock.
func (h *Hold) Name() string { return h.name }

// Token is the fencing token of the hold: send it with every operation on what the lock protects, and let the
// other side check it with a [Fence].
func (h *Hold) Token() Token { return h.token }

// Claim is the engine's own side of the hold, for functions of the engine's package.
func (h *Hold) Claim() Claim {
	h.locker.mu.Lock()
	defer h.locker.mu.Unlock()
	return h.grant.claim
}

// Mode is how the lock is held now.
func (h *Hold) Mode() Mode {
	h.locker.mu.Lock()
	defer h.locker.mu.Unlock()
	return h.grant.mode
}

// Deadline is when the hold ends unless the engine answers a keepalive before.
func (h *Hold) Deadline() time.Time {
	h.locker.mu.Lock()
	defer h.locker.mu.Unlock()
	return h.grant.lease.Deadline()
}

// Held returns nil while the hold stands, and else ErrUnlocked or an error that matches ErrLost. It asks the clocks and
// not the engine, so it is cheap enough to ask before every step; the first call after a pause says what was missed.
func (h *Hold) Held() error {
	if h.ctx.Err() != nil {
		return context.Cause(h.ctx)
	}
	l := h.locker
	l.mu.Lock()
	lease := h.grant.lease
	l.mu.Unlock()
	if err := lease.Held(); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.grant.lease == lease { // else it moved to a newer claim meanwhile
			l.lose(h.grant, err)
		}
		if h.ctx.Err() == nil {
			return nil
		}
		return context.Cause(h.ctx)
	}
	return nil
}

// Downgrade turns the write hold into a read hold, without a moment in between at which another writer could enter.
// The token stays. After an error that does not match ErrLost it is not known which of both it is, and the call may
// be repeated. On a read hold it does nothing.
func (h *Hold) Downgrade(ctx context.Context) error {
	if err := h.Held(); err != nil {
		return err
	}
	l := h.locker
	l.mu.Lock()
	g := h.grant
	if g.mode == Read {
		l.mu.Unlock()
		return nil
	}
	l.mu.Unlock()
	err := g.claim.Downgrade(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.Is(err, ErrLost):
		l.lose(g, err)
		return err
	case err != nil:
		return fmt.Errorf("drawbridge: downgrading %q: %w", h.name, err)
	}
	g.mode = Read
	if l.limits.Shared && h.ctx.Err() == nil {
		g.queue.reading = g
	}
	return nil
}

// Unlock releases the hold and returns when the engine has confirmed it. ctx bounds only this wait: if it ends first
// the error matches ctx.Err() and the release goes on in the background, until it is done or the lease has run out.
// The error matches ErrLost if the hold had been lost before. A further Unlock waits for the same release, gives the
// same answer and touches nothing.
func (h *Hold) Unlock(ctx context.Context) error {
	l := h.locker
	l.mu.Lock()
	if h.released == nil {
		h.released = make(chan struct{})
		l.leaveGrant(h)
	}
	released := h.released
	l.mu.Unlock()

	// What is known already is said even with a context that is done.
	select {
	case <-released:
		return h.outcome
	default:
	}
	select {
	case <-released:
		return h.outcome
	case <-ctx.Done():
		return fmt.Errorf("drawbridge: the release of %q goes on in the background: %w", h.name, whyDone(ctx))
	}
}

// admit makes a hold on g. Called with the mutex.
func (l *Locker) admit(g *grant, ctx context.Context) *Hold {
	h := &Hold{locker: l, name: g.queue.name, token: g.token, grant: g}
	h.ctx, h.end = context.WithCancelCause(carry(context.WithoutCancel(ctx), h))
	g.holds[h] = struct{}{}
	return h
}

// granted makes a grant of a claim that the engine granted. Called with the mutex.
func (l *Locker) granted(q *queue, claim Claim, mode Mode, eg Grant) *grant {
	g := &grant{queue: q, claim: claim, token: eg.Token, lease: eg.Lease, mode: mode, holds: make(map[*Hold]struct{})}
	g.watch, g.stop = context.WithCancel(eg.Lease.Context())
	l.grants[g] = struct{}{}
	return g
}

// guard watches over a grant until it is lost or given back, and releases its claim. It is the rest of the goroutine that
// asked for the claim: short holds are the many, and a new goroutine for the watch and one for the release would take
// longer than all that is done here.
func (l *Locker) guard(g *grant) {
	err := g.claim.Watch(g.watch)
	l.mu.Lock()
	if lost := context.Cause(g.lease.Context()); lost != nil {
		err = lost
	} else if !errors.Is(err, ErrLost) {
		err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	l.lose(g, err)
	l.mu.Unlock()
	g.done(l.settle(g.queue, g.claim, false))
}

// lose ends all holds on g, which was lost. Called with the mutex. A grant that has been released before, or lost
// before, has no holds: nothing happens.
func (l *Locker) lose(g *grant, why error) {
	if len(g.holds) == 0 {
		return
	}
	l.logger.Warn("drawbridge: lock lost", "name", g.queue.name, "mode", g.mode.String(), "token", int64(g.token), "why", why)
	for h := range g.holds {
		h.end(why)
		delete(g.holds, h)
	}
	l.release(g, func(error) {})
}

// leaveGrant ends one hold by the will of its owner. The last one on a grant releases the claim. Called with the mutex.
func (l *Locker) leaveGrant(h *Hold) {
	finish := func(err error) {
		h.outcome = err
		close(h.released)
	}
	if h.ctx.Err() == nil {
		// A deadline that has passed is a loss although the timer is late.
		if err := h.grant.lease.Held(); err != nil {
			l.lose(h.grant, err)
		}
	}
	if h.ctx.Err() != nil {
		finish(context.Cause(h.ctx))
		return
	}
	g := h.grant
	h.end(ErrUnlocked)
	delete(g.holds, h)
	if len(g.holds) > 0 {
		finish(nil)
		return
	}
	l.release(g, finish)
}

// release has the claim of g given back, by guard, which tells done. Called with the mutex.
func (l *Locker) release(g *grant, done func(error)) {
	delete(l.grants, g)
	if g.queue.reading == g {
		g.queue.reading = nil
	}
	g.done = done
	g.stop()
}

// giveBack releases a hold that its caller did not get.
func (l *Locker) giveBack(h *Hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.released == nil {
		h.released = make(chan struct{})
		l.leaveGrant(h)
	}
}
