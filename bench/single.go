package main

import (
	"sync/atomic"
	"time"
)

// timed times one call of loop.
func timed(loop func(n int), n int) time.Duration {
	begin := time.Now()
	loop(n)
	return time.Since(begin)
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
