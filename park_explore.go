//go:build explore

package drawbridge

import (
	"slices"

	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
)

// This is park.go for the explorer: the same methods on a model of a sync.Cond
// and of a channel that buffers one.
type parking struct {
	sleepers []*sleeper // whose wait it is, none while nobody's

	cancellable bool
	done        <-chan struct{}
}

// sleeper is one call that waits.
type sleeper struct {
	owner  *sched.Actor
	asleep bool // on the cond: a signal before that is lost
	wakes  int
}

// used reports whether the wait is anybody's.
func (p *parking) used() bool { return len(p.sleepers) != 0 }

// own returns the sleeper of the running actor.
func (p *parking) own() *sleeper {
	for _, s := range p.sleepers {
		if s.owner == sched.Current() {
			return s
		}
	}
	sched.Fail("a waiter is used by a call that has given it back")
	return nil
}

// reset leaves nothing of a wait, as far as park.go does: a wake that is still
// on its way to the cond or the channel is not called back by it.
func (p *parking) reset() { p.cancellable, p.done = false, nil }

// joined is called when one more call begins to use a waiter.
func (w *waiter) joined() {
	s := &sleeper{owner: sched.Current()}
	w.sleepers = append(w.sleepers, s)
	w.granted.of = append(w.granted.of, s.owner)
	waiters.live[s.owner.Index] = w
	sched.Tell(sched.Queued, s.owner)
}

// left is called when a call ends its use.
func (w *waiter) left() {
	s := w.own()
	if s.wakes != 0 {
		sched.Fail("a waiter is given back with a wake that it has not taken")
	}
	waiters.live[s.owner.Index] = nil
	w.sleepers = slices.DeleteFunc(w.sleepers, func(o *sleeper) bool { return o == s })
	w.granted.of = slices.DeleteFunc(w.granted.of, func(o *sched.Actor) bool { return o == s.owner })
}

func (w *waiter) depart() (before int32) {
	before = w.taken.Add(1) - 1
	if before+1 < w.calls {
		w.left()
		sched.Step(nil) // w may be gone before the one who has left goes on
	}
	return before
}

func (w *waiter) prepare(cancellable bool) { w.cancellable = cancellable }

func (w *waiter) park(mu *section, done <-chan struct{}) (expired bool) {
	if w.cancellable {
		w.done = done
	}
	s := w.own()
	s.asleep = true
	mu.unlock()
	sched.Tell(sched.Parked, s.owner)
	sched.Note("sleeps")
	way := sched.Step(parked{w, s})
	woken, over := s.wakes > 0, w.over()
	expired = over && (!woken || way == 1)
	s.asleep = false
	if !expired {
		s.wakes--
		sched.Note("wakes up")
	} else {
		sched.Note("sees its context done")
	}
	sched.Saw(bits(expired))
	sched.Tell(sched.Awake, s.owner)
	return expired
}

// parked is a call that sleeps.
type parked struct {
	*waiter
	*sleeper
}

func (p parked) Ready() (ways int) {
	if p.wakes > 0 {
		ways++
	}
	if p.over() {
		ways++
	}
	return ways
}

func (w *waiter) over() bool { return w.done != nil && closedChan(w.done) }

func (w *waiter) takeWake() {
	s := w.own()
	sched.Step((*taking)(s))
	s.wakes--
	sched.Note("takes the wake that is on its way")
}

// taking is a call that takes a wake.
type taking sleeper

func (s *taking) Ready() int { return s.wakes }

func (w *waiter) wake() {
	sched.Step((*waking)(w))
	if !w.used() {
		sched.Fail("a wake is sent to a waiter that has been given back")
	}
	if w.cancellable && len(w.sleepers) > 1 {
		sched.Fail("calls share a channel, of which a wake reaches one")
	}
	for _, s := range w.sleepers {
		sched.Note("wakes %s", s.owner.Name)
		if w.cancellable || s.asleep {
			s.wakes++
		}
	}
	sched.Step(nil) // woken, w may be gone before the waker goes on
}

// waking is a waiter that a wake is sent to: a channel that is full blocks the
// sender, a cond never does.
type waking waiter

func (w *waking) Ready() int {
	if w.cancellable && w.sleepers[0].wakes > 0 {
		return 0
	}
	return 1
}
