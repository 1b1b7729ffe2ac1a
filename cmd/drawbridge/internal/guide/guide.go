// Package guide checks what drawbridge promises, each promise by an
// experiment on the real lock. An experiment waits for states, not for times;
// where a promise is about time, the bound leaves room for a busy machine.
package guide

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// RWMutex is what the checks use of a read-write lock. It is implemented by
// [drawbridge.RWMutex], and in the tests by locks with a fault.
type RWMutex interface {
	LockContext(context.Context) error
	Unlock()
	RLockContext(context.Context) error
	RUnlock()
	TryRLock() bool
	WithRLock(context.Context, func(context.Context) error) error
	WithLock(context.Context, func(context.Context) error) error
	WithULock(context.Context, func(ctx context.Context, upgrade func() error) error) error
	State() drawbridge.State
}

// Mutex is what the checks use of a [drawbridge.Mutex].
type Mutex interface {
	LockContext(context.Context) error
	TryLock() bool
	Unlock()
	Locked() bool
	State() drawbridge.State
}

// Snapshot is what the checks use of a [drawbridge.Snapshot].
type Snapshot interface {
	Load() *Table
	Publish(*Table) uint64
	Refresh(context.Context, func(context.Context) (*Table, error)) error
}

// Table is the value of the snapshot: the target of each route.
type Table map[string]string

// Guide makes the locks that are checked.
type Guide struct {
	NewRWMutex  func(drawbridge.Policy) RWMutex
	NewMutex    func(drawbridge.Policy) Mutex
	NewSnapshot func() Snapshot
}

// Library is the guide of the library's own locks.
var Library = Guide{
	NewRWMutex:  func(p drawbridge.Policy) RWMutex { return &drawbridge.RWMutex{Policy: p} },
	NewMutex:    func(p drawbridge.Policy) Mutex { return &drawbridge.Mutex{Policy: p} },
	NewSnapshot: func() Snapshot { return new(drawbridge.Snapshot[Table]) },
}

// Check is one promise.
type Check struct {
	Name string
	run  func() (measured string, err error)
}

// Checks returns every check, in the order in which a person would ask.
func (g Guide) Checks() []Check {
	return []Check{
		{"readers overlap", g.readersOverlap},
		{"who may enter", g.whoMayEnter},
		{"reader preference starves", g.readerPreferenceStarves},
		{"a waiting writer closes the door", g.writerClosesTheDoor},
		{"a writer that gives up", g.writerGivesUp},
		{"a holder cancelled inside, twice", g.holderCancelledTwice},
		{"check, then act", g.checkThenAct},
		{"bounded wait", g.boundedWait},
		{"copy-on-write", g.copyOnWrite},
		{"upgrade", g.upgradeIsRefused},
		{"read inside a read while a writer waits", g.readInsideRead},
		{"no wake storm", g.noWakeStorm},
		{"FIFO mutex", g.mutexInOrder},
		{"lock given up in time", g.mutexGivenUp},
	}
}

// Run runs the check. What it measured is there when it failed, too, if it got
// that far.
func (c Check) Run() (measured string, err error) {
	type outcome struct {
		measured string
		err      error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			done <- o
		}()
		o.measured, o.err = c.run()
	}()
	select {
	case o := <-done:
		return o.measured, o.err
	case <-time.After(4 * patience):
		return "", fmt.Errorf("still running after %s", 4*patience)
	}
}

// patience is how long a check waits for what must happen. It runs out only
// when a promise is broken.
var patience = 10 * time.Second

// slack is what two busy cores may add to a wait that is measured.
const slack = 250 * time.Millisecond

var policies = []drawbridge.Policy{
	drawbridge.Balanced, drawbridge.PreferWriters, drawbridge.PreferReaders, drawbridge.FIFO,
}

// closingPolicies are those in which a waiting writer keeps new readers out.
var closingPolicies = []drawbridge.Policy{
	drawbridge.Balanced, drawbridge.PreferWriters, drawbridge.FIFO,
}

// bounded is a context for a call that must return.
func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}

// until waits for a state. It looks often at first: a check that goes on as
// soon as a waiter is in the queue finds it freshly asleep.
func until(what string, reached func() bool) error {
	const fresh = time.Millisecond / 2
	for began := time.Now(); !reached(); {
		switch waited := time.Since(began); {
		case waited < fresh:
			runtime.Gosched()
		case waited < patience:
			time.Sleep(50 * time.Microsecond)
		default:
			return fmt.Errorf("not within %s: %s", patience, what)
		}
	}
	return nil
}

// attempt is an acquiring call on a goroutine of its own.
type attempt struct {
	cancel context.CancelFunc
	done   chan error
}

func try(acquire func(context.Context) error) attempt {
	ctx, cancel := context.WithCancel(context.Background())
	a := attempt{cancel, make(chan error, 1)}
	go func() { a.done <- acquire(ctx) }()
	return a
}

// waits returns an error unless the attempt gets to wait, which it has when
// the lock is as want says.
func (a attempt) waits(lock stated, want drawbridge.State) error {
	var early error
	err := until(fmt.Sprintf("%s, with the new call waiting", want), func() bool {
		select {
		case early = <-a.done:
			early = fmt.Errorf("the call returned %v instead of waiting", early)
			return true
		default:
			return lock.State() == want
		}
	})
	return errors.Join(early, err)
}

// stated is a lock of either kind.
type stated interface{ State() drawbridge.State }

// becomes waits for the lock to be as want says.
func becomes(lock stated, want drawbridge.State) error {
	return until(want.String(), func() bool { return lock.State() == want })
}

// giveUp cancels the attempt, which must end without the lock.
func (a attempt) giveUp() error {
	a.cancel()
	select {
	case err := <-a.done:
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("a cancelled wait returned %v", err)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("a cancelled wait did not end within %s", patience)
	}
}

// enters returns an error unless the attempt gets the lock.
func (a attempt) enters() error {
	defer a.cancel()
	select {
	case err := <-a.done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("the call still waits after %s", patience)
	}
}
