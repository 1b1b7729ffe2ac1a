package drawbridge_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// TestTextOfAWaitError compares whole sentences: they are what a person acts
// on.
func TestTextOfAWaitError(t *testing.T) {
	busy := errors.New("the user went away")
	deadline := func(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
	}
	cancelled := func(d time.Duration, cause error) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			if d == 0 {
				cancel(cause)
			}
			time.AfterFunc(d, func() { cancel(cause) })
			return ctx, func() { cancel(nil) }
		}
	}
	for _, c := range []struct {
		inside, waiting []drawbridge.Mode
		asks            drawbridge.Mode
		ctx             func(context.Context) (context.Context, context.CancelFunc)
		want            string
	}{
		{[]drawbridge.Mode{Read, Read, Read}, []drawbridge.Mode{Write, Write}, Write, deadline(500 * time.Millisecond),
			"drawbridge: gave up waiting to write after 500ms: context deadline exceeded (3 readers inside, 2 writers waiting)"},
		{[]drawbridge.Mode{Write}, nil, Read, deadline(1234567 * time.Microsecond),
			"drawbridge: gave up waiting to read after 1.23s: context deadline exceeded (1 writer inside)"},
		{[]drawbridge.Mode{Upgradable}, nil, Upgradable, cancelled(time.Minute, nil),
			"drawbridge: gave up waiting to read upgradably after 1m0s: context canceled (1 upgradable reader inside)"},
		{[]drawbridge.Mode{Write}, nil, Write, cancelled(time.Second, busy),
			"drawbridge: gave up waiting to write after 1s: context canceled: the user went away (1 writer inside)"},
		{nil, nil, Write, cancelled(0, busy),
			"drawbridge: did not wait to write: context canceled: the user went away (free)"},
		{[]drawbridge.Mode{Read}, nil, Read, cancelled(0, nil),
			"drawbridge: did not wait to read: context canceled (1 reader inside)"},
	} {
		play(t, needs{policies: []drawbridge.Policy{Balanced}, modes: append(append(c.inside, c.waiting...), c.asks), contexts: true, plain: true}, func(s *scene) {
			for i, m := range c.inside {
				s.asks(fmt.Sprint("inside ", i), m)
			}
			for i, m := range c.waiting {
				s.asks(fmt.Sprint("waiting ", i), m)
			}
			ctx, cancel := c.ctx(s.Context())
			defer cancel()
			err := s.lock.hold(ctx, c.asks, func(context.Context, *grip) { s.Error("entered") })
			if err == nil || err.Error() != c.want {
				s.Errorf("\n got: %v\nwant: %s", err, c.want)
			}
		})
	}
}

// TestWaitErrorMatchesItsContext finds the context's error and its cause.
func TestWaitErrorMatchesItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rw drawbridge.RWMutex
		rw.Lock()
		cause := errors.New("the cause")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		err := fmt.Errorf("looking up a route: %w", rw.RLockContext(ctx))
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cause) || errors.Is(err, context.Canceled) || errors.Is(err, drawbridge.ErrDeadlock) {
			t.Errorf("got %v", err)
		}
		w := waitError(t, err)
		if w.Lock != any(&rw) || w.Mode != Read || w.Waited != time.Second || w.State != (drawbridge.State{Writer: true}) {
			t.Errorf("got %#v", w)
		}
	})
}

// TestWaitErrorLeavesItsBubble: an error that asks its context later ends the
// process ("receive on synctest channel from outside bubble").
func TestWaitErrorLeavesItsBubble(t *testing.T) {
	var err error
	synctest.Test(t, func(t *testing.T) {
		var mu drawbridge.Mutex
		mu.Lock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = mu.LockContext(ctx)
	})
	const want = "drawbridge: gave up waiting to write after 1s: context deadline exceeded (1 writer inside)"
	if !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
		t.Errorf("got error %v", err)
	}
}

// TestWaitErrorNamesTheLockOfItsUser and not what is inside it.
func TestWaitErrorNamesTheLockOfItsUser(t *testing.T) {
	var (
		rw drawbridge.RWMutex
		mu drawbridge.Mutex
		g  drawbridge.Guarded[int]
		k  drawbridge.Keyed[int]
		s  drawbridge.Snapshot[int]
	)
	_, keyed := k.LockContext(done, 1)
	for _, c := range []struct {
		lock any
		err  error
	}{
		{&rw, rw.LockContext(done)},
		{&mu, mu.LockContext(done)},
		{&g, g.Read(done, func(context.Context, *int) error { return nil })},
		{&k, keyed},
		{&s, s.Update(done, func(context.Context, *int) (*int, error) { return nil, nil })},
	} {
		if w := waitError(t, c.err); w.Lock != c.lock {
			t.Errorf("%T: got %T", c.lock, w.Lock)
		}
	}
}

func TestTextOfTheOtherErrors(t *testing.T) {
	for err, want := range map[error]string{
		drawbridge.ErrUpgrade:   "drawbridge: cannot write while the context holds the lock to read; take the write lock from the start, or use WithULock and upgrade",
		drawbridge.ErrReentrant: "drawbridge: the context holds the lock already; use that hold instead of taking the lock again",
		drawbridge.ErrDeadlock:  "drawbridge: deadlock",
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
