//go:build explore

package explore

import (
	"errors"
	"fmt"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
)

// world is one execution of a Program.
type world struct {
	program Program
	lock    lock
	actors  []actor
	queued  uint64 // calls that have joined the queue so far
}

// actor is what is known from outside about one of the actors.
type actor struct {
	ctx *endable

	holds   drawbridge.Mode
	calling bool
	op      Op
	began   callFacts
	wait    waitFacts
}

// callFacts are about a call, as it began and until it returns.
type callFacts struct {
	ahead  uint32 // who was asleep when it began, and has been since
	done   bool   // its context was
	alone  bool   // nobody else has called since
	window bool   // a writer has been on its way to compete since
}

// waitFacts are about a call in the queue.
type waitFacts struct {
	queued  uint64 // its place in the order of arrival, from 1; 0 outside of the queue
	since   time.Duration
	asleep  bool
	slept   bool
	granted bool

	doneBefore bool // its context was done before it was granted
	doneAwake  bool // or before it ran again

	writers int // granted since it is asleep
	late    int // calls that began after its patience and overtook it
}

// patience is a little more than a writer has.
const patience = time.Millisecond + time.Nanosecond

// New returns what a search of p makes for each execution.
func (p Program) New() func() sched.World {
	return func() sched.World { return newWorld(p) }
}

func newWorld(p Program) *world {
	w := &world{program: p, actors: make([]actor, len(p.Scripts))}
	if p.Mutex {
		l := new(mutexLock)
		l.Policy = p.Policy
		w.lock = l
	} else {
		l := new(rwLock)
		l.Policy = p.Policy
		w.lock = l
	}
	for i, s := range p.Scripts {
		w.actors[i].ctx = newEndable(s.Cancelled)
	}
	return w
}

func (w *world) Actors() []sched.Body {
	if !sched.Core.Start(w.lock.any(), w.program.Start) {
		panic(fmt.Sprintf("explore: no start %q", w.program.Start))
	}
	sched.Ticking(w.program.Clock > 0)
	var bodies []sched.Body
	for i := range w.actors {
		bodies = append(bodies, sched.Body{Name: string(rune('A' + i)), Run: func() { w.run(i) }})
	}
	for i, s := range w.program.Scripts {
		if s.Cancelled {
			bodies = append(bodies, sched.Body{
				Name: string(rune('A'+len(bodies))) + " (ends the context of " + string(rune('A'+i)) + ")",
				Run:  w.actors[i].ctx.end,
			})
		}
	}
	if w.program.Clock > 0 {
		bodies = append(bodies, sched.Body{Name: string(rune('A'+len(bodies))) + " (the clock)", Run: func() {
			for range w.program.Clock {
				sched.Tick(patience)
			}
			sched.Ticking(false)
		}})
	}
	return bodies
}

func (w *world) run(i int) {
	a := &w.actors[i]
	for at, o := range w.program.Scripts[i].Ops {
		sched.Forget(uint64(at), uint64(a.holds))
		if at > 0 {
			sched.Step(nil) // between two calls is a moment of its own
		}
		switch {
		case o == Release:
			if a.holds != 0 {
				m := a.holds
				sched.Note("calls %s", releaseName(w.program, m))
				w.begin(i, o)
				a.holds = 0
				w.lock.release(m)
				a.calling = false
			}
		case o == Downgrade || o == DowngradeToUpgradable:
			if a.holds == drawbridge.Write {
				sched.Note("calls %s", o)
				w.begin(i, o)
				a.holds = 0
				w.lock.call(o, a.ctx)
				a.holds = o.mode()
				a.calling = false
			}
		case o.upgrade() == (a.holds == drawbridge.Upgradable) && (o.upgrade() || a.holds == 0):
			w.call(i, o)
		}
	}
}

func releaseName(p Program, m drawbridge.Mode) string {
	switch m {
	case drawbridge.Read:
		return "RUnlock"
	case drawbridge.Upgradable:
		return "UUnlock"
	}
	return "Unlock"
}

func (w *world) begin(i int, o Op) {
	a := &w.actors[i]
	a.calling, a.op, a.wait = true, o, waitFacts{}
	a.began = callFacts{done: a.ctx.err != nil, alone: true}
	for j := range w.actors {
		b := &w.actors[j]
		if j != i && b.wait.asleep && !b.wait.granted {
			a.began.ahead |= 1 << j
		}
		if j != i && b.calling {
			a.began.alone = false
		}
		if j != i {
			b.began.alone = false
		}
	}
	w.Look()
}

// Look takes down for all calls what is so at the moment.
func (w *world) Look() {
	if sched.Core.Window(w.lock.any()) {
		for i := range w.actors {
			w.actors[i].began.window = true
		}
	}
}

// call makes a call that may wait or fail.
func (w *world) call(i int, o Op) {
	a := &w.actors[i]
	sched.Note("calls %s", o)
	w.begin(i, o)
	before := a.holds
	granted, err := w.lock.call(o, a.ctx)
	if sched.Unwinding() {
		return
	}
	a.calling = false
	if granted {
		a.holds = o.mode()
	}
	sched.Note("%s returns granted=%t", o, granted)
	if problem := w.judge(i, o, before, granted, err); problem != nil {
		sched.Fail("%w", problem)
	}
	a.wait = waitFacts{}
}

// judge looks at what a call has returned.
func (w *world) judge(i int, o Op, before drawbridge.Mode, granted bool, err error) error {
	a := &w.actors[i]
	if e := w.inside().exclusion(); e != nil {
		return e
	}
	if sched.Core.Leftover(w.lock.any(), i) {
		return fmt.Errorf("%s has returned and its waiter is still in use", o)
	}
	switch {
	case !granted && o.try():
		if a.began.alone && w.inside().admits(o.mode()) {
			return fmt.Errorf("%s failed though nobody kept it out", o)
		}
		return nil
	case !granted && err == nil:
		return fmt.Errorf("%s returned neither the lock nor an error", o)
	case !granted:
		var wait *drawbridge.WaitError
		if !errors.As(err, &wait) {
			return fmt.Errorf("%s returned an error that is no WaitError: %w", o, err)
		}
		if a.ctx.err == nil {
			return fmt.Errorf("%s returned an error though its context was not done: %w", o, err)
		}
		return nil
	case a.began.done && o.takesContext():
		return fmt.Errorf("%s got the lock with a context that was done before the call", o)
	case o.takesContext() && a.wait.slept && (a.wait.doneBefore || a.wait.doneAwake):
		return fmt.Errorf("%s got the lock though its context ended before its wake", o)
	}
	if o.mode() == drawbridge.Write && !a.wait.granted {
		w.countWriter(i, a.began.ahead)
	}
	if o.upgrade() {
		return nil // it passes everybody
	}
	for j := range w.actors {
		b := &w.actors[j]
		if a.began.ahead&(1<<j) == 0 {
			continue
		}
		ot := overtaking{policy: w.program.Policy, by: o.mode(), of: b.op.mode(), upgrade: b.op.upgrade(), window: a.began.window, slept: a.wait.slept}
		if !ot.allowed() {
			return fmt.Errorf("overtaking: %s got the lock to %s before %c, which slept already when the call began and waits to %s",
				o, ot.by, 'A'+j, ot.of)
		}
		if ot.of == drawbridge.Write && b.wait.late > 0 {
			if b.wait.late > afterPatience && w.program.Policy == drawbridge.Balanced {
				return fmt.Errorf("overtaking: %d calls that began after its patience got the lock before %c", b.wait.late, 'A'+j)
			}
		}
	}
	return w.checkReaders()
}

// countWriter notes that actor i has become a writer, for those of the sleepers
// who were asleep before that for certain.
func (w *world) countWriter(i int, sleepers uint32) {
	for j := range w.actors {
		b := &w.actors[j]
		if j == i || sleepers&(1<<j) == 0 || !b.wait.asleep || b.wait.granted {
			continue
		}
		b.wait.writers++
		if w.actors[i].began.ahead&(1<<j) != 0 && sched.Clock()-b.wait.since >= patience {
			b.wait.late++
		}
	}
}

func (w *world) checkReaders() error {
	bound := writersPerReader(w.program.Policy)
	for j := range w.actors {
		b := &w.actors[j]
		if bound >= 0 && b.wait.asleep && !b.wait.granted && b.op.mode() == drawbridge.Read && b.wait.writers > bound {
			return fmt.Errorf("starvation: %c waits to read and %d writers got the lock meanwhile", 'A'+j, b.wait.writers)
		}
	}
	return nil
}

// Event follows a call through the queue.
func (w *world) Event(e sched.Event, i int) {
	if i >= len(w.actors) {
		return
	}
	a := &w.actors[i]
	switch e {
	case sched.Queued:
		w.queued++
		a.wait = waitFacts{queued: w.queued}
	case sched.Parked:
		if !a.wait.slept { // what is promised is counted from its sleep
			a.wait.since = sched.Clock()
		}
		a.wait.asleep, a.wait.slept = true, true
	case sched.Granted:
		a.wait.granted = true
		a.wait.doneBefore = a.ctx.err != nil
		if a.op.mode() == drawbridge.Write {
			w.countWriter(i, ^uint32(0))
		}
		for j := range w.actors {
			w.actors[j].began.ahead &^= 1 << i
		}
	case sched.Awake:
		a.wait.doneAwake = a.ctx.err != nil
		if a.wait.granted || a.wait.doneAwake {
			a.wait.asleep = false
		}
		if !a.wait.granted && a.wait.doneAwake {
			for j := range w.actors {
				w.actors[j].began.ahead &^= 1 << i
			}
		}
	}
}

func (w *world) inside() (in inside) {
	for i := range w.actors {
		switch w.actors[i].holds {
		case drawbridge.Read:
			in.readers++
		case drawbridge.Upgradable:
			in.upgradables++
		case drawbridge.Write:
			in.writers++
		}
	}
	return in
}

// Check looks at a moment in which every call that has not returned is asleep
// and nobody is on the way to one.
func (w *world) Check() error {
	var sleepers []sleeper
	var order []uint64
	for i := range w.actors {
		a := &w.actors[i]
		if !a.calling {
			continue
		}
		if !sched.Asleep(i) {
			return nil
		}
		s := sleeper{string(rune('A' + i)), a.op.mode(), a.op.upgrade()}
		at := len(order)
		for at > 0 && order[at-1] > a.wait.queued {
			at--
		}
		order = append(order[:at], append([]uint64{a.wait.queued}, order[at:]...)...)
		sleepers = append(sleepers[:at], append([]sleeper{s}, sleepers[at:]...)...)
	}
	if sched.Core.Window(w.lock.any()) {
		return errors.New("a window is open and nobody is on the way")
	}
	if wrong := sched.Core.Flags(w.lock.any()); wrong != "" {
		return errors.New(wrong)
	}
	for i := range w.actors {
		if a := &w.actors[i]; a.calling && a.op.takesContext() && a.ctx.err != nil {
			return fmt.Errorf("%c sleeps on though its context is done", 'A'+i)
		}
	}
	in := w.inside()
	if err := mustNotSleep(w.program.Policy, in, sleepers); err != nil {
		return err
	}
	return agree(sched.Core.Picture(w.lock.any()), in, sleepers)
}

func (w *world) End() error {
	if left := sched.Core.Idle(w.lock.any()); left != "" {
		return fmt.Errorf("all calls have ended and something is left: %s", left)
	}
	return nil
}

func (w *world) Shared(h *sched.Hash) {
	sched.Core.Fingerprint(w.lock.any(), h)
	for i := range w.actors {
		h.Bool(w.actors[i].ctx.err != nil)
	}
}

func (w *world) Ghosts(h *sched.Hash) {
	for i := range w.actors {
		a := &w.actors[i]
		h.Add(uint64(a.holds))
		if !a.calling {
			continue
		}
		h.Add(uint64(a.op))
		h.Add(uint64(a.began.ahead))
		h.Bool(a.began.done)
		h.Bool(a.began.alone)
		h.Bool(a.began.window)
		f := a.wait
		h.Add(w.rank(f.queued))
		h.Add(uint64(f.since))
		h.Bool(f.asleep)
		h.Bool(f.slept)
		h.Bool(f.granted)
		h.Bool(f.doneBefore)
		h.Bool(f.doneAwake)
		h.Add(uint64(f.writers))
		h.Add(uint64(f.late))
	}
}

// rank is the place among those who wait: only the order matters.
func (w *world) rank(queued uint64) (n uint64) {
	if queued == 0 {
		return 0
	}
	for i := range w.actors {
		if q := w.actors[i].wait.queued; q != 0 && q <= queued {
			n++
		}
	}
	return n
}
