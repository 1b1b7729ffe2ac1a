//go:build !race

package main

import (
	"testing"
)

// In a contended wait nothing may come from the heap but, where the context can end, the channel that the
// wait is cancelled by.
func TestContendedWaitsAllocateNothingNew(t *testing.T) {
	const waiters = 200
	ctx := cancellable()
	for _, c := range append(rwOwn(), mutexOwn()...) {
		for _, mode := range []struct {
			name string
			most float64
			of   func(l *lock) func(section func())
		}{
			{"Lock", 0, func(l *lock) func(func()) { return l.write }},
			{"RLock", 0, func(l *lock) func(func()) { return l.read }},
			{"LockContext", 1, func(l *lock) func(func()) { return withContext(l.writeContext, ctx) }},
			{"RLockContext", 1, func(l *lock) func(func()) { return withContext(l.readContext, ctx) }},
		} {
			l := c.make()
			wait := mode.of(l)
			if wait == nil {
				continue // a mutex has no readers
			}
			if got := measureWaits(l.write, wait, waiters).allocations; got > mode.most+1.0/waiters {
				t.Errorf("%s.%s: %.2f allocations per contended wait, want at most %v", c.name, mode.name, got, mode.most)
			}
		}
	}
}

func TestUncontendedCallsAllocateFewThings(t *testing.T) {
	for _, c := range calls {
		if got := testing.AllocsPerRun(100, c.make()); got > float64(c.allocations) {
			t.Errorf("%s: %v allocations, at most %d are allowed", c.name, got, c.allocations)
		}
	}
}
