package inspect

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// Goroutines that wait for one another are found when there are too many to ask
// who was there when.
func TestCircleOfWaitsNeedsNoLookAtOthers(t *testing.T) {
	for name, program := range map[string]func(ctx context.Context, wg *sync.WaitGroup){
		"two writers": func(ctx context.Context, wg *sync.WaitGroup) {
			var a, b drawbridge.Mutex
			crossed(ctx, wg, &a, &b)
		},
		"two readers, each behind a writer who waits for the other": func(ctx context.Context, wg *sync.WaitGroup) {
			var a, b rw
			for _, l := range [][2]*rw{{&a, &b}, {&b, &a}} {
				wg.Go(func() {
					l[0].RLock()
					time.Sleep(2 * time.Second)
					if l[1].RLockContext(ctx) == nil {
						l[1].RUnlock()
					}
					l[0].RUnlock()
				})
				wg.Go(func() {
					time.Sleep(time.Second)
					l[0].Lock()
					l[0].Unlock()
				})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var found []Misuse
				det := newDetector(Detect{Patience: time.Second, Func: func(m Misuse) { found = append(found, m) }})
				det.order.snapshots = maxSnapshots
				defer drawbridge.ObserveAll(det)()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var wg sync.WaitGroup
				program(ctx, &wg)
				wg.Wait()
				if len(found) != 1 || found[0].Kind != OrderInversion {
					t.Errorf("want one lock-order inversion, got\n%v", found)
				}
			})
		})
	}
}

// A goroutine's old edge is no excuse for not finding its next one: the other
// order can begin in a goroutine that is newer.
func TestOrderIsJudgedAgainWhenItIsTakenAgain(t *testing.T) {
	found := detect(t, func(t *testing.T) {
		var a, b drawbridge.Mutex
		again, end := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			both(&a, &b)()
			<-again
			both(&a, &b)()
			<-end
		})
		synctest.Wait()
		wg.Go(func() {
			both(&b, &a)()
			<-end
		})
		synctest.Wait()
		close(again)
		synctest.Wait()
		close(end)
		wg.Wait()
	})
	if len(found) != 1 || found[0].Kind != OrderInversion {
		t.Errorf("want one lock-order inversion, got\n%v", found)
	}
}
