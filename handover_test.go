package drawbridge_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

type events struct {
	mu sync.Mutex
	l  []drawbridge.Event
}

func (e *events) Observe(_ context.Context, ev drawbridge.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.l = append(e.l, ev)
}

// TestReleaseNamesItsOwnHoldWhenItHandsOver: the release of a hold that is
// handed over at once must carry the name and the age of the hold that ends,
// not of the one that begins, and come before it in the order of the lock.
func TestReleaseNamesItsOwnHoldWhenItHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mu := drawbridge.Mutex{Policy: drawbridge.FIFO}
		var seen events
		defer mu.Observe(&seen)()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				mu.Lock()
				time.Sleep(time.Second)
				mu.Unlock()
			})
		}
		wg.Wait()

		granted := map[uint64]uint64{} // hold → seq
		for _, e := range seen.l {
			switch e.Kind {
			case drawbridge.Granted:
				granted[e.Hold] = e.Seq
			case drawbridge.Released:
				seq, ok := granted[e.Hold]
				if !ok || e.Held != time.Second || e.Seq != seq+1 {
					t.Errorf("release of hold %d (seq %d) after %v, granted %v with seq %d; want a hold that was granted, after 1s, next in order",
						e.Hold, e.Seq, e.Held, ok, seq)
				}
				delete(granted, e.Hold)
			}
		}
		if len(granted) > 0 {
			t.Errorf("never released: %v", granted)
		}
	})
}

// TestWaitIsNamedInWhatFollowsIt: the grant or the end of a wait carries the
// name that its Waiting had, and a call that does not wait carries none.
func TestWaitIsNamedInWhatFollowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu drawbridge.RWMutex
		var seen events
		defer mu.Observe(&seen)()
		mu.Lock()
		var wg sync.WaitGroup
		wg.Go(func() { mu.RLock(); mu.RUnlock() })
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			mu.LockContext(ctx)
		})
		time.Sleep(2 * time.Second)
		mu.Unlock()
		wg.Wait()
		waiting := map[uint64]bool{}
		for _, e := range seen.l {
			switch {
			case e.Kind == drawbridge.Waiting:
				if e.Wait == 0 || waiting[e.Wait] {
					t.Errorf("a wait named %d, of %v", e.Wait, waiting)
				}
				waiting[e.Wait] = true
			case e.Wait != 0:
				if !waiting[e.Wait] {
					t.Errorf("%v ends wait %d, which none began", e.Kind, e.Wait)
				}
				delete(waiting, e.Wait)
			case e.Waited != 0:
				t.Errorf("%v after %v ends no wait", e.Kind, e.Waited)
			}
		}
		if len(waiting) > 0 {
			t.Errorf("waits without an end: %v", waiting)
		}
	})
}

// TestHoldsNamesWhatTheContextCarries: an observer can tell within which holds
// a call is made, also from another goroutine.
func TestHoldsNamesWhatTheContextCarries(t *testing.T) {
	var a, b drawbridge.RWMutex
	var seen events
	defer a.Observe(&seen)()
	names := func(ctx context.Context) []uint64 {
		done := make(chan []uint64)
		go func() { done <- drawbridge.Holds(ctx) }()
		return <-done
	}
	var outlived context.Context
	a.WithLock(t.Context(), func(ctx context.Context) error {
		outlived = ctx
		return b.WithRLock(ctx, func(ctx context.Context) error { // not observed
			if got := names(ctx); len(got) != 1 || got[0] != seen.l[0].Hold {
				t.Errorf("inside a write: %v, want the hold of %+v", got, seen.l[0])
			}
			if got := names(drawbridge.WithoutHolds(ctx)); len(got) != 0 {
				t.Errorf("without holds: %v", got)
			}
			return nil
		})
	})
	if got := names(outlived); len(got) != 0 {
		t.Errorf("of a scope that is over: %v", got)
	}
	a.WithULock(t.Context(), func(ctx context.Context, upgrade func() error) error {
		before := names(ctx)
		upgrade()
		if after := names(ctx); len(after) != 1 || after[0] != before[0] {
			t.Errorf("before the upgrade %v, after it %v", before, after)
		}
		return nil
	})
	a.WithRLock(t.Context(), func(ctx context.Context) error {
		if got := names(ctx); len(got) != 1 {
			t.Errorf("inside a read: %v", got)
		}
		return nil
	})
}
