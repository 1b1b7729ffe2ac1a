package main

import (
	"context"
	"sync"
)

// A lock is one fresh lock of a contender, seen through the loops that are measured over it.
//
// The loops of the short rows are written out for every contender, so that the compiler sees the lock's own
// methods in them and inlines what a user's code would have inlined. An interface or a type parameter in
// their place would add an indirect call to each operation and take the inlining away, which flatters the
// slower lock. What a contender does not offer is nil.
type lock struct {
	// n uncontended pairs on the calling goroutine.
	reads, writes               func(n int)
	readsContext, writesContext func(ctx context.Context, n int)

	// crowd runs the worker's operations until none is left.
	crowd func(w *worker)

	// read and write hold the lock around section. They serve the rows in which a goroutine sleeps, where
	// one indirect call does not count.
	read, write               func(section func())
	readContext, writeContext func(ctx context.Context, section func()) error
}

// A contender is a kind of lock. The rows make a fresh one for each measurement, so that a lucky or unlucky
// address is not kept for a whole run.
type contender struct {
	name string
	role role
	make func() *lock
}

// A role says how a contender counts in the comparison.
type role int

const (
	peer role = iota // what people use today
	own              // drawbridge
	// A floor is not a lock: it does what every contender must do at least, such as switching between
	// parked goroutines. It shows how much of a figure is the harness and the runtime.
	floor
)

func (r role) String() string { return [...]string{"peer", "own", "floor"}[r] }

func (r role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// padded keeps a lock's cache lines free of anything else.
type padded[T any] struct {
	_ [128]byte
	v T
	_ [128]byte
}

func newPadded[T any]() *T { return &new(padded[T]).v }

// withLocker gives the scoped calls of a lock that has the standard methods.
func (l *lock) withLocker(write sync.Locker, read sync.Locker) *lock {
	l.write = scopedBy(write)
	if read != nil {
		l.read = scopedBy(read)
	}
	return l
}

func scopedBy(l sync.Locker) func(func()) {
	return func(section func()) {
		l.Lock()
		section()
		l.Unlock()
	}
}
