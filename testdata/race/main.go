//go:build race

// Command race runs one scenario under the race detector. Its accesses to
// shared data are ordered in time, but by nothing that the detector can see:
// whether it reports a race depends on the lock alone.
//
//	race SCENARIO WAY POLICY
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: race SCENARIO WAY POLICY")
		os.Exit(2)
	}
	var policy drawbridge.Policy
	for policy.String() != os.Args[3] {
		policy++
	}
	run, way := scenarios[os.Args[1]], ways[os.Args[2]]
	if run == nil || way == nil {
		fmt.Fprintf(os.Stderr, "unknown scenario %q or way %q\n", os.Args[1], os.Args[2])
		os.Exit(2)
	}
	run(way(policy))
}

// shared is what the locks guard, or fail to.
var shared int

//go:noinline
func write() { shared++ }

//go:noinline
func read() int { return shared }

// order lets goroutines take turns without an edge that the detector sees.
type order struct{ turn atomic.Int32 }

func (o *order) await(n int32) {
	hidden(func() bool { return o.turn.Load() >= n })
}

func (o *order) next() {
	runtime.RaceDisable()
	o.turn.Add(1)
	runtime.RaceEnable()
}

// hidden sleeps between its looks: the detector keeps a short history of each
// goroutine, and reports no race with an access that has dropped out of it.
func hidden(happened func() bool) {
	runtime.RaceDisable()
	for !happened() {
		time.Sleep(100 * time.Microsecond)
	}
	runtime.RaceEnable()
}

// inTurn runs the steps one after the other, each on its own goroutine.
func inTurn(steps ...func()) {
	var o order
	var wg sync.WaitGroup
	for i, step := range steps {
		wg.Go(func() {
			o.await(int32(i))
			step()
			o.next()
		})
	}
	wg.Wait()
}

// lock is a lock and the way in which it is used.
type lock struct {
	read, write func(section func())
	upgradable  func(section func(upgrade func()))
	state       func() drawbridge.State
	rw          *drawbridge.RWMutex // where it is one
}

func (l *lock) readers(n int) { hidden(func() bool { return l.state().Readers == n }) }

func (l *lock) waiting(n int) {
	hidden(func() bool { return l.state().WaitingReaders+l.state().WaitingWriters == n })
}

var background, _ = context.WithCancel(context.Background()) // waits with it need a channel

func must(err error) {
	if err != nil {
		panic(err)
	}
}

var ways = map[string]func(drawbridge.Policy) *lock{
	"plain": func(p drawbridge.Policy) *lock { return plain(&drawbridge.RWMutex{Policy: p}) },
	"observed": func(p drawbridge.Policy) *lock {
		rw := &drawbridge.RWMutex{Policy: p}
		rw.Observe(new(quiet))
		return plain(rw)
	},
	"observed-all": func(p drawbridge.Policy) *lock {
		drawbridge.ObserveAll(new(quiet))
		return plain(&drawbridge.RWMutex{Policy: p})
	},
	"rlocker": func(p drawbridge.Policy) *lock {
		l := plain(&drawbridge.RWMutex{Policy: p})
		r := l.rw.RLocker()
		l.read = func(section func()) { r.Lock(); section(); r.Unlock() }
		return l
	},
	"try": func(p drawbridge.Policy) *lock {
		l := plain(&drawbridge.RWMutex{Policy: p})
		rw := l.rw
		spin := func(try func() bool) {
			for !try() {
				runtime.Gosched()
			}
		}
		l.read = func(section func()) { spin(rw.TryRLock); section(); rw.RUnlock() }
		l.write = func(section func()) { spin(rw.TryLock); section(); rw.Unlock() }
		l.upgradable = func(section func(func())) {
			spin(rw.TryULock)
			section(rw.Upgrade)
			if rw.State().Writer {
				rw.Unlock()
			} else {
				rw.UUnlock()
			}
		}
		return l
	},
	"context": func(p drawbridge.Policy) *lock {
		rw := &drawbridge.RWMutex{Policy: p}
		return &lock{
			rw: rw, state: rw.State,
			read:  func(section func()) { must(rw.RLockContext(background)); section(); rw.RUnlock() },
			write: func(section func()) { must(rw.LockContext(background)); section(); rw.Unlock() },
			upgradable: func(section func(func())) {
				must(rw.ULockContext(background))
				upgraded := false
				section(func() { must(rw.UpgradeContext(background)); upgraded = true })
				if upgraded {
					rw.Unlock()
				} else {
					rw.UUnlock()
				}
			},
		}
	},
	"scoped": func(p drawbridge.Policy) *lock {
		rw := &drawbridge.RWMutex{Policy: p}
		return &lock{
			state: rw.State,
			read: func(section func()) {
				must(rw.WithRLock(background, func(context.Context) error { section(); return nil }))
			},
			write: func(section func()) {
				must(rw.WithLock(background, func(context.Context) error { section(); return nil }))
			},
			upgradable: func(section func(func())) {
				must(rw.WithULock(background, func(_ context.Context, upgrade func() error) error {
					section(func() { must(upgrade()) })
					return nil
				}))
			},
		}
	},
	"guarded": func(p drawbridge.Policy) *lock {
		g := &drawbridge.Guarded[int]{Policy: p}
		return &lock{
			state: g.State,
			read: func(section func()) {
				must(g.Read(background, func(context.Context, *int) error { section(); return nil }))
			},
			write: func(section func()) {
				must(g.Write(background, func(context.Context, *int) error { section(); return nil }))
			},
			upgradable: func(section func(func())) {
				must(g.Update(background, func(_ context.Context, _ *int, upgrade func() error) error {
					section(func() { must(upgrade()) })
					return nil
				}))
			},
		}
	},
	"keyed": func(p drawbridge.Policy) *lock {
		k := &drawbridge.Keyed[string]{Policy: p}
		take := func(lock func(context.Context, string) (func(), error)) func(func()) {
			return func(section func()) {
				unlock, err := lock(background, "a")
				must(err)
				section()
				unlock()
			}
		}
		return &lock{state: stateOfKey(k), read: take(k.RLockContext), write: take(k.LockContext)}
	},
	"keyed-scoped": func(p drawbridge.Policy) *lock {
		k := &drawbridge.Keyed[string]{Policy: p}
		return &lock{
			state: stateOfKey(k),
			read: func(section func()) {
				must(k.WithRLock(background, "a", func(context.Context) error { section(); return nil }))
			},
			write: func(section func()) {
				must(k.WithLocks(background, []string{"a", "b"}, func(context.Context) error { section(); return nil }))
			},
			upgradable: func(section func(func())) {
				must(k.WithULock(background, "a", func(_ context.Context, upgrade func() error) error {
					section(func() { must(upgrade()) })
					return nil
				}))
			},
		}
	},
	"mutex": func(p drawbridge.Policy) *lock {
		mu := &drawbridge.Mutex{Policy: p}
		section := func(section func()) { mu.Lock(); section(); mu.Unlock() }
		return &lock{state: mu.State, read: section, write: section}
	},
	"mutex-scoped": func(p drawbridge.Policy) *lock {
		mu := &drawbridge.Mutex{Policy: p}
		section := func(section func()) {
			must(mu.WithLock(background, func(context.Context) error { section(); return nil }))
		}
		return &lock{state: mu.State, read: section, write: section}
	},
}

func plain(rw *drawbridge.RWMutex) *lock {
	return &lock{
		rw: rw, state: rw.State,
		read:  func(section func()) { rw.RLock(); section(); rw.RUnlock() },
		write: func(section func()) { rw.Lock(); section(); rw.Unlock() },
		upgradable: func(section func(func())) {
			rw.ULock()
			upgraded := false
			section(func() { rw.Upgrade(); upgraded = true })
			if upgraded {
				rw.Unlock()
			} else {
				rw.UUnlock()
			}
		},
	}
}

func stateOfKey(k *drawbridge.Keyed[string]) func() drawbridge.State {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	return func() drawbridge.State {
		_, err := k.LockContext(done, "a")
		return err.(*drawbridge.WaitError).State
	}
}

// quiet observes and makes no edge.
type quiet struct{}

func (*quiet) Observe(context.Context, drawbridge.Event) {}

var scenarios = map[string]func(*lock){
	// These must be reported.

	"two-readers": func(l *lock) {
		inTurn(func() { l.read(write) }, func() { l.read(write) })
	},
	// Both readers waited for the same writer, and entered together.
	"two-readers-that-waited": func(l *lock) {
		var o order
		var wg sync.WaitGroup
		l.write(func() {
			wg.Go(func() {
				l.read(func() { write() })
				o.next()
			})
			wg.Go(func() {
				l.read(func() {
					o.await(1)
					write()
				})
			})
			l.waiting(2)
		})
		wg.Wait()
	},
	"reader-and-upgradable": func(l *lock) {
		inTurn(func() { l.read(write) }, func() { l.upgradable(func(func()) { write() }) })
	},
	"upgradable-and-reader": func(l *lock) {
		inTurn(func() { l.upgradable(func(func()) { write() }) }, func() { l.read(write) })
	},
	"after-a-failed-try": func(l *lock) {
		var o order
		var wg sync.WaitGroup
		wg.Go(func() {
			l.rw.RLock()
			write()
			o.next()
			o.await(2)
			l.rw.RUnlock()
		})
		wg.Go(func() {
			o.await(1)
			if l.rw.TryLock() {
				panic("entered beside a reader")
			}
			write()
			o.next()
		})
		wg.Wait()
	},
	"after-a-failed-wait": func(l *lock) {
		ctx, cancel := context.WithCancel(context.Background())
		var o order
		var wg sync.WaitGroup
		wg.Go(func() {
			l.rw.Lock()
			write()
			o.next()
			o.await(2)
			l.rw.Unlock()
		})
		wg.Go(func() {
			o.await(1)
			if l.rw.LockContext(ctx) == nil {
				panic("entered beside a writer")
			}
			write()
			o.next()
		})
		o.await(1)
		l.waiting(1)
		cancel()
		wg.Wait()
	},
	"reader-after-downgrade": func(l *lock) {
		inTurn(func() {
			l.rw.Lock()
			l.rw.Downgrade()
			write()
			l.rw.RUnlock()
		}, func() { l.read(write) })
	},
	"two-keys": func(*lock) {
		var k drawbridge.Keyed[int]
		section := func(key int) func() {
			return func() {
				must(k.WithLock(background, key, func(context.Context) error { write(); return nil }))
			}
		}
		inTurn(section(1), section(2))
	},
	// A writer that gives up lets the readers in. It makes no edge from the
	// one who cancels to the readers, nor between the readers.
	"readers-that-a-cancel-let-in": func(l *lock) {
		ctx, cancel := context.WithCancel(context.Background())
		var o order
		var wg sync.WaitGroup
		l.rw.RLock()
		wg.Go(func() { _ = l.rw.LockContext(ctx) })
		l.waiting(1)
		wg.Go(func() {
			l.read(write)
			o.next()
		})
		wg.Go(func() {
			l.read(func() {
				o.await(1)
				write()
			})
		})
		l.waiting(3)
		cancel()
		wg.Wait()
		l.rw.RUnlock()
	},

	// These must not.

	"writers": func(l *lock) {
		inTurn(func() { l.write(write) }, func() { l.write(write) }, func() { l.write(write) })
	},
	"writer-then-reader": func(l *lock) {
		inTurn(func() { l.write(write) }, func() { l.read(func() { read() }) })
	},
	"reader-then-writer": func(l *lock) {
		inTurn(func() { l.read(func() { read() }) }, func() { l.read(func() { read() }) }, func() { l.write(write) })
	},
	"writer-then-upgradable": func(l *lock) {
		inTurn(func() { l.write(write) }, func() { l.upgradable(func(func()) { read() }) })
	},
	"upgradables": func(l *lock) {
		section := func() { l.upgradable(func(func()) { write() }) }
		inTurn(section, section)
	},
	"upgradable-then-writer": func(l *lock) {
		inTurn(func() { l.upgradable(func(func()) { write() }) }, func() { l.write(write) })
	},
	"reader-then-upgrade": func(l *lock) {
		inTurn(func() { l.read(func() { read() }) }, func() {
			l.upgradable(func(upgrade func()) { upgrade(); write() })
		}, func() { l.read(func() { read() }) })
	},
	"reader-that-the-upgrade-waits-for": func(l *lock) {
		var o order
		var wg sync.WaitGroup
		wg.Go(func() {
			l.read(func() {
				o.next()
				o.await(2)
				l.waiting(1)
				read()
			})
		})
		o.await(1)
		wg.Go(func() {
			l.upgradable(func(upgrade func()) {
				o.next()
				upgrade()
				write()
			})
		})
		wg.Wait()
	},
	"downgrade": func(l *lock) {
		inTurn(func() { l.rw.Lock(); write(); l.rw.Downgrade(); l.rw.RUnlock() },
			func() { l.read(func() { read() }) },
			func() { l.rw.Lock(); write(); l.rw.DowngradeToUpgradable(); l.rw.UUnlock() },
			func() { l.read(func() { read() }) },
			func() { l.write(write) })
	},
	"readers-that-a-downgrade-let-in": func(l *lock) {
		var wg sync.WaitGroup
		l.rw.Lock()
		for range 2 {
			wg.Go(func() { l.read(func() { read() }) })
		}
		l.waiting(2)
		write()
		l.rw.Downgrade()
		l.rw.RUnlock()
		wg.Wait()
	},
	"cond": func(l *lock) {
		cond := sync.NewCond(l.rw)
		woken := false
		var wg sync.WaitGroup
		wg.Go(func() {
			l.rw.Lock()
			for !woken {
				cond.Wait()
			}
			write()
			l.rw.Unlock()
		})
		wg.Go(func() {
			l.rw.Lock()
			write()
			woken = true
			l.rw.Unlock()
			cond.Signal()
		})
		wg.Wait()
	},
	// The edges of the user's own code in an observer and in a context must
	// not be lost.
	"observer-with-a-lock-of-its-own": func(l *lock) {
		o := &counting{seen: map[drawbridge.EventKind]int{}}
		defer drawbridge.ObserveAll(o)()
		contended(l)
	},
	"context-with-a-lock-of-its-own": func(l *lock) {
		ctx := &counted{Context: background}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 100 {
					must(l.rw.LockContext(ctx))
					write()
					l.rw.Unlock()
				}
			})
		}
		wg.Wait()
	},
	"contended": contended,
	// Late grants go to the next with everything that came before them.
	"contended-and-cancelled": func(l *lock) {
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 200 {
					ctx, cancel := context.WithCancel(context.Background())
					go func() {
						if i%2 == 0 {
							runtime.Gosched()
						}
						cancel()
					}()
					if (g+i)%3 == 0 {
						if l.rw.LockContext(ctx) == nil {
							write()
							l.rw.Unlock()
						}
					} else if l.rw.RLockContext(ctx) == nil {
						read()
						l.rw.RUnlock()
					}
				}
			})
		}
		wg.Wait()
	},
	"snapshot": func(*lock) {
		var s drawbridge.Snapshot[int]
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 100 {
					v := new(int)
					*v = 1
					s.Publish(v)
					must(s.Update(background, func(_ context.Context, old *int) (*int, error) {
						next := *old + 1
						return &next, nil
					}))
					must(s.Refresh(background, func(context.Context) (*int, error) { return new(int), nil }))
				}
			})
			wg.Go(func() {
				for range 100 {
					if v := s.Load(); v != nil && *v < 0 {
						panic("impossible")
					}
					v, _, err := s.Wait(background, 0)
					must(err)
					_ = *v
				}
			})
		}
		wg.Wait()
	},
}

// contended has every kind of hold wait for every other.
func contended(l *lock) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				switch k := (g + i) % 8; {
				case k < 2:
					l.write(write)
				case k < 4 && l.upgradable != nil:
					l.upgradable(func(upgrade func()) { read(); upgrade(); write() })
				default:
					l.read(func() { read() })
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
}

type counting struct {
	mu   sync.Mutex
	seen map[drawbridge.EventKind]int
}

func (c *counting) Observe(_ context.Context, e drawbridge.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[e.Kind]++
}

type counted struct {
	context.Context
	mu    sync.Mutex
	calls int
}

func (c *counted) count() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
}

func (c *counted) Err() error            { c.count(); return c.Context.Err() }
func (c *counted) Done() <-chan struct{} { c.count(); return c.Context.Done() }
func (c *counted) Value(key any) any     { c.count(); return c.Context.Value(key) }
