package lockcheck

// Lockupgrade finds a write lock that is asked for under the read lock.
var Lockupgrade = newAnalyzer("lockupgrade", `find a write lock asked for while its read lock is held

A writer waits until every reader has left, this goroutine's own read lock included, so it waits for ever.

Bad:

	mu.RLock()
	defer mu.RUnlock()
	if m[k] == nil {
		mu.Lock() // never returns
		m[k] = build(k)
		mu.Unlock()
	}

Good, with drawbridge's RWMutex:

	err := mu.WithULock(ctx, func(ctx context.Context, upgrade func() error) error {
		if m[k] != nil {
			return nil
		}
		if err := upgrade(); err != nil {
			return err
		}
		m[k] = build(k)
		return nil
	})`, func(r *reporter, res *flowResult) {
	for _, ev := range res.events {
		if classify(ev) != upgradeLock || deferredLock(ev) {
			continue
		}
		switch ev.kind {
		case again:
			remedy := "Unlock it first and look at the state again under the write lock, or use WithULock of drawbridge.RWMutex"
			if ev.hold.bridge {
				remedy = "Use WithULock, which can upgrade, or unlock it first and look at the state again under the write lock"
			}
			if ev.hold.mode == upgradableMode {
				remedy = "Use Upgrade, which turns the upgradable hold into the write lock"
			}
			r.report(Error, ev.pos, nil, "%s is asked for as a writer while it is held as a reader, and this never returns: %s, then locked %s. %s",
				ev.hold.lock, taken(ev.hold), way(ev.acquire.Trace), remedy)
		case maybeAgain:
			r.report(Warning, ev.pos, nil, "%s may be asked for as a writer while %s, %s, is held: locked %s. If the two are one lock, this never returns; unlock before that",
				short(ev.acquire.Class), ev.hold.lock, taken(ev.hold), way(ev.acquire.Trace))
		}
	}
})
