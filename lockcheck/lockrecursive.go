package lockcheck

// Lockrecursive finds a read lock that is taken again under itself.
var Lockrecursive = newAnalyzer("lockrecursive", `find a read lock taken again by the goroutine that holds it

A writer that waits keeps new readers out. If one comes between the two read locks, the second waits for the
writer, the writer for the first, and nobody moves again. It is an error where the package, or one that it
imports, locks for writing, and a warning where no writer is seen.

Bad:

	func (s *Store) Report() string {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return s.name() + s.status() // status read-locks s.mu again
	}

Good: a variant for callers that hold the lock, or, with drawbridge's RWMutex, sections whose context carries
the hold:

	err := s.mu.WithRLock(ctx, func(ctx context.Context) error {
		return s.status(ctx) // its WithRLock joins the read lock that ctx carries
	})`, func(r *reporter, res *flowResult) {
	for _, ev := range res.events {
		if ev.kind != again && ev.kind != maybeAgain || classify(ev) != recursiveRead || deferredLock(ev) {
			continue
		}
		if ev.hold.by == ev.at && len(ev.acquire.Trace) == 1 {
			continue
		}
		level, when := Error, "a writer that comes between the two waits for the first and keeps the second waiting, for ever"
		if !res.hasWriter(ev.acquire.Class, ev.lock.path) {
			level, when = Warning, "no writer of it is seen here, but one that came between the two would wait for the first and keep the second waiting, for ever"
		}
		if ev.kind == maybeAgain {
			r.report(Warning, ev.pos, nil, "%s may be read-locked while %s, %s, is held: read-locked %s. If the two are one lock, %s; unlock before that",
				short(ev.acquire.Class), ev.hold.lock, taken(ev.hold), way(ev.acquire.Trace), when)
			continue
		}
		r.report(level, ev.pos, nil, "%s is read-locked again while it is held: %s, then %s; %s. %s",
			ev.hold.lock, taken(ev.hold), way(ev.acquire.Trace), when, advice(ev))
	}
})
