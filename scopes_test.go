package drawbridge_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// A scoped hold is carried by the context that its function gets.

// scopedForms calls test for each form of lock that has scopes, in a bubble.
func scopedForms(t *testing.T, test func(*scene), modes ...drawbridge.Mode) {
	for _, f := range forms {
		if !f.scoped || !f.has(modes...) {
			continue
		}
		for _, p := range f.policies {
			t.Run(f.name+"/"+p.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &scene{T: t, lock: f.make(p), policy: p}
					test(s)
					synctest.Wait()
					s.end()
				})
			})
		}
	}
}

// within runs f inside a hold and fails if that cannot be had.
func (s *scene) within(ctx context.Context, m drawbridge.Mode, f func(context.Context, *grip)) {
	s.Helper()
	if err := s.lock.hold(ctx, m, f); err != nil {
		s.Errorf("to %s: error %v", m, err)
	}
}

// refused fails if a call inside is not answered at once with want.
func (s *scene) refused(ctx context.Context, m drawbridge.Mode, want error) {
	s.Helper()
	err := s.lock.hold(ctx, m, func(context.Context, *grip) { s.Errorf("entered to %s", m) })
	if err != want {
		s.Errorf("to %s: got error %v, want %v", m, err, want)
	}
}

// TestScopesInsideScopes goes through the grid of point 8 of the contract.
func TestScopesInsideScopes(t *testing.T) {
	type rule struct {
		outer, inner drawbridge.Mode
		want         error // nil: enters at once
	}
	for _, r := range []rule{
		{Read, Read, nil},
		{Read, Upgradable, drawbridge.ErrUpgrade},
		{Read, Write, drawbridge.ErrUpgrade},
		{Upgradable, Read, nil},
		{Upgradable, Upgradable, drawbridge.ErrReentrant},
		{Upgradable, Write, drawbridge.ErrUpgrade},
		{Write, Read, drawbridge.ErrReentrant},
		{Write, Upgradable, drawbridge.ErrReentrant},
		{Write, Write, drawbridge.ErrReentrant},
	} {
		for _, writerWaits := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v inside %v/a writer waits: %t", r.inner, r.outer, writerWaits), func(t *testing.T) {
				scopedForms(t, func(s *scene) {
					s.within(s.Context(), r.outer, func(ctx context.Context, _ *grip) {
						if writerWaits {
							s.writes("W")
						}
						// A context that is derived carries the hold too.
						ctx, cancel := context.WithTimeout(ctx, time.Hour)
						defer cancel()
						if r.want != nil {
							s.refused(ctx, r.inner, r.want)
							return
						}
						entered := false
						s.within(ctx, r.inner, func(context.Context, *grip) { entered = true })
						if !entered {
							s.Error("did not enter")
						}
					})
				}, r.outer, r.inner, Write)
			})
		}
	}
}

// TestScopesInsideAnUpgradedScope is the grid after the upgrade.
func TestScopesInsideAnUpgradedScope(t *testing.T) {
	scopedForms(t, func(s *scene) {
		s.within(s.Context(), Upgradable, func(ctx context.Context, g *grip) {
			if err := g.upgrade(ctx); err != nil {
				s.Error(err)
			}
			for _, m := range allModes {
				s.refused(ctx, m, drawbridge.ErrReentrant)
			}
			if err := g.upgrade(ctx); err != nil {
				s.Errorf("a second upgrade: %v", err)
			}
			if got, want := s.lock.state(), (drawbridge.State{Writer: true}); got != want {
				s.Errorf("got %s, want %s", got, want)
			}
		})
	}, allModes...)
}

// TestReadInsideAReadIsTheSameHold fails if it is counted, so that a state
// shows more readers than there are, or ends the outer hold.
func TestReadInsideAReadIsTheSameHold(t *testing.T) {
	scopedForms(t, func(s *scene) {
		one := drawbridge.State{Readers: 1}
		s.within(s.Context(), Read, func(ctx context.Context, _ *grip) {
			s.within(ctx, Read, func(ctx context.Context, _ *grip) {
				s.within(ctx, Read, func(context.Context, *grip) {
					if got := s.lock.state(); got != one {
						s.Errorf("got %s, want %s", got, one)
					}
				})
			})
			if got := s.lock.state(); got != one {
				s.Errorf("got %s, want %s", got, one)
			}
		})
	}, Read)
}

// TestReadInsideAnUpgradableIsAReaderOfItsOwn, and while it is open the upgrade
// would wait for it for ever.
func TestReadInsideAnUpgradableIsAReaderOfItsOwn(t *testing.T) {
	scopedForms(t, func(s *scene) {
		s.within(s.Context(), Upgradable, func(ctx context.Context, g *grip) {
			s.within(ctx, Read, func(ctx context.Context, _ *grip) {
				if got, want := s.lock.state(), (drawbridge.State{Readers: 1, Upgradable: true}); got != want {
					s.Errorf("got %s, want %s", got, want)
				}
				if err := g.upgrade(ctx); err != drawbridge.ErrUpgrade {
					s.Errorf("upgrade beside a read: error %v", err)
				}
				s.within(ctx, Read, func(context.Context, *grip) {})
			})
			if err := g.upgrade(ctx); err != nil {
				s.Error(err)
			}
		})
	}, allModes...)
}

// TestUpgradeContextBesideAReadOfItsContext would wait for that read for ever.
func TestUpgradeContextBesideAReadOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rw drawbridge.RWMutex
		rw.ULock()
		err := rw.WithRLock(t.Context(), func(ctx context.Context) error { return rw.UpgradeContext(ctx) })
		if err != drawbridge.ErrUpgrade {
			t.Errorf("got error %v", err)
		}
		if err := rw.UpgradeContext(t.Context()); err != nil {
			t.Error(err)
		}
		rw.Unlock()
	})
}

// TestUpgradeOfAScopeThatIsOver must not touch the lock.
func TestUpgradeOfAScopeThatIsOver(t *testing.T) {
	scopedForms(t, func(s *scene) {
		var late *grip
		s.within(s.Context(), Upgradable, func(_ context.Context, g *grip) { late = g })
		other := s.upgradably("other")
		if err := late.upgrade(s.Context()); err != drawbridge.ErrUpgrade {
			s.Errorf("got error %v", err)
		}
		s.want("other reads upgradably")
		other.leaves()
	}, allModes...)
}

// TestScopedUpgradeMayBeTriedAgain: an upgrade ends with its context, which is
// the context of the scope.
func TestScopedUpgradeMayBeTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rw drawbridge.RWMutex
		rw.RLock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := rw.WithULock(ctx, func(ctx context.Context, upgrade func() error) error {
			for range 2 {
				err := upgrade()
				if w := waitError(t, err); w.Mode != Write || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %#v", w)
				}
				if got, want := rw.State(), (drawbridge.State{Readers: 1, Upgradable: true}); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		rw.RUnlock()
		if got := rw.State(); got != (drawbridge.State{}) {
			t.Errorf("left behind: %s", got)
		}
	})
}

// TestPlainCallsInsideScopes look at the holds only before they would wait.
func TestPlainCallsInsideScopes(t *testing.T) {
	for _, p := range everyPolicy {
		t.Run(p.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rw := drawbridge.RWMutex{Policy: p}
				writer := func() {
					go func() {
						rw.Lock()
						rw.Unlock()
					}()
					synctest.Wait()
				}
				must := func(err error) {
					t.Helper()
					if err != nil {
						t.Error(err)
					}
				}
				refused := func(err, want error) {
					t.Helper()
					if err != want {
						t.Errorf("got error %v, want %v", err, want)
					}
				}
				// Inside a read.
				must(rw.WithRLock(t.Context(), func(ctx context.Context) error {
					writer()
					must(rw.RLockContext(ctx)) // past the door
					if got, want := rw.State(), (drawbridge.State{Readers: 2, WaitingWriters: 1}); got != want {
						t.Errorf("got %s, want %s", got, want)
					}
					rw.RUnlock()
					refused(rw.LockContext(ctx), drawbridge.ErrUpgrade)
					refused(rw.ULockContext(ctx), map[bool]error{false: drawbridge.ErrUpgrade}[p == PreferReaders])
					if p == PreferReaders {
						rw.UUnlock() // it did not have to wait
					}
					return nil
				}))
				synctest.Wait()
				// Inside an upgradable read.
				must(rw.WithULock(t.Context(), func(ctx context.Context, upgrade func() error) error {
					writer()
					must(rw.RLockContext(ctx))
					rw.RUnlock()
					refused(rw.LockContext(ctx), drawbridge.ErrUpgrade)
					refused(rw.ULockContext(ctx), drawbridge.ErrReentrant)
					must(upgrade())
					refused(rw.RLockContext(ctx), drawbridge.ErrReentrant)
					refused(rw.LockContext(ctx), drawbridge.ErrReentrant)
					return nil
				}))
				synctest.Wait()
				// Inside a write.
				must(rw.WithLock(t.Context(), func(ctx context.Context) error {
					refused(rw.RLockContext(ctx), drawbridge.ErrReentrant)
					refused(rw.ULockContext(ctx), drawbridge.ErrReentrant)
					refused(rw.LockContext(ctx), drawbridge.ErrReentrant)
					return nil
				}))
				if got := rw.State(); got != (drawbridge.State{}) {
					t.Errorf("left behind: %s", got)
				}
			})
		})
	}
}

// TestHoldOutlivesTheCallThatTookIt: a goroutine that joined the read keeps it
// until its own call returns; a writer that enters before that tears what it
// reads.
func TestHoldOutlivesTheCallThatTookIt(t *testing.T) {
	scopedForms(t, func(s *scene) {
		leave := make(chan struct{})
		s.within(s.Context(), Read, func(ctx context.Context, _ *grip) {
			s.writes("W")
			joined := make(chan struct{})
			go s.within(ctx, Read, func(context.Context, *grip) {
				close(joined)
				<-leave
			})
			<-joined
		})
		synctest.Wait()
		if got, want := s.lock.state(), (drawbridge.State{Readers: 1, WaitingWriters: 1}); got != want {
			s.Errorf("after the outer call has returned: %s, want %s", got, want)
		}
		close(leave)
		synctest.Wait()
		s.want("W writes")
	}, Read, Write)
}

// TestContextThatOutlivesItsScope carries no hold: a call with it waits like
// anybody else's, and the end of the scope does not cancel it.
func TestContextThatOutlivesItsScope(t *testing.T) {
	for _, m := range allModes {
		t.Run(m.String(), func(t *testing.T) {
			scopedForms(t, func(s *scene) {
				var stale context.Context
				s.within(s.Context(), m, func(ctx context.Context, _ *grip) { stale = ctx })
				if stale.Err() != nil {
					s.Errorf("the scope's end cancelled its context: %v", stale.Err())
				}
				s.within(stale, Write, func(context.Context, *grip) {})
				a := s.writes("A")
				b := s.send(stale, "B", Write)
				synctest.Wait()
				s.want("A writes, B waits to write")
				a.leaves()
				s.want("B writes")
				b.leaves()
			}, m, Write)
		})
	}
}

// TestStaleInnerContextFindsTheOuterHold: the scope in between is over, the
// outer one is not.
func TestStaleInnerContextFindsTheOuterHold(t *testing.T) {
	scopedForms(t, func(s *scene) {
		s.within(s.Context(), Upgradable, func(ctx context.Context, _ *grip) {
			var stale context.Context
			s.within(ctx, Read, func(ctx context.Context, _ *grip) { stale = ctx })
			s.refused(stale, Write, drawbridge.ErrUpgrade)
			s.refused(stale, Upgradable, drawbridge.ErrReentrant)
			s.within(stale, Read, func(context.Context, *grip) {})
		})
	}, allModes...)
}

// TestWithoutHolds: work that outlives the scope waits like anybody else's.
func TestWithoutHolds(t *testing.T) {
	type ctxKey struct{}
	scopedForms(t, func(s *scene) {
		ctx, cancel := context.WithCancel(context.WithValue(s.Context(), ctxKey{}, "kept"))
		defer cancel()
		s.within(ctx, Read, func(ctx context.Context, _ *grip) {
			free := drawbridge.WithoutHolds(ctx)
			if free.Value(ctxKey{}) != "kept" || free.Done() != ctx.Done() {
				s.Error("it is not the same context in other respects")
			}
			s.within(free, Read, func(ctx context.Context, _ *grip) {
				if got, want := s.lock.state(), (drawbridge.State{Readers: 2}); got != want {
					s.Errorf("a hold taken with it: got %s, want %s", got, want)
				}
				s.refused(ctx, Write, drawbridge.ErrUpgrade) // it is carried again
			})
			w := s.send(free, "W", Write)
			synctest.Wait()
			if !w.waits() {
				s.Errorf("%s", s)
			}
		})
		synctest.Wait()
		s.want("W writes")
	}, Read, Write)
}

// TestLateGrantOfAScope must not run its function.
func TestLateGrantOfAScope(t *testing.T) {
	scopedForms(t, func(s *scene) {
		a := s.writes("A")
		ctx, cancel := context.WithCancel(s.Context())
		go func() {
			err := s.lock.hold(ctx, Write, func(context.Context, *grip) { s.Error("entered") })
			if !errors.Is(err, context.Canceled) {
				s.Errorf("got error %v", err)
			}
		}()
		synctest.Wait()
		cancel()
		close(a.commands)
		synctest.Wait()
		s.want("nobody")
	}, Write)
}

// TestScopesReturnTheErrorOfTheFunction, as it is.
func TestScopesReturnTheErrorOfTheFunction(t *testing.T) {
	oops := errors.New("oops")
	ctx := t.Context()
	fn := func(context.Context) error { return oops }
	value := func(context.Context, *int) error { return oops }
	var (
		rw drawbridge.RWMutex
		mu drawbridge.Mutex
		g  drawbridge.Guarded[int]
		k  drawbridge.Keyed[int]
	)
	for name, err := range map[string]error{
		"WithRLock":       rw.WithRLock(ctx, fn),
		"WithLock":        rw.WithLock(ctx, fn),
		"WithULock":       rw.WithULock(ctx, func(context.Context, func() error) error { return oops }),
		"Mutex":           mu.WithLock(ctx, fn),
		"Read":            g.Read(ctx, value),
		"Write":           g.Write(ctx, value),
		"Update":          g.Update(ctx, func(context.Context, *int, func() error) error { return oops }),
		"Keyed.WithRLock": k.WithRLock(ctx, 1, fn),
		"Keyed.WithLock":  k.WithLock(ctx, 1, fn),
		"Keyed.WithLocks": k.WithLocks(ctx, []int{1, 2}, fn),
		"Keyed.WithULock": k.WithULock(ctx, 1, func(context.Context, func() error) error { return oops }),
	} {
		if err != oops {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// TestUpsertIfMissing is what upgradable reads are for: of five calls that look
// and then insert, one inserts.
func TestUpsertIfMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := drawbridge.NewGuarded(map[string]int{})
		inserted := 0
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				err := table.Update(t.Context(), func(ctx context.Context, m *map[string]int, upgrade func() error) error {
					if _, ok := (*m)["k"]; ok {
						return nil
					}
					time.Sleep(time.Millisecond) // others would look meanwhile
					if err := upgrade(); err != nil {
						return err
					}
					(*m)["k"] = i
					inserted++
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if inserted != 1 {
			t.Errorf("%d inserted", inserted)
		}
	})
}

// TestScopeThatEndsWhileItsUpgradeIsElsewhere: another goroutine upgrades while
// the function returns. The upgrade ends first, and the lock is released in the
// mode that it has then.
func TestScopeThatEndsWhileItsUpgradeIsElsewhere(t *testing.T) {
	scopedForms(t, func(s *scene) {
		r := s.reads("R")
		errs := make(chan error, 1)
		go func() {
			s.within(s.Context(), Upgradable, func(ctx context.Context, g *grip) {
				go func() { errs <- g.upgrade(ctx) }()
				time.Sleep(time.Millisecond) // the upgrade waits meanwhile
			})
		}()
		synctest.Wait()
		time.Sleep(time.Second) // the function returns
		synctest.Wait()
		r.leaves()
		if err := <-errs; err != nil {
			s.Errorf("upgrade: %v", err)
		}
		synctest.Wait()
		s.want("nobody")
	}, allModes...)
}

// TestGoexitInsideNestedScopes ends all of them.
func TestGoexitInsideNestedScopes(t *testing.T) {
	scopedForms(t, func(s *scene) {
		go s.within(s.Context(), Read, func(ctx context.Context, _ *grip) {
			s.within(ctx, Read, func(context.Context, *grip) { runtime.Goexit() })
		})
		synctest.Wait()
		s.want("nobody")
		s.writes("W")
		s.want("W writes")
	}, Read, Write)
}
