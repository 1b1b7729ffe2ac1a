package lockcheck

// Unlockunheld finds unlocks that have nothing to unlock.
var Unlockunheld = newAnalyzer("unlockunheld", `find an unlock of a lock that is not held, or not in that mode

An unlock of what is not held ends the process, or gives back what another goroutine has just taken. RUnlock of a
write lock and Unlock of a read lock are always wrong and an error. A warning are: a second unlock on some path; an
unlock where TryLock has failed; an unlock that is reached also where the function has not taken the lock; an unlock
that no lock belongs to. A function that is called with the lock held, that says so in its name or its comment, or
that is called by somebody who is not seen may unlock what it has not locked.

Bad:

	if concurrent {
		mu.Lock()
	}
	n++
	mu.Unlock()

Good:

	if concurrent {
		mu.Lock()
		defer mu.Unlock()
	}
	n++`, func(r *reporter, res *flowResult) {
	for _, ev := range res.events {
		switch ev.kind {
		case mismatch:
			r.report(Error, ev.pos, nil, "%s of %s, which is %s. Use %s", unlockName[ev.acquire.Mode], ev.lock, taken(ev.hold), unlockName[ev.hold.mode])
		case unheld:
			r.report(Warning, ev.pos, nil, "%s is unlocked here a second time on some path: it was %s and has been given back since. Unlock it once on each path", ev.lock, taken(ev.hold))
		case unheldAgain:
			if res.pointers[ev.lock.class] || res.spawned[ev.fn] {
				continue // perhaps another goroutine has taken it in between
			}
			r.report(Warning, ev.pos, nil, "%s is unlocked here a second time on some path: it has been given back at %s. Unlock it once on each path", ev.lock, ev.hold.at)
		case unheldTry:
			r.report(Warning, ev.pos, nil, "%s is unlocked here also where the try at %s has failed. Unlock it only where the try has returned true", ev.lock, ev.hold.at)
		case unheldSome:
			r.report(Warning, ev.pos, nil, "%s is unlocked here also where it has not been locked: %s only under a condition. Lock and unlock it under the same", ev.lock, taken(ev.hold))
		case unheldNever:
			r.report(Warning, ev.pos, nil, "%s is unlocked here and is not held: neither %s nor a caller locks it. Lock it before, or leave the unlock out", ev.lock, funcName(ev.fn))
		}
	}
})

var unlockName = map[mode]string{readMode: "RUnlock", upgradableMode: "UUnlock", writeMode: "Unlock"}
