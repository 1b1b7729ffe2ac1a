//go:build explore

package explore

import (
	"context"
	"fmt"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
)

// cost is a call beside others and the steps that it takes. A look, a flag or a
// detour too many costs time and breaks no promise, so that nothing else shows it.
type cost struct {
	name   string
	policy drawbridge.Policy
	start  string                            // a state of sched.Core.Start
	before func(*drawbridge.RWMutex, func()) // the second sends the others to sleep, in order
	others []func(*drawbridge.RWMutex)
	call   func(*drawbridge.RWMutex)
	after  func(*drawbridge.RWMutex)
	asleep int // steps that the others take until they sleep
	steps  int
	woken  int // steps of the others after all that, until they have released
}

var costs = []cost{
	{name: "write, in a window", before: window, others: calls(write), asleep: 8, call: write, steps: 6, woken: 7},
	{name: "read, in a window", before: window, others: calls(write), asleep: 8, call: read, steps: 5, woken: 7},
	{name: "read upgradably, in a window", before: window, others: calls(write), asleep: 8, call: readUpgradably, steps: 5, woken: 7},
	{name: "read, beside a reader", before: reads, call: read, after: (*drawbridge.RWMutex).RUnlock, steps: 4},
	{name: "read, beside a reader that the next writer waits for, PreferReaders", policy: drawbridge.PreferReaders, before: reads, others: calls(write), asleep: 8, call: read, after: (*drawbridge.RWMutex).RUnlock, steps: 6, woken: 4},
	{name: "read, striped", start: "striped", call: read, steps: 9},
	{name: "write, striped", start: "striped", call: write, steps: 15},
	{name: "leave the other reader, with a writer behind", before: twoRead, others: calls(write), asleep: 8, call: (*drawbridge.RWMutex).RUnlock, after: (*drawbridge.RWMutex).RUnlock, steps: 4, woken: 4},
	{name: "leave to a writer", before: reads, others: calls(write), asleep: 8, call: (*drawbridge.RWMutex).RUnlock, steps: 10, woken: 4},
	{name: "leave to a reader", before: writes, others: calls(read), asleep: 8, call: (*drawbridge.RWMutex).Unlock, steps: 9, woken: 4},
	{name: "leave to two readers", before: writes, others: calls(read, read), asleep: 14, call: (*drawbridge.RWMutex).Unlock, steps: 9, woken: 11},
	{name: "leave to a writer, from a write", before: writes, others: calls(write), asleep: 8, call: (*drawbridge.RWMutex).Unlock, steps: 9, woken: 7},
	{name: "leave to a writer, FIFO", policy: drawbridge.FIFO, before: writes, others: calls(write), asleep: 8, call: (*drawbridge.RWMutex).Unlock, steps: 9, woken: 4},
	{name: "leave to an upgrade", before: reads, others: calls(upgrade), asleep: 8, call: (*drawbridge.RWMutex).RUnlock, steps: 10, woken: 4},
	{name: "upgrade, alone", call: upgrade, steps: 6},
	{name: "downgrade, alone", call: downgrade, steps: 5},
	{name: "downgrade to readers", before: writes, others: calls(read), asleep: 8, call: (*drawbridge.RWMutex).Downgrade, after: (*drawbridge.RWMutex).RUnlock, steps: 7, woken: 4},
	{name: "scoped read, alone", call: scoped((*drawbridge.RWMutex).WithRLock), steps: 5},
	{name: "scoped write, alone", call: scoped((*drawbridge.RWMutex).WithLock), steps: 3},
	{name: "scoped upgrade, alone", call: scopedUpgrade, steps: 19},
	{name: "write under a key, alone", call: keyed((*drawbridge.Keyed[int]).LockContext), steps: 10},
	{name: "read under a key, alone", call: keyed((*drawbridge.Keyed[int]).RLockContext), steps: 12},
	{name: "try to read, in vain", before: writes, call: func(rw *drawbridge.RWMutex) { rw.TryRLock() }, after: (*drawbridge.RWMutex).Unlock, steps: 5},
	{name: "try to write, in vain", before: reads, call: func(rw *drawbridge.RWMutex) { rw.TryLock() }, after: (*drawbridge.RWMutex).RUnlock, steps: 5},
}

func write(rw *drawbridge.RWMutex)          { rw.Lock(); rw.Unlock() }
func read(rw *drawbridge.RWMutex)           { rw.RLock(); rw.RUnlock() }
func readUpgradably(rw *drawbridge.RWMutex) { rw.ULock(); rw.UUnlock() }
func upgrade(rw *drawbridge.RWMutex)        { rw.ULock(); rw.Upgrade(); rw.Unlock() }
func downgrade(rw *drawbridge.RWMutex)      { rw.Lock(); rw.Downgrade(); rw.RUnlock() }

func scoped(with func(*drawbridge.RWMutex, context.Context, func(context.Context) error) error) func(*drawbridge.RWMutex) {
	return func(rw *drawbridge.RWMutex) {
		err := with(rw, context.Background(), func(context.Context) error { return nil })
		must(err == nil, "error %v", err)
	}
}

func scopedUpgrade(rw *drawbridge.RWMutex) {
	err := rw.WithULock(context.Background(), func(_ context.Context, upgrade func() error) error { return upgrade() })
	must(err == nil, "error %v", err)
}

// keyed uses a Keyed and not the lock that it is given.
func keyed(lock func(*drawbridge.Keyed[int], context.Context, int) (func(), error)) func(*drawbridge.RWMutex) {
	return func(*drawbridge.RWMutex) {
		unlock, err := lock(new(drawbridge.Keyed[int]), context.Background(), 1)
		must(err == nil, "error %v", err)
		unlock()
	}
}

func calls(all ...func(*drawbridge.RWMutex)) []func(*drawbridge.RWMutex) { return all }

func writes(rw *drawbridge.RWMutex, queue func())  { rw.Lock(); queue() }
func reads(rw *drawbridge.RWMutex, queue func())   { rw.RLock(); queue() }
func twoRead(rw *drawbridge.RWMutex, queue func()) { rw.RLock(); rw.RLock(); queue() }

// window leaves a woken writer that has not run.
func window(rw *drawbridge.RWMutex, queue func()) { rw.Lock(); queue(); rw.Unlock() }

// build makes c a scenario, in which nobody is interrupted.
func (c cost) build(s *scene) {
	rw := &drawbridge.RWMutex{Policy: c.policy}
	turn := 0 // which of the others may begin
	done := 0 // steps until all but the others were
	s.actor(func() {
		for i := range c.others {
			sched.Step(asleep(i + 1)) // has begun
		}
		if c.start == "" {
			c.start = "used"
		}
		sched.Core.Start(rw, c.start)
		if c.before != nil {
			c.before(rw, func() {
				before := sched.Steps()
				for turn = 1; turn <= len(c.others); turn++ {
					sched.Step(asleep(turn))
				}
				steps := sched.Steps() - before - 2*len(c.others) // without the waits for turn and sleep
				must(steps == c.asleep, "the others sleep after %d steps, not %d", steps, c.asleep)
			})
		}
		before := sched.Steps()
		c.call(rw)
		steps := sched.Steps() - before
		must(steps == c.steps, "it takes %d steps, not %d", steps, c.steps)
		if c.after != nil {
			c.after(rw)
		}
		done = sched.Steps()
	})
	for i, other := range c.others {
		s.actor(func() {
			sched.Step(until(func() bool { return turn > i }))
			other(rw)
		})
	}
	s.end = func() error {
		if steps := sched.Steps() - done; steps != c.woken {
			return fmt.Errorf("the others are done after %d steps, not %d", steps, c.woken)
		}
		return idle(rw)
	}
}

// asleep waits until the i'th actor does.
func asleep(i int) until { return func() bool { return sched.Asleep(i) } }

// until waits for a condition of the shared state.
type until func() bool

func (u until) Ready() int {
	if u() {
		return 1
	}
	return 0
}
