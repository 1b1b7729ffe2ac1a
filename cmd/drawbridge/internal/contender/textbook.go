package contender

import (
	"context"

	"github.com/drawbridge-go/drawbridge"
)

// Textbook is the read-write lock of the textbooks: two counters and a flag
// under a condition variable, which every release notifies so that all who
// wait look at the counters again. It is here for its faults as much as for
// its figures: the whole queue wakes for one release, a read inside a read
// waits for the writer between them, and [Textbook.WithRLock] loses a reader.
type Textbook struct {
	preferWriters bool

	mu      chan struct{} // guards the fields below; taken with a context like any other wait
	changed chan struct{} // closed to notify all, and then replaced
	wakes   int           // how often a waiter was woken
	state   drawbridge.State
}

// NewTextbook returns a lock in which a waiting writer keeps new readers out,
// or in which it does not.
func NewTextbook(preferWriters bool) *Textbook {
	return &Textbook{preferWriters: preferWriters, mu: make(chan struct{}, 1), changed: make(chan struct{})}
}

func (t *Textbook) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t.mu <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *Textbook) release() { <-t.mu }

func (t *Textbook) notifyAll() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// waitFor is called with mu held and returns with mu held, whatever it
// returns.
func (t *Textbook) waitFor(ctx context.Context, ready func() bool) error {
	for !ready() {
		changed := t.changed
		t.release()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		t.mu <- struct{}{}
		if err != nil {
			return err
		}
		t.wakes++
	}
	return nil
}

// RLock waits until no writer is inside and, where writers go first, none
// waits.
func (t *Textbook) RLock(ctx context.Context) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	t.state.WaitingReaders++
	err := t.waitFor(ctx, func() bool {
		return !t.state.Writer && !(t.preferWriters && t.state.WaitingWriters > 0)
	})
	t.state.WaitingReaders--
	if err == nil {
		t.state.Readers++
	}
	return err
}

// RUnlock ends a read.
func (t *Textbook) RUnlock() { _ = t.runlock(context.Background()) }

func (t *Textbook) runlock(ctx context.Context) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	t.state.Readers--
	if t.state.Readers == 0 {
		t.notifyAll()
	}
	return nil
}

// Lock waits until nobody is inside.
func (t *Textbook) Lock(ctx context.Context) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	t.state.WaitingWriters++
	err := t.waitFor(ctx, func() bool { return !t.state.Writer && t.state.Readers == 0 })
	t.state.WaitingWriters--
	if err != nil {
		t.notifyAll() // the readers that this wait kept out
		return err
	}
	t.state.Writer = true
	return nil
}

// Unlock ends a write.
func (t *Textbook) Unlock() {
	t.mu <- struct{}{}
	defer t.release()
	t.state.Writer = false
	t.notifyAll()
}

// WithRLock runs f with the lock held to read. Its release is a wait that
// takes the same context, as the release of a textbook lock does where
// cancelling interrupts every wait: when f was cancelled and so is the release,
// the reader is counted for ever.
func (t *Textbook) WithRLock(ctx context.Context, f func(context.Context) error) error {
	if err := t.RLock(ctx); err != nil {
		return err
	}
	err := f(ctx)
	if lost := t.runlock(ctx); err == nil {
		err = lost
	}
	return err
}

// State returns who is inside and who waits.
func (t *Textbook) State() drawbridge.State {
	t.mu <- struct{}{}
	defer t.release()
	return t.state
}

// Wakes returns how often a waiter has been woken, to enter or in vain.
func (t *Textbook) Wakes() int {
	t.mu <- struct{}{}
	defer t.release()
	return t.wakes
}

// Settle has nothing to wait for: waits end with their contexts.
func (t *Textbook) Settle() {}
