package guide

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
)

func TestLibraryKeepsEveryPromise(t *testing.T) {
	for _, c := range Library.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			measured, err := c.Run()
			if err != nil {
				t.Fatal(err)
			}
			t.Log(measured)
		})
	}
}

// TestEveryCheckFindsItsFault runs each check against a lock with the fault
// that it is there to find.
func TestEveryCheckFindsItsFault(t *testing.T) {
	before := patience
	t.Cleanup(func() { patience = before })
	patience = time.Second

	checks := map[string]bool{}
	for _, c := range Library.Checks() {
		checks[c.Name] = true
	}
	for _, fault := range []struct {
		name  string
		guide Guide
		finds []string
	}{
		{"readers exclude one another", rw(func(rw *drawbridge.RWMutex) RWMutex { return exclusive{rw} }),
			[]string{"readers overlap", "who may enter"}},
		{"the door stays open", rw(func(*drawbridge.RWMutex) RWMutex { return of(drawbridge.PreferReaders) }),
			[]string{"who may enter", "a waiting writer closes the door", "a writer that gives up"}},
		{"reader preference is ignored", rw(func(*drawbridge.RWMutex) RWMutex { return of(drawbridge.Balanced) }),
			[]string{"who may enter", "reader preference starves"}},
		{"a writer that gave up keeps the door closed", rw(func(rw *drawbridge.RWMutex) RWMutex { return stubborn{rw} }),
			[]string{"a writer that gives up"}},
		{"a cancelled release is lost", rw(func(rw *drawbridge.RWMutex) RWMutex { return leaky{rw} }),
			[]string{"a holder cancelled inside, twice"}},
		{"an upgrade lets others write first", rw(func(rw *drawbridge.RWMutex) RWMutex { return gap{rw} }),
			[]string{"check, then act"}},
		{"a wait outlives its limit", rw(func(rw *drawbridge.RWMutex) RWMutex { return late{rw} }),
			[]string{"bounded wait"}},
		{"holds are not carried", rw(func(rw *drawbridge.RWMutex) RWMutex { return forgetful{rw} }),
			[]string{"upgrade", "read inside a read while a writer waits"}},
		{"a release wakes all", rw(func(rw *drawbridge.RWMutex) RWMutex { return storming{rw, contender.NewTextbook(true)} }),
			[]string{"no wake storm"}},
		{"FIFO competes", mutex(func(*drawbridge.Mutex) Mutex { return new(drawbridge.Mutex) }),
			[]string{"FIFO mutex"}},
		{"a mutex wait outlives its limit", mutex(func(m *drawbridge.Mutex) Mutex { return lateMutex{m} }),
			[]string{"lock given up in time"}},
		{"a refresh changes the table in place", Guide{NewSnapshot: func() Snapshot { return inPlace{new(drawbridge.Snapshot[Table])} }},
			[]string{"copy-on-write"}},
	} {
		for _, name := range fault.finds {
			delete(checks, name)
		}
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel() // they mostly sleep
			for _, c := range fault.guide.Checks() {
				if !slices.Contains(fault.finds, c.Name) {
					continue
				}
				if measured, err := c.Run(); err == nil {
					t.Errorf("%s passed: %s", c.Name, measured)
				} else {
					t.Logf("%s: %v", c.Name, err)
				}
			}
		})
	}
	for name := range checks {
		t.Errorf("no fault was tried on the check %q", name)
	}
}

func TestPanicInCheckIsFailure(t *testing.T) {
	c := Check{"panics", func() (string, error) { panic("oops") }}
	if _, err := c.Run(); err == nil {
		t.Error("a check that panicked passed")
	}
}

func of(p drawbridge.Policy) *drawbridge.RWMutex { return &drawbridge.RWMutex{Policy: p} }

// rw is a guide whose read-write locks have a fault.
func rw(broken func(*drawbridge.RWMutex) RWMutex) Guide {
	return Guide{NewRWMutex: func(p drawbridge.Policy) RWMutex { return broken(of(p)) }}
}

func mutex(broken func(*drawbridge.Mutex) Mutex) Guide {
	return Guide{NewMutex: func(p drawbridge.Policy) Mutex { return broken(&drawbridge.Mutex{Policy: p}) }}
}

// exclusive lets one reader in at a time.
type exclusive struct{ *drawbridge.RWMutex }

func (l exclusive) RLockContext(ctx context.Context) error { return l.LockContext(ctx) }
func (l exclusive) RUnlock()                               { l.Unlock() }

// stubborn leaves a writer in the queue for each that gave up.
type stubborn struct{ *drawbridge.RWMutex }

func (l stubborn) LockContext(ctx context.Context) error {
	err := l.RWMutex.LockContext(ctx)
	if err != nil {
		go l.RWMutex.Lock()
		for l.State().WaitingWriters == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	return err
}

// leaky does not release when its context is done.
type leaky struct{ *drawbridge.RWMutex }

func (l leaky) WithRLock(ctx context.Context, f func(context.Context) error) error {
	if err := l.RLockContext(ctx); err != nil {
		return err
	}
	err := f(ctx)
	if ctx.Err() == nil {
		l.RUnlock()
	}
	return err
}

// gap upgrades by letting go and asking again.
type gap struct{ *drawbridge.RWMutex }

func (l gap) WithULock(ctx context.Context, f func(context.Context, func() error) error) error {
	if err := l.RLockContext(ctx); err != nil {
		return err
	}
	release := l.RUnlock
	defer func() { release() }()
	return f(ctx, func() error {
		l.RUnlock()
		release = l.Unlock
		return l.LockContext(ctx)
	})
}

// late gives up after the deadline.
type late struct{ *drawbridge.RWMutex }

func (l late) RLockContext(ctx context.Context) error {
	err := l.RWMutex.RLockContext(ctx)
	if err != nil {
		time.Sleep(2 * slack)
	}
	return err
}

// forgetful does not know its own holds.
type forgetful struct{ *drawbridge.RWMutex }

func (l forgetful) WithRLock(ctx context.Context, f func(context.Context) error) error {
	return l.RWMutex.WithRLock(drawbridge.WithoutHolds(ctx), f)
}

func (l forgetful) WithLock(ctx context.Context, f func(context.Context) error) error {
	return l.RWMutex.WithLock(drawbridge.WithoutHolds(ctx), f)
}

// storming is the textbook lock.
type storming struct {
	RWMutex
	t *contender.Textbook
}

func (l storming) LockContext(ctx context.Context) error  { return l.t.Lock(ctx) }
func (l storming) Unlock()                                { l.t.Unlock() }
func (l storming) RLockContext(ctx context.Context) error { return l.t.RLock(ctx) }
func (l storming) RUnlock()                               { l.t.RUnlock() }
func (l storming) State() drawbridge.State                { return l.t.State() }

// lateMutex gives up after the deadline.
type lateMutex struct{ *drawbridge.Mutex }

func (l lateMutex) LockContext(ctx context.Context) error {
	err := l.Mutex.LockContext(ctx)
	if err != nil {
		time.Sleep(2 * slack)
	}
	return err
}

// inPlace writes into the value that readers have.
type inPlace struct{ *drawbridge.Snapshot[Table] }

func (s inPlace) Refresh(ctx context.Context, build func(context.Context) (*Table, error)) error {
	t, err := build(ctx)
	if err == nil {
		*s.Load() = *t
	}
	return err
}
