//lint:file-ignore SA2001 Taking a lock and letting it go is what is measured.

package main

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"github.com/puzpuzpuz/xsync/v4"
	"golang.org/x/sync/semaphore"
)

// waitCost is what a contended wait takes from the heap.
type waitCost struct {
	allocations float64 // per wait, once pools are filled
	bytes       float64 // allocated per wait, once pools are filled
	live        float64 // bytes of heap that a goroutine asleep in the lock holds, beyond one asleep in a channel
	stack       float64 // bytes of stack that its waits have made a goroutine grow
}

// measureWaits lets n goroutines wait behind a writer again and again. They live on from wait to wait, so that
// no cost of starting a goroutine is counted, and sleep in a channel between the waits, so that what the
// runtime itself needs for a sleeping goroutine is there on both sides of each difference.
func measureWaits(write, wait func(section func()), n int) waitCost {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	gate := make(chan struct{})
	var arriving, back atomic.Int64
	for range n {
		go func() {
			for range gate {
				arriving.Add(1)
				wait(nothing)
				back.Add(1)
			}
		}()
	}
	defer close(gate)
	waitIdle()
	var fresh runtime.MemStats // before any of them has needed more stack than it began with
	runtime.ReadMemStats(&fresh)
	reached := func(counter *atomic.Int64, want int64) {
		for counter.Load() != want {
			runtime.Gosched()
		}
		waitIdle()
	}

	// The closure of a pass is made here, once, so that none of it is counted.
	var number int64
	whileWaiting := nothing
	holding := func() {
		for range n {
			gate <- struct{}{}
		}
		reached(&arriving, number*int64(n))
		whileWaiting()
	}
	pass := func() {
		number++
		write(holding)
		reached(&back, number*int64(n))
	}

	// Pools are kept by processor and fill unevenly, so the first passes allocate for them. What a wait itself
	// allocates, it allocates in every pass: the least of them tells.
	const passes = 24
	var before, after runtime.MemStats
	cost := waitCost{allocations: math.Inf(1)}
	for range passes {
		runtime.ReadMemStats(&before)
		pass()
		runtime.ReadMemStats(&after)
		if allocations := float64(after.Mallocs-before.Mallocs) / float64(n); allocations < cost.allocations {
			cost.allocations = allocations
			cost.bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
		}
	}

	liveHeap()
	runtime.ReadMemStats(&before)
	whileWaiting = func() {
		runtime.ReadMemStats(&after)
		stack := after.StackInuse // the collector shrinks stacks
		liveHeap()
		runtime.ReadMemStats(&after)
		after.StackInuse = stack
	}
	pass()
	cost.live = float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / float64(n)
	cost.stack = float64(int64(after.StackInuse)-int64(fresh.StackInuse)) / float64(n)
	return cost
}

// lockSize is what one lock takes that nobody contends for.
type lockSize struct {
	size uintptr // of the type
	heap float64 // bytes per lock after each has been used once, with what the lock allocates for itself
}

func sizeOf[T any](use func(*T)) lockSize {
	const n = 100_000
	before := liveHeap()
	locks := make([]T, n)
	for i := range locks {
		use(&locks[i])
	}
	heap := float64(liveHeap()-before) / n
	runtime.KeepAlive(locks)
	var one T
	return lockSize{size: unsafe.Sizeof(one), heap: heap}
}

// allocationsOf counts what n operations of a loop take from the heap, per operation.
func allocationsOf(loop func(n int)) float64 {
	const n = 10_000
	loop(n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	loop(n)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / n
}

// sizeOfMade is sizeOf for locks that a function makes: the pointer to one counts as part of it.
func sizeOfMade[T any](make func() *T, use func(*T)) lockSize {
	s := sizeOf(func(p **T) {
		*p = make()
		use(*p)
	})
	var one T
	s.size = unsafe.Sizeof(one)
	return s
}

func semaphoreSize() lockSize {
	return sizeOfMade(func() *semaphore.Weighted { return semaphore.NewWeighted(2) }, func(s *semaphore.Weighted) {
		must(s.Acquire(context.Background(), 2))
		s.Release(2)
	})
}

func rbMutexSize() lockSize {
	return sizeOfMade(xsync.NewRBMutex, func(mu *xsync.RBMutex) {
		mu.Lock()
		mu.Unlock()
	})
}

// channelSize has no type to give the size of; what a channel takes is in its own allocation.
func channelSize() lockSize {
	return sizeOf(func(held *chan struct{}) {
		*held = make(chan struct{}, 1)
		*held <- struct{}{}
		<-*held
	})
}
