package drawbridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrUpgrade is returned at once by a call that wants to write, or to
	// read upgradably, while its context carries a read hold of the same
	// lock: it would wait for itself. Take the write lock from the start,
	// or use [RWMutex.WithULock] and its upgrade.
	ErrUpgrade = errors.New("drawbridge: cannot write while the context holds the lock to read; take the write lock from the start, or use WithULock and upgrade")

	// ErrReentrant is returned at once by a call whose context already
	// carries a hold of the same lock that excludes it: any call inside a
	// write, and an upgradable read inside an upgradable read.
	ErrReentrant = errors.New("drawbridge: the context holds the lock already; use that hold instead of taking the lock again")

	// ErrDeadlock is matched by every [*DeadlockError].
	ErrDeadlock = errors.New("drawbridge: deadlock")
)

// WaitError says that a call ended without the lock because its context was
// done. It unwraps to the context's error and to its cause, so
//
//	errors.Is(err, context.DeadlineExceeded)
//
// and a test for the error given to a [context.CancelCauseFunc] both work.
// After it nothing of the call is left: no place in the queue, no goroutine.
type WaitError struct {
	Lock   any           // the lock as its user knows it, as in [Event]
	Mode   Mode          // what the call wanted
	Waited time.Duration // 0 when the context was done before the call
	State  State         // of the lock when the call gave up, itself left out

	err error // of the context: see contextError
}

// Error tells how long the call waited, why it gave up and who was in the way:
//
//	drawbridge: gave up waiting to write after 500ms: context deadline exceeded (3 readers inside, 2 writers waiting)
func (e *WaitError) Error() string {
	var b strings.Builder
	if e.Waited == 0 {
		fmt.Fprintf(&b, "drawbridge: did not wait to %s: ", e.Mode)
	} else {
		fmt.Fprintf(&b, "drawbridge: gave up waiting to %s after %s: ", e.Mode, round(e.Waited))
	}
	b.WriteString(e.err.Error())
	fmt.Fprintf(&b, " (%s)", e.State)
	return b.String()
}

// Unwrap returns the context's error and, where it is another one, its cause.
func (e *WaitError) Unwrap() error { return e.err }

// newWaitError keeps the errors of the context and not the context, which may
// not be asked for them everywhere: one of a synctest bubble ends the process
// outside it.
func newWaitError(k *call, waited time.Duration, s State, err error) *WaitError {
	return &WaitError{Lock: k.lock, Mode: k.mode, Waited: waited, State: s, err: err}
}

// contextError returns the error of a done context together with its cause.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err {
		return err
	}
	return caused(err, cause)
}

//go:noinline
func caused(err, cause error) error { return fmt.Errorf("%w: %w", err, cause) }

// round keeps about three digits, which is what a person reads.
func round(d time.Duration) time.Duration {
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}

// State is a picture of a lock at one moment. It is out of date when it is
// returned: use it to report, not to decide.
type State struct {
	Readers        int  // plain and scoped readers inside
	Writer         bool // a writer is inside
	Upgradable     bool // an upgradable reader is inside, not counted in Readers
	WaitingReaders int  // readers and upgradable readers that wait
	WaitingWriters int  // writers that wait, a waiting upgrade included
}

// String returns the picture in words: "3 readers inside, 2 writers waiting",
// or "free".
func (s State) String() string {
	var parts []string
	count := func(n int, what, where string) {
		if n == 1 {
			parts = append(parts, "1 "+what+" "+where)
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %ss %s", n, what, where))
		}
	}
	if s.Writer {
		count(1, "writer", "inside")
	}
	count(s.Readers, "reader", "inside")
	if s.Upgradable {
		count(1, "upgradable reader", "inside")
	}
	count(s.WaitingReaders, "reader", "waiting")
	count(s.WaitingWriters, "writer", "waiting")
	if len(parts) == 0 {
		return "free"
	}
	return strings.Join(parts, ", ")
}

// DeadlockError says that a wait would have closed a cycle: everybody in it
// waits for the next one, for ever. The call that gets it did not wait and
// holds nothing new; the others go on as soon as it releases what it has.
type DeadlockError struct {
	// Cycle has one entry for each wait. Each waits for a lock that the
	// next one holds, and the last for one that the first holds. The
	// first is the call that was refused.
	Cycle []DeadlockWait
}

// DeadlockWait is one wait of a [DeadlockError].
type DeadlockWait struct {
	Lock any    // the lock waited for, as in [Event]
	Key  any    // its key for a [Keyed]
	Mode Mode   // what the wait wants
	Site string // file:line of the call that waits
}

// Error lists the cycle, a line for each wait.
func (e *DeadlockError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "drawbridge: deadlock: %d waits in a cycle, each for a lock that the next one holds", len(e.Cycle))
	for _, w := range e.Cycle {
		fmt.Fprintf(&b, "\n\t%s waits to %s %T %p", w.Site, w.Mode, w.Lock, w.Lock)
		if w.Key != nil {
			fmt.Fprintf(&b, " key %q", fmt.Sprint(w.Key))
		}
	}
	return b.String()
}

// Is reports whether target is [ErrDeadlock].
func (e *DeadlockError) Is(target error) bool { return target == ErrDeadlock }
