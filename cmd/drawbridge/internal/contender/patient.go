package contender

import (
	"context"
	"sync"
)

// patient bounds the waits of a lock that cannot be waited for with a
// context. When the context ends, the caller goes on, and the wait goes on
// without it: a goroutine stays in the queue, as it would in a service, and
// leaves the lock as soon as it gets it. So a writer that gave up keeps its
// place and, in a sync.RWMutex, keeps new readers out.
type patient struct {
	rw interface {
		Lock()
		Unlock()
		TryLock() bool
		RLock()
		RUnlock()
		TryRLock() bool
	}
	waits sync.WaitGroup
}

func (p *patient) Lock(ctx context.Context) error {
	return p.wait(ctx, p.rw.TryLock, p.rw.Lock, p.rw.Unlock)
}

func (p *patient) RLock(ctx context.Context) error {
	return p.wait(ctx, p.rw.TryRLock, p.rw.RLock, p.rw.RUnlock)
}

func (p *patient) Unlock()  { p.rw.Unlock() }
func (p *patient) RUnlock() { p.rw.RUnlock() }
func (p *patient) Settle()  { p.waits.Wait() }

// wait takes the lock on the caller's goroutine when that needs no waiting,
// and on another one when it does.
func (p *patient) wait(ctx context.Context, try func() bool, lock, unlock func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if try() {
		return nil
	}
	// Unbuffered: the lock changes hands only if both goroutines meet. When
	// the caller has left, nobody receives, and the context, which is done
	// then, is the only way on.
	granted := make(chan struct{})
	p.waits.Go(func() {
		lock()
		select {
		case granted <- struct{}{}:
		case <-ctx.Done():
			unlock()
		}
	})
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
