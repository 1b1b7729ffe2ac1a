// Package drawbridge provides locks for state that is used across calls that
// wait: a routing table, an index, a session.
//
// A drawbridge lets any number of cars cross at once. When a ship comes, the
// barrier stops new cars, the cars on the bridge drive off, the ship passes
// alone, and the cars that queued meanwhile cross next. That is a read-write
// lock in which nobody starves, and the zero value of [RWMutex] is one:
//
//	var routes drawbridge.RWMutex // was sync.RWMutex
//
// Everything that compiled with the standard type still does. What is new:
//
//	if err := routes.LockContext(ctx); err != nil {
//		return err // gave up waiting to write after 500ms: … (3 readers inside, 2 writers waiting)
//	}
//	defer routes.Unlock()
//
// # Which type
//
//   - No call that waits between the first look and the last use, and nobody
//     else writes: no lock at all.
//   - The value can be built anew for each change: [Snapshot]. A reader loads a
//     pointer and keeps a consistent value for as long as it likes.
//   - It must be changed in place while others read it: [RWMutex], or [Guarded]
//     where nobody may reach the value without the lock.
//   - Only one at a time: [Mutex].
//   - One lock for each of many names that come and go: [Keyed].
//
// # Contexts
//
// A call with a context waits no longer than that. If it fails, nothing of it is
// left: no place in the queue, no goroutine, and whoever waited only for it goes
// on at once. The scoped calls ([RWMutex.WithRLock] and its kin) carry what they
// hold in the context that they pass on. So a read inside a read works while a
// writer waits, a write inside a read is [ErrUpgrade] at once instead of a hang,
// and a cycle over several locks is a [*DeadlockError] with the file and line of
// each wait.
//
// # Who goes first
//
// [Policy] says it: [Balanced], [PreferWriters], [PreferReaders] or [FIFO].
//
// # Seeing
//
// [RWMutex.State] is a picture of a lock, [RWMutex.Observe] and [ObserveAll] are
// a stream of everything that happens to one or all. Package inspect, next to
// this one, makes live pages, profiles and alarms of them.
package drawbridge
