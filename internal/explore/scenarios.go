//go:build explore

package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
)

// Scenario is a program that is more than calls on one lock.
type Scenario struct {
	Name string
	Most int // preemptions that are searched at most
	New  func() sched.World
}

// scene is one execution of a Scenario. Its states are not told apart.
type scene struct {
	bodies []sched.Body
	end    func() error
}

func (s *scene) Actors() []sched.Body     { return s.bodies }
func (s *scene) Shared(*sched.Hash)       {}
func (s *scene) Ghosts(*sched.Hash)       {}
func (s *scene) Look()                    {}
func (s *scene) Check() error             { return nil }
func (s *scene) Event(sched.Event, int)   {}
func (s *scene) actor(f func())           { s.named(string(rune('A'+len(s.bodies))), f) }
func (s *scene) named(n string, f func()) { s.bodies = append(s.bodies, sched.Body{Name: n, Run: f}) }

func (s *scene) End() error {
	if s.end == nil {
		return nil
	}
	return s.end()
}

// ending returns a context that an actor of its own ends.
func (s *scene) ending() *endable {
	c := newEndable(true)
	s.named(string(rune('A'+len(s.bodies)))+" (ends a context)", c.end)
	return c
}

var background = context.Background()

// must fails the execution if ok is false.
func must(ok bool, format string, args ...any) {
	if !ok {
		sched.Fail(format, args...)
	}
}

// section is what a lock protects: steps between which others may run.
type section struct {
	lock             *drawbridge.RWMutex // or nil
	readers, writers int
}

func (s *section) read() {
	// A writer that was granted and has not run yet is inside too.
	must(s.lock == nil || !sched.Core.Picture(s.lock).Writer, "exclusion: a writer is inside with a reader")
	s.readers++
	sched.Step(nil)
	must(s.writers == 0, "exclusion: a writer is inside with a reader")
	s.readers--
}

func (s *section) write() {
	s.writers++
	must(s.writers == 1 && s.readers == 0, "exclusion: a writer is not alone")
	sched.Step(nil)
	must(s.writers == 1 && s.readers == 0, "exclusion: a writer is not alone")
	s.writers--
}

// lent is what a scoped call gives to other actors: its context and, if it is an
// update, its upgrade.
type lent struct {
	ctx     context.Context
	upgrade func() error
	given   chan struct{}
}

func newLent() *lent { return &lent{given: make(chan struct{})} }

func (l *lent) give(ctx context.Context, upgrade func() error) {
	l.ctx, l.upgrade = ctx, upgrade
	close(l.given)
}

func (l *lent) wait() { sched.Step(receive(l.given)) }

// idle checks that a lock is as if it had never been used.
func idle(locks ...*drawbridge.RWMutex) error {
	for _, l := range locks {
		if left := sched.Core.Idle(l); left != "" {
			return fmt.Errorf("all calls have ended and something is left: %s", left)
		}
	}
	return nil
}

// Scenarios returns them all.
func Scenarios() []Scenario {
	var all []Scenario
	add := func(name string, most int, build func(*scene)) {
		all = append(all, Scenario{name, most, func() sched.World {
			s := new(scene)
			build(s)
			return s
		}})
	}

	for _, p := range policies {
		add("scope/nested read while a writer waits/"+p.String(), 2, func(s *scene) {
			rw := &drawbridge.RWMutex{Policy: p}
			in := section{lock: rw}
			s.actor(func() {
				must(rw.WithRLock(background, func(ctx context.Context) error {
					in.read()
					return rw.WithRLock(ctx, func(ctx context.Context) error {
						in.read()
						if err := rw.RLockContext(ctx); err != nil {
							return err
						}
						in.read()
						rw.RUnlock()
						return nil
					})
				}) == nil, "a nested read failed")
			})
			s.actor(func() { rw.Lock(); in.write(); rw.Unlock() })
			ctx := s.ending()
			s.actor(func() {
				if rw.LockContext(ctx) == nil {
					in.write()
					rw.Unlock()
				}
			})
			s.end = func() error { return idle(rw) }
		})

		add("scope/upgrade with a reader and a writer/"+p.String(), 3, func(s *scene) {
			rw := &drawbridge.RWMutex{Policy: p}
			in := section{lock: rw}
			ctx := s.ending()
			s.actor(func() {
				err := rw.WithULock(background, func(inner context.Context, upgrade func() error) error {
					must(rw.WithRLock(inner, func(context.Context) error { in.read(); return nil }) == nil, "a read inside an update failed")
					must(rw.WithLock(inner, nil) == drawbridge.ErrUpgrade, "a write inside an update did not fail")
					if err := upgrade(); err != nil {
						return err
					}
					in.write()
					return nil
				})
				must(err == nil, "the upgrade failed: %v", err)
			})
			s.actor(func() { rw.RLock(); in.read(); rw.RUnlock() })
			s.actor(func() {
				if rw.LockContext(ctx) == nil {
					in.write()
					rw.Unlock()
				}
			})
			s.end = func() error { return idle(rw) }
		})
	}

	add("scope/a read outlives the call it joined", 3, func(s *scene) {
		rw := new(drawbridge.RWMutex)
		in := section{lock: rw}
		inner := newLent()
		s.actor(func() {
			rw.WithRLock(background, func(ctx context.Context) error {
				inner.give(ctx, nil)
				in.read()
				return nil
			})
		})
		s.actor(func() {
			inner.wait()
			err := rw.WithRLock(inner.ctx, func(ctx context.Context) error { in.read(); return nil })
			must(err == nil, "a read with an old context failed: %v", err)
		})
		s.actor(func() { rw.Lock(); in.write(); rw.Unlock() })
		s.end = func() error { return idle(rw) }
	})

	// The hold of the context ends while a read goes past the door: either the
	// read keeps it, or it waits like anybody else.
	for _, hold := range []string{"a read", "an update"} {
		for _, call := range []string{"WithRLock", "RLockContext"} {
			add("scope/a "+call+" with the context of "+hold+" that ends", 2, func(s *scene) {
				rw := new(drawbridge.RWMutex)
				in := section{lock: rw}
				inner := newLent()
				s.actor(func() {
					if hold == "a read" {
						rw.WithRLock(background, func(ctx context.Context) error { inner.give(ctx, nil); return nil })
					} else {
						rw.WithULock(background, func(ctx context.Context, _ func() error) error { inner.give(ctx, nil); return nil })
					}
				})
				s.actor(func() {
					inner.wait()
					if call == "WithRLock" {
						err := rw.WithRLock(inner.ctx, func(context.Context) error { in.read(); return nil })
						must(err == nil, "WithRLock: %v", err)
						return
					}
					err := rw.RLockContext(inner.ctx)
					must(err == nil, "RLockContext: %v", err)
					in.read()
					rw.RUnlock()
				})
				s.actor(func() { rw.Lock(); in.write(); rw.Unlock() })
				s.end = func() error { return idle(rw) }
			})
		}
	}

	add("scope/an update that ends, and a read and its upgrade elsewhere", 2, func(s *scene) {
		rw := new(drawbridge.RWMutex)
		in := section{lock: rw}
		inner := newLent()
		s.actor(func() {
			rw.WithULock(background, func(ctx context.Context, upgrade func() error) error {
				inner.give(ctx, upgrade)
				return nil
			})
		})
		s.actor(func() {
			inner.wait()
			err := rw.RLockContext(inner.ctx)
			must(err == nil || err == drawbridge.ErrReentrant, "RLockContext: %v", err)
			if err == nil {
				in.read()
				rw.RUnlock()
			}
		})
		s.actor(func() {
			inner.wait()
			err := inner.upgrade()
			must(err == nil || err == drawbridge.ErrUpgrade, "an upgrade failed: %v", err)
		})
		s.actor(func() { rw.Lock(); in.write(); rw.Unlock() })
		s.end = func() error { return idle(rw) }
	})

	add("scope/upgrades and reads of several goroutines", 3, func(s *scene) {
		rw := new(drawbridge.RWMutex)
		in := section{lock: rw}
		inner := newLent()
		s.actor(func() {
			rw.WithULock(background, func(ctx context.Context, upgrade func() error) error {
				inner.give(ctx, upgrade)
				err := upgrade()
				must(err == nil || err == drawbridge.ErrUpgrade, "an upgrade failed: %v", err)
				if err == nil {
					in.write()
				}
				return nil
			})
		})
		s.actor(func() {
			inner.wait()
			if err := inner.upgrade(); err != nil {
				must(err == drawbridge.ErrUpgrade, "an upgrade failed: %v", err)
			}
		})
		s.actor(func() {
			inner.wait()
			err := rw.WithRLock(inner.ctx, func(context.Context) error { in.read(); return nil })
			must(err == nil || err == drawbridge.ErrReentrant, "a read inside failed: %v", err)
		})
		s.end = func() error { return idle(rw) }
	})

	add("scope/calls inside that would wait for themselves", 3, func(s *scene) {
		rw := new(drawbridge.RWMutex)
		s.actor(func() {
			rw.WithRLock(background, func(ctx context.Context) error {
				err := rw.LockContext(ctx)
				must(err == drawbridge.ErrUpgrade, "LockContext inside a read: %v", err)
				must(rw.WithLock(ctx, nil) == drawbridge.ErrUpgrade, "WithLock inside a read")
				return nil
			})
			rw.WithLock(background, func(ctx context.Context) error {
				must(rw.RLockContext(ctx) == drawbridge.ErrReentrant, "RLockContext inside a write")
				must(rw.LockContext(ctx) == drawbridge.ErrReentrant, "LockContext inside a write")
				must(rw.WithRLock(ctx, nil) == drawbridge.ErrReentrant, "WithRLock inside a write")
				return nil
			})
		})
		s.actor(func() { rw.Lock(); rw.Unlock(); rw.RLock(); rw.RUnlock() })
		s.end = func() error { return idle(rw) }
	})

	add("stripes/a reader comes while the lock is made plain, hot and striped again", 3, func(s *scene) {
		rw := new(drawbridge.RWMutex)
		sched.Core.Start(rw, "striped")
		entered, tried := make(chan struct{}), make(chan struct{})
		s.actor(func() {
			rw.RLock()
			close(entered)
			sched.Step(receive(tried))
			rw.RUnlock()
		})
		s.actor(func() {
			defer close(tried)
			if !rw.TryLock() {
				return
			}
			rw.Unlock()
			for range 3 { // the third one finds the lock hot
				rw.RLock()
			}
			for range 3 {
				rw.RUnlock()
			}
			sched.Step(receive(entered))
			must(!rw.TryLock(), "exclusion: a writer is inside with a reader")
		})
		s.end = func() error { return idle(rw) }
	})

	add("deadlock/two locks", 3, func(s *scene) {
		x, y := new(drawbridge.RWMutex), new(drawbridge.RWMutex)
		refused, waits := 0, 0
		both := func(a, b *drawbridge.RWMutex) func() {
			return func() {
				err := a.WithLock(background, func(ctx context.Context) error {
					waits++
					err := b.WithLock(ctx, func(context.Context) error { return nil })
					if err != nil {
						must(errors.Is(err, drawbridge.ErrDeadlock), "WithLock inside another lock: %v", err)
						must(waits == 2, "a deadlock of one")
						refused++
					}
					waits--
					return nil
				})
				must(err == nil, "WithLock: %v", err)
			}
		}
		s.actor(both(x, y))
		s.actor(both(y, x))
		s.end = func() error {
			if refused > 1 {
				return errors.New("both of two calls were refused")
			}
			return idle(x, y)
		}
	})

	add("deadlock/three locks, one wait ends", 2, func(s *scene) {
		locks := [3]*drawbridge.RWMutex{new(drawbridge.RWMutex), new(drawbridge.RWMutex), new(drawbridge.RWMutex)}
		waits, closed := 0, false
		ctx := s.ending()
		for i := range locks {
			outer := context.Context(ctx)
			if i > 0 {
				outer = background
			}
			s.actor(func() {
				locks[i].WithLock(outer, func(ctx context.Context) error {
					waits++
					closed = closed || waits == 3
					err := locks[(i+1)%3].WithLock(ctx, func(context.Context) error { return nil })
					if errors.Is(err, drawbridge.ErrDeadlock) {
						must(closed, "a deadlock without a cycle")
					}
					waits--
					return nil
				})
			})
		}
		s.end = func() error { return idle(locks[:]...) }
	})

	add("deadlock/readers kept out by writers", 2, func(s *scene) {
		x, y := new(drawbridge.RWMutex), new(drawbridge.RWMutex)
		both := func(a, b *drawbridge.RWMutex) func() {
			return func() {
				a.WithRLock(background, func(ctx context.Context) error {
					err := b.WithRLock(ctx, func(context.Context) error { return nil })
					must(err == nil || errors.Is(err, drawbridge.ErrDeadlock), "WithRLock inside another lock: %v", err)
					return nil
				})
			}
		}
		s.actor(both(x, y))
		s.actor(both(y, x))
		s.actor(func() { x.Lock(); x.Unlock() })
		s.actor(func() { y.Lock(); y.Unlock() })
		s.end = func() error { return idle(x, y) }
	})

	add("deadlock/a wait that was granted and has not run", 2, func(s *scene) {
		x, y := new(drawbridge.RWMutex), new(drawbridge.RWMutex)
		gaveUp := make(chan struct{})
		s.actor(func() {
			x.WithLock(background, func(ctx context.Context) error {
				err := y.WithRLock(ctx, func(context.Context) error { return nil })
				must(err == nil || errors.Is(err, drawbridge.ErrDeadlock), "WithRLock inside another lock: %v", err)
				return nil
			})
		})
		s.actor(func() {
			y.WithRLock(background, func(ctx context.Context) error {
				sched.Step(receive(gaveUp))
				err := x.WithLock(ctx, func(context.Context) error { return nil })
				if err != nil {
					must(errors.Is(err, drawbridge.ErrDeadlock), "WithLock inside another lock: %v", err)
					must(sched.Core.Picture(y).WaitingReaders == 1, "a deadlock with a wait that has been granted")
				}
				return nil
			})
		})
		ctx := s.ending()
		s.actor(func() {
			// The one in front of a reader gives up, which grants that, and
			// another one closes the door behind it.
			if y.LockContext(ctx) == nil {
				y.Unlock()
			}
			close(gaveUp)
			y.Lock()
			y.Unlock()
		})
		s.end = func() error { return idle(x, y) }
	})

	add("deadlock/a wait that carries a hold that is over", 2, func(s *scene) {
		x, y := new(drawbridge.RWMutex), new(drawbridge.RWMutex)
		inner, begun, over := newLent(), make(chan struct{}), make(chan struct{})
		nothing := func(context.Context) error { return nil }
		s.actor(func() {
			x.WithRLock(background, func(ctx context.Context) error {
				inner.give(ctx, nil)
				sched.Step(receive(begun))
				return nil
			})
		})
		s.actor(func() {
			y.WithLock(background, func(ctx context.Context) error {
				sched.Step(receive(over))
				err := x.WithLock(ctx, nothing)
				must(err == nil, "WithLock inside another lock: %v", err)
				return nil
			})
		})
		s.actor(func() {
			inner.wait()
			close(begun)
			err := y.WithLock(inner.ctx, nothing)
			must(err == nil, "WithLock with the context of another lock: %v", err)
		})
		s.actor(func() {
			sched.Step(receive(begun))
			x.Lock()
			close(over)
			sched.Step(nil)
			x.Unlock()
		})
		s.end = func() error { return idle(x, y) }
	})

	add("deadlock/by the outer of two holds", 2, func(s *scene) {
		x, y, z := new(drawbridge.RWMutex), new(drawbridge.RWMutex), new(drawbridge.RWMutex)
		refused := 0
		last := func(l *drawbridge.RWMutex) func(context.Context) error {
			return func(ctx context.Context) error {
				if err := l.WithLock(ctx, func(context.Context) error { return nil }); err != nil {
					must(errors.Is(err, drawbridge.ErrDeadlock), "WithLock inside another lock: %v", err)
					refused++
				}
				return nil
			}
		}
		s.actor(func() {
			x.WithLock(background, func(ctx context.Context) error { return z.WithLock(ctx, last(y)) })
		})
		s.actor(func() { y.WithLock(background, last(x)) })
		s.end = func() error {
			if refused > 1 {
				return errors.New("both of two calls were refused")
			}
			return idle(x, y, z)
		}
	})

	add("keyed/the last one out and the next one in", 3, func(s *scene) {
		var k drawbridge.Keyed[int]
		var in section
		for range 3 {
			s.actor(func() {
				k.WithLock(background, 1, func(context.Context) error { in.write(); return nil })
			})
		}
		s.end = func() error { return empty(&k) }
	})

	add("keyed/many keys in either order", 2, func(s *scene) {
		var k drawbridge.Keyed[int]
		var one, two section
		ctx := s.ending()
		for _, keys := range [][]int{{1, 2}, {2, 1, 2}} {
			s.actor(func() {
				err := k.WithLocks(background, keys, func(context.Context) error { one.write(); two.write(); return nil })
				must(err == nil, "WithLocks: %v", err)
			})
		}
		s.actor(func() {
			if unlock, err := k.LockContext(ctx, 2); err == nil {
				two.write()
				unlock()
			}
		})
		s.end = func() error { return empty(&k) }
	})

	add("observed/the observer comes and goes", 3, func(s *scene) {
		rw := new(drawbridge.RWMutex)
		in := section{lock: rw}
		log := new(eventLog)
		s.actor(func() { rw.Observe(log)() })
		s.actor(func() { rw.Lock(); in.write(); rw.Unlock() })
		s.actor(func() { rw.RLock(); in.read(); rw.RUnlock() })
		s.end = func() error { return errors.Join(idle(rw), log.check(false)) }
	})

	for _, p := range policies {
		add("observed/every change has a number/"+p.String(), 2, func(s *scene) {
			rw := &drawbridge.RWMutex{Policy: p}
			log := new(eventLog)
			rw.Observe(log)
			ctx := s.ending()
			s.actor(func() { rw.Lock(); rw.Downgrade(); rw.RUnlock() })
			s.actor(func() {
				if rw.ULockContext(ctx) == nil {
					if rw.UpgradeContext(ctx) == nil {
						rw.Unlock()
					} else {
						rw.UUnlock()
					}
				}
			})
			s.actor(func() { rw.RLock(); rw.RUnlock() })
			s.end = func() error { return errors.Join(idle(rw), log.check(true)) }
		})
	}

	add("observed/an observer panics", 2, func(s *scene) {
		rw := new(drawbridge.RWMutex)
		in := section{lock: rw}
		rw.Observe(panicking{})
		for range 2 {
			s.actor(func() {
				held := false
				func() {
					defer func() {
						if r := recover(); r != nil && r != any(panicking{}) {
							panic(r)
						}
					}()
					rw.Lock()
					held = true
				}()
				must(!held, "the panic of the observer is lost")
			})
		}
		s.actor(func() {
			if rw.TryRLock() {
				in.read()
			}
		})
		s.bodies = s.bodies[:2]
		s.end = func() error { return idle(rw) }
	})

	for _, c := range costs {
		add("cost/"+c.name, 0, c.build)
	}
	return append(all, snapshotScenarios()...)
}

func empty(k *drawbridge.Keyed[int]) error {
	if n := k.Len(); n != 0 {
		return fmt.Errorf("%d keys are left", n)
	}
	return nil
}

// receive is a wait for a channel to be closed.
type receive chan struct{}

func (c receive) Ready() int {
	select {
	case <-c:
		return 1
	default:
		return 0
	}
}

// eventLog takes down what an observed lock tells.
type eventLog struct {
	events []drawbridge.Event
}

func (l *eventLog) Observe(_ context.Context, e drawbridge.Event) { l.events = append(l.events, e) }

// check goes through the changes in the order of their numbers, which must each
// be there once. If the log is of the whole life of the lock, they must keep
// exclusion and end with a free lock. A grant that came too late is no event,
// so numbers may be left out.
func (l *eventLog) check(whole bool) error {
	changes := slices.DeleteFunc(slices.Clone(l.events), func(e drawbridge.Event) bool {
		return e.Kind == drawbridge.Waiting || e.Kind == drawbridge.GaveUp
	})
	slices.SortFunc(changes, func(a, b drawbridge.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	var in inside
	count := func(m drawbridge.Mode, n int) {
		switch m {
		case drawbridge.Read:
			in.readers += n
		case drawbridge.Upgradable:
			in.upgradables += n
		case drawbridge.Write:
			in.writers += n
		}
	}
	holds := make(map[uint64]bool)
	for i, e := range changes {
		switch {
		case !whole || e.Mode == drawbridge.Read && e.Kind != drawbridge.Downgraded:
		case e.Hold == 0:
			return fmt.Errorf("%s to %s does not name its hold", e.Kind, e.Mode)
		case holds[e.Hold] == (e.Kind == drawbridge.Granted):
			return fmt.Errorf("%s to %s names a hold that is not inside, or is already", e.Kind, e.Mode)
		default:
			holds[e.Hold] = e.Kind != drawbridge.Released && e.Mode != drawbridge.Read
		}
		if i > 0 && changes[i-1].Seq == e.Seq {
			return fmt.Errorf("two events of a lock have the number %d", e.Seq)
		}
		switch e.Kind {
		case drawbridge.Granted:
			count(e.Mode, 1)
		case drawbridge.Upgraded:
			count(drawbridge.Upgradable, -1)
			count(drawbridge.Write, 1)
		case drawbridge.Downgraded:
			count(drawbridge.Write, -1)
			count(e.Mode, 1)
		case drawbridge.Released:
			count(e.Mode, -1)
		}
		if err := in.exclusion(); whole && err != nil {
			return fmt.Errorf("by the numbers of the events, %w", err)
		}
	}
	if whole && in != (inside{}) {
		return fmt.Errorf("by the events, %+v are still inside", in)
	}
	return nil
}

// panicking panics when a lock is granted.
type panicking struct{}

func (panicking) Observe(_ context.Context, e drawbridge.Event) {
	if e.Kind == drawbridge.Granted {
		panic(panicking{})
	}
}
