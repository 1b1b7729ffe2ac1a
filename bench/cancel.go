package main

import (
	"context"
	"runtime"
	"time"
)

// cancelled queues writers with one context behind a writer and times from the cancel until every call has
// returned its error. before runs while the lock is held, ahead of the first wait; after runs when all waits
// have ended and the lock is still held.
func cancelled(l *lock, waiters int, before, after func()) time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	var took time.Duration
	l.write(func() {
		before()
		q := newQueue(waiters)
		q.start(func(int) {
			if l.writeContext(ctx, nothing) == nil {
				panic("bench: a wait behind a held lock ended without an error")
			}
			q.finish()
		})
		begin := time.Now()
		cancel()
		<-q.done
		took = q.ended.Sub(begin)
		after()
	})
	return took
}

// retained gives the bytes of heap per waiter that are still reachable when the waits have been cancelled and
// the lock is held on.
func retained(l *lock, waiters int) float64 {
	// The runtime keeps the descriptors of finished goroutines; make them before the first look.
	releaseFloor(waiters)
	var before, after int64
	cancelled(l, waiters, func() { before = liveHeap() }, func() { after = liveHeap() })
	return float64(after-before) / float64(waiters)
}

// cancelFloor cancels goroutines that do nothing but wait for the context or for something that never comes.
func cancelFloor(waiters int) time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	never := make(chan struct{})
	q := newQueue(waiters)
	q.start(func(int) {
		select {
		case <-ctx.Done():
		case <-never:
		}
		q.finish()
	})
	begin := time.Now()
	cancel()
	<-q.done
	return q.ended.Sub(begin)
}

// liveHeap returns the bytes of reachable heap. Pools need two collections to let go.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
