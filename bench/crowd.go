package main

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A worker is one goroutine of a crowd. Its methods are the whole cost of the harness per operation; they are
// the same code for every contender and small enough to be inlined into each one's loop. The floor "no lock"
// shows what they take.
type worker struct {
	left   int           // operations of the chunk it works on
	chunk  int64         // operations that it takes at a time
	pool   *atomic.Int64 // operations that nobody has taken yet
	random uint32
	share  uint32 // it writes when random is not above it
	spin   int    // steps of its critical section
	x      uint64
	_      [128]byte
}

// next reports whether there is another operation to do. Operations are handed out in chunks, so that a lock
// that lets one goroutine run ahead is measured with all its goroutines to the end.
func (w *worker) next() bool {
	if w.left > 0 {
		w.left--
		return true
	}
	return w.refill()
}

//go:noinline
func (w *worker) refill() bool {
	before := w.pool.Add(-w.chunk) + w.chunk
	if before <= 0 {
		return false
	}
	w.left = int(min(before, w.chunk)) - 1
	return true
}

// writes decides whether the next operation writes, by a xorshift generator, which never gives zero.
func (w *worker) writes() bool {
	r := w.random
	r ^= r << 13
	r ^= r >> 17
	r ^= r << 5
	w.random = r
	return r <= w.share
}

// section is the critical section: nothing, or arithmetic for a given time.
func (w *worker) section() {
	x := w.x
	for range w.spin {
		x = x*6364136223846793005 + 1442695040888963407
	}
	w.x = x
}

// A mix is the work of a crowd.
type mix struct {
	goroutines int
	writes     float64 // share of the operations, from 0 to 1
	section    time.Duration
}

func (m mix) share() uint32 { return uint32(m.writes * math.MaxUint32) }

// run does n operations with the crowd and returns the time from the start of all goroutines to the end of
// the last. A tenth of it is done before, so that a lock that adapts has adapted.
func (m mix) run(l *lock, n int) time.Duration {
	m.pass(l, n/10)
	return m.pass(l, n)
}

func (m mix) pass(l *lock, n int) time.Duration {
	var pool atomic.Int64
	pool.Store(int64(n))
	chunk := min(64, max(1, n/(16*m.goroutines)))
	var spin int
	if m.section > 0 {
		spin = spinSteps(m.section)
	}
	start := make(chan struct{})
	var ready, done sync.WaitGroup
	workers := make([]worker, m.goroutines)
	for i := range workers {
		w := &workers[i]
		*w = worker{chunk: int64(chunk), pool: &pool, random: uint32(i)*2654435761 + 1, share: m.share(), spin: spin}
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			l.crowd(w)
		})
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	done.Wait()
	return time.Since(begin)
}

// noLock is the crowd without a lock: the harness alone.
func noLock() *lock {
	return &lock{crowd: func(w *worker) {
		for w.next() {
			w.writes()
			w.section()
		}
	}}
}

// everyCore does n pairs of loop with as many goroutines as there are processors.
func everyCore(loop func(n int), goroutines, n int) time.Duration {
	const chunk = 1024
	pass := func(n int) time.Duration {
		var pool atomic.Int64
		pool.Store(int64(n))
		start := make(chan struct{})
		var ready, done sync.WaitGroup
		for range goroutines {
			ready.Add(1)
			done.Go(func() {
				ready.Done()
				<-start
				for {
					before := pool.Add(-chunk) + chunk
					if before <= 0 {
						return
					}
					loop(int(min(before, chunk)))
				}
			})
		}
		ready.Wait()
		begin := time.Now()
		close(start)
		done.Wait()
		return time.Since(begin)
	}
	pass(n / 10)
	return pass(n)
}
