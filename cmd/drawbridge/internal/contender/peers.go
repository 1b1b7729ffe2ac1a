package contender

import (
	"context"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"
)

func theirs() []Contender {
	return []Contender{
		{"sync.RWMutex", "closes the door", func() Lock { return &patient{rw: new(sync.RWMutex)} }},
		{"sync.Mutex", "one at a time", func() Lock { return &patient{rw: new(alone)} }},
		{"x/sync/semaphore", "in order", func() Lock { return weighted{semaphore.NewWeighted(math.MaxInt64)} }},
		{"textbook", "writers first", func() Lock { return NewTextbook(true) }},
	}
}

// alone is a sync.Mutex that readers take like writers.
type alone struct{ sync.Mutex }

func (a *alone) RLock()         { a.Lock() }
func (a *alone) RUnlock()       { a.Unlock() }
func (a *alone) TryRLock() bool { return a.TryLock() }

// weighted is a read-write lock made of a semaphore, the usual way to get one
// that takes a context: a reader takes one unit and a writer all of them.
type weighted struct{ s *semaphore.Weighted }

func (w weighted) Lock(ctx context.Context) error  { return w.s.Acquire(ctx, math.MaxInt64) }
func (w weighted) Unlock()                         { w.s.Release(math.MaxInt64) }
func (w weighted) RLock(ctx context.Context) error { return w.s.Acquire(ctx, 1) }
func (w weighted) RUnlock()                        { w.s.Release(1) }
func (w weighted) Settle()                         {}
