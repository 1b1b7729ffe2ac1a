package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Lease keeps what a process has at an engine and knows until when. Its deadline is
//
//	the time at which the last answered renewal was sent + TTL - Margin(TTL)
//
// The server counts from a later moment, when the renewal reached it, so the deadline comes first whatever the
// network does to the answer. What the deadline rests on: the two clocks run at the same rate, within the margin.
//
// A lease that has passed its deadline is over for good, even if a late answer shows that the server still has it:
// somebody may have been told. So is one of which the server says that it is gone.
type Lease struct {
	renew  func(context.Context) (time.Duration, error)
	ctx    context.Context // done when the lease is over; its cause matches ErrLost
	end    context.CancelCauseFunc
	closed chan struct{} // the renewing goroutine has ended

	mu       sync.Mutex
	deadline time.Time // compared by the monotonic clock
	wall     time.Time // the same by the wall clock
	timer    *time.Timer
}

// Margin is how much earlier than the server a lease of this TTL ends here: a tenth, at least half a second.
func Margin(ttl time.Duration) time.Duration { return max(ttl/10, 500*time.Millisecond) }

// NewLease starts to keep a lease that the server granted, or last renewed, in answer to a request sent at the time
// sent. Every third of the TTL it calls renew, which asks the server to renew the lease once and returns the TTL
// the server answered. An error of renew that matches ErrLost ends the lease; any other is tried again until the
// deadline. The context given to renew ends after a third of the TTL.
//
// [Lease.Stop] must be called in the end.
func NewLease(sent time.Time, ttl time.Duration, renew func(context.Context) (time.Duration, error)) *Lease {
	l := &Lease{renew: renew, closed: make(chan struct{})}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	l.count(sent, ttl)
	l.timer = time.AfterFunc(time.Until(l.deadline), func() { l.Held() })
	go l.keep(sent, ttl)
	return l
}

// Context is done when the lease is over. Its cause matches ErrLost.
func (l *Lease) Context() context.Context { return l.ctx }

// Deadline is when the lease ends here unless it is renewed before.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
}

// Held returns nil while the lease stands. It asks the clocks, not the timer, which a paused process has not seen
// fire yet; and both of them: the monotonic clock stands still while a machine is suspended, and the wall clock
// does not.
func (l *Lease) Held() error {
	if l.ctx.Err() == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		now := time.Now()
		if now.Before(l.deadline) && now.Round(0).Before(l.wall) {
			return nil
		}
		// Ended under the mutex, so that no answered renewal can move the deadline in between.
		l.end(fmt.Errorf("%w: no keepalive was answered in time", ErrLost))
	}
	return context.Cause(l.ctx)
}

// Lose ends the lease at once. Engines call it when they see that the server has dropped it.
func (l *Lease) Lose(why error) {
	if !errors.Is(why, ErrLost) {
		why = fmt.Errorf("%w: %w", ErrLost, why)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	l.end(why)
}

// Stop ends the lease here, without a word to the server, and returns when no renewal is under way any more.
func (l *Lease) Stop() {
	l.Lose(fmt.Errorf("%w: the session was closed", ErrLost))
	<-l.closed
}

func (l *Lease) keep(sent time.Time, ttl time.Duration) {
	defer close(l.closed)
	next := sent.Add(ttl / 3)
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-time.After(time.Until(next)):
		}
		// After a suspend the timer is late by as long as the machine slept; the wall clock knows.
		if l.Held() != nil {
			return
		}
		sent = time.Now()
		ctx, cancel := context.WithTimeout(l.ctx, ttl/3)
		granted, err := l.renew(ctx)
		cancel()
		switch {
		case err == nil:
			ttl = granted
			l.extend(sent, ttl)
			next = sent.Add(ttl / 3)
		case errors.Is(err, ErrLost):
			l.Lose(err)
		default:
			next = time.Now().Add(ttl / 20)
		}
	}
}

// extend moves the deadline, unless it has passed: what is over stays over.
func (l *Lease) extend(sent time.Time, ttl time.Duration) {
	if l.Held() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	l.count(sent, ttl)
	l.timer.Reset(time.Until(l.deadline))
}

func (l *Lease) count(sent time.Time, ttl time.Duration) {
	l.deadline = sent.Add(ttl - Margin(ttl))
	l.wall = l.deadline.Round(0)
}
