package lockcheck

import "fmt"

// blockDepth is how many functions a wait may be away: 1 is the function that holds the lock, 2 also those
// that it calls.
var blockDepth = 2

func init() {
	Lockblock.Flags.Func("depth", "how many functions away a wait is looked for, the one that holds the lock included (default 2)", func(s string) error {
		_, err := fmt.Sscan(s, &blockDepth)
		if err != nil || blockDepth < 1 {
			return fmt.Errorf("the depth %q is not a number from 1", s)
		}
		return nil
	})
}

// Lockblock finds waits under a lock.
var Lockblock = newAnalyzer("lockblock", `find a wait for something else while a lock is held

A channel operation, a sleep, WaitGroup.Wait, a call over the network or to the database or a wait for a
process, while a lock is held: as long as it lasts, everybody who wants the lock waits too, and if its end
needs the lock, for ever. It is looked for in the function that holds the lock and in what that calls within
the package; -lockblock.depth looks further. A select that can end with a context or a timer is no finding,
and neither, under a lock of drawbridge, whose waiters can give up, is a wait with a context or a time limit.

Bad:

	mu.Lock()
	results <- v // the receiver may want mu
	mu.Unlock()

Good:

	mu.Lock()
	v := next
	mu.Unlock()
	results <- v`, func(r *reporter, res *flowResult) {
	for _, ev := range res.events {
		if ev.kind != blockHeld || ev.block.Bounded && (ev.hold.bridge || ev.block.What != "time.Sleep") {
			continue
		}
		r.report(Warning, ev.pos, nil, "%s while %s, %s, is held: %s. Whoever wants the lock waits as long. Give it back first, bound the wait with a context, or build the value without the lock and publish it as a drawbridge.Snapshot",
			ev.block.What, ev.hold.lock, taken(ev.hold), way(ev.block.Trace))
	}
})
