package main

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// A queue brings a known number of goroutines to sleep in a lock, so that a row can time what happens when
// they are let go. Whether they sleep is read from the runtime's own count, not guessed from a pause.
type queue struct {
	n        int
	arriving atomic.Int64 // those that are about to call the lock
	left     atomic.Int64 // those that have not finished
	ended    time.Time    // when the last one finished; read after <-done
	done     chan struct{}
}

func newQueue(n int) *queue {
	q := &queue{n: n, done: make(chan struct{})}
	q.left.Store(int64(n))
	return q
}

// start runs wait, which calls the lock and then q.finish, on n goroutines and returns when all of them sleep.
func (q *queue) start(wait func(i int)) {
	for i := range q.n {
		go func() {
			q.arriving.Add(1)
			wait(i)
		}()
	}
	q.settle()
}

// settle waits until every goroutine of the queue sleeps.
func (q *queue) settle() {
	for q.arriving.Load() != int64(q.n) {
		runtime.Gosched()
	}
	waitIdle()
}

// finish is called by each goroutine of the queue when it is through. The last one stops the clock, so that
// waking the goroutine that holds it is no part of the figure.
func (q *queue) finish() {
	if q.left.Add(-1) == 0 {
		q.ended = time.Now()
		close(q.done)
	}
}

// waitIdle returns when no goroutine but the caller runs or could run. It allocates nothing, so that it can
// be used while allocations are counted; only one goroutine measures at a time.
//
// The runtime takes its counts while others move, so one look is not enough.
func waitIdle() {
	for seen := 0; seen < 3; runtime.Gosched() {
		metrics.Read(schedule)
		if schedule[0].Value.Uint64() <= 1 && schedule[1].Value.Uint64() == 0 {
			seen++
			continue
		}
		seen = 0
		time.Sleep(20 * time.Microsecond)
	}
}

var schedule = []metrics.Sample{
	{Name: "/sched/goroutines/running:goroutines"},
	{Name: "/sched/goroutines/runnable:goroutines"},
}

// repeat does whole rounds of size until at least n operations are done and scales the time to n.
func repeat(n, size int, round func() time.Duration) time.Duration {
	var took time.Duration
	ops := 0
	for ops < n {
		took += round()
		ops += size
	}
	return time.Duration(float64(took) * float64(n) / float64(ops))
}

// handOff queues writers behind one that holds the lock, and times from its release until each of them has
// held the lock once.
func handOff(l *lock, writers int) time.Duration {
	q := newQueue(writers)
	var begin time.Time
	l.write(func() {
		q.start(func(int) { l.write(nothing); q.finish() })
		begin = time.Now()
	})
	<-q.done
	return q.ended.Sub(begin)
}

// handOffFloor is a chain of parked goroutines in which each one wakes the next, without any lock.
func handOffFloor(goroutines int) time.Duration {
	q := newQueue(goroutines)
	turn := make([]chan struct{}, goroutines+1)
	for i := range turn {
		turn[i] = make(chan struct{}, 1)
	}
	q.start(func(i int) {
		<-turn[i]
		q.finish()
		turn[i+1] <- struct{}{} // last, so that the goroutine is gone when the next one can run
	})
	begin := time.Now()
	turn[0] <- struct{}{}
	<-q.done
	return q.ended.Sub(begin)
}

// release queues readers behind a writer and times from its release until every one has entered and left.
func release(l *lock, readers int) time.Duration {
	q := newQueue(readers)
	var begin time.Time
	l.write(func() {
		q.start(func(int) { l.read(nothing); q.finish() })
		begin = time.Now()
	})
	<-q.done
	return q.ended.Sub(begin)
}

// releaseFloor wakes goroutines that sleep in one channel by closing it.
func releaseFloor(goroutines int) time.Duration {
	q := newQueue(goroutines)
	open := make(chan struct{})
	q.start(func(int) { <-open; q.finish() })
	begin := time.Now()
	close(open)
	<-q.done
	return q.ended.Sub(begin)
}

func nothing() {}
