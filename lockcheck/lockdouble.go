package lockcheck

import (
	"golang.org/x/tools/go/ssa"
)

// Lockdouble finds a lock that is taken again while it is held.
var Lockdouble = newAnalyzer("lockdouble", `find a lock taken again by the goroutine that holds it

Neither sync's locks nor drawbridge's are reentrant: the second Lock waits for the first to be given back, and
that is the job of the goroutine that waits. The second one may be in a function that is called, in a closure,
behind an interface of the package or in another package.

Bad:

	func (c *Cache) Get(k string) string {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.size() == 0 { // size locks c.mu
			return ""
		}
		return c.m[k]
	}

Good:

	func (c *Cache) Get(k string) string {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sizeLocked() == 0 {
			return ""
		}
		return c.m[k]
	}

Where the object cannot be told for certain, as behind a pointer back to its owner or a call through a
variable, the finding is a warning.`, lockdouble)

func lockdouble(r *reporter, res *flowResult) {
	for _, ev := range res.events {
		if ev.kind != again && ev.kind != maybeAgain || classify(ev) != doubleLock {
			continue
		}
		if ev.hold.by == ev.at && len(ev.acquire.Trace) == 1 {
			continue // the next round of a loop; see lockleak
		}
		if deferredLock(ev) {
			continue
		}
		if ev.kind == maybeAgain {
			r.report(Warning, ev.pos, nil, "%s may be taken while %s, %s, is held: %s %s. If the two are one lock, this never returns; unlock before the call",
				short(ev.acquire.Class), ev.hold.lock, taken(ev.hold), asks(ev.acquire.Mode), way(ev.acquire.Trace))
			continue
		}
		r.report(Error, ev.pos, nil, "%s is taken again while it is held, and this never returns: %s, then %s %s. %s",
			ev.hold.lock, taken(ev.hold), asks(ev.acquire.Mode), way(ev.acquire.Trace), advice(ev))
	}
}

func advice(ev event) string {
	if len(ev.acquire.Trace) > 1 {
		return "Unlock before the call, or call a function that expects the lock to be held"
	}
	return "Unlock it first"
}

func asks(m mode) string {
	switch m {
	case readMode:
		return "read-locked"
	case upgradableMode:
		return "asked for as upgradable"
	}
	return "locked"
}

type second uint8

const (
	doubleLock second = iota + 1
	upgradeLock
	recursiveRead
	printedLock
)

// classify says what kind of mistake the second acquisition of a lock is.
func classify(ev event) second {
	switch {
	case ev.acquire.Printed != "":
		return printedLock
	case ev.hold.mode == writeMode:
		return doubleLock
	case ev.acquire.Mode == writeMode:
		return upgradeLock
	case ev.hold.mode == upgradableMode && ev.acquire.Mode == upgradableMode:
		return doubleLock
	}
	return recursiveRead
}

// deferredLock is for lockleak, which says it better.
func deferredLock(ev event) bool {
	_, ok := ev.at.(*ssa.Defer)
	return ok && len(ev.acquire.Trace) == 1
}
