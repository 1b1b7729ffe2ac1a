package main

import (
	"slices"
	"sync/atomic"
	"time"
)

// timed times one call of loop.
func timed(loop func(n int), n int) time.Duration {
	begin := time.Now()
	loop(n)
	return time.Since(begin)
}

// steady times a loop of one goroutine whose operations all take the same time. It runs the loop in pieces and
// takes the median piece for all of them: a piece during which another program had the processor does not count.
func steady(loop func(n int), n int) time.Duration {
	const pieces = 64
	if n < pieces {
		return timed(loop, n)
	}
	took := make([]time.Duration, pieces)
	for i := range took {
		took[i] = timed(loop, n/pieces)
	}
	slices.Sort(took)
	return time.Duration(float64(took[pieces/2]) * float64(n) / float64(n/pieces))
}

// pointerLoads is what Snapshot.Load is held against: the one atomic load that no reader can do without.
func pointerLoads(n int) {
	p := newPadded[atomic.Pointer[int]]()
	p.Store(new(int))
	sum := 0
	for range n {
		sum += *p.Load()
	}
	sink.Add(uint64(sum))
}
