package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrBusy is what TryLock and TryRLock return when the call would have had to wait.
	ErrBusy = errors.New("drawbridge: the lock is busy")

	// ErrLost says that a hold, or a place in the queue, ended although nobody gave it back: its lease ran out,
	// or somebody removed it. Whatever the hold protected may already belong to another holder.
	ErrLost = errors.New("drawbridge: the lock was lost")

	// ErrUnlocked is the cause of a hold's context after Unlock.
	ErrUnlocked = errors.New("drawbridge: the lock was unlocked")

	// ErrClosed is returned by calls on a closed Locker or Snapshot.
	ErrClosed = errors.New("drawbridge: closed")

	// ErrName refuses a name that no engine could keep.
	ErrName = errors.New("drawbridge: a lock name is 1 to 1,024 bytes of UTF-8 without NUL")

	// ErrStale is what a Fence answers to a token that came too late.
	ErrStale = errors.New("drawbridge: the token is stale, a later hold was here already")

	// ErrConflict is returned by a store whose condition did not hold: somebody published in between.
	ErrConflict = errors.New("drawbridge: the value was changed by somebody else")

	// ErrTooLarge refuses a value of more than MaxValue bytes.
	ErrTooLarge = fmt.Errorf("drawbridge: the encoded value is larger than %d bytes; publish a reference to it instead", MaxValue)
)

// WaitError is a wait that ended without the lock. It unwraps to the context's error and to its cause, if the
// context ended the wait, or else to what the engine answered.
type WaitError struct {
	Name   string
	Mode   Mode
	Waited time.Duration
	Err    error // why the wait ended
	Last   error // what the engine last answered meanwhile, or nil; only for a person to read
}

// Error tells how long the call waited for what, why it gave up and what the engine last answered.
func (e *WaitError) Error() string {
	s := fmt.Sprintf("drawbridge: no %v lock on %q after %v: %v", e.Mode, e.Name, e.Waited.Round(time.Millisecond), e.Err)
	if e.Last != nil {
		s += fmt.Sprintf(" (the engine said: %v)", e.Last)
	}
	return s
}

// Unwrap returns Err.
func (e *WaitError) Unwrap() error { return e.Err }

// whyDone is the reason that ctx ended: its error, and its cause when that says more.
func whyDone(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return cause
	}
	return errors.Join(err, cause)
}
