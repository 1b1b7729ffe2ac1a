package inspect

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/drawbridge-go/drawbridge"
)

// Detail says how much a watch takes down of each hold and wait. More of it
// costs more in every call on the lock.
type Detail uint8

const (
	// Sites is what [Watch] takes down: counts, times, and of each hold and
	// wait the line of code that called and the runtime/pprof labels of its
	// context.
	Sites Detail = iota

	// Times leaves sites and labels out: counts and times alone.
	Times

	// Stacks takes down the whole stack of the caller, up to 64 frames,
	// where Sites takes one.
	Stacks
)

// Watch makes lock known under name to [Locks], [Handler], the profiles and the
// alarms, until stop is called or the lock is collected as garbage: a watch
// keeps no lock alive. What the lock has been doing before is not known: holds
// older than the watch count without site and age.
//
// Names need not be unique; locks of one name are told apart by their ID. A
// lock may be watched more than once. Watch panics if lock is nil.
//
// A watched lock takes the slow path in every call. One that is not watched
// pays nothing.
func Watch(name string, lock drawbridge.Observable) (stop func()) {
	return WatchDetail(name, lock, Sites)
}

// WatchDetail is [Watch] with another [Detail].
func WatchDetail(name string, lock drawbridge.Observable, detail Detail) (stop func()) {
	if lock == nil || reflect.ValueOf(lock).IsNil() {
		panic("inspect: Watch of a nil lock")
	}
	if detail > Stacks {
		panic(fmt.Sprintf("inspect: unknown Detail(%d); use Sites, Times or Stacks", detail))
	}
	r := newRecord(name, lock, detail)
	r.unobserve = lock.Observe(r)
	// The lock refers to its record as to any observer, and the record to
	// the lock: they are collected together, so nothing else may hold on to
	// either, the stop function neither.
	w := weak.Make(r)
	watched.add(r, w)
	return func() {
		if r := w.Value(); r != nil {
			watched.remove(r.id)
			r.unobserve()
		}
	}
}

// watched has the records of all watches of the process.
var watched registry

type registry struct {
	mu      sync.Mutex
	last    uint64 // id given out
	records map[uint64]weak.Pointer[record]
	prune   int // how many records there may be before the dead are looked for
}

func (g *registry) add(r *record, w weak.Pointer[record]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.records == nil {
		g.records = make(map[uint64]weak.Pointer[record])
	}
	g.last++
	r.id = g.last
	g.records[r.id] = w
	if len(g.records) > g.prune {
		// Each look doubles the distance to the next, so that a program
		// that makes and drops locks pays a constant price for each.
		g.forgetDead()
		g.prune = max(64, 2*len(g.records))
	}
}

func (g *registry) remove(id uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.records, id)
}

func (g *registry) forgetDead() {
	for id, w := range g.records {
		if w.Value() == nil {
			delete(g.records, id)
		}
	}
}

// get returns the record with id, or nil.
func (g *registry) get(id uint64) *record {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.records[id].Value()
}

// all returns the records, in no order.
func (g *registry) all() []*record {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetDead()
	l := make([]*record, 0, len(g.records))
	for _, w := range g.records {
		if r := w.Value(); r != nil {
			l = append(l, r)
		}
	}
	return l
}

// newRecord returns a record of nothing yet.
func newRecord(name string, lock drawbridge.Observable, detail Detail) *record {
	r := &record{
		name: name, kind: kindOf(lock), policy: policyOf(lock),
		lock: lock, detail: detail, start: time.Now(),
	}
	for i := range r.depths {
		r.depths[i].Store(fewFrames)
	}
	r.stater, _ = lock.(interface{ State() drawbridge.State })
	r.snapshot, _ = lock.(interface {
		Status() drawbridge.SnapshotStatus
	})
	if k, ok := lock.(interface{ Len() int }); ok {
		r.keyed = k
		r.keys = newKeys()
	}
	return r
}

// kindOf is the type of lock as people write it: "RWMutex", "Keyed[string]".
func kindOf(lock any) string {
	return strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", lock), "*"), "drawbridge.")
}

// policyOf reads the Policy that all locks but Snapshot have as a field. It is
// set before the first use and does not change any more.
func policyOf(lock any) string {
	v := reflect.ValueOf(lock).Elem()
	if v.Kind() == reflect.Struct {
		if f := v.FieldByName("Policy"); f.IsValid() && f.Type() == reflect.TypeFor[drawbridge.Policy]() {
			return drawbridge.Policy(f.Uint()).String()
		}
	}
	return drawbridge.FIFO.String()
}
