//go:build !explore

package drawbridge

import "sync"

// parking is how a waiter sleeps. A wait that cannot give up sleeps on a
// sync.Cond of its own; one that can sleeps on a channel, made for this wait
// alone so that it belongs to the same synctest bubble as the sleeper.
type parking struct {
	cond  sync.Cond
	wakes chan struct{} // nil for a wait on cond
}

// handover is a lock's mu as the Locker of a waiter's cond. Cond.Wait joins the cond's list
// and then calls Unlock, which leaves the lock's mu: no wake can fall between
// the two, since whoever wants to send one must have mu. Woken, it calls Lock,
// which does not take mu, since a granted waiter has no use for it.
//
// The sleep itself is not hidden from the race detector: synctest.Wait comes
// after what the sleeper did before it fell asleep, and that edge is made in
// the sleep. It adds no other, since those who wake are hidden.
type handover section

func (h *handover) Lock() { raceDisable() }

//go:norace
func (h *handover) Unlock() {
	(*section)(h).unlock()
	raceEnable()
}

// reset leaves nothing of a wait.
//
//go:norace
func (p *parking) reset() { p.cond.L, p.wakes = nil, nil }

// park sleeps until a wake comes or done is closed, and reports whether done
// was. It is called with mu held and returns without it.
//
//go:norace
func (w *waiter) park(mu *section, done <-chan struct{}) (expired bool) {
	if w.wakes != nil {
		return w.parkUntil(mu, done)
	}
	w.cond.L = (*handover)(mu)
	w.cond.Wait()
	return false
}

// parkUntil is park for a wait that can give up.
//
//go:noinline
//go:norace
func (w *waiter) parkUntil(mu *section, done <-chan struct{}) (expired bool) {
	mu.unlock()
	raceEnable()
	select {
	case <-w.wakes:
	case <-done:
		expired = true
	}
	raceDisable()
	return expired
}

// prepare chooses how w will sleep.
//
//go:norace
func (w *waiter) prepare(cancellable bool) {
	if cancellable {
		w.wakes = make(chan struct{}, 1)
	}
}

// joined and left say when a call begins and ends to use a waiter. Only the
// explorer wants to know.
func (p *parking) joined() {}
func (p *parking) left()   {}

// depart counts a call that leaves a crowd and returns how many have left
// before. If it was not the last, w may be another one's from here on.
//
//go:norace
func (w *waiter) depart() (before int32) {
	raceDisable()
	before = w.taken.Add(1) - 1
	raceEnable()
	return before
}

// takeWake takes the wake that has been promised to w and not been taken.
//
//go:norace
func (w *waiter) takeWake() { <-w.wakes }

// wake delivers a promised wake.
//
//go:norace
func (w *waiter) wake() {
	if w.wakes == nil {
		w.cond.Broadcast()
	} else {
		w.wakes <- struct{}{}
	}
}
