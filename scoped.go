package drawbridge

import "context"

// WithRLock runs fn with rw held to read and returns its error. The hold is
// carried by the context that fn gets and by all that are derived from it:
//
//   - WithRLock inside is part of the same hold: it enters at once, even while
//     a writer waits;
//   - WithLock and WithULock inside return [ErrUpgrade] at once;
//   - RLockContext inside does not wait behind a waiting writer, and
//     LockContext returns ErrUpgrade where it would wait.
//
// The hold ends when fn returns, panics or calls [runtime.Goexit]. A goroutine
// that got the context and joined the hold by a WithRLock of its own keeps it
// until that returns. A context that outlives all of them carries nothing.
// Unlocking or downgrading the hold by a plain method is misuse.
//
// If rw cannot be had, WithRLock returns an error of [RWMutex.LockContext]
// without calling fn.
func (rw *RWMutex) WithRLock(ctx context.Context, fn func(context.Context) error) error {
	call := rw.call(Read).with(ctx)
	return rw.core.within(&call, func(ctx context.Context, _ *scope) error { return fn(ctx) })
}

// WithLock runs fn with rw held to write, as [RWMutex.WithRLock] does to read.
// Every call on rw inside that would take it again returns [ErrReentrant].
func (rw *RWMutex) WithLock(ctx context.Context, fn func(context.Context) error) error {
	call := rw.call(Write).with(ctx)
	return rw.core.within(&call, func(ctx context.Context, _ *scope) error { return fn(ctx) })
}

// WithULock runs fn with rw held upgradably, as [RWMutex.WithRLock] does to
// read. Calling upgrade turns the hold into a write hold, which stays one until
// fn returns, and has no other writer in between.
//
// upgrade returns nil if the hold is upgraded already, and an error with the
// upgradable hold kept:
//
//   - [ErrUpgrade], at once, while a WithRLock inside is open, for which it
//     would wait for ever, or after fn has returned;
//   - a [*WaitError] when ctx ends. It may be called again;
//   - a [*DeadlockError], as from LockContext.
//
// Inside, WithRLock enters at once before the upgrade, as a reader of its own,
// and returns [ErrReentrant] after it; WithLock returns ErrUpgrade before and
// ErrReentrant after; WithULock returns ErrReentrant.
func (rw *RWMutex) WithULock(ctx context.Context, fn func(ctx context.Context, upgrade func() error) error) error {
	k := rw.call(Upgradable).with(ctx)
	return rw.core.within(&k, func(ctx context.Context, s *scope) error {
		return fn(ctx, s.upgrade)
	})
}
