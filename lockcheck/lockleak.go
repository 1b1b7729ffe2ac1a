package lockcheck

import "golang.org/x/tools/go/ssa"

// Lockleak finds locks that are kept by mistake.
var Lockleak = newAnalyzer("lockleak", `find a lock that is not given back on some way out

Returns that disagree about a lock, a loop that takes it again in its next round, and "defer mu.Lock()" where
Unlock was meant. Functions that keep a lock for their caller and can be told from their results or their
partner are left alone. An explicit panic between Lock and an Unlock that is not deferred is noted at level
info: after a recover the lock is held for ever.

Bad:

	mu.Lock()
	if closed {
		return errClosed // still locked
	}
	n++
	mu.Unlock()
	return nil

Good:

	mu.Lock()
	defer mu.Unlock()
	if closed {
		return errClosed
	}
	n++
	return nil`, func(r *reporter, res *flowResult) {
	direct := map[string]bool{} // leaks whose lock is taken in the function itself
	retaken := map[ssa.Instruction]bool{}
	for _, ev := range res.events {
		if ev.kind == leak && isOperation(ev.hold.by) {
			direct[ev.hold.at] = true
		}
		if ev.kind == again && ev.hold.by == ev.at {
			retaken[ev.at] = true
		}
	}
	for _, ev := range res.events {
		switch ev.kind {
		case leak:
			if ev.hold.ctx || retaken[ev.hold.by] || !res.forgets(ev) || !isOperation(ev.hold.by) && direct[ev.hold.at] {
				continue
			}
			level := Error
			if res.orphans[ev.lock.class] {
				level = Warning // another function gives it back, and may know when to
			}
			r.report(level, ev.pos, nil, "%s, %s, is still held at this return, and %s. Unlock it before the return, or defer the unlock",
				ev.hold.lock, taken(ev.hold), others(ev))
		case again:
			if ev.hold.by != ev.at || len(ev.acquire.Trace) != 1 {
				continue
			}
			level, what := Error, "is taken again by the next round of the loop, which never returns"
			if classify(ev) == recursiveRead {
				what = "is read-locked again by the next round of the loop, and a writer that comes between the two keeps it waiting for ever"
				if !res.hasWriter(ev.acquire.Class, ev.lock.path) {
					level, what = Warning, "is read-locked again by the next round of the loop"
				}
			}
			r.report(level, ev.pos, nil, "%s %s: some way through the loop does not unlock it. Unlock it before each continue, or move the section into a function with a deferred unlock",
				ev.hold.lock, what)
		case deferLock:
			r.report(Error, ev.pos, nil, "defer takes %s again when the function returns, and it is held since %s; Unlock was meant", ev.lock, ev.hold.at)
		case panicHeld:
			if !isOperation(ev.hold.by) {
				continue
			}
			r.report(Info, ev.pos, nil, "%s, %s, is held when this panics and no unlock is deferred: after a recover it stays held for ever. Defer the unlock", ev.hold.lock, taken(ev.hold))
		}
	}
})

// others says what the other returns do with a lock that is leaked by one.
func others(ev event) string {
	if ev.never {
		return "no way through " + funcName(ev.fn) + " gives it back"
	}
	return "other ways through " + funcName(ev.fn) + " give it back"
}

// isOperation reports whether an instruction is a lock operation itself, and not a call that leads to one.
func isOperation(instr ssa.Instruction) bool {
	c, ok := instr.(ssa.CallInstruction)
	if !ok {
		return false
	}
	m := called(c.Common())
	if m == nil {
		return false
	}
	_, ok = operation(m)
	return ok
}
