package drawbridge_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/drawbridge-go/drawbridge"
)

// TestAllLocksAreObservedOnEveryPath: a lock that has been used, and readers who
// meet others or find the lock read-hot, have fast paths that must not be taken
// while somebody observes all locks.
func TestAllLocksAreObservedOnEveryPath(t *testing.T) {
	for _, p := range []drawbridge.Policy{drawbridge.Balanced, drawbridge.PreferReaders} {
		for _, readers := range []int{1, 3, 2000} { // 2000 that meet others make it read-hot
			rw := drawbridge.RWMutex{Policy: p}
			for range readers {
				rw.RLock()
			}
			for range readers - 1 {
				rw.RUnlock()
			}

			seen := map[drawbridge.EventKind]int{}
			stop := drawbridge.ObserveAll(observerFunc(func(_ context.Context, e drawbridge.Event) {
				if e.Lock == &rw {
					seen[e.Kind]++
				}
			}))
			for range 3 {
				rw.RLock()
			}
			if !rw.TryRLock() {
				t.Error("TryRLock fails beside readers")
			}
			for range 4 {
				rw.RUnlock()
			}
			stop()
			rw.RUnlock()

			want := fmt.Sprint(map[drawbridge.EventKind]int{drawbridge.Granted: 4, drawbridge.Released: 4})
			if fmt.Sprint(seen) != want {
				t.Errorf("%v after %d readers: saw %v, want %s", p, readers, seen, want)
			}
		}
	}
}
