//lint:file-ignore SA2001 Taking a lock and letting it go is what is measured.

package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// The names of our own entries and of the floors, as bars refer to them.
const (
	balanced  = "drawbridge.RWMutex"
	fifo      = "drawbridge.RWMutex FIFO"
	mutex     = "drawbridge.Mutex"
	mutexFIFO = "drawbridge.Mutex FIFO"
	chain     = "bare chain"
	bareDone  = "bare select"
	bareClose = "bare channel"
	bareLoop  = "no lock"
)

// allRows is the whole comparison, with the bars that the project has set itself.
func allRows() []row {
	rw := append(rwPeers(), rwOwn()...)
	mutexes := append(mutexPeers(), mutexOwn()...)
	return slices.Concat(
		uncontendedRows(rw, mutexes),
		scopedRows(),
		readerRows(rw),
		mixedRows(rw),
		mutexRows(mutexes),
		queueRows(rw),
		cancelRows(rw),
		waitRows(rw),
		sizeRows(),
		snapshotRows(),
		keyedRows(),
		seedRows(),
		watchedRows(),
	)
}

// loops gives an entry to every contender for which of finds a loop over a fresh lock.
func loops(contenders []contender, of func(l *lock) func(n int) time.Duration) []entry {
	var entries []entry
	for _, c := range contenders {
		if of(c.make()) == nil {
			continue
		}
		entries = append(entries, entry{name: c.name, role: c.role, loop: func(n int) time.Duration {
			return of(c.make())(n)
		}})
	}
	return entries
}

// single is a loop of one goroutine that allocates nothing.
func single(loop func(n int)) func(n int) time.Duration {
	if loop == nil {
		return nil
	}
	return func(n int) time.Duration { return steady(loop, n) }
}

func uncontendedRows(rw, mutexes []contender) []row {
	reads := func(l *lock) func(int) time.Duration { return single(l.reads) }
	writes := func(l *lock) func(int) time.Duration { return single(l.writes) }
	// With a context the first entry is the plain pair of sync, which has none to offer. The floor is the same
	// pair after the look at the context that a call must take which never acquires with one that is done.
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(ctx, cancel)
	underContext := func(loop func(context.Context, int)) func(int) time.Duration {
		if loop == nil {
			return nil
		}
		return single(func(n int) { loop(ctx, n) })
	}
	readsContext := func(l *lock) func(int) time.Duration { return underContext(l.readsContext) }
	writesContext := func(l *lock) func(int) time.Duration { return underContext(l.writesContext) }

	afterErr := func(entries []entry) []entry {
		entries[1].name += ", after Err"
		entries[1].role = floor
		return entries
	}

	return []row{{
		name: "uncontended/read", figures: perOperation,
		what:    "RLock and RUnlock, one goroutine",
		entries: loops(rw, reads),
		bars:    []bar{under(balanced, 1.05, "sync.RWMutex")},
	}, {
		name: "uncontended/write", figures: perOperation,
		what:    "Lock and Unlock of a read-write lock, one goroutine",
		entries: loops(rw, writes),
		bars:    []bar{under(balanced, 1.05, "sync.RWMutex")},
	}, {
		name: "uncontended/mutex", figures: perOperation,
		what:    "Lock and Unlock of a mutex, one goroutine",
		entries: loops(mutexes, writes),
		bars:    []bar{under(mutex, 1.05, "sync.Mutex")},
	}, {
		name: "uncontended/read-context", figures: perOperation,
		what:    "RLockContext and RUnlock with a context that can be cancelled, against the plain pair of sync",
		entries: afterErr(append(loops(rw[:1], reads), loops(rw, readsContext)...)),
		bars:    []bar{under(balanced, 1.2, "sync.RWMutex")},
	}, {
		name: "uncontended/write-context", figures: perOperation,
		what:    "LockContext and Unlock with a context that can be cancelled, against the plain pair of sync",
		entries: afterErr(append(loops(rw[:1], writes), loops(rw, writesContext)...)),
		bars:    []bar{under(balanced, 1.2, "sync.RWMutex")},
	}, {
		name: "uncontended/mutex-context", figures: perOperation,
		what:    "LockContext and Unlock of a mutex with a context that can be cancelled, against the plain pair of sync",
		entries: afterErr(append(loops(mutexes[:1], writes), loops(mutexes, writesContext)...)),
		bars:    []bar{under(mutex, 1.2, "sync.Mutex")},
	}}
}

func readerRows(rw []contender) []row {
	procs := runtime.GOMAXPROCS(0)
	return []row{{
		name: "readers/every-core", figures: perOperation, multicore: true,
		what: fmt.Sprintf("RLock and RUnlock, no writes, %d goroutines on %d processors", procs, procs),
		entries: loops(rw, func(l *lock) func(int) time.Duration {
			return func(n int) time.Duration { return everyCore(l.reads, procs, n) }
		}),
		bars: []bar{under(balanced, 0.75, "xsync.RBMutex"), under(balanced, 0.25, "sync.RWMutex")},
	}, crowdRow("readers/every-core/100ns",
		// Cores that do nothing but read keep the lock's cache line for many turns, which hides what it costs
		// to share. A section in between makes them hand it over.
		fmt.Sprintf("the same with a critical section of 100 ns; what is above %q is the lock", bareLoop),
		rw, mix{goroutines: procs, section: 100 * time.Nanosecond}),
		crowdRow("readers/100", "RLock and RUnlock, no writes, 100 goroutines, empty critical section", rw, mix{goroutines: 100})}
}

// crowdRow has the harness without a lock as its floor.
func crowdRow(name, what string, contenders []contender, m mix, bars ...bar) row {
	contenders = append(slices.Clone(contenders), contender{name: bareLoop, role: floor, make: noLock})
	return row{
		name: name, what: what, figures: timesAndSwitching, multicore: true, switching: true, bars: bars,
		entries: loops(contenders, func(l *lock) func(int) time.Duration {
			return func(n int) time.Duration { return m.run(l, n) }
		}),
	}
}

// sections are the critical sections of the crowds.
var sections = []struct {
	name string
	time time.Duration
	fifo float64 // what FIFO must reach against the semaphore
}{
	{"empty", 0, 0.7},
	{"1us", time.Microsecond, 0.95},
}

func mixedRows(rw []contender) []row {
	const goroutines = 100
	var rows []row
	for _, percent := range []int{1, 10, 50} {
		for _, s := range sections {
			rows = append(rows, crowdRow(
				fmt.Sprintf("mixed/%d/%s", percent, s.name),
				fmt.Sprintf("%d goroutines, %d %% writes, %s critical section", goroutines, percent, s.name),
				rw, mix{goroutines: goroutines, writes: float64(percent) / 100, section: s.time},
				under(balanced, 1.05, "sync.RWMutex"), under(fifo, s.fifo, "semaphore"),
			))
		}
	}
	return append(rows, crowdRow("mixed/100/empty", "100 goroutines, only writes, empty critical section",
		rw, mix{goroutines: goroutines, writes: 1}, under(balanced, 0.5, "sync.RWMutex")))
}

func mutexRows(mutexes []contender) []row {
	var rows []row
	for _, goroutines := range []int{2, 8, 100} {
		for _, s := range sections {
			rows = append(rows, crowdRow(
				fmt.Sprintf("mutex/%d/%s", goroutines, s.name),
				fmt.Sprintf("mutex, %d goroutines, %s critical section", goroutines, s.name),
				mutexes, mix{goroutines: goroutines, writes: 1, section: s.time},
				under(mutex, 1.05, "sync.Mutex"),
			))
		}
	}
	return rows
}

func queueRows(rw []contender) []row {
	without := func(name string) []contender {
		return slices.DeleteFunc(slices.Clone(rw), func(c contender) bool { return c.name == name })
	}
	queued := func(name, what string, contenders []contender, floorName string,
		floorRound func(int) time.Duration, round func(*lock, int) time.Duration, size, operations int, bars ...bar) row {
		entries := loops(contenders, func(l *lock) func(int) time.Duration {
			return func(n int) time.Duration {
				return repeat(n, size, func() time.Duration { return round(l, size) })
			}
		})
		return row{
			name: name, what: what, figures: perOperation, multicore: true, operations: operations, bars: bars,
			entries: append(entries, entry{name: floorName, role: floor, loop: func(n int) time.Duration {
				return repeat(n, size, func() time.Duration { return floorRound(size) })
			}}),
		}
	}
	var rows []row
	for _, writers := range []int{10, 1_000, 10_000} {
		contenders := rw
		var bars []bar
		if writers > 10 {
			for _, own := range []string{balanced, fifo} {
				bars = append(bars, under(own, 1.0, "semaphore"), under(own, 1.2, "sync.RWMutex"))
			}
		}
		if writers == 10_000 {
			// Every release of the textbook lock wakes everybody: seconds for one chain.
			contenders = without("condition variable")
			for _, own := range []string{balanced, fifo} {
				bars = append(bars, bar{
					of:    term{entry: own, above: chain},
					limit: 1.5,
					times: term{entry: own, above: chain, row: "handoff/10"},
				})
			}
		}
		rows = append(rows, queued(
			fmt.Sprintf("handoff/%d", writers),
			fmt.Sprintf("%d writers queued, each holds the lock once; per hand-off", writers),
			contenders, chain, handOffFloor, handOff, writers, max(10_000, 2*writers), bars...))
	}
	return append(rows, queued(
		"release/10000", "a writer leaves and 10,000 readers enter; per reader",
		rw, bareClose, releaseFloor, release, 10_000, 20_000,
		under(balanced, 1.05, "sync.RWMutex")))
}

func cancelRows(rw []contender) []row {
	const waiters = 10_000
	cancelable := slices.DeleteFunc(slices.Clone(rw), func(c contender) bool { return c.make().writeContext == nil })
	entries := loops(cancelable, func(l *lock) func(int) time.Duration {
		return func(n int) time.Duration {
			return repeat(n, waiters, func() time.Duration { return cancelled(l, waiters, nothing, nothing) })
		}
	})
	var retains []entry
	for _, c := range cancelable {
		retains = append(retains, entry{name: c.name, role: c.role, measure: func() []float64 {
			return []float64{retained(c.make(), waiters)}
		}})
	}
	return []row{{
		name: "cancel/10000", figures: perOperation, multicore: true, operations: 2 * waiters,
		what: "10,000 writers that wait with one context are cancelled; per waiter",
		entries: append(entries, entry{name: bareDone, role: floor, loop: func(n int) time.Duration {
			return repeat(n, waiters, func() time.Duration { return cancelFloor(waiters) })
		}}),
		bars: []bar{under(balanced, 1.0, "semaphore"), under(fifo, 1.0, "semaphore")},
	}, {
		name: "cancel/retained", figures: []figure{{unit: "bytes"}}, counted: true,
		what:    "heap still reachable, per waiter, after 10,000 waits were cancelled and while the lock is held on",
		entries: retains,
		bars:    []bar{{of: term{entry: balanced}, limit: 1}, {of: term{entry: fifo}, limit: 1}},
	}}
}

func waitRows(rw []contender) []row {
	const waiters = 1_000
	figures := []figure{
		{name: "allocations", unit: "allocations/wait"},
		{name: "allocated", unit: "bytes/wait"},
		{name: "heap while waiting", unit: "bytes/waiter"},
		{name: "stack grown", unit: "bytes/waiter"},
	}
	measure := func(write, wait func(func())) []float64 {
		c := measureWaits(write, wait, waiters)
		return []float64{c.allocations, c.bytes, c.live, c.stack}
	}
	type waiter func(l *lock, ctx context.Context) func(section func())
	entries := func(wait waiter) []entry {
		var entries []entry
		for _, c := range rw {
			if wait(c.make(), context.Background()) == nil {
				continue
			}
			entries = append(entries, entry{name: c.name, role: c.role, measure: func() []float64 {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				l := c.make()
				return measure(l.write, wait(l, ctx))
			}})
		}
		return entries
	}
	// The runtime allocates a little for itself now and then; one in a hundred waits is not a wait's.
	bars := func(allocations float64) []bar {
		return []bar{{of: term{entry: balanced}, limit: allocations + 0.01}, {of: term{entry: fifo}, limit: allocations + 0.01}}
	}
	return []row{{
		name: "wait/write", figures: figures, counted: true, bars: bars(0),
		what:    "what one of 1,000 waits for writing takes from the heap",
		entries: entries(func(l *lock, _ context.Context) func(func()) { return l.write }),
	}, {
		name: "wait/read", figures: figures, counted: true, bars: bars(0),
		what:    "what one of 1,000 waits for reading takes from the heap",
		entries: entries(func(l *lock, _ context.Context) func(func()) { return l.read }),
	}, {
		name: "wait/write-context", figures: figures, counted: true, bars: bars(1),
		what: "what one of 1,000 waits for writing with a context takes from the heap",
		entries: entries(func(l *lock, ctx context.Context) func(func()) {
			return withContext(l.writeContext, ctx)
		}),
	}, {
		name: "wait/read-context", figures: figures, counted: true, bars: bars(1),
		what: "what one of 1,000 waits for reading with a context takes from the heap",
		entries: entries(func(l *lock, ctx context.Context) func(func()) {
			return withContext(l.readContext, ctx)
		}),
	}}
}

// withContext waits by call, or is nil where the lock has no such call.
func withContext(call func(context.Context, func()) error, ctx context.Context) func(section func()) {
	if call == nil {
		return nil
	}
	return func(section func()) { must(call(ctx, section)) }
}

func sizeRows() []row {
	figures := []figure{{name: "type", unit: "bytes"}, {name: "with its own allocations", unit: "bytes"}}
	size := func(name string, role role, measure func() lockSize) entry {
		return entry{name: name, role: role, measure: func() []float64 {
			s := measure()
			return []float64{float64(s.size), s.heap}
		}}
	}
	return []row{{
		name: "size/rwmutex", figures: figures, counted: true,
		what: "memory of a read-write lock that nobody contends for",
		entries: append([]entry{
			size("sync.RWMutex", peer, func() lockSize {
				return sizeOf(func(mu *sync.RWMutex) { mu.RLock(); mu.RUnlock(); mu.Lock(); mu.Unlock() })
			}),
			size("semaphore", peer, semaphoreSize),
			size("xsync.RBMutex", peer, rbMutexSize),
			size("condition variable", peer, func() lockSize {
				return sizeOf(func(mu *textbookRW) { mu.changed.L = &mu.mu; mu.RLock(); mu.RUnlock(); mu.Lock(); mu.Unlock() })
			}),
		}, rwSizes(size)...),
		bars: []bar{
			{of: term{entry: balanced}, limit: 64},
			{of: term{entry: balanced, figure: 1}, limit: 64.5}, // with the slice that holds the locks
		},
	}, {
		name: "size/mutex", figures: figures, counted: true,
		what: "memory of a mutex that nobody contends for",
		entries: append([]entry{
			size("sync.Mutex", peer, func() lockSize {
				return sizeOf(func(mu *sync.Mutex) { mu.Lock(); mu.Unlock() })
			}),
			size("channel", peer, channelSize),
		}, mutexSizes(size)...),
		bars: []bar{
			{of: term{entry: mutex}, limit: 40},
			{of: term{entry: mutex, figure: 1}, limit: 40.5},
		},
	}}
}

func snapshotRows() []row {
	return []row{{
		name: "snapshot/load", figures: perOperation,
		what: "Snapshot.Load, one goroutine",
		entries: append([]entry{
			{name: "atomic.Pointer", role: peer, loop: single(pointerLoads)},
		}, snapshotOwn()...),
		bars: []bar{under("drawbridge.Snapshot", 1.1, "atomic.Pointer")},
	}}
}

func keyedRows() []row {
	const goroutines = 64
	keyedEntry := func(name string, role role, make func() keyedLoop) entry {
		return entry{name: name, role: role, loop: func(n int) time.Duration { return keyed(make(), goroutines, n) }}
	}
	return []row{{
		name: "keyed/1M", figures: perOperation, multicore: true,
		what: "lock and unlock one of 1,048,576 keys at random, 64 goroutines, empty critical section",
		entries: append([]entry{
			keyedEntry("map of mutexes", peer, mutexMapLoop),
		}, keyedOwn(keyedEntry)...),
		bars: []bar{under("drawbridge.Keyed", 0.7, "map of mutexes")},
	}}
}

func seedRows() []row {
	seed := func(name string, role role, make func() table) entry {
		return entry{name: name, role: role, measure: func() []float64 {
			r := runSeed(make())
			return []float64{r.readsPerSecond, milliseconds(r.between), milliseconds(r.p99Wait)}
		}}
	}
	return []row{{
		name: "seed", multicore: true,
		what: "300 handlers read across a call of 1 ms; every 50 ms a refresher writes across three",
		figures: []figure{
			{name: "reads", unit: "reads/s", more: true},
			{name: "time of a read between two refreshes", unit: "ms"},
			{name: "read wait, 99th percentile", unit: "ms"},
		},
		entries: append([]entry{
			seed("sync.RWMutex", peer, func() table {
				mu := new(sync.RWMutex)
				return rwTable(mu, mu.RLocker())
			}),
			seed("sync.Mutex", peer, func() table { return mutexTable(new(sync.Mutex)) }),
			seed(bareLoop, floor, unprotectedTable),
		}, seedOwn(seed)...),
		bars: []bar{
			{of: term{entry: balanced, figure: 1}, limit: 1.05, times: term{entry: bareLoop, figure: 1}},
		},
	}}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
