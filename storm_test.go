package drawbridge_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// Many waiters at once, on the real scheduler.

const crowd = 10_000

// TestCancelStorm gives up 10,000 waits by one cancel. Afterwards nothing is
// left of them: no place in the queue, no goroutine, no memory.
//
// https://github.com/thomhurst/AsyncSemaphore/pull/566
// https://github.com/typelevel/cats-effect/pull/3596
// https://github.com/microsoft/vs-threading/pull/613
func TestCancelStorm(t *testing.T) {
	for _, f := range forms {
		if !f.contexts {
			continue
		}
		for _, p := range f.policies {
			t.Run(f.name+"/"+p.String(), func(t *testing.T) {
				n := crowd
				if f.name != "RWMutex with contexts" {
					n /= 20
				}
				l := f.make(p)
				goroutines := runtime.NumGoroutine()
				storm := func() {
					release := holdToWrite(t, l)
					ctx, cancel := context.WithCancel(t.Context())
					var wg sync.WaitGroup
					for i := range n {
						wg.Go(func() {
							err := l.hold(ctx, f.modes[i%len(f.modes)], func(context.Context, *grip) { t.Error("entered") })
							if !errors.Is(err, context.Canceled) {
								t.Errorf("got error %v", err)
							}
						})
					}
					// One more waits and does not give up.
					entered := make(chan struct{})
					wg.Go(func() {
						err := l.hold(t.Context(), Write, func(context.Context, *grip) { close(entered) })
						if err != nil {
							t.Error(err)
						}
					})
					eventually(t, func() bool { return waiters(l.state()) == n+1 })
					cancel()
					eventually(t, func() bool { return l.state() == drawbridge.State{Writer: true, WaitingWriters: 1} })
					release()
					<-entered
					wg.Wait()
				}
				storm()
				if got := l.state(); got != (drawbridge.State{}) {
					t.Errorf("left behind: %s", got)
				}
				eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines })
				before := heap()
				storm()
				storm()
				// A waiter is larger than 100 bytes.
				if grown := heap() - before; grown > int64(n)*50 {
					t.Errorf("the heap has grown by %d bytes", grown)
				}
			})
		}
	}
}

// holdToWrite takes l until release is called, which waits for the end of the
// hold.
func holdToWrite(t *testing.T, l *subject) (release func()) {
	t.Helper()
	held, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		if err := l.hold(context.Background(), Write, func(context.Context, *grip) { close(held); <-leave }); err != nil {
			t.Error(err)
		}
	}()
	<-held
	return func() {
		close(leave)
		<-left
	}
}

// heap returns the bytes in use after what is garbage has gone, pools included.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestLateGrantsGoOn lets a cancel of 10,000 waits race with the release that
// grants them. The one that does not give up must get the lock.
func TestLateGrantsGoOn(t *testing.T) {
	for _, p := range everyPolicy {
		for _, m := range allModes {
			t.Run(fmt.Sprintf("%v/%v", p, m), func(t *testing.T) {
				l := plainRWMutex(&drawbridge.RWMutex{Policy: p}, true)
				release := holdToWrite(t, l)
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				var granted atomic.Int64
				n := crowd / 10
				for range n {
					wg.Go(func() {
						err := l.hold(ctx, m, func(context.Context, *grip) { granted.Add(1) })
						if err != nil && !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
					})
				}
				entered := make(chan struct{})
				wg.Go(func() {
					if err := l.hold(t.Context(), Write, func(context.Context, *grip) { close(entered) }); err != nil {
						t.Error(err)
					}
				})
				eventually(t, func() bool { return waiters(l.state()) == n+1 })
				go cancel()
				release()
				<-entered
				wg.Wait()
				if got := l.state(); got != (drawbridge.State{}) {
					t.Errorf("left behind: %s", got)
				}
			})
		}
	}
}

// TestGrantRacesWithCancel: the lock leaks between a grant and the return of a
// call whose context ends in that moment.
//
// https://github.com/microsoft/vs-threading/issues/201
// https://github.com/Kotlin/kotlinx.coroutines/issues/2380
// https://github.com/agronholm/anyio/issues/398
func TestGrantRacesWithCancel(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 1000
	}
	for _, p := range everyPolicy {
		rw := drawbridge.RWMutex{Policy: p}
		for i := range rounds {
			ctx, cancel := context.WithCancel(t.Context())
			rw.Lock()
			result := make(chan error, 1)
			go func() { result <- rw.LockContext(ctx) }()
			if i%3 == 0 {
				runtime.Gosched()
			}
			go cancel()
			rw.Unlock()
			if err := <-result; err == nil {
				rw.Unlock()
			}
			if !rw.TryLock() {
				t.Fatalf("%v: round %d: not free: %s", p, i, rw.State())
			}
			rw.Unlock()
			cancel()
		}
	}
}

// TestEveryReaderIsWokenOnce: one release lets 10,000 readers in. Readers that
// wake one another, or that are woken to find the door closed, show as more
// switches of goroutines than there are readers.
//
// https://github.com/cloudius-systems/osv/pull/1382
// https://github.com/opencurve/curve/issues/1611
func TestEveryReaderIsWokenOnce(t *testing.T) {
	for _, p := range everyPolicy {
		t.Run(p.String(), func(t *testing.T) {
			rw := drawbridge.RWMutex{Policy: p}
			rw.Lock()
			leave := make(chan struct{})
			var inside atomic.Int64
			var wg sync.WaitGroup
			for range crowd {
				wg.Go(func() {
					rw.RLock()
					inside.Add(1)
					<-leave
					rw.RUnlock()
				})
			}
			eventually(t, func() bool { return rw.State().WaitingReaders == crowd })
			time.Sleep(10 * time.Millisecond) // so that all of them sleep
			before := switches()
			rw.Unlock()
			eventually(t, func() bool { return inside.Load() == crowd })
			woken := switches() - before
			if got, want := rw.State(), (drawbridge.State{Readers: crowd}); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			close(leave)
			wg.Wait()
			// The runtime counts one of eight.
			if most := uint64(crowd / 8 * 3 / 2); woken > most {
				t.Errorf("about %d goroutines began to run for %d readers", woken*8, crowd)
			}
		})
	}
}

// switches returns how many times a goroutine has begun to run, of which the
// runtime counts one in eight.
func switches() (n uint64) {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	for _, count := range sample[0].Value.Float64Histogram().Counts {
		n += count
	}
	return n
}

// TestReadersThatWaitTogetherLeaveApart lets many readers wait and leave at once.
// One that looked at what it shares with the others after the last of them has
// left would meet another wait there.
func TestReadersThatWaitTogetherLeaveApart(t *testing.T) {
	calls := 20_000 // of each goroutine: three times in four enough to meet that
	if drawbridge.RaceEnabled {
		calls = 1_000
	}
	for _, p := range everyPolicy {
		t.Run(p.String(), func(t *testing.T) {
			rw := drawbridge.RWMutex{Policy: p}
			var readers, writers atomic.Int64
			var wg sync.WaitGroup
			for g := range 100 {
				wg.Go(func() {
					for i := range calls {
						if (g+i)%10 == 0 {
							rw.Lock()
							if w, r := writers.Add(1), readers.Load(); w != 1 || r != 0 {
								t.Errorf("%d writers and %d readers are inside", w, r)
							}
							runtime.Gosched() // who runs now will wait
							writers.Add(-1)
							rw.Unlock()
							continue
						}
						rw.RLock()
						readers.Add(1)
						if w := writers.Load(); w != 0 {
							t.Errorf("%d writers are inside with a reader", w)
						}
						readers.Add(-1)
						rw.RUnlock()
					}
				})
			}
			wg.Wait()
			if s := rw.State(); s != (drawbridge.State{}) {
				t.Errorf("left behind: %s", s)
			}
		})
	}
}

// TestReleaseLetsInNoMoreThanMayEnter: of 5,000 readers, a writer and 5,000
// more readers, a FIFO lock lets the first 5,000 in.
//
// https://github.com/tzcnt/TooManyCooks/pull/272
func TestReleaseLetsInNoMoreThanMayEnter(t *testing.T) {
	rw := drawbridge.RWMutex{Policy: FIFO}
	rw.Lock()
	var wg sync.WaitGroup
	leave := make(chan struct{})
	readers := func() {
		before := rw.State().WaitingReaders
		for range crowd / 2 {
			wg.Go(func() { rw.RLock(); <-leave; rw.RUnlock() })
		}
		eventually(t, func() bool { return rw.State().WaitingReaders == before+crowd/2 })
	}
	readers()
	wg.Go(func() { rw.Lock(); rw.Unlock() })
	eventually(t, func() bool { return rw.State().WaitingWriters == 1 })
	readers()
	rw.Unlock()
	want := drawbridge.State{Readers: crowd / 2, WaitingReaders: crowd / 2, WaitingWriters: 1}
	if got := rw.State(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	close(leave)
	wg.Wait()
}

// TestChaos mixes every call, with contexts that end at random.
func TestChaos(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	for _, p := range everyPolicy {
		t.Run(p.String(), func(t *testing.T) { chaos(t, &drawbridge.RWMutex{Policy: p}, rounds) })
	}
}
