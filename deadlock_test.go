package drawbridge_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// A wait that would close a cycle over several locks is refused, at the moment
// it closes and never without one.

// ring is a bubble in which goroutines hold one lock and want another.
type ring struct {
	*testing.T
	errs map[string]error // of those who are done
	mu   drawbridge.Mutex
}

func inRing(t *testing.T, f func(r *ring)) {
	synctest.Test(t, func(t *testing.T) {
		f(&ring{T: t, errs: map[string]error{}})
	})
}

// with calls nest on a goroutine and notes how it ended.
func (r *ring) with(name string, nest func(context.Context) error) {
	go func() {
		err := nest(r.Context())
		r.mu.Lock()
		r.errs[name] = err
		r.mu.Unlock()
	}()
	synctest.Wait()
}

// deadlock returns the error of name, which must be a *DeadlockError.
func (r *ring) deadlock(name string) *drawbridge.DeadlockError {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var d *drawbridge.DeadlockError
	if !errors.As(r.errs[name], &d) || !errors.Is(r.errs[name], drawbridge.ErrDeadlock) {
		r.Fatalf("%s: got error %v, want a deadlock", name, r.errs[name])
	}
	return d
}

// fine fails if name is not done, or with an error.
func (r *ring) fine(names ...string) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		if err, done := r.errs[name]; !done || err != nil {
			r.Fatalf("%s: done %t, error %v", name, done, err)
		}
	}
}

func (r *ring) waits(names ...string) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		if err, done := r.errs[name]; done {
			r.Fatalf("%s does not wait: %v", name, err)
		}
	}
}

type take = func(context.Context, func(context.Context) error) error

// nest takes outer, lets others do so, and then takes inner.
func nest(outer, inner take) func(context.Context) error {
	return func(ctx context.Context) error {
		return outer(ctx, func(ctx context.Context) error {
			time.Sleep(time.Second)
			return inner(ctx, func(context.Context) error { return nil })
		})
	}
}

// later is nest with a longer pause: it is the one that closes the cycle.
func later(outer, inner take) func(context.Context) error {
	return func(ctx context.Context) error {
		return outer(ctx, func(ctx context.Context) error {
			time.Sleep(2 * time.Second)
			return inner(ctx, func(context.Context) error { return nil })
		})
	}
}

func (r *ring) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestTwoLocksInOppositeOrder(t *testing.T) {
	for _, p := range everyPolicy {
		t.Run(p.String(), func(t *testing.T) {
			inRing(t, func(r *ring) {
				a, b := &drawbridge.RWMutex{Policy: p}, &drawbridge.RWMutex{Policy: p}
				r.with("ab", nest(a.WithLock, b.WithLock))
				r.with("ba", later(b.WithLock, a.WithLock))
				r.pass(1500 * time.Millisecond)
				r.waits("ab", "ba")
				r.pass(500 * time.Millisecond)
				d := r.deadlock("ba")
				r.fine("ab") // it goes on as soon as ba has released b
				if len(d.Cycle) != 2 || d.Cycle[0].Lock != any(a) || d.Cycle[1].Lock != any(b) ||
					d.Cycle[0].Mode != Write || d.Cycle[1].Mode != Write {
					t.Errorf("got %v", d)
				}
			})
		})
	}
}

// TestDeadlockNamesBothSites by the file and line of the call that waits.
func TestDeadlockNamesBothSites(t *testing.T) {
	inRing(t, func(r *ring) {
		var a drawbridge.RWMutex
		var b drawbridge.Mutex
		r.with("ab", nest(a.WithRLock, b.WithLock))
		r.with("ba", later(b.WithLock, a.WithLock))
		r.pass(2 * time.Second)
		site := `\S*deadlock_test\.go:\d+`
		want := regexp.MustCompile(`^drawbridge: deadlock: 2 waits in a cycle, each for a lock that the next one holds` +
			`\n\t` + site + ` waits to write \*drawbridge\.RWMutex ` + regexp.QuoteMeta(fmt.Sprintf("%p", &a)) +
			`\n\t` + site + ` waits to write \*drawbridge\.Mutex ` + regexp.QuoteMeta(fmt.Sprintf("%p", &b)) + `$`)
		d := r.deadlock("ba")
		if !want.MatchString(d.Error()) {
			t.Errorf("got %q", d)
		}
		if d.Cycle[0].Site == d.Cycle[1].Site {
			t.Errorf("both wait at %s", d.Cycle[0].Site)
		}
	})
}

func TestThreeLocksInACircle(t *testing.T) {
	inRing(t, func(r *ring) {
		var a, b, c drawbridge.RWMutex
		r.with("ab", nest(a.WithLock, b.WithLock))
		r.with("bc", nest(b.WithLock, c.WithRLock))
		r.with("ca", later(c.WithLock, a.WithRLock))
		r.pass(2 * time.Second)
		d := r.deadlock("ca")
		r.fine("ab", "bc")
		var got []string
		for _, w := range d.Cycle {
			got = append(got, w.Mode.String())
		}
		if strings.Join(got, ", ") != "read, write, read" {
			t.Errorf("got %v", d)
		}
	})
}

// TestReadsWithWritersQueuedBetween is a deadlock: each reader is kept out by a
// writer that waits for the other reader.
//
// https://github.com/syncthing/syncthing/issues/3596
func TestReadsWithWritersQueuedBetween(t *testing.T) {
	for _, p := range doorPolicies {
		t.Run(p.String(), func(t *testing.T) {
			inRing(t, func(r *ring) {
				a, b := &drawbridge.RWMutex{Policy: p}, &drawbridge.RWMutex{Policy: p}
				r.with("ab", nest(a.WithRLock, b.WithRLock))
				r.with("ba", later(b.WithRLock, a.WithRLock))
				r.with("writer of a", func(ctx context.Context) error {
					if err := a.LockContext(ctx); err != nil {
						return err
					}
					a.Unlock()
					return nil
				})
				r.with("writer of b", func(ctx context.Context) error {
					if err := b.LockContext(ctx); err != nil {
						return err
					}
					b.Unlock()
					return nil
				})
				r.pass(2 * time.Second)
				r.deadlock("ba")
				r.fine("ab", "writer of a", "writer of b")
			})
		})
	}
}

// TestReadsInOppositeOrderWithoutWriters is none: no writer keeps anybody out.
//
// https://github.com/sasha-s/go-deadlock/issues/4
// https://github.com/sasha-s/go-deadlock/issues/6
// https://github.com/tikv/pd/issues/4641
func TestReadsInOppositeOrderWithoutWriters(t *testing.T) {
	for _, p := range everyPolicy {
		inRing(t, func(r *ring) {
			a, b := &drawbridge.RWMutex{Policy: p}, &drawbridge.RWMutex{Policy: p}
			r.with("ab", nest(a.WithRLock, b.WithRLock))
			r.with("ba", later(b.WithRLock, a.WithRLock))
			r.pass(2 * time.Second)
			r.fine("ab", "ba")
		})
	}
	// Under PreferReaders a writer that waits keeps no reader out either.
	inRing(t, func(r *ring) {
		a, b := &drawbridge.RWMutex{Policy: PreferReaders}, &drawbridge.RWMutex{Policy: PreferReaders}
		r.with("ab", nest(a.WithRLock, b.WithRLock))
		r.with("ba", later(b.WithRLock, a.WithRLock))
		r.with("writer", func(ctx context.Context) error {
			return a.WithLock(ctx, func(context.Context) error { return nil })
		})
		r.pass(2 * time.Second)
		r.fine("ab", "ba", "writer")
	})
}

// TestWritersAtAnOpenDoor: under PreferReaders a writer waits for the readers
// inside though the door is open.
func TestWritersAtAnOpenDoor(t *testing.T) {
	inRing(t, func(r *ring) {
		a, b := &drawbridge.RWMutex{Policy: PreferReaders}, &drawbridge.RWMutex{Policy: PreferReaders}
		r.with("ab", nest(a.WithRLock, b.WithLock))
		r.with("ba", later(b.WithRLock, a.WithLock))
		r.pass(2 * time.Second)
		r.deadlock("ba")
		r.fine("ab")
	})
}

// TestUpgradableReadsInOppositeOrder: two of them keep each other out, and
// readers they do not.
func TestUpgradableReadsInOppositeOrder(t *testing.T) {
	upgradable := func(rw *drawbridge.RWMutex) take {
		return func(ctx context.Context, f func(context.Context) error) error {
			return rw.WithULock(ctx, func(ctx context.Context, _ func() error) error { return f(ctx) })
		}
	}
	inRing(t, func(r *ring) {
		var a, b drawbridge.RWMutex
		r.with("ab", nest(upgradable(&a), upgradable(&b)))
		r.with("ba", later(upgradable(&b), upgradable(&a)))
		r.pass(2 * time.Second)
		r.deadlock("ba")
		r.fine("ab")
	})
	inRing(t, func(r *ring) {
		var a, b drawbridge.RWMutex
		r.with("ab", nest(upgradable(&a), b.WithRLock))
		r.with("ba", later(upgradable(&b), a.WithRLock))
		r.pass(2 * time.Second)
		r.fine("ab", "ba")
	})
}

// TestUpgradeInACycle: a waiting upgrade waits for every reader inside.
func TestUpgradeInACycle(t *testing.T) {
	inRing(t, func(r *ring) {
		var a, b drawbridge.RWMutex
		r.with("upgrades a", func(ctx context.Context) error {
			return b.WithLock(ctx, func(ctx context.Context) error {
				return a.WithULock(ctx, func(_ context.Context, upgrade func() error) error {
					time.Sleep(time.Second)
					return upgrade()
				})
			})
		})
		r.with("ab", later(a.WithRLock, b.WithLock))
		r.pass(2 * time.Second)
		r.deadlock("ab")
		r.fine("upgrades a")
	})
}

// TestUpgradeThatClosesACycleKeepsItsHold returns a *DeadlockError.
func TestUpgradeThatClosesACycleKeepsItsHold(t *testing.T) {
	inRing(t, func(r *ring) {
		var a, b drawbridge.RWMutex
		r.with("ab", nest(a.WithRLock, b.WithLock))
		r.with("upgrades a", func(ctx context.Context) error {
			return b.WithLock(ctx, func(ctx context.Context) error {
				return a.WithULock(ctx, func(_ context.Context, upgrade func() error) error {
					time.Sleep(2 * time.Second)
					err := upgrade()
					if got, want := a.State(), (drawbridge.State{Readers: 1, Upgradable: true}); got != want {
						t.Errorf("got %s, want %s", got, want)
					}
					return err
				})
			})
		})
		r.pass(2 * time.Second)
		r.deadlock("upgrades a")
		r.fine("ab")
	})
}

// TestNoDeadlockWhereAnUpgradeWaits: a reader beside an upgrade that waits
// is no deadlock.
//
// https://github.com/Amanieu/parking_lot/issues/489
// https://github.com/emilk/egui/pull/2121
func TestNoDeadlockWhereAnUpgradeWaits(t *testing.T) {
	inRing(t, func(r *ring) {
		var a, b drawbridge.RWMutex
		r.with("reads", nest(a.WithRLock, b.WithRLock))
		r.with("upgrades", func(ctx context.Context) error {
			return a.WithULock(ctx, func(_ context.Context, upgrade func() error) error { return upgrade() })
		})
		r.waits("upgrades")
		r.pass(time.Second)
		r.fine("reads", "upgrades")
	})
}

// TestSameOrderIsNoDeadlock: everybody waits for a lock that another holds, and
// nobody for ever.
func TestSameOrderIsNoDeadlock(t *testing.T) {
	inRing(t, func(r *ring) {
		var a, b, c drawbridge.RWMutex
		r.with("ab", nest(a.WithLock, b.WithLock))
		r.with("bc", nest(b.WithLock, c.WithLock))
		r.with("ac", nest(a.WithLock, c.WithLock))
		r.with("abc", nest(a.WithRLock, nest2(b.WithLock, c.WithLock)))
		r.pass(time.Minute)
		r.fine("ab", "bc", "ac", "abc")
	})
}

func nest2(outer, inner take) take {
	return func(ctx context.Context, f func(context.Context) error) error {
		return outer(ctx, func(ctx context.Context) error { return inner(ctx, f) })
	}
}

// TestGateLockPreventsTheDeadlock: both orders occur, under a lock that lets
// only one of them in.
func TestGateLockPreventsTheDeadlock(t *testing.T) {
	inRing(t, func(r *ring) {
		var gate, a, b drawbridge.RWMutex
		r.with("ab", nest(gate.WithLock, nest2(a.WithLock, b.WithLock)))
		r.with("ba", nest(gate.WithLock, nest2(b.WithLock, a.WithLock)))
		r.pass(time.Minute)
		r.fine("ab", "ba")
	})
}

// TestPlainHoldsAreNoEvidence: a hold that no context carries belongs to
// nobody, and a wait without one is not registered.
func TestPlainHoldsAreNoEvidence(t *testing.T) {
	inRing(t, func(r *ring) {
		var a, b drawbridge.RWMutex
		a.Lock()
		r.with("ba", func(ctx context.Context) error {
			return b.WithLock(ctx, func(ctx context.Context) error {
				return a.WithLock(ctx, func(context.Context) error { return nil })
			})
		})
		r.with("b", func(ctx context.Context) error {
			if err := b.LockContext(ctx); err != nil {
				return err
			}
			b.Unlock()
			return nil
		})
		r.waits("ba", "b")
		a.Unlock()
		synctest.Wait()
		r.fine("ba", "b")
	})
}

// TestStaleHoldsAreNoEvidence: a context whose scope has ended holds nothing,
// whatever it held.
func TestStaleHoldsAreNoEvidence(t *testing.T) {
	inRing(t, func(r *ring) {
		var a, b drawbridge.RWMutex
		var stale context.Context
		r.with("stale", func(ctx context.Context) error {
			return a.WithLock(ctx, func(ctx context.Context) error {
				stale = ctx
				return nil
			})
		})
		r.with("ab", nest(a.WithLock, b.WithLock))
		// This one carries b, and a only in name.
		r.with("b with a stale a", func(context.Context) error {
			return b.WithLock(stale, func(context.Context) error {
				time.Sleep(10 * time.Second)
				return nil
			})
		})
		r.pass(time.Minute)
		r.fine("stale", "ab", "b with a stale a")
	})
}

// TestGivenUpWaitsAreForgotten: the edge of a wait that ended must not close a
// cycle later.
func TestGivenUpWaitsAreForgotten(t *testing.T) {
	inRing(t, func(r *ring) {
		var a, b drawbridge.RWMutex
		r.with("ba", later(b.WithLock, a.WithLock))
		r.with("ab", func(ctx context.Context) error {
			return a.WithLock(ctx, func(ctx context.Context) error {
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				if err := b.LockContext(short); !errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("waiting for b: got error %v", err)
				}
				time.Sleep(10 * time.Second)
				return nil
			})
		})
		r.pass(time.Minute)
		r.fine("ab", "ba")
	})
}

// TestOthersWaitAfterOneGaveUp: a wait that is over takes its own entry with it,
// and not those of others with the same hold.
func TestOthersWaitAfterOneGaveUp(t *testing.T) {
	inRing(t, func(r *ring) {
		var a, b drawbridge.RWMutex
		r.with("ba", later(b.WithLock, a.WithLock))
		r.with("ab", nest(a.WithRLock, b.WithLock))
		r.with("short", func(ctx context.Context) error {
			return a.WithRLock(ctx, func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
				defer cancel()
				return b.WithLock(ctx, func(context.Context) error { return nil })
			})
		})
		r.pass(10 * time.Second)
		if !errors.Is(r.errs["short"], context.DeadlineExceeded) {
			t.Errorf("got error %v", r.errs["short"])
		}
		r.deadlock("ba")
		r.fine("ab")
	})
}

// TestWithoutHoldsIsNoEvidence: with it a call waits like anybody else's, and a
// real deadlock ends with a context.
func TestWithoutHoldsIsNoEvidence(t *testing.T) {
	inRing(t, func(r *ring) {
		var a, b drawbridge.RWMutex
		withoutHolds := func(inner take) take {
			return func(ctx context.Context, f func(context.Context) error) error {
				ctx, cancel := context.WithTimeout(drawbridge.WithoutHolds(ctx), time.Minute)
				defer cancel()
				return inner(ctx, f)
			}
		}
		r.with("ab", nest(a.WithLock, withoutHolds(b.WithLock)))
		r.with("ba", later(b.WithLock, a.WithLock))
		r.pass(10 * time.Second)
		r.waits("ab", "ba")
		r.pass(time.Hour)
		r.fine("ba")
		if !errors.Is(r.errs["ab"], context.DeadlineExceeded) {
			t.Errorf("got error %v", r.errs["ab"])
		}
	})
}

// TestDeadlockOverKeys names the key.
func TestDeadlockOverKeys(t *testing.T) {
	inRing(t, func(r *ring) {
		var k drawbridge.Keyed[string]
		on := func(key string) take {
			return func(ctx context.Context, f func(context.Context) error) error { return k.WithLock(ctx, key, f) }
		}
		r.with("ab", nest(on("a"), on("b")))
		r.with("ba", later(on("b"), on("a")))
		r.pass(2 * time.Second)
		d := r.deadlock("ba")
		r.fine("ab")
		if d.Cycle[0].Key != "a" || d.Cycle[1].Key != "b" || !strings.Contains(d.Error(), ` key "a"`) {
			t.Errorf("got %v", d)
		}
		if k.Len() != 0 {
			t.Errorf("%d keys left", k.Len())
		}
	})
}

// TestDeadlockThroughGuarded and a LockContext inside.
func TestDeadlockThroughGuarded(t *testing.T) {
	inRing(t, func(r *ring) {
		var a drawbridge.Guarded[int]
		var b drawbridge.Mutex
		r.with("ab", func(ctx context.Context) error {
			return a.Write(ctx, func(ctx context.Context, _ *int) error {
				time.Sleep(time.Second)
				if err := b.LockContext(ctx); err != nil {
					return err
				}
				b.Unlock()
				return nil
			})
		})
		r.with("ba", func(ctx context.Context) error {
			return b.WithLock(ctx, func(ctx context.Context) error {
				time.Sleep(2 * time.Second)
				return a.Read(ctx, func(context.Context, *int) error { return nil })
			})
		})
		r.pass(2 * time.Second)
		r.deadlock("ba")
		r.fine("ab")
	})
}
