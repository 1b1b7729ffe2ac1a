//go:build explore

package drawbridge

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"time"

	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
)

// This is sched.go for the explorer: the same names, each of which stops at the
// scheduler before its step. One actor runs at a time, so nothing here is
// atomic by itself.

// Two releases show what 256 do, in fewer steps.
const windowBits = 1

// One reader that met another makes a lock striped.
const heatLimit = 1 * heatStep

// Two stripes are as many as it takes to look at them one after the other.
func stripeNumber() int { return 2 }

// stripeHash lets each actor use the stripes in turn, so that it leaves by
// another one than it came by.
func stripeHash() uintptr {
	if a := sched.Current(); a != nil {
		return uintptr(a.Index + a.Turn())
	}
	return 0
}

// atom is a value in shared memory.
type atom[T comparable] struct{ v T }

func (a *atom[T]) Load() T {
	sched.Step(nil)
	sched.Saw(bits(a.v))
	a.note("loads %s", a.v)
	return a.v
}

func (a *atom[T]) Store(v T) {
	sched.Step(nil)
	a.v = v
	a.note("stores %s", v)
}

func (a *atom[T]) CompareAndSwap(old, next T) bool {
	sched.Step(nil)
	if a.v != old {
		sched.Saw(0)
		a.note("fails to swap %s", a.v)
		return false
	}
	sched.Saw(1)
	a.v = next
	a.note("swaps in %s", next)
	return true
}

func (a *atom[T]) note(format string, v T) {
	if sched.Tracing() {
		sched.Note(format, describeAtom(v))
	}
}

type number interface{ ~int32 | ~int64 | ~uint64 }

type atomicNumber[T number] struct{ atom[T] }

func (a *atomicNumber[T]) Add(d T) T {
	sched.Step(nil)
	a.v += d
	sched.Saw(bits(a.v))
	a.note("adds to make it %s", a.v)
	return a.v
}

type (
	word           = atomicNumber[uint64]
	counter        = atomicNumber[int32]
	stripeCount    = atomicNumber[int64]
	pointer[T any] struct{ atom[*T] }
)

// flag is a waiter's granted. It changes in the internal mutex of the lock
// alone, so that reading and changing it in there are no steps of their own.
type flag struct {
	atom[bool]
	of []*sched.Actor
}

func (f *flag) Load() bool {
	if sched.Inside() {
		return f.v
	}
	return f.atom.Load()
}

func (f *flag) Store(v bool) {
	if sched.Inside() {
		f.v = v
	} else if f.v != v {
		f.atom.Store(v)
	}
	if v {
		for _, a := range f.of {
			sched.Tell(sched.Granted, a)
		}
	}
}

func bits(v any) uint64 {
	switch v := v.(type) {
	case uint64:
		return v
	case int32:
		return uint64(v)
	case int64:
		return uint64(v)
	case bool:
		if v {
			return 1
		}
		return 0
	}
	// Addresses differ between executions. One that is set once is told from
	// nil; programs with other ones are searched without a cache.
	if reflect.ValueOf(v).IsNil() {
		return 0
	}
	return 1
}

func describeAtom(v any) string {
	switch v := v.(type) {
	case uint64:
		return describeState(v)
	case bool:
		return fmt.Sprintf("granted=%t", v)
	}
	if reflect.ValueOf(v).Kind() == reflect.Pointer {
		return "a value"
	}
	return fmt.Sprint(v)
}

// section is the internal mutex. What follows the entry belongs to the same
// step: nobody else can do anything in between that he could not have done
// before it. Leaving it is no step of its own either, for the like reason.
type section struct{ held uint64 }

func (s *section) Ready() int { return int(1 - s.held) }

func (s *section) lock() {
	sched.Step(s)
	s.held = 1
	sched.Note("enters %s", sectionName(s))
	sched.SawShared()
	sched.Enter()
}

func (s *section) unlock() {
	if sched.Unwinding() {
		return
	}
	if s.held == 0 {
		sched.Fail("an internal mutex is left that nobody is in")
	}
	s.held = 0
	sched.Leave()
	sched.Note("leaves %s", sectionName(s))
}

func sectionName(*section) string { return "the internal mutex" }

// mutex is held for longer, so that being in it says nothing.
type mutex struct{ s section }

func (m *mutex) Lock() {
	sched.Step(&m.s)
	m.s.held = 1
	sched.Note("takes a mutex")
}

func (m *mutex) Unlock() {
	m.s.held = 0
	sched.Note("leaves a mutex")
}

// pool gives out what was put back last, and what no execution has seen before
// once an execution has begun.
type pool struct {
	New func() any

	free []any
	live [16]*waiter // in use, by the actor that uses it
	of   uint64      // execution
}

func (p *pool) begin() {
	if g := sched.Generation(); p.of != g {
		p.of, p.free, p.live = g, p.free[:0], [len(p.live)]*waiter{}
	}
}

func (p *pool) Get() any {
	p.begin()
	var v any
	if n := len(p.free); n > 0 {
		v = p.free[n-1]
		p.free = p.free[:n-1]
	} else if p.New != nil {
		v = p.New()
	}
	return v
}

func (p *pool) Put(v any) {
	if sched.Unwinding() {
		return
	}
	p.begin()
	p.free = append(p.free, v)
}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// now is the clock of the program, which an actor moves on.
func now() time.Time {
	t := sched.Time()
	if sched.Active() {
		sched.Saw(uint64(t))
	}
	return epoch.Add(t)
}

func clock() moment { return moment(now().Sub(epoch)) + 1 }

func either(a, b <-chan struct{}) bool {
	e := eitherOf{a, b}
	sched.Step(nil)
	if closedChan(a) {
		sched.Saw(1)
		return true
	}
	way := sched.Step(e)
	first := closedChan(a) && (!closedChan(b) || way == 0)
	sched.Saw(bits(first))
	if first {
		sched.Note("goes on after a wait")
	} else {
		sched.Note("gives up a wait")
	}
	return first
}

type eitherOf struct{ a, b <-chan struct{} }

func (e eitherOf) Ready() (n int) {
	if closedChan(e.a) {
		n++
	}
	if closedChan(e.b) {
		n++
	}
	return n
}

func closedChan(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// hashOf lets all keys collide: that is the most that they can share.
func hashOf[K comparable](maphash.Seed, K) uint64 { return 0 }

func spawn(f func()) {
	sched.Step(nil)
	sched.Spawn(f)
}

func fatal(what string) { sched.Fail("fatal: %s", what) }

// Nobody who explores asks who calls, and looking whether somebody does would be
// one step more in every call.
func (c *core) takeCaller(*call)  {}
func wantsCallers(*Observer) bool { return false }
