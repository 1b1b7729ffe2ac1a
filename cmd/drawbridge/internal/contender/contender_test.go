package contender

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestContendersExclude lets readers and writers in and out of every contender,
// some with a wait that is given up, and counts who is inside.
func TestContendersExclude(t *testing.T) {
	const goroutines, rounds, writer = 8, 300, 1 << 16
	for _, c := range All() {
		t.Run(c.Key(), func(t *testing.T) {
			t.Parallel()
			lock := c.New()
			var inside atomic.Int64
			var all sync.WaitGroup
			for g := range goroutines {
				all.Go(func() {
					for round := range rounds {
						ctx, cancel := t.Context(), func() {}
						if round%7 == g%7 {
							ctx, cancel = context.WithTimeout(ctx, time.Duration(round)*time.Microsecond)
						}
						if round%5 == g%5 {
							if lock.Lock(ctx) == nil {
								if n := inside.Add(writer); n != writer {
									t.Errorf("a writer is beside %d others", n-writer)
								}
								runtime.Gosched()
								inside.Add(-writer)
								lock.Unlock()
							}
						} else if lock.RLock(ctx) == nil {
							if n := inside.Add(1); n >= writer {
								t.Error("a reader is beside a writer")
							}
							runtime.Gosched()
							inside.Add(-1)
							lock.RUnlock()
						}
						cancel()
					}
				})
			}
			all.Wait()
			lock.Settle()
			if err := lock.Lock(t.Context()); err != nil {
				t.Errorf("the lock is not free afterwards: %v", err)
			}
		})
	}
}

// TestGivingUpLeavesNothingBehind gives up a wait behind a holder. When the
// holder has left and the lock has settled, it is free and no goroutine of the
// wait is left.
func TestGivingUpLeavesNothingBehind(t *testing.T) {
	for _, c := range All() {
		t.Run(c.Key(), func(t *testing.T) {
			lock := c.New()
			if err := lock.RLock(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := runtime.NumGoroutine()
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if err := lock.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("behind a reader, Lock returned %v", err)
			}
			if err := lock.RLock(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with its context done, RLock returned %v", err)
			}
			lock.RUnlock()
			lock.Settle()
			if err := lock.Lock(t.Context()); err != nil {
				t.Errorf("afterwards, Lock returned %v", err)
			}
			for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
				if time.Now().After(deadline) {
					t.Fatalf("%d goroutines are left, %d were there before", runtime.NumGoroutine(), before)
				}
			}
		})
	}
}

func TestSelect(t *testing.T) {
	for _, test := range []struct {
		keys []string
		want string // the keys of what is chosen, or a part of the error
	}{
		{nil, "Balanced PreferWriters PreferReaders FIFO sync.RWMutex sync.Mutex x/sync/semaphore textbook"},
		{[]string{"fifo", "prefer-readers", "FIFO"}, "PreferReaders FIFO"},
		{[]string{"sync.rwmutex", " Balanced"}, "Balanced sync.RWMutex"},
		{[]string{"FIFO", "fair\x1b[2J"}, `unknown policy "fair\x1b[2J": use one or more of Balanced, `},
		{[]string{""}, `unknown policy ""`},
	} {
		chosen, err := Select(test.keys)
		var keys []string
		for _, c := range chosen {
			keys = append(keys, c.Key())
		}
		got := strings.Join(keys, " ")
		if err != nil {
			got = err.Error()[:min(len(err.Error()), len(test.want))]
		}
		if got != test.want {
			t.Errorf("Select(%q): %s, want %s", test.keys, got, test.want)
		}
	}
}
