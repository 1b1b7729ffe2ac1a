package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// spin does pure arithmetic, the same as a critical section: no memory, nothing to wait for.
func spin(steps int) uint64 {
	w := worker{spin: steps, x: 1}
	w.section()
	return w.x
}

// stepsPerMicrosecond is measured once, as the best of many short tries: a machine that is disturbed only
// ever looks slower than it is.
var stepsPerMicrosecond = sync.OnceValue(func() float64 {
	const steps = 50_000
	best := time.Duration(1 << 62)
	for range 200 {
		begin := time.Now()
		sink.Add(spin(steps))
		best = min(best, time.Since(begin))
	}
	return steps / (float64(best) / float64(time.Microsecond))
})

func spinSteps(d time.Duration) int {
	return int(stepsPerMicrosecond() * float64(d) / float64(time.Microsecond))
}

// sink keeps results alive that nobody reads.
var sink atomic.Uint64

// spinGain measures how much more two spinning goroutines get done than one in the same time: 2 when each has
// a core of its own, 1 when they share one, less when other programs take theirs.
func spinGain() float64 {
	steps := spinSteps(5 * time.Millisecond)
	begin := time.Now()
	sink.Add(spin(steps))
	alone := time.Since(begin)

	start := make(chan struct{})
	var ready, done sync.WaitGroup
	for range 2 {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			sink.Add(spin(steps))
		})
	}
	ready.Wait()
	begin = time.Now()
	close(start)
	done.Wait()
	return 2 * float64(alone) / float64(time.Since(begin))
}
