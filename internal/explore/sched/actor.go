// Package sched runs the actors of a program one step at a time and searches
// their schedules.
//
// An actor is a function that runs real code. Built with the tag explore, that
// code calls [Step] before everything it does with shared memory, so between
// two steps an actor touches nothing that another one could see, and what
// happens is decided by the order of the steps alone. The actors are
// coroutines: exactly one runs, and at each step it is decided which one goes
// on. A schedule is the sequence of these decisions; it determines the whole
// execution and can be run again.
package sched

import (
	"fmt"
	"iter"
	"runtime/debug"
	"strings"
	"time"
)

// A Blocker is an operation that may have to wait. Ready returns how many ways
// it can go on, 0 while there is none. It must be a function of shared state.
type Blocker interface{ Ready() int }

// Actor is one of the actors of the execution that runs.
type Actor struct {
	Index int
	Name  string

	co       *coroutine
	body     func()
	started  bool
	finished bool

	blocked Blocker // what its next step waits for, or nil
	merged  bool    // its next step belongs to the one before
	inside  int     // internal mutexes that it is in

	turns int // taken by Turn

	// history is a hash of all that the actor has seen since its local state
	// was last known: with the program, it stands for the local state.
	history uint64
}

// Turn alternates between 0 and 1.
func (a *Actor) Turn() int {
	a.turns ^= 1
	return a.turns ^ 1
}

// execution is the one run that is under way.
type execution struct {
	search  *Search
	world   World
	actors  []*Actor
	steps   []Choice
	merged  int // steps that belong to the one before
	stops   int // preemptions so far
	next    Choice
	stopped bool // no further step will be chosen
	unwind  bool // the actors that are left are being ended
	failure error
	trace   []string
	tracing bool

	time    time.Duration // since the beginning
	ticking bool          // an actor will move it on
}

// Choice is one decision: the actor that takes its step, and in which of the
// ways that are open.
type Choice struct{ Actor, Way uint8 }

var (
	x          *execution
	running    *Actor
	generation uint64
)

// Generation tells executions apart.
func Generation() uint64 { return generation }

// Event is something that the code under exploration tells the world, which
// looks from outside.
type Event uint8

const (
	Queued  Event = iota // a call has joined the queue
	Parked               // it is about to sleep
	Granted              // the state has been changed for it
	Awake                // it has slept and runs again
)

// Tell tells the world what has happened to a's call.
func Tell(e Event, a *Actor) {
	if a != nil && !x.unwind {
		x.world.Event(e, a.Index)
	}
}

// Time is how far the clock of the program has gone. Reading it is a step of
// its own while an actor is there to move it on.
func Time() time.Duration {
	if x == nil {
		return 0
	}
	if running != nil && x.ticking {
		Step(nil)
	}
	return x.time
}

// Clock is Time for the world, which looks from outside.
func Clock() time.Duration { return x.time }

// Steps is how many steps have been taken, with those that belong to the one
// before.
func Steps() int { return len(x.steps) + x.merged }

// Asleep reports whether the i'th actor waits for something that has not
// happened.
func Asleep(i int) bool {
	a := x.actors[i]
	return a.blocked != nil && a.blocked.Ready() == 0
}

// Ticking says whether an actor is there that will call Tick.
func Ticking(yes bool) { x.ticking = yes }

// Tick moves the clock on.
func Tick(d time.Duration) {
	Step(nil)
	x.time += d
	Note("the clock moves on by %s", d)
}

type unwound struct{}

// Active reports whether an actor runs. Outside of one every step is taken at
// once.
func Active() bool { return running != nil }

// Current returns the actor that runs, or nil.
func Current() *Actor { return running }

// Step stops the running actor before a step. When it returns, the actor goes
// on, in the way that is returned, below what b.Ready() was; b is nil for a step
// that never waits.
func Step(b Blocker) (way int) {
	a := running
	if a == nil {
		if b != nil && b.Ready() == 0 {
			panic("sched: a step outside of an actor would wait for ever")
		}
		return 0
	}
	if x.unwind {
		panic(unwound{})
	}
	if a.merged {
		a.merged = false
		if b == nil {
			x.merged++
			return 0
		}
	}
	a.blocked = b
	c, ok := x.choose(a)
	if !ok {
		panic(unwound{})
	}
	if c.Actor != uint8(a.Index) {
		x.next = c
		a.co.yield(struct{}{})
		if x.unwind {
			panic(unwound{})
		}
		c = x.next
	}
	a.blocked = nil
	a.history = mix(a.history, uint64(c.Way)+1)
	return int(c.Way)
}

// Enter says that the running actor has entered an internal mutex. Its next
// step is part of this one: nothing that others can do between the two could
// not be done before.
func Enter() {
	if running != nil {
		running.merged = true
		running.inside++
	}
}

// Leave says that it has left one.
func Leave() {
	if running != nil {
		running.merged = false
		running.inside--
	}
}

// Inside reports whether the running actor is in an internal mutex.
func Inside() bool { return running != nil && running.inside > 0 }

// Saw adds a value to what the running actor has seen of shared state.
func Saw(v uint64) {
	if a := running; a != nil {
		a.history = mix(a.history, v)
	}
}

// SawShared adds all of the shared state, for an actor that may read any of it.
func SawShared() {
	if running != nil && !x.unwind && x.search.caching {
		var h Hash
		x.world.Shared(&h)
		Saw(h.Sum())
	}
}

// Forget says that the running actor's local state depends only on the given
// values: it is between two calls.
func Forget(values ...uint64) {
	if a := running; a != nil {
		a.history = uint64(a.Index)
		for _, v := range values {
			a.history = mix(a.history, v)
		}
	}
}

// Fail ends the execution with a violation.
func Fail(format string, args ...any) {
	if x == nil || x.unwind {
		panic(unwound{})
	}
	x.fail(fmt.Errorf(format, args...))
	panic(unwound{})
}

func (x *execution) fail(err error) {
	if x.failure == nil {
		x.failure = err
	}
	x.stopped = true
}

// Unwinding reports whether the execution is over and the actors that are left
// are being ended.
func Unwinding() bool { return x != nil && x.unwind }

// Outside runs f as if no actor ran: its steps are not steps of the program.
func Outside(f func()) {
	a := running
	running = nil
	f()
	running = a
}

// Note adds a line about the step just taken to the trace, if there is one.
func Note(format string, args ...any) {
	if x == nil || !x.tracing || running == nil || x.unwind {
		return
	}
	x.trace = append(x.trace, running.Name+"  "+fmt.Sprintf(format, args...))
}

// Tracing reports whether Note does anything.
func Tracing() bool { return x != nil && x.tracing && running != nil && !x.unwind }

// Spawn starts another actor.
func Spawn(f func()) {
	if x == nil || running == nil {
		panic("sched: Spawn outside of an actor")
	}
	if x.unwind {
		panic(unwound{})
	}
	x.add(string(rune('A'+len(x.actors))), f)
	Note("starts %s", x.actors[len(x.actors)-1].Name)
}

func (x *execution) add(name string, f func()) {
	a := &Actor{Index: len(x.actors), Name: name, body: f, co: borrow()}
	a.history = uint64(a.Index)
	x.actors = append(x.actors, a)
}

// run carries one execution to its end, or until the search has seen enough of
// it.
func (x *execution) run() {
	if c, ok := x.choose(nil); ok {
		x.next = c
	}
	for !x.stopped {
		a := x.actors[x.next.Actor]
		x.resume(a)
		if !x.stopped && a.finished {
			if c, ok := x.choose(a); ok {
				x.next = c
			}
		}
	}
	x.unwind = true
	for _, a := range x.actors {
		if a.started && !a.finished {
			x.resume(a)
		}
		giveBack(a.co)
	}
}

func (x *execution) resume(a *Actor) {
	running = a
	if !a.started {
		a.started = true
		a.history = mix(a.history, 1)
		a.co.run = func() { x.runBody(a) }
	}
	a.co.resume()
	running = nil
}

func (x *execution) runBody(a *Actor) {
	defer func() {
		a.finished = true
		if r := recover(); r != nil {
			if _, ok := r.(unwound); !ok && !x.unwind {
				x.fail(fmt.Errorf("%s panicked: %v\n%s", a.Name, r, callers()))
			}
		}
	}()
	a.body()
}

// callers returns where a panic came from, without this package.
func callers() string {
	var b strings.Builder
	for line := range strings.Lines(string(debug.Stack())) {
		if strings.Contains(line, "/drawbridge/") && !strings.Contains(line, "/sched.") {
			b.WriteString("\t" + line)
		}
	}
	return b.String()
}

// coroutine runs one function after the other. A switch to and from one costs
// a tenth of what a switch of goroutines does.
type coroutine struct {
	run    func()
	resume func() (struct{}, bool)
	yield  func(struct{}) bool
}

var spare []*coroutine

func borrow() *coroutine {
	if n := len(spare); n > 0 {
		co := spare[n-1]
		spare = spare[:n-1]
		return co
	}
	co := new(coroutine)
	co.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		for {
			co.run()
			yield(struct{}{})
		}
	})
	return co
}

func giveBack(co *coroutine) { spare = append(spare, co) }
