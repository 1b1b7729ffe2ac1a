package lockcheck

// Lockstringer finds a value that is formatted under the lock that its own String method takes.
var Lockstringer = newAnalyzer("lockstringer", `find a value printed under the lock that its String method takes

fmt, log, log/slog and encoding/json call the String, Error, Format, LogValue and Marshal methods of what they
are given. A method that locks then meets the lock that the caller holds. It shows only once the line is
reached, which for a log line may be long after the release.

Bad:

	func (c *Cache) String() string { c.mu.RLock(); defer c.mu.RUnlock(); … }

	c.mu.Lock()
	log.Printf("dropping %v", c) // calls c.String
	c.mu.Unlock()

Good:

	c.mu.Lock()
	log.Printf("dropping %v", c.stringLocked())
	c.mu.Unlock()`, func(r *reporter, res *flowResult) {
	for _, ev := range res.events {
		if ev.kind != again && ev.kind != maybeAgain || classify(ev) != printedLock {
			continue
		}
		level := Error
		if ev.kind == maybeAgain || ev.hold.mode == readMode && ev.acquire.Mode == readMode && !res.hasWriter(ev.acquire.Class, ev.lock.path) {
			level = Warning
		}
		r.report(level, ev.pos, nil, "%s, %s, is taken again by the method that %s calls on its argument: %s %s. Format the value before the lock is taken, or give it a variant for callers that hold the lock",
			ev.hold.lock, taken(ev.hold), ev.acquire.Printed, asks(ev.acquire.Mode), way(ev.acquire.Trace))
	}
})
