//lint:file-ignore SA2001 Taking a lock and letting it go is what is measured.

package main

import (
	"context"
	"io"
	"math"
	"sync"

	"github.com/puzpuzpuz/xsync/v4"
	"github.com/sasha-s/go-deadlock"
	"golang.org/x/sync/semaphore"
)

// rwPeers are the read-write locks that people use today. The first one is what the ratios to sync and the
// harness's own noise are taken against.
func rwPeers() []contender {
	return []contender{
		{name: "sync.RWMutex", make: syncRWMutex},
		{name: "semaphore", make: semaphoreRW},
		{name: "xsync.RBMutex", make: xsyncRBMutex},
		{name: "condition variable", make: condRW},
		{name: "go-deadlock off", make: func() *lock { return deadlockRW(false) }},
		{name: "go-deadlock on", make: func() *lock { return deadlockRW(true) }},
	}
}

func syncRWMutex() *lock {
	mu := newPadded[sync.RWMutex]()
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
				must(ctx.Err())
				mu.RLock()
				mu.RUnlock()
			}
		},
		writesContext: func(ctx context.Context, n int) {
			for range n {
				must(ctx.Err())
				mu.Lock()
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
	}
	return l.withLocker(mu, mu.RLocker())
}

// semaphoreRW is the usual way to a read-write lock with contexts today: a reader takes one unit of a weighted
// semaphore, a writer takes them all.
func semaphoreRW() *lock {
	const all = math.MaxInt32
	sem := semaphore.NewWeighted(all)
	background := context.Background()
	return &lock{
		reads: func(n int) {
			for range n {
				must(sem.Acquire(background, 1))
				sem.Release(1)
			}
		},
		writes: func(n int) {
			for range n {
				must(sem.Acquire(background, all))
				sem.Release(all)
			}
		},
		readsContext: func(ctx context.Context, n int) {
			for range n {
				must(sem.Acquire(ctx, 1))
				sem.Release(1)
			}
		},
		writesContext: func(ctx context.Context, n int) {
			for range n {
				must(sem.Acquire(ctx, all))
				sem.Release(all)
			}
		},
		crowd: func(w *worker) {
			for w.next() {
				if w.writes() {
					must(sem.Acquire(background, all))
					w.section()
					sem.Release(all)
				} else {
					must(sem.Acquire(background, 1))
					w.section()
					sem.Release(1)
				}
			}
		},
		read: func(section func()) {
			must(sem.Acquire(background, 1))
			section()
			sem.Release(1)
		},
		write: func(section func()) {
			must(sem.Acquire(background, all))
			section()
			sem.Release(all)
		},
		readContext: func(ctx context.Context, section func()) error {
			if err := sem.Acquire(ctx, 1); err != nil {
				return err
			}
			section()
			sem.Release(1)
			return nil
		},
		writeContext: func(ctx context.Context, section func()) error {
			if err := sem.Acquire(ctx, all); err != nil {
				return err
			}
			section()
			sem.Release(all)
			return nil
		},
	}
}

func xsyncRBMutex() *lock {
	mu := xsync.NewRBMutex()
	return &lock{
		reads: func(n int) {
			for range n {
				token := mu.RLock()
				mu.RUnlock(token)
			}
		},
		writes: func(n int) {
			for range n {
				mu.Lock()
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
					token := mu.RLock()
					w.section()
					mu.RUnlock(token)
				}
			}
		},
		read: func(section func()) {
			token := mu.RLock()
			section()
			mu.RUnlock(token)
		},
		write: scopedBy(mu),
	}
}

func condRW() *lock {
	mu := newPadded[textbookRW]()
	mu.changed.L = &mu.mu
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
		read: func(section func()) {
			mu.RLock()
			section()
			mu.RUnlock()
		},
		write: scopedBy(mu),
	}
	return l
}

func init() {
	// One lock taken over and over has no order to violate; a report would be a fault of the rows, and the
	// default would end the process without a word in the table.
	deadlock.Opts.LogBuf = io.Discard
	deadlock.Opts.OnPotentialDeadlock = func() { panic("bench: go-deadlock reported a deadlock in a row that has none") }
}

// deadlockRW sets the package-wide switch of go-deadlock: only one contender is measured at a time, each on a
// lock made just before.
func deadlockRW(on bool) *lock {
	deadlock.Opts.Disable = !on
	mu := newPadded[deadlock.RWMutex]()
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
		read: func(section func()) {
			mu.RLock()
			section()
			mu.RUnlock()
		},
		write: scopedBy(mu),
	}
	return l
}

// mutexPeers are the exclusive locks that people use today; the first one as in rwPeers.
func mutexPeers() []contender {
	return []contender{
		{name: "sync.Mutex", make: syncMutex},
		{name: "semaphore", make: semaphoreMutex},
		{name: "channel", make: channelMutex},
		{name: "go-deadlock off", make: func() *lock { return deadlockMutex(false) }},
		{name: "go-deadlock on", make: func() *lock { return deadlockMutex(true) }},
	}
}

func syncMutex() *lock {
	mu := newPadded[sync.Mutex]()
	l := &lock{
		writes: func(n int) {
			for range n {
				mu.Lock()
				mu.Unlock()
			}
		},
		writesContext: func(ctx context.Context, n int) {
			for range n {
				must(ctx.Err())
				mu.Lock()
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
	}
	return l.withLocker(mu, nil)
}

func semaphoreMutex() *lock {
	sem := semaphore.NewWeighted(1)
	background := context.Background()
	return &lock{
		writes: func(n int) {
			for range n {
				must(sem.Acquire(background, 1))
				sem.Release(1)
			}
		},
		writesContext: func(ctx context.Context, n int) {
			for range n {
				must(sem.Acquire(ctx, 1))
				sem.Release(1)
			}
		},
		crowd: func(w *worker) {
			for w.next() {
				must(sem.Acquire(background, 1))
				w.section()
				sem.Release(1)
			}
		},
		write: func(section func()) {
			must(sem.Acquire(background, 1))
			section()
			sem.Release(1)
		},
	}
}

// channelMutex is the mutex of the Go FAQ: whoever has put a value into a channel of capacity one holds it.
func channelMutex() *lock {
	held := make(chan struct{}, 1)
	return &lock{
		writes: func(n int) {
			for range n {
				held <- struct{}{}
				<-held
			}
		},
		writesContext: func(ctx context.Context, n int) {
			for range n {
				select {
				case held <- struct{}{}:
				case <-ctx.Done():
					panic(ctx.Err())
				}
				<-held
			}
		},
		crowd: func(w *worker) {
			for w.next() {
				held <- struct{}{}
				w.section()
				<-held
			}
		},
		write: func(section func()) {
			held <- struct{}{}
			section()
			<-held
		},
	}
}

func deadlockMutex(on bool) *lock {
	deadlock.Opts.Disable = !on
	mu := newPadded[deadlock.Mutex]()
	l := &lock{
		writes: func(n int) {
			for range n {
				mu.Lock()
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
	}
	return l.withLocker(mu, nil)
}

// must ends the run: no row cancels a context while a loop of these runs.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
