package drawbridge_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// In a testing/synctest bubble a wait for a lock is durably blocking, and what
// a wait leaves in the pools of the process belongs to no bubble.

// TestWaitIsDurablyBlocking ends by a timeout of the whole test if fake time
// does not move on while somebody waits for a lock, as it does not for
// sync.Mutex, golang/go#77687: https://go.dev/issue/77687
func TestWaitIsDurablyBlocking(t *testing.T) {
	for _, m := range allModes {
		play(t, needs{modes: []drawbridge.Mode{m}}, func(s *scene) {
			a := s.writes("A")
			b := s.asks("B", m)
			time.Sleep(time.Hour)
			if !b.waits() {
				s.Fatal("B does not wait")
			}
			a.leaves()
			s.want("B " + doing[m])
		})
	}
}

// TestSynctestWaitSeesWhatTheSleeperDid reports a race, with -race, if a lock
// hides from the detector that its caller went to sleep: synctest.Wait comes
// after everything that goroutines did before they blocked.
func TestSynctestWaitSeesWhatTheSleeperDid(t *testing.T) {
	for _, ctx := range []func(*testing.T) context.Context{
		func(t *testing.T) context.Context { return nil },
		func(t *testing.T) context.Context { return t.Context() },
	} {
		synctest.Test(t, func(t *testing.T) {
			var rw drawbridge.RWMutex
			ctx := ctx(t)
			said := ""
			rw.Lock()
			go func() {
				said = "I wait"
				if ctx == nil {
					rw.Lock()
				} else if err := rw.LockContext(ctx); err != nil {
					t.Error(err)
				}
				said = "I hold"
				rw.Unlock()
			}()
			synctest.Wait()
			if said != "I wait" {
				t.Errorf("the goroutine says %q", said)
			}
			said += " and I was seen"
			rw.Unlock()
			synctest.Wait()
			if said != "I hold" {
				t.Errorf("the goroutine says %q", said)
			}
		})
	}
}

// jam makes every kind of wait on l happen and end: granted, given up, and
// woken to compete.
func jam(t *testing.T, f form, l *subject, rest func(waiting int)) {
	for range 3 {
		var wg sync.WaitGroup
		release := make(chan struct{})
		held := make(chan struct{})
		wg.Go(func() {
			err := l.hold(t.Context(), Write, func(context.Context, *grip) {
				close(held)
				<-release
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-held
		waiting := 0
		ctx, cancel := context.WithCancel(t.Context())
		for _, m := range f.modes {
			for range 3 {
				waiting++
				wg.Go(func() {
					if err := l.hold(t.Context(), m, func(context.Context, *grip) {}); err != nil {
						t.Error(err)
					}
				})
				if !f.contexts {
					continue
				}
				waiting++
				wg.Go(func() {
					if err := l.hold(ctx, m, func(context.Context, *grip) {}); !errors.Is(err, context.Canceled) {
						t.Errorf("got error %v", err)
					}
				})
			}
		}
		rest(waiting)
		cancel()
		if f.contexts {
			waiting /= 2
		}
		rest(waiting)
		close(release)
		wg.Wait()
		if got := l.state(); got != (drawbridge.State{}) {
			t.Errorf("left behind: %s", got)
		}
	}
}

// TestLockCrossesBubbles contends every lock in a bubble, outside, in another
// bubble and outside again. A pooled channel ends the process here ("select on
// synctest channel from outside bubble"), or hangs the next bubble.
func TestLockCrossesBubbles(t *testing.T) {
	for _, f := range forms {
		for _, p := range f.policies {
			t.Run(f.name+"/"+p.String(), func(t *testing.T) {
				l := f.make(p)
				inside := func() {
					synctest.Test(t, func(t *testing.T) {
						jam(t, f, l, func(waiting int) {
							synctest.Wait()
							if got := waiters(l.state()); got != waiting {
								t.Fatalf("%d wait, want %d", got, waiting)
							}
							time.Sleep(time.Minute)
						})
					})
				}
				outside := func() {
					jam(t, f, l, func(waiting int) {
						eventually(t, func() bool { return waiters(l.state()) == waiting })
					})
				}
				inside()
				outside()
				inside()
				outside()
			})
		}
	}
}

func waiters(s drawbridge.State) int { return s.WaitingReaders + s.WaitingWriters }

// eventually waits, in real time, until something has happened that other
// goroutines or the runtime are about to do.
func eventually(t testing.TB, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !happened(); {
		if time.Now().After(deadline) {
			t.Fatal("did not happen within 20 s")
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// TestScopedWaitsCrossBubbles is the same for waits that carry another hold,
// which are registered and always sleep on a channel.
func TestScopedWaitsCrossBubbles(t *testing.T) {
	var outer, inner drawbridge.RWMutex
	nested := func(t *testing.T, rest func()) {
		inner.Lock()
		var wg sync.WaitGroup
		wg.Go(func() {
			err := outer.WithRLock(t.Context(), func(ctx context.Context) error {
				return inner.WithRLock(ctx, func(context.Context) error { return nil })
			})
			if err != nil {
				t.Error(err)
			}
		})
		rest()
		inner.Unlock()
		wg.Wait()
	}
	for range 2 {
		synctest.Test(t, func(t *testing.T) { nested(t, synctest.Wait) })
		nested(t, func() { eventually(t, func() bool { return inner.State().WaitingReaders == 1 }) })
	}
}

// TestContextFromOutsideHoldsFakeTime is the documented price: such a wait can
// be ended from outside, so it stops the bubble's clock.
func TestContextFromOutsideHoldsFakeTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx.Done() // a context makes its channel when it is asked, here outside
	var rw drawbridge.RWMutex
	go func() {
		eventually(t, func() bool { return rw.State().WaitingWriters == 1 })
		cancel()
	}()
	synctest.Test(t, func(t *testing.T) {
		rw.Lock()
		began := time.Now()
		var ended time.Time
		go func() {
			if err := rw.LockContext(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("got error %v", err)
			}
			ended = time.Now()
		}()
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if waited := ended.Sub(began); waited != 0 && waited != time.Nanosecond {
			t.Errorf("fake time went on by %v during the wait", waited)
		}
		rw.Unlock()
	})
}
