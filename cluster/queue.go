package cluster

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"time"
)

// A queue holds what the calls of this process on one name have at the engine and behind it. On an engine without
// limits a call has a claim of its own from the start, and line stays empty. With Limits.Shared one claim waits at
// the engine and the other calls stand in line. All of it is guarded by the mutex of the Locker.
type queue struct {
	name    string
	line    list.List // of *waiter: calls without a claim, in order of arrival
	asking  int       // claims that wait at the engine, or might still be there after a call gave up
	claims  int       // all claims, until they are released
	starved bool      // is in Locker.starved
	reading *grant    // the newest read grant, with Limits.Shared
}

// A waiter is one call that waits.
type waiter struct {
	ctx     context.Context
	mode    Mode
	try     bool
	result  chan result // buffered: whoever decides does not wait
	place   *list.Element
	attempt *attempt
	decided bool // result was sent, or the call has left
}

type result struct {
	hold *Hold
	err  error
}

// An attempt is a claim that waits at the engine, for the call that waiter stands for.
type attempt struct {
	claim  Claim
	mode   Mode
	waiter *waiter // nil when the call gave up and none could take its place
	cancel context.CancelFunc

	trouble error // what the engine said when it could not be reached
}

func (l *Locker) queue(name string) *queue {
	q := l.queues[name]
	if q == nil {
		q = &queue{name: name}
		l.queues[name] = q
	}
	return q
}

func (w *waiter) decide(r result) {
	if !w.decided {
		w.decided = true
		w.result <- r
	}
}

// enqueue puts w in line and starts what can start. A try that would have to stand in line is refused.
func (l *Locker) enqueue(q *queue, w *waiter) bool {
	if w.try && (q.line.Len() > 0 || !l.mayAsk(q) || !l.claimLeft()) {
		l.forget(q)
		return false
	}
	w.place = q.line.PushBack(w)
	l.dispatch(q)
	return true
}

// mayAsk: the process's order on a shared name would be lost if two of its claims waited at once.
func (l *Locker) mayAsk(q *queue) bool { return !l.limits.Shared || q.asking == 0 }

func (l *Locker) claimLeft() bool { return l.limits.Claims == 0 || l.claims < l.limits.Claims }

// dispatch starts claims for the calls at the head of the line, as many as may wait at once.
func (l *Locker) dispatch(q *queue) {
	for q.line.Len() > 0 && l.mayAsk(q) {
		if !l.claimLeft() {
			if !q.starved {
				q.starved = true
				l.starved = append(l.starved, q)
			}
			return
		}
		w := l.next(q)
		ctx, cancel := context.WithCancel(context.Background())
		a := &attempt{claim: l.session.Claim(q.name, w.mode), mode: w.mode, waiter: w, cancel: cancel}
		w.attempt = a
		l.attempts[a] = struct{}{}
		q.asking++
		q.claims++
		l.claims++
		l.work.Go(func() { l.attempt(ctx, q, a, w.try) })
	}
}

// next takes the first call out of the line.
func (l *Locker) next(q *queue) *waiter {
	w := q.line.Remove(q.line.Front()).(*waiter)
	w.place = nil
	return w
}

// attempt is the goroutine of one claim: it waits for it at the engine and, if it is granted, watches over it to its end.
func (l *Locker) attempt(ctx context.Context, q *queue, a *attempt, try bool) {
	eg, err := a.claim.Acquire(ctx, try, func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		a.trouble = err
	})
	a.cancel()

	l.mu.Lock()
	delete(l.attempts, a)
	w := a.waiter
	if err == nil && w != nil {
		q.asking--
		g := l.enter(q, a, eg)
		l.dispatch(q)
		l.mu.Unlock()
		l.guard(g)
		return
	}
	// Either the engine refused, or the call gave up; if the grant came at the same moment, it goes back. Until
	// the engine has confirmed that nothing is left, the next call of a shared name would wait behind a ghost. A
	// refused try has left nothing, and the next call may be another try.
	ghost := !errors.Is(err, ErrBusy)
	if !ghost {
		q.asking--
		l.dispatch(q)
	}
	if w != nil {
		w.decide(result{err: err})
	}
	l.mu.Unlock()
	l.settle(q, a.claim, ghost)
}

// enter gives a grant to the call that it was asked for and, on a shared engine, to the readers right behind it.
func (l *Locker) enter(q *queue, a *attempt, eg Grant) *grant {
	g := l.granted(q, a.claim, a.mode, eg)
	a.waiter.decide(result{hold: l.admit(g, a.waiter.ctx)})
	if !l.limits.Shared || a.mode != Read {
		return g
	}
	for q.line.Len() > 0 {
		w := q.line.Front().Value.(*waiter)
		if w.mode != Read {
			break
		}
		l.next(q)
		w.decide(result{hold: l.admit(g, w.ctx)})
	}
	if old := q.reading; old != nil {
		l.move(old, g)
	}
	q.reading = g
	return g
}

// move counts the readers of old on the newer claim and releases the old one. If the tokens differ a writer was there
// in between, so that the old claim cannot have stood all the while: its holds are lost, and nobody had noticed.
func (l *Locker) move(old, newer *grant) {
	if old.lease.Held() != nil || old.token != newer.token {
		l.lose(old, fmt.Errorf("%w: a writer was granted the lock meanwhile", ErrLost))
		return
	}
	for h := range old.holds {
		h.grant = newer
		newer.holds[h] = struct{}{}
		delete(old.holds, h)
	}
	l.release(old, func(error) {})
}

// leave takes a call that gave up out of the queue. left is false if its result had been decided before. If the next
// call in line wants the same it inherits the claim and with it the place in the engine's queue.
func (l *Locker) leave(q *queue, w *waiter) (last error, left bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.decided {
		return nil, false
	}
	w.decided = true
	if w.place != nil {
		q.line.Remove(w.place)
		l.forget(q)
		return nil, true
	}
	a := w.attempt
	if q.line.Len() > 0 {
		if heir := q.line.Front().Value.(*waiter); heir.mode == w.mode && !w.try && !heir.try {
			a.waiter = l.next(q)
			a.waiter.attempt = a
			return a.trouble, true
		}
	}
	a.waiter = nil
	a.cancel()
	return a.trouble, true
}

// settle releases a claim for good and then lets the next ones have what was its own. It asks again until the engine
// confirms; Claim.Release sees to it that this ends, at the latest with the lease.
func (l *Locker) settle(q *queue, claim Claim, asking bool) error {
	err := l.persist(claim)
	l.mu.Lock()
	defer l.mu.Unlock()
	if asking {
		q.asking--
	}
	q.claims--
	l.claims--
	l.dispatch(q)
	l.forget(q)
	for len(l.starved) > 0 && l.claimLeft() {
		next := l.starved[0]
		l.starved = l.starved[1:]
		next.starved = false
		l.dispatch(next)
		l.forget(next)
	}
	return err
}

func (l *Locker) persist(claim Claim) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		// Its own context and never the caller's: a call that gave up has nothing left to give. And a short one: a
		// server that has just lost the others keeps a request for as long as it is let, and the next one waits.
		ctx, cancel := context.WithTimeout(context.Background(), max(l.ttl/5, 500*time.Millisecond))
		err := claim.Release(ctx)
		cancel()
		if err == nil || errors.Is(err, ErrLost) {
			return err
		}
		l.logger.Info("drawbridge: a release was not confirmed, trying again", "err", err)
		time.Sleep(wait)
	}
}

// forget drops a queue that has nothing any more.
func (l *Locker) forget(q *queue) {
	if q.line.Len() == 0 && q.claims == 0 && !q.starved && l.queues[q.name] == q {
		delete(l.queues, q.name)
	}
}

// closeQueues ends every waiting call with ErrClosed.
func (l *Locker) closeQueues() {
	for _, q := range l.queues {
		for q.line.Len() > 0 {
			l.next(q).decide(result{err: ErrClosed})
		}
	}
	for a := range l.attempts {
		if a.waiter != nil {
			a.waiter.decide(result{err: ErrClosed})
			a.waiter = nil
		}
		a.cancel()
	}
}
