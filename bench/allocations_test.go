//go:build !race

package main

import (
	"context"
	"errors"
	"testing"

	"github.com/drawbridge-go/drawbridge"
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

func TestUncontendedCallsAllocateNothing(t *testing.T) {
	for _, c := range calls {
		if got := testing.AllocsPerRun(100, c.make()); got != 0 {
			t.Errorf("%s: %v allocations, want none", c.name, got)
		}
	}
}

// A scoped call may allocate the context that it passes on, and nothing else.
func TestScopedCallsAllocateTheirContextOnly(t *testing.T) {
	var (
		ctx     = cancellable()
		rw      drawbridge.RWMutex
		mu      drawbridge.Mutex
		guarded drawbridge.Guarded[int]
		nothing = func(context.Context) error { return nil }
		value   = func(context.Context, *int) error { return nil }
	)
	for name, call := range map[string]func() error{
		"RWMutex.WithRLock": func() error { return rw.WithRLock(ctx, nothing) },
		"RWMutex.WithLock":  func() error { return rw.WithLock(ctx, nothing) },
		"Mutex.WithLock":    func() error { return mu.WithLock(ctx, nothing) },
		"Guarded.Read":      func() error { return guarded.Read(ctx, value) },
		"Guarded.Write":     func() error { return guarded.Write(ctx, value) },
	} {
		var failed error
		got := testing.AllocsPerRun(100, func() { failed = errors.Join(failed, call()) })
		if failed != nil {
			t.Errorf("%s: %v", name, failed)
		}
		if got > 1 {
			t.Errorf("%s: %v allocations, want at most 1", name, got)
		}
	}
}
