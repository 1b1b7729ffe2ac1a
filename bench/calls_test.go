//go:build !race

//lint:file-ignore SA2001 Taking a lock and letting it go is what is counted.

package main

import (
	"context"
	"sync"

	"github.com/drawbridge-go/drawbridge"
)

// A call is one uncontended use of a lock and what it may cost. Steps are counted, not timed: a child process
// is led through the call one instruction at a time, so the figures are the same on a busy machine and a quiet
// one, whatever path the call takes. Reading the listing of the compiler instead would count the paths that
// are not taken and miss the functions that are called.
type call struct {
	name string
	make func() func() // the call, on a fresh lock

	// The most atomic read-modify-writes, instructions and allocations that one call may take. Instructions
	// depend on the compiler: when a new Go release moves them without a change of ours, set them anew to
	// what -v prints.
	atomics, instructions, allocations int
}

var calls = []call{
	// The standard types are here to check the count itself.
	{"sync.Mutex Lock+Unlock", func() func() {
		mu := new(sync.Mutex)
		return func() { mu.Lock(); mu.Unlock() }
	}, 2, 21, 0},
	{"sync.RWMutex RLock+RUnlock", func() func() {
		mu := new(sync.RWMutex)
		return func() { mu.RLock(); mu.RUnlock() }
	}, 2, 20, 0},

	{"RWMutex RLock+RUnlock", func() func() {
		mu := new(drawbridge.RWMutex)
		return func() { mu.RLock(); mu.RUnlock() }
	}, 2, 57, 0},
	{"RWMutex RLock+RUnlock, read-hot", func() func() {
		mu := new(drawbridge.RWMutex)
		heat(mu)
		return func() { mu.RLock(); mu.RUnlock() }
	}, 2, 180, 0},
	{"RWMutex Lock+Unlock", func() func() {
		mu := new(drawbridge.RWMutex)
		return func() { mu.Lock(); mu.Unlock() }
	}, 2, 22, 0},
	{"RWMutex TryRLock+RUnlock", func() func() {
		mu := new(drawbridge.RWMutex)
		return func() { mu.TryRLock(); mu.RUnlock() }
	}, 2, 75, 0},
	{"RWMutex TryLock+Unlock", func() func() {
		mu := new(drawbridge.RWMutex)
		return func() { mu.TryLock(); mu.Unlock() }
	}, 2, 22, 0},
	{"RWMutex RLockContext+RUnlock", func() func() {
		mu, ctx := new(drawbridge.RWMutex), cancellable()
		return func() { must(mu.RLockContext(ctx)); mu.RUnlock() }
	}, 2, 100, 0},
	{"RWMutex LockContext+Unlock", func() func() {
		mu, ctx := new(drawbridge.RWMutex), cancellable()
		return func() { must(mu.LockContext(ctx)); mu.Unlock() }
	}, 2, 75, 0},
	{"Mutex Lock+Unlock", func() func() {
		mu := new(drawbridge.Mutex)
		return func() { mu.Lock(); mu.Unlock() }
	}, 2, 22, 0},
	{"Mutex LockContext+Unlock", func() func() {
		mu, ctx := new(drawbridge.Mutex), cancellable()
		return func() { must(mu.LockContext(ctx)); mu.Unlock() }
	}, 2, 75, 0},
	{"Snapshot.Load", func() func() {
		s := new(drawbridge.Snapshot[int])
		s.Publish(new(int))
		return func() { s.Load() }
	}, 0, 4, 0},

	// The scoped calls allocate the context that they pass on, and nothing else.
	{"RWMutex.WithRLock", func() func() {
		mu, ctx := new(drawbridge.RWMutex), cancellable()
		return func() { must(mu.WithRLock(ctx, section)) }
	}, 3, 460, 1},
	{"RWMutex.WithLock", func() func() {
		mu, ctx := new(drawbridge.RWMutex), cancellable()
		return func() { must(mu.WithLock(ctx, section)) }
	}, 3, 410, 1},
	{"Mutex.WithLock", func() func() {
		mu, ctx := new(drawbridge.Mutex), cancellable()
		return func() { must(mu.WithLock(ctx, section)) }
	}, 3, 410, 1},
	{"Guarded.Read", func() func() {
		g, ctx := new(drawbridge.Guarded[int]), cancellable()
		return func() { must(g.Read(ctx, valueSection)) }
	}, 3, 460, 1},
	{"Guarded.Write", func() func() {
		g, ctx := new(drawbridge.Guarded[int]), cancellable()
		return func() { must(g.Write(ctx, valueSection)) }
	}, 3, 420, 1},
	{"Keyed.WithLock", func() func() {
		locks, ctx := new(drawbridge.Keyed[int]), cancellable()
		return func() { must(locks.WithLock(ctx, 1, section)) }
	}, 9, 1000, 1},
	{"Keyed.LockContext+unlock", func() func() {
		locks, ctx := new(drawbridge.Keyed[int]), cancellable()
		return func() {
			unlock, err := locks.LockContext(ctx, 1)
			must(err)
			unlock()
		}
	}, 11, 1000, 3},
}

func section(context.Context) error            { return nil }
func valueSection(context.Context, *int) error { return nil }

func cancellable() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(ctx, cancel) // never: the context can end, and does not
	return ctx
}
