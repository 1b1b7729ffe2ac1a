//go:build explore

package drawbridge

import "github.com/drawbridge-go/drawbridge/internal/explore/sched"

// This is park.go for the explorer: the same methods on a model of a sync.Cond
// and of a channel that buffers one.
type parking struct {
	owner *sched.Actor // whose wait it is, nil while nobody's

	cancellable bool
	asleep      bool // on the cond: a signal before that is lost
	wakes       int
	mu          *section
	done        <-chan struct{}
}

// reset leaves nothing of a wait, as far as park.go does: a wake that is still
// on its way to the cond or the channel is not called back by it.
func (p *parking) reset() {
	if p.wakes != 0 {
		sched.Fail("a waiter is given back with a wake that it has not taken")
	}
	p.cancellable, p.asleep, p.mu, p.done = false, false, nil, nil
}

// arrive is called when a waiter begins its use.
func (w *waiter) arrive() {
	w.owner = sched.Current()
	w.granted.of = w.owner
	sched.Tell(sched.Queued, w.owner)
}

func (w *waiter) prepare(cancellable bool) { w.cancellable = cancellable }

func (w *waiter) park(mu *section, done <-chan struct{}) (expired bool) {
	if w.cancellable {
		w.done = done
	}
	w.asleep = true
	mu.unlock()
	sched.Tell(sched.Parked, w.owner)
	sched.Note("sleeps")
	way := sched.Step((*parked)(w))
	woken, over := w.wakes > 0, w.over()
	expired = over && (!woken || way == 1)
	w.asleep = false
	if !expired {
		w.wakes--
		sched.Note("wakes up")
	} else {
		sched.Note("sees its context done")
	}
	sched.Saw(bits(expired))
	sched.Tell(sched.Awake, w.owner)
	return expired
}

// parked is a waiter that sleeps.
type parked waiter

func (w *parked) Ready() (ways int) {
	if w.wakes > 0 {
		ways++
	}
	if (*waiter)(w).over() {
		ways++
	}
	return ways
}

func (w *waiter) over() bool { return w.done != nil && closedChan(w.done) }

func (w *waiter) takeWake() {
	sched.Step((*taking)(w))
	w.wakes--
	sched.Note("takes the wake that is on its way")
}

// taking is a waiter that takes a wake.
type taking waiter

func (w *taking) Ready() int { return w.wakes }

func (w *waiter) wake() {
	sched.Step((*waking)(w))
	if w.owner == nil {
		sched.Fail("a wake is sent to a waiter that has been given back")
	}
	sched.Note("wakes %s", w.owner.Name)
	if w.cancellable || w.asleep {
		w.wakes++
	}
	sched.Step(nil) // woken, w may be gone before the waker goes on
}

// waking is a waiter that a wake is sent to: a channel that is full blocks the
// sender, a cond never does.
type waking waiter

func (w *waking) Ready() int {
	if w.cancellable && w.wakes > 0 {
		return 0
	}
	return 1
}
