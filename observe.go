package drawbridge

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Mode is the way in which a lock is held or waited for.
type Mode uint8

const (
	// Read is shared with other readers and with one upgradable reader.
	Read Mode = iota + 1

	// Upgradable is shared with readers, excludes other upgradable readers
	// and can become Write without letting another writer in between.
	Upgradable

	// Write is held alone.
	Write
)

// String returns what the mode is for, as a verb: "read", "read upgradably",
// "write".
func (m Mode) String() string {
	switch m {
	case Read:
		return "read"
	case Upgradable:
		return "read upgradably"
	case Write:
		return "write"
	}
	return "unknown mode"
}

// EventKind says what happened in an [Event].
type EventKind uint8

const (
	// Waiting: a call is about to wait. It is followed by one Granted,
	// Upgraded or GaveUp of the same call, except that a lock that came
	// free in that moment is granted without a wait.
	Waiting EventKind = iota + 1

	// Granted: a call got the lock, after a wait or at once.
	Granted

	// GaveUp: a call ends without the lock after it was Waiting.
	GaveUp

	// Released: a hold ended.
	Released

	// Upgraded: an upgradable hold became a write hold and keeps its Hold.
	Upgraded

	// Downgraded: a write hold became one of Mode, Read or Upgradable. An
	// upgradable hold keeps its Hold; a read hold is a plain one from then
	// on, and its release carries none.
	Downgraded
)

// String returns the name of the kind in lower case.
func (k EventKind) String() string {
	switch k {
	case Waiting:
		return "waiting"
	case Granted:
		return "granted"
	case GaveUp:
		return "gave up"
	case Released:
		return "released"
	case Upgraded:
		return "upgraded"
	case Downgraded:
		return "downgraded"
	}
	return "unknown event"
}

// Event is one thing that happened to an observed lock.
type Event struct {
	// Lock is the lock as its user knows it: a *[RWMutex], *[Mutex],
	// *[Guarded], *[Keyed] or, for its updates and builds, *[Snapshot].
	// Key is the key for a [Keyed], else nil.
	Lock any
	Key  any

	Kind EventKind
	Mode Mode

	// Seq numbers the state changes of the lock. It is taken together with
	// the change, so it orders the events of one lock even where they are
	// delivered out of order. Waiting and GaveUp carry the number that was
	// current when they happened.
	Seq uint64

	// Hold names the hold, unlike any other of the process, where it has
	// an identity: write and upgradable holds and scoped reads. It is 0
	// for plain reads, whose RUnlock names no reader, for holds older than
	// the observation, and for a Waiting that is not an upgrade.
	Hold uint64

	// Wait names the wait, unlike any other of the process: it is the same
	// in a Waiting and in the Granted, Upgraded or GaveUp that follows it,
	// and 0 in every event that no Waiting came before.
	Wait uint64

	// Caller is a program counter in the caller of the method, as from
	// [runtime.Callers], in Waiting and Granted. It is 0 where it was not
	// asked for (see [CallerObserver]) and in calls that are made in other
	// ways than most; then the observer can look at its own stack.
	Caller uintptr

	Waited time.Duration // Granted, Upgraded, GaveUp: how long the call waited
	Held   time.Duration // Released, Downgraded: how long, 0 where Hold is 0
	Err    error         // GaveUp: what the call returns, nil if an observer panicked
}

// Observer receives the events of the locks it observes. Observe runs on the
// goroutine that made the call, with the call's context (Background for the
// plain methods), outside every internal mutex of the lock, so it may call
// State but no acquiring method of that lock. If it panics, an acquiring call
// gives the lock back or ends its wait, of which the observers that know of the
// grant or the wait are told, and a release has completed, before the panic goes
// on.
type Observer interface {
	Observe(context.Context, Event)
}

// CallerObserver is an Observer that wants to know who calls. Observe runs deep
// inside the call, from where a look at the stack costs some times what it costs
// at its beginning. Observers of all locks are not asked.
type CallerObserver interface {
	Observer

	// WantsCallers reports whether Event.Caller is to be filled in. It always
	// returns the same.
	WantsCallers() bool
}

// Observable is a lock whose events can be observed: a *[RWMutex], *[Mutex],
// *[Guarded], *[Keyed] or *[Snapshot]. Other types cannot implement it, except
// by embedding one of these.
type Observable interface {
	Observe(Observer) (stop func())
	observable()
}

func (*RWMutex) observable()     {}
func (*Mutex) observable()       {}
func (*Guarded[T]) observable()  {}
func (*Keyed[K]) observable()    {}
func (*Snapshot[T]) observable() {}

// ObserveAll observes every lock of the process, named or not, those that do
// not exist yet included, until stop is called. Calls in flight may still
// deliver an event while stop runs. Without observers a lock pays one load of
// a word that is never written.
func ObserveAll(o Observer) (stop func()) {
	if o == nil {
		panic("drawbridge: nil Observer")
	}
	entry := &o // its address tells two registrations of one observer apart
	setEverywhere(entry, with)
	return sync.OnceFunc(func() { setEverywhere(entry, without) })
}

func setEverywhere(entry *Observer, change func([]*Observer, *Observer) []*Observer) {
	everywhere.mu.Lock()
	defer everywhere.mu.Unlock()
	setFast(len(everywhere.set(entry, change)) == 0)
}

// everywhere has the observers of all locks.
var everywhere observers

// fastFree and fastBusy are what the fast paths compare with where they expect
// free and busy: just these while nobody observes all locks, else a state that
// no lock is ever in, so that every fast path fails. That costs them a load of a
// word that is seldom written.
var fastFree, fastBusy atomic.Uint64

func init() { setFast(true) }

func setFast(on bool) {
	if on && !raceEnabled {
		fastFree.Store(free)
		fastBusy.Store(busy)
	} else {
		fastFree.Store(noState)
		fastBusy.Store(noState)
	}
}

const noState = 1 // a reader inside a lock that was never used

// unseen reports whether nobody observes all locks.
func unseen() bool { return everywhere.some.Load() == 0 }

// observers is a set that is read without a lock and changed rarely.
type observers struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*Observer]
	some atomic.Int32 // how many there are
}

// set changes the set by with or without. The caller has mu.
func (s *observers) set(entry *Observer, change func([]*Observer, *Observer) []*Observer) []*Observer {
	l := change(s.all(), entry)
	s.list.Store(&l)
	s.some.Store(int32(len(l)))
	return l
}

func (s *observers) all() []*Observer {
	if l := s.list.Load(); l != nil {
		return *l
	}
	return nil
}

// with and without return a changed copy: readers may be going through l. Each
// step is their own, since the race detector looks into growing and cloning.

//go:norace
func with(l []*Observer, entry *Observer) []*Observer {
	next := make([]*Observer, 0, len(l)+1)
	for _, e := range l {
		if e == entry {
			return l
		}
		next = append(next, e)
	}
	return append(next, entry)
}

//go:norace
func without(l []*Observer, entry *Observer) []*Observer {
	next := make([]*Observer, 0, len(l))
	for _, e := range l {
		if e != entry {
			next = append(next, e)
		}
	}
	return next
}
