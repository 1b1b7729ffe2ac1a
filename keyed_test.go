package drawbridge_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// TestKeyedIsEmptyWhenNobodyHoldsOrWaits, and Len counts those who do.
func TestKeyedIsEmptyWhenNobodyHoldsOrWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k drawbridge.Keyed[int]
		ctx, cancel := context.WithCancel(t.Context())
		var unlocks []func()
		for key := range 1000 {
			unlock, err := k.LockContext(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			unlocks = append(unlocks, unlock)
			if key%2 == 0 {
				go func() {
					if _, err := k.RLockContext(ctx, key); !errors.Is(err, context.Canceled) {
						t.Errorf("got error %v", err)
					}
				}()
			}
		}
		synctest.Wait()
		if got := k.Len(); got != 1000 {
			t.Errorf("%d keys, want 1000", got)
		}
		cancel()
		synctest.Wait()
		for _, unlock := range unlocks[:500] {
			unlock()
		}
		if got := k.Len(); got != 500 {
			t.Errorf("%d keys, want 500", got)
		}
		for _, unlock := range unlocks {
			unlock() // half of them for the second time
		}
		if got := k.Len(); got != 0 {
			t.Errorf("%d keys, want none", got)
		}
	})
}

// TestTablesGrowAndShrinkWithTheirKeys: a key is found in a step or two however
// many there are, and the memory of many is given back.
func TestTablesGrowAndShrinkWithTheirKeys(t *testing.T) {
	var k drawbridge.Keyed[int]
	check := func(what string, most func(keys int) int) {
		t.Helper()
		for _, table := range drawbridge.Tables(&k) {
			if table.Keys > table.Buckets || table.Buckets > most(table.Keys) || table.Longest > 20 {
				t.Fatalf("with %s keys: %+v", what, table)
			}
		}
	}
	var unlocks []func()
	for key := range 20_000 {
		unlock, err := k.LockContext(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		unlocks = append(unlocks, unlock)
		if key%1000 == 0 {
			check("more and more", func(keys int) int { return max(4, 2*keys) })
		}
	}
	for i, unlock := range unlocks {
		unlock()
		if i%1000 == 0 && !drawbridge.RaceEnabled { // there they stay
			check("fewer and fewer", func(keys int) int { return max(64, 8*(keys+1)) })
		}
	}
}

// TestKeysDoNotDelayOneAnother: two keys share a lock, so one goroutine that
// takes both waits for itself, in production.
//
// https://github.com/kalbasit/ncps/issues/776
func TestKeysDoNotDelayOneAnother(t *testing.T) {
	var k drawbridge.Keyed[int]
	ctx := t.Context()
	var nest func(key int) error
	nest = func(key int) error {
		if key == 2000 {
			return nil
		}
		return k.WithLock(ctx, key, func(context.Context) error { return nest(key + 1) })
	}
	if err := nest(0); err != nil {
		t.Error(err)
	}
}

// TestKeyIsNotFreedWhileSomebodyWaits: its entry goes with the holder, and two
// goroutines hold the same key.
//
// https://github.com/kubernetes/kubernetes/issues/65113
func TestKeyIsNotFreedWhileSomebodyWaits(t *testing.T) {
	var k drawbridge.Keyed[string]
	var inside [3]occupants
	for i := range inside {
		inside[i].t = t
	}
	var wg sync.WaitGroup
	for g := range 12 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 0))
			for range 1000 {
				i := random.IntN(len(inside))
				key := fmt.Sprint("key ", i)
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if random.IntN(2) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(50))*time.Microsecond)
				}
				switch random.IntN(4) {
				case 0:
					if unlock, err := k.LockContext(ctx, key); err == nil {
						inside[i].change(0, 0, 1)
						inside[i].change(0, 0, -1)
						unlock()
					}
				case 1:
					if unlock, err := k.RLockContext(ctx, key); err == nil {
						inside[i].change(1, 0, 0)
						inside[i].change(-1, 0, 0)
						unlock()
					}
				case 2:
					_ = k.WithLocks(ctx, []string{"key 2", "key 0", "key 1"}, func(context.Context) error {
						for i := range inside {
							inside[i].change(0, 0, 1)
							inside[i].change(0, 0, -1)
						}
						return nil
					})
				default:
					_ = k.WithULock(ctx, key, func(_ context.Context, upgrade func() error) error {
						inside[i].change(0, 1, 0)
						inside[i].change(0, -1, 0)
						if upgrade() == nil {
							inside[i].change(0, 0, 1)
							inside[i].change(0, 0, -1)
						}
						return nil
					})
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if got := k.Len(); got != 0 {
		t.Errorf("%d keys left", got)
	}
}

// TestSecondUnlockOfAKeyDoesNothing: it ends the hold of somebody else.
//
// https://github.com/StephenCleary/AsyncEx/issues/66
// https://github.com/meziantou/Meziantou.Framework/pull/3073
func TestSecondUnlockOfAKeyDoesNothing(t *testing.T) {
	var k drawbridge.Keyed[string]
	for _, lock := range []func(context.Context, string) (func(), error){k.LockContext, k.RLockContext} {
		unlock, err := lock(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		unlock()
		other, err := k.LockContext(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		unlock()
		if got, want := stateOfKey(&k), (drawbridge.State{Writer: true}); got != want || k.Len() != 1 {
			t.Errorf("got %s, want %s; %d keys", got, want, k.Len())
		}
		other()
	}
	if unlock, err := k.LockContext(done, key); unlock != nil || err == nil {
		t.Errorf("a call that failed: error %v", err)
	}
}

// TestWithLocksInAnyOrder: two calls with the same keys in another order wait
// for each other, each with one of them.
func TestWithLocksInAnyOrder(t *testing.T) {
	var k drawbridge.Keyed[int]
	keys := []int{1, 2, 3, 4, 5}
	var inside [6]occupants
	for i := range inside {
		inside[i].t = t
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 0))
			for range 300 {
				var some []int
				for range 1 + random.IntN(5) {
					some = append(some, keys[random.IntN(len(keys))]) // some twice
				}
				err := k.WithLocks(t.Context(), some, func(context.Context) error {
					held := map[int]bool{}
					for _, key := range some {
						if !held[key] {
							inside[key].change(0, 0, 1)
							held[key] = true
						}
					}
					for key := range held {
						inside[key].change(0, 0, -1)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := k.Len(); got != 0 {
		t.Errorf("%d keys left", got)
	}
}

// TestWithLocksThatGivesUpHoldsNothing: what it had taken stays locked.
func TestWithLocksThatGivesUpHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k drawbridge.Keyed[string]
		for _, busy := range []string{"a", "b", "c"} {
			unlock, err := k.LockContext(t.Context(), busy)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err = k.WithLocks(ctx, []string{"a", "b", "c"}, func(context.Context) error { t.Error("entered"); return nil })
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got error %v", err)
			}
			if got := k.Len(); got != 1 {
				t.Errorf("%s is busy: %d keys, want 1", busy, got)
			}
			unlock()
			if got := k.Len(); got != 0 {
				t.Errorf("%d keys left", got)
			}
		}
	})
}

func TestWithLocksOfNoKeys(t *testing.T) {
	var k drawbridge.Keyed[int]
	called := false
	if err := k.WithLocks(t.Context(), nil, func(context.Context) error { called = true; return nil }); err != nil || !called {
		t.Errorf("called %t, error %v", called, err)
	}
}

// TestWithLocksInsideAHold of one of its keys is refused as any call, and holds
// none of the others afterwards.
func TestWithLocksInsideAHold(t *testing.T) {
	var k drawbridge.Keyed[int]
	all := []int{3, 2, 1}
	never := func(context.Context) error { t.Error("entered"); return nil }
	for want, hold := range map[error]func(context.Context, int, func(context.Context) error) error{
		drawbridge.ErrReentrant: k.WithLock,
		drawbridge.ErrUpgrade:   k.WithRLock,
	} {
		err := hold(t.Context(), 2, func(ctx context.Context) error {
			if err := k.WithLocks(ctx, all, never); err != want {
				t.Errorf("got error %v, want %v", err, want)
			}
			if got := k.Len(); got != 1 {
				t.Errorf("%d keys, want 1", got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	// Other keys are other locks.
	err := k.WithLock(t.Context(), 9, func(ctx context.Context) error {
		return k.WithLocks(ctx, all, func(ctx context.Context) error {
			return k.WithRLock(ctx, 8, func(context.Context) error { return nil })
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestKeysThatCannotBeFoundAgain panic and leave nothing locked.
func TestKeysThatCannotBeFoundAgain(t *testing.T) {
	fn := func(context.Context) error { t.Error("entered"); return nil }
	var floats drawbridge.Keyed[float64]
	nan := math.NaN()
	const text = "drawbridge: a key of a Keyed must equal itself; NaN does not"
	for name, call := range map[string]func(){
		"WithLock":    func() { _ = floats.WithLock(t.Context(), nan, fn) },
		"WithRLock":   func() { _ = floats.WithRLock(t.Context(), nan, fn) },
		"LockContext": func() { _, _ = floats.LockContext(t.Context(), nan) },
		"WithLocks":   func() { _ = floats.WithLocks(t.Context(), []float64{1, 2, nan, 3}, fn) },
	} {
		if got := panicsWith(call); got != text {
			t.Errorf("%s: panic %q", name, got)
		}
		if got := floats.Len(); got != 0 {
			t.Errorf("%s: %d keys left", name, got)
		}
	}
	var anything drawbridge.Keyed[any]
	for name, call := range map[string]func(){
		"WithLock":  func() { _ = anything.WithLock(t.Context(), []int{1}, fn) },
		"WithLocks": func() { _ = anything.WithLocks(t.Context(), []any{1, "two", []int{3}}, fn) },
	} {
		if got := panicsWith(call); got == "no panic" {
			t.Errorf("%s: %s", name, got)
		}
		if got := anything.Len(); got != 0 {
			t.Errorf("%s: %d keys left", name, got)
		}
	}
	for _, key := range []any{1, 1.0, "1", [1]int{1}, struct{}{}, nil} {
		if err := anything.WithLock(t.Context(), key, func(context.Context) error { return nil }); err != nil {
			t.Errorf("%#v: %v", key, err)
		}
	}
}

// TestObserverOfKeyedSeesKeysToCome and those that are there.
func TestObserverOfKeyedSeesKeysToCome(t *testing.T) {
	var k drawbridge.Keyed[string]
	there, err := k.LockContext(t.Context(), "there")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[any][]drawbridge.EventKind{}
	stop := k.Observe(observerFunc(func(_ context.Context, e drawbridge.Event) { seen[e.Key] = append(seen[e.Key], e.Kind) }))
	use := func(key string) {
		if err := k.WithLock(t.Context(), key, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	there()
	use("to come")
	stop()
	use("too late")
	use("to come")
	if got, want := fmt.Sprint(seen), "map[there:[released] to come:[granted released]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
