package lockcheck

// Ctxlockerr finds locks that were asked for with a context and whose answer is not heeded.
var Ctxlockerr = newAnalyzer("ctxlockerr", `find an error of LockContext that is not heeded

LockContext, RLockContext, ULockContext and UpgradeContext return an error when the context ends before the
lock is there. Then nothing is held: what follows runs without the lock, and its unlock ends the process or
gives back somebody else's lock.

Bad:

	mu.LockContext(ctx)
	defer mu.Unlock()

Bad:

	err := mu.LockContext(ctx)
	defer mu.Unlock() // runs also when err is not nil
	if err != nil {
		return err
	}

Good:

	if err := mu.LockContext(ctx); err != nil {
		return err
	}
	defer mu.Unlock()`, func(r *reporter, res *flowResult) {
	for _, ev := range res.events {
		switch ev.kind {
		case errDropped:
			r.report(Error, ev.pos, nil, "the error of this call on %s is dropped: when the context ends first the lock is not held, and what follows runs without it. Return the error before the lock's section", ev.lock)
		case failedUse:
			r.report(Error, ev.pos, nil, "%s is unlocked where the call at %s has failed and it is not held. Return on the error first, and unlock, or defer the unlock, after that", ev.lock, ev.hold.at)
		case leak:
			if ev.hold.ctx && res.forgets(ev) {
				r.report(Error, ev.pos, nil, "%s, %s, is still held at this return, and %s. Unlock it before the return, or defer the unlock after the error is checked",
					ev.hold.lock, taken(ev.hold), others(ev))
			}
		case ctxLeak:
			if !res.orphans[ev.lock.class] && !lockish.MatchString(ev.fn.Name()) && !exportedClass(ev.lock.class) {
				r.report(Error, ev.pos, nil, "%s, %s, is never unlocked. Defer the unlock after the error is checked", ev.hold.lock, taken(ev.hold))
			}
		}
	}
})
