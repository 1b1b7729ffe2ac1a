package drawbridge_test

import (
	"context"
	"errors"
	"slices"

	"github.com/drawbridge-go/drawbridge"
)

// The tests know the modes and policies by their short names.
const (
	Read       = drawbridge.Read
	Upgradable = drawbridge.Upgradable
	Write      = drawbridge.Write

	Balanced      = drawbridge.Balanced
	PreferWriters = drawbridge.PreferWriters
	PreferReaders = drawbridge.PreferReaders
	FIFO          = drawbridge.FIFO
)

var (
	everyPolicy = []drawbridge.Policy{Balanced, PreferWriters, PreferReaders, FIFO}

	// doorPolicies are those under which a waiting writer closes the door.
	doorPolicies = []drawbridge.Policy{Balanced, PreferWriters, FIFO}
)

// form is one way of using one type of lock. Every test of the conformance
// suite and every sequence runs over all forms that can do what it needs, so a
// new type, policy or way in gets every test by being added to this list.
type form struct {
	name     string
	policies []drawbridge.Policy
	modes    []drawbridge.Mode
	contexts bool // a wait ends with its context
	scoped   bool // the hold is carried by the context
	make     func(drawbridge.Policy) *subject
}

// subject is a lock under test.
type subject struct {
	// hold takes the lock, runs inside with it, and ends the hold.
	hold func(ctx context.Context, m drawbridge.Mode, inside func(context.Context, *grip)) error

	// try is nil where the form has no Try calls.
	try func(m drawbridge.Mode) (release func(), ok bool)

	state func() drawbridge.State
}

// grip is what one can do with a hold. What a form cannot do is nil.
type grip struct {
	upgrade               func(context.Context) error
	downgrade             func()
	downgradeToUpgradable func()
}

var (
	readWrite = []drawbridge.Mode{Read, Write}
	allModes  = []drawbridge.Mode{Read, Upgradable, Write}
	onlyWrite = []drawbridge.Mode{Write}
)

var forms = []form{
	{"RWMutex", everyPolicy, allModes, false, false, func(p drawbridge.Policy) *subject {
		return plainRWMutex(&drawbridge.RWMutex{Policy: p}, false)
	}},
	{"RWMutex with contexts", everyPolicy, allModes, true, false, func(p drawbridge.Policy) *subject {
		return plainRWMutex(&drawbridge.RWMutex{Policy: p}, true)
	}},
	{"RWMutex striped", doorPolicies, allModes, true, false, func(p drawbridge.Policy) *subject {
		return plainRWMutex(hot(&drawbridge.RWMutex{Policy: p}), true)
	}},
	{"RWMutex scoped", everyPolicy, allModes, true, true, scopedRWMutex},
	{"RWMutex observed", everyPolicy, allModes, true, false, func(p drawbridge.Policy) *subject {
		rw := &drawbridge.RWMutex{Policy: p}
		rw.Observe(observerFunc(func(context.Context, drawbridge.Event) {}))
		return plainRWMutex(rw, true)
	}},
	{"Guarded", everyPolicy, allModes, true, true, guarded},
	{"Keyed", everyPolicy, readWrite, true, false, keyed},
	{"Keyed scoped", everyPolicy, allModes, true, true, scopedKeyed},
	{"Mutex", []drawbridge.Policy{Balanced, FIFO}, onlyWrite, false, false, func(p drawbridge.Policy) *subject {
		return plainMutex(&drawbridge.Mutex{Policy: p}, false)
	}},
	{"Mutex with contexts", []drawbridge.Policy{Balanced, FIFO}, onlyWrite, true, false, func(p drawbridge.Policy) *subject {
		return plainMutex(&drawbridge.Mutex{Policy: p}, true)
	}},
	{"Mutex scoped", []drawbridge.Policy{Balanced, FIFO}, onlyWrite, true, true, scopedMutex},
}

// has reports whether f has all of modes.
func (f form) has(modes ...drawbridge.Mode) bool {
	for _, m := range modes {
		if !slices.Contains(f.modes, m) {
			return false
		}
	}
	return true
}

func plainRWMutex(rw *drawbridge.RWMutex, contexts bool) *subject {
	acquire := func(ctx context.Context, m drawbridge.Mode) error {
		switch {
		case contexts && m == Read:
			return rw.RLockContext(ctx)
		case contexts && m == Upgradable:
			return rw.ULockContext(ctx)
		case contexts:
			return rw.LockContext(ctx)
		case m == Read:
			rw.RLock()
		case m == Upgradable:
			rw.ULock()
		default:
			rw.Lock()
		}
		return nil
	}
	release := func(m drawbridge.Mode) {
		switch m {
		case Read:
			rw.RUnlock()
		case Upgradable:
			rw.UUnlock()
		default:
			rw.Unlock()
		}
	}
	return &subject{
		state: rw.State,
		hold: func(ctx context.Context, m drawbridge.Mode, inside func(context.Context, *grip)) error {
			if err := acquire(ctx, m); err != nil {
				return err
			}
			defer func() { release(m) }()
			inside(ctx, &grip{
				upgrade: func(ctx context.Context) error {
					if !contexts {
						rw.Upgrade()
					} else if err := rw.UpgradeContext(ctx); err != nil {
						return err
					}
					m = Write
					return nil
				},
				downgrade:             func() { rw.Downgrade(); m = Read },
				downgradeToUpgradable: func() { rw.DowngradeToUpgradable(); m = Upgradable },
			})
			return nil
		},
		try: func(m drawbridge.Mode) (func(), bool) {
			try := map[drawbridge.Mode]func() bool{Read: rw.TryRLock, Upgradable: rw.TryULock, Write: rw.TryLock}
			return func() { release(m) }, try[m]()
		},
	}
}

// hot has many readers meet others inside rw, which makes it count its readers
// in stripes until writers come. Its policy must not be PreferReaders.
func hot(rw *drawbridge.RWMutex) *drawbridge.RWMutex {
	rw.RLock()
	for range 1000 {
		rw.RLock()
		rw.RUnlock()
	}
	rw.RUnlock()
	if !drawbridge.Striped(rw) {
		panic("a lock with a thousand readers that met others is not striped")
	}
	return rw
}

func scopedRWMutex(p drawbridge.Policy) *subject {
	rw := &drawbridge.RWMutex{Policy: p}
	return &subject{state: rw.State, hold: scopes{rw.WithRLock, rw.WithULock, rw.WithLock}.hold}
}

// scopes are the scoped calls of a lock.
type scopes struct {
	read       func(context.Context, func(context.Context) error) error
	upgradable func(context.Context, func(context.Context, func() error) error) error
	write      func(context.Context, func(context.Context) error) error
}

func (s scopes) hold(ctx context.Context, m drawbridge.Mode, inside func(context.Context, *grip)) error {
	plain := func(ctx context.Context) error {
		inside(ctx, &grip{})
		return nil
	}
	switch m {
	case Read:
		return s.read(ctx, plain)
	case Write:
		return s.write(ctx, plain)
	}
	return s.upgradable(ctx, func(ctx context.Context, upgrade func() error) error {
		inside(ctx, &grip{upgrade: func(context.Context) error { return upgrade() }})
		return nil
	})
}

func guarded(p drawbridge.Policy) *subject {
	g := &drawbridge.Guarded[int]{Policy: p}
	return &subject{state: g.State, hold: scopes{
		func(ctx context.Context, fn func(context.Context) error) error {
			return g.Read(ctx, func(ctx context.Context, _ *int) error { return fn(ctx) })
		},
		func(ctx context.Context, fn func(context.Context, func() error) error) error {
			return g.Update(ctx, func(ctx context.Context, _ *int, upgrade func() error) error { return fn(ctx, upgrade) })
		},
		func(ctx context.Context, fn func(context.Context) error) error {
			return g.Write(ctx, func(ctx context.Context, _ *int) error { return fn(ctx) })
		},
	}.hold}
}

const key = "a key"

func keyed(p drawbridge.Policy) *subject {
	k := &drawbridge.Keyed[string]{Policy: p}
	return &subject{
		state: func() drawbridge.State { return stateOfKey(k) },
		hold: func(ctx context.Context, m drawbridge.Mode, inside func(context.Context, *grip)) error {
			lock := k.LockContext
			if m == Read {
				lock = k.RLockContext
			}
			unlock, err := lock(ctx, key)
			if err != nil {
				return err
			}
			defer unlock()
			inside(ctx, &grip{})
			return nil
		},
	}
}

func scopedKeyed(p drawbridge.Policy) *subject {
	k := &drawbridge.Keyed[string]{Policy: p}
	return &subject{state: func() drawbridge.State { return stateOfKey(k) }, hold: scopes{
		func(ctx context.Context, fn func(context.Context) error) error { return k.WithRLock(ctx, key, fn) },
		func(ctx context.Context, fn func(context.Context, func() error) error) error {
			return k.WithULock(ctx, key, fn)
		},
		func(ctx context.Context, fn func(context.Context) error) error { return k.WithLock(ctx, key, fn) },
	}.hold}
}

// stateOfKey asks in vain: a call whose context is done reports the state.
func stateOfKey(k *drawbridge.Keyed[string]) drawbridge.State {
	_, err := k.LockContext(done, key)
	var wait *drawbridge.WaitError
	if !errors.As(err, &wait) {
		panic(err)
	}
	return wait.State
}

// done is a context that has ended.
var done = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func plainMutex(mu *drawbridge.Mutex, contexts bool) *subject {
	return &subject{
		state: mu.State,
		hold: func(ctx context.Context, _ drawbridge.Mode, inside func(context.Context, *grip)) error {
			if !contexts {
				mu.Lock()
			} else if err := mu.LockContext(ctx); err != nil {
				return err
			}
			defer mu.Unlock()
			inside(ctx, &grip{})
			return nil
		},
		try: func(drawbridge.Mode) (func(), bool) { return mu.Unlock, mu.TryLock() },
	}
}

func scopedMutex(p drawbridge.Policy) *subject {
	mu := &drawbridge.Mutex{Policy: p}
	return &subject{state: mu.State, hold: scopes{write: mu.WithLock}.hold}
}

// observerFunc is an Observer.
type observerFunc func(context.Context, drawbridge.Event)

func (f observerFunc) Observe(ctx context.Context, e drawbridge.Event) { f(ctx, e) }
