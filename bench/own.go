//lint:file-ignore SA2001 Taking a lock and letting it go is what is measured.

package main

import (
	"context"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// rwOwn is our read-write lock under each of its policies.
func rwOwn() []contender {
	of := func(policy drawbridge.Policy) func() *lock { return func() *lock { return drawbridgeRW(policy) } }
	return []contender{
		{name: balanced, role: own, make: of(drawbridge.Balanced)},
		{name: fifo, role: own, make: of(drawbridge.FIFO)},
		{name: balanced + " PreferWriters", role: own, make: of(drawbridge.PreferWriters)},
		{name: balanced + " PreferReaders", role: own, make: of(drawbridge.PreferReaders)},
	}
}

func drawbridgeRW(policy drawbridge.Policy) *lock {
	mu := newPadded[drawbridge.RWMutex]()
	mu.Policy = policy
	l := &lock{
		reads: func(n int) {
			for range n {
				mu.RLock()
				mu.RUnlock()
			}
		},
		writes: func(n int) {
			for range n {
				mu.Lock()
				mu.Unlock()
			}
		},
		readsContext: func(ctx context.Context, n int) {
			for range n {
				must(mu.RLockContext(ctx))
				mu.RUnlock()
			}
		},
		writesContext: func(ctx context.Context, n int) {
			for range n {
				must(mu.LockContext(ctx))
				mu.Unlock()
			}
		},
		crowd: func(w *worker) {
			for w.next() {
				if w.writes() {
					mu.Lock()
					w.section()
					mu.Unlock()
				} else {
					mu.RLock()
					w.section()
					mu.RUnlock()
				}
			}
		},
		readContext: func(ctx context.Context, section func()) error {
			if err := mu.RLockContext(ctx); err != nil {
				return err
			}
			section()
			mu.RUnlock()
			return nil
		},
		writeContext: func(ctx context.Context, section func()) error {
			if err := mu.LockContext(ctx); err != nil {
				return err
			}
			section()
			mu.Unlock()
			return nil
		},
	}
	return l.withLocker(mu, mu.RLocker())
}

// mutexOwn is our mutex under each of its policies.
func mutexOwn() []contender {
	of := func(policy drawbridge.Policy) func() *lock { return func() *lock { return drawbridgeMutex(policy) } }
	return []contender{
		{name: mutex, role: own, make: of(drawbridge.Balanced)},
		{name: mutexFIFO, role: own, make: of(drawbridge.FIFO)},
	}
}

func drawbridgeMutex(policy drawbridge.Policy) *lock {
	mu := newPadded[drawbridge.Mutex]()
	mu.Policy = policy
	l := &lock{
		writes: func(n int) {
			for range n {
				mu.Lock()
				mu.Unlock()
			}
		},
		writesContext: func(ctx context.Context, n int) {
			for range n {
				must(mu.LockContext(ctx))
				mu.Unlock()
			}
		},
		crowd: func(w *worker) {
			for w.next() {
				mu.Lock()
				w.section()
				mu.Unlock()
			}
		},
		writeContext: func(ctx context.Context, section func()) error {
			if err := mu.LockContext(ctx); err != nil {
				return err
			}
			section()
			mu.Unlock()
			return nil
		},
	}
	return l.withLocker(mu, nil)
}

// scopedRows hold the scoped calls against the plain pair of the same lock, and against what one writes by
// hand around the standard lock.
func scopedRows() []row {
	ctx := context.Background()
	section := func(context.Context) error { return nil }
	plain := func(name string, loop func(n int)) entry { return entry{name: name, role: own, loop: allocating(loop)} }

	standard := newPadded[sync.RWMutex]()
	byHand := func(lock, unlock func()) func(ctx context.Context, section func(context.Context) error) error {
		return func(ctx context.Context, section func(context.Context) error) error {
			lock()
			defer unlock()
			return section(ctx)
		}
	}
	readByHand := byHand(standard.RLock, standard.RUnlock)
	writeByHand := byHand(standard.Lock, standard.Unlock)

	mu := newPadded[drawbridge.RWMutex]()
	withRLock := func(n int) {
		for range n {
			must(mu.WithRLock(ctx, section))
		}
	}
	withLock := func(n int) {
		for range n {
			must(mu.WithLock(ctx, section))
		}
	}
	m := newPadded[drawbridge.Mutex]()
	mutexWithLock := func(n int) {
		for range n {
			must(m.WithLock(ctx, section))
		}
	}
	pair := drawbridgeRW(drawbridge.Balanced)
	mutexPair := drawbridgeMutex(drawbridge.Balanced)
	onTop := func(scoped, plain string) []bar { return []bar{{of: term{entry: scoped, above: plain}, limit: 60}} }
	allocates := func(name string, loop func(n int)) entry {
		return entry{name: name, role: own, measure: func() []float64 { return []float64{allocationsOf(loop)} }}
	}
	return []row{{
		name: "scoped/read", figures: perOperation, what: "WithRLock, one goroutine, on top of the plain pair",
		entries: []entry{
			plain("RLock+RUnlock", pair.reads),
			plain("WithRLock", withRLock),
			{name: "sync.RWMutex, deferred", role: peer, loop: allocating(func(n int) {
				for range n {
					must(readByHand(ctx, section))
				}
			})},
		},
		bars: onTop("WithRLock", "RLock+RUnlock"),
	}, {
		name: "scoped/write", figures: perOperation, what: "WithLock, one goroutine, on top of the plain pair",
		entries: []entry{
			plain("Lock+Unlock", pair.writes),
			plain("WithLock", withLock),
			{name: "sync.RWMutex, deferred", role: peer, loop: allocating(func(n int) {
				for range n {
					must(writeByHand(ctx, section))
				}
			})},
		},
		bars: onTop("WithLock", "Lock+Unlock"),
	}, {
		name: "scoped/mutex", figures: perOperation, what: "Mutex.WithLock, one goroutine, on top of the plain pair",
		entries: []entry{plain("Lock+Unlock", mutexPair.writes), plain("WithLock", mutexWithLock)},
		bars:    onTop("WithLock", "Lock+Unlock"),
	}, {
		name: "scoped/allocations", figures: []figure{{unit: "allocations"}}, counted: true,
		what: "what a scoped call takes from the heap",
		entries: []entry{
			allocates("WithRLock", withRLock),
			allocates("WithLock", withLock),
			allocates("Mutex.WithLock", mutexWithLock),
		},
		bars: []bar{
			{of: term{entry: "WithRLock"}, limit: 1.01},
			{of: term{entry: "WithLock"}, limit: 1.01},
			{of: term{entry: "Mutex.WithLock"}, limit: 1.01},
		},
	}}
}

// allocating is a loop of one goroutine with all that the collector takes for it.
func allocating(loop func(n int)) func(n int) time.Duration {
	return func(n int) time.Duration { return timed(loop, n) }
}

func rwSizes(size func(string, role, func() lockSize) entry) []entry {
	return []entry{
		size(balanced, own, func() lockSize {
			return sizeOf(func(mu *drawbridge.RWMutex) { mu.RLock(); mu.RUnlock(); mu.Lock(); mu.Unlock() })
		}),
		size(balanced+", read-hot", own, func() lockSize { return sizeOf(heat) }),
	}
}

// heat makes a lock read-hot: readers meet in it, again and again, with no writer in between.
func heat(mu *drawbridge.RWMutex) {
	mu.RLock()
	for range 2_000 {
		mu.RLock()
		mu.RUnlock()
	}
	mu.RUnlock()
}

func mutexSizes(size func(string, role, func() lockSize) entry) []entry {
	return []entry{size(mutex, own, func() lockSize {
		return sizeOf(func(mu *drawbridge.Mutex) { mu.Lock(); mu.Unlock() })
	})}
}

func snapshotOwn() []entry {
	return []entry{{name: "drawbridge.Snapshot", role: own, loop: single(snapshotLoads)}}
}

func snapshotLoads(n int) {
	s := newPadded[drawbridge.Snapshot[int]]()
	s.Publish(new(int))
	sum := 0
	for range n {
		sum += *s.Load()
	}
	sink.Add(uint64(sum))
}

func keyedOwn(keyedEntry func(string, role, func() keyedLoop) entry) []entry {
	ctx := context.Background()
	return []entry{
		keyedEntry("drawbridge.Keyed", own, func() keyedLoop {
			locks := newPadded[drawbridge.Keyed[int]]()
			return func(random uint64, n int) {
				var key int
				for range n {
					random, key = nextKey(random)
					unlock, err := locks.LockContext(ctx, key)
					must(err)
					unlock()
				}
			}
		}),
		keyedEntry("drawbridge.Keyed WithLock", own, func() keyedLoop {
			locks := newPadded[drawbridge.Keyed[int]]()
			section := func(context.Context) error { return nil }
			return func(random uint64, n int) {
				var key int
				for range n {
					random, key = nextKey(random)
					must(locks.WithLock(ctx, key, section))
				}
			}
		}),
	}
}

func seedOwn(seed func(string, role, func() table) entry) []entry {
	return []entry{
		seed(balanced, own, func() table {
			mu := new(drawbridge.RWMutex)
			return rwTable(mu, mu.RLocker())
		}),
		seed(mutex, own, func() table { return mutexTable(new(drawbridge.Mutex)) }),
		seed("drawbridge.Snapshot", own, func() table {
			s := new(drawbridge.Snapshot[int])
			return table{
				read: func(call func()) {
					s.Load()
					call()
				},
				refresh: func(build func()) {
					must(s.Refresh(context.Background(), func(context.Context) (*int, error) {
						build()
						return new(int), nil
					}))
				},
			}
		}),
	}
}
