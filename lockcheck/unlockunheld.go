package lockcheck

// Unlockunheld finds unlocks that have nothing to unlock.
var Unlockunheld = newAnalyzer("unlockunheld", `find an unlock of a lock that is not held, or not in that mode

A second unlock ends the process, or gives back what another goroutine has just taken. RUnlock of a write lock
and Unlock of a read lock are always wrong and an error; a second unlock on some path is a warning.

Bad:

	mu.RLock()
	defer mu.Unlock()

Good:

	mu.RLock()
	defer mu.RUnlock()`, func(r *reporter, res *flowResult) {
	for _, ev := range res.events {
		switch ev.kind {
		case mismatch:
			r.report(Error, ev.pos, nil, "%s of %s, which is %s. Use %s", unlockName[ev.acquire.Mode], ev.lock, taken(ev.hold), unlockName[ev.hold.mode])
		case unheld:
			r.report(Warning, ev.pos, nil, "%s is unlocked here a second time on some path: it was %s and has been given back since. Unlock it once on each path", ev.lock, taken(ev.hold))
		}
	}
})

var unlockName = map[Mode]string{Read: "RUnlock", Upgradable: "UUnlock", Write: "Unlock"}
