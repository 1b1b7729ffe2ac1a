// Package inspect shows what the locks of this process are doing now: who holds
// them, who waits, since when, and from which line of code.
//
//	var routes drawbridge.RWMutex
//
//	func main() {
//		inspect.Watch("routes", &routes)
//		mux.Handle("/debug/locks/", inspect.Handler()) // on an internal listener
//		…
//	}
//
// [Watch] makes a lock known, [Handler] serves a live page, JSON, text, pprof
// profiles and traces of all that are known, and [Locks] returns the same as
// values. [Alarm] tells of a lock that is stuck while it is stuck. [Detect]
// looks for misuse while tests run; see [VerifyTestMain].
//
// Importing the package does nothing by itself, and nothing in it runs on a
// goroutine or timer unless you have started an Alarm or a Detect, or a page is
// open.
//
// # What is exact
//
// Every wait, every write and upgradable hold, and every read by a scoped call
// (WithRLock, Guarded.Read) is known one by one: its age, its call site and the
// runtime/pprof labels of its context. Reads by RLock and RLockContext end by
// RUnlock, which does not say which of them leaves. Of those, counts, waits and
// the mean time inside are exact, and the rest is said with that limit: see
// [PlainReaders].
//
// Holds older than the watch are in the state of the lock, without age and
// site.
//
// # The JSON format
//
// ?format=json is a [Report], in which every duration is a whole number of
// nanoseconds in a field that ends in _ns, and a field that says nothing may be
// left out. A histogram is
//
//	{"count": 3, "zero": 0, "sum_ns": …, "max_ns": …, "p50_ns": …, "p90_ns": …, "p99_ns": …,
//	 "buckets": [[-17, 1], [-13, 2]]}
//
// where [i, n] says that n durations were longer than 2^((i-1)/4) seconds and
// at most 2^(i/4) seconds; it is null before the first. The version changes
// when a field changes its meaning or goes. New fields may come at any time.
//
// # In traces
//
// While a runtime/trace runs, waits and scoped holds on watched locks are
// regions of their goroutine, "wait to write: routes" and "write: routes", and
// other holds are log events of the category drawbridge: regions that do not
// nest make a trace unreadable.
package inspect
