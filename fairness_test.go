package drawbridge_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// Who goes next, and how long the others wait for it, in fake time.

// traffic is readers and writers that come at random times.
type traffic struct {
	readers, writers     int
	readHold, writeHold  time.Duration
	longestRead          time.Duration // the longest wait of a reader
	longestWrite         time.Duration // likewise, less what it may wait for each writer before it
	forEachWriterBeforeW time.Duration
}

// run plays the traffic against rw. A writer's wait is taken less the given
// time for each writer that was inside or waiting when it came.
func (tr *traffic) run(t *testing.T, rw *drawbridge.RWMutex, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	var wg sync.WaitGroup
	longest := func(d *time.Duration, waited time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		*d = max(*d, waited)
	}
	for range tr.readers {
		starts := time.Duration(random.IntN(500_000)) * time.Microsecond
		wg.Go(func() {
			time.Sleep(starts)
			began := time.Now()
			rw.RLock()
			longest(&tr.longestRead, time.Since(began))
			time.Sleep(tr.readHold)
			rw.RUnlock()
		})
	}
	for range tr.writers {
		starts := time.Duration(random.IntN(500_000)) * time.Microsecond
		wg.Go(func() {
			time.Sleep(starts)
			began := time.Now()
			s := rw.State()
			before := s.WaitingWriters
			if s.Writer {
				before++
			}
			rw.Lock()
			longest(&tr.longestWrite, time.Since(began)-time.Duration(before)*tr.forEachWriterBeforeW)
			time.Sleep(tr.writeHold)
			rw.Unlock()
		})
	}
	wg.Wait()
}

// TestBoundsOfEachPolicy is point 6 of the contract, in numbers.
func TestBoundsOfEachPolicy(t *testing.T) {
	const (
		readHold  = 5 * time.Millisecond
		writeHold = 10 * time.Millisecond
	)
	for _, c := range []struct {
		policy           drawbridge.Policy
		read             time.Duration // bound of a reader's wait, 0 if it can starve
		write, forWriter time.Duration // bound of a writer's, and for each writer before it
	}{
		// A reader waits for the readers inside, for which a writer waits, and
		// for that writer. A writer waits for the readers inside and for each
		// writer before it with one batch of readers.
		{Balanced, readHold + writeHold, readHold, writeHold + readHold},
		{PreferWriters, 0, readHold, writeHold},
		{PreferReaders, writeHold, 0, 0},
	} {
		t.Run(c.policy.String(), func(t *testing.T) {
			for seed := range uint64(20) {
				synctest.Test(t, func(t *testing.T) {
					tr := &traffic{readers: 300, writers: 40, readHold: readHold, writeHold: writeHold, forEachWriterBeforeW: c.forWriter}
					tr.run(t, &drawbridge.RWMutex{Policy: c.policy}, seed)
					if c.read != 0 && tr.longestRead > c.read {
						t.Errorf("seed %d: a reader waited %v, promised are at most %v", seed, tr.longestRead, c.read)
					}
					if c.write != 0 && tr.longestWrite > c.write {
						t.Errorf("seed %d: a writer waited %v beyond the writers before it, promised are at most %v", seed, tr.longestWrite, c.write)
					}
				})
			}
		})
	}
}

// TestFIFOServesInOrderOfArrival: nobody overtakes, and neighbouring readers
// are inside together.
func TestFIFOServesInOrderOfArrival(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			rw := drawbridge.RWMutex{Policy: FIFO}
			var mu sync.Mutex
			var entered []int
			var modes []drawbridge.Mode
			var wg sync.WaitGroup
			for i := range 200 {
				m := Read
				if random.IntN(4) == 0 {
					m = Write
				}
				modes = append(modes, m)
				hold := time.Duration(random.IntN(5_000)) * time.Microsecond
				wg.Go(func() {
					note := func() {
						mu.Lock()
						entered = append(entered, i)
						mu.Unlock()
						time.Sleep(hold)
					}
					if m == Read {
						rw.RLock()
						note()
						rw.RUnlock()
					} else {
						rw.Lock()
						note()
						rw.Unlock()
					}
				})
				time.Sleep(time.Duration(random.IntN(2_000)) * time.Microsecond)
				synctest.Wait()
			}
			wg.Wait()
			// Neighbouring readers may begin to run in any order.
			for at, i := range entered {
				lo, hi := i, i
				for modes[i] == Read && lo > 0 && modes[lo-1] == Read {
					lo--
				}
				for modes[i] == Read && hi < len(modes)-1 && modes[hi+1] == Read {
					hi++
				}
				if at < lo || at > hi {
					t.Fatalf("seed %d: number %d entered as number %d", seed, i, at)
				}
			}
		})
	}
}

// starvation is the experiment of ten readers that each hold for 5 ms in an
// overlapping loop, and a writer that asks after 22 ms and gives up after 500.
func starvation(t *testing.T, p drawbridge.Policy) (waited time.Duration, err error) {
	synctest.Test(t, func(t *testing.T) {
		rw := drawbridge.RWMutex{Policy: p}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 500 * time.Microsecond)
				for {
					select {
					case <-stop:
						return
					default:
					}
					rw.RLock()
					time.Sleep(5 * time.Millisecond)
					rw.RUnlock()
				}
			})
		}
		time.Sleep(22 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		began := time.Now()
		err = rw.LockContext(ctx)
		waited = time.Since(began)
		if err == nil {
			rw.Unlock()
		}
		close(stop)
		wg.Wait()
	})
	return waited, err
}

func TestOverlappingReaders(t *testing.T) {
	for _, p := range doorPolicies {
		if waited, err := starvation(t, p); err != nil || waited > 5*time.Millisecond {
			t.Errorf("%v: the writer waited %v, error %v", p, waited, err)
		}
	}
	if waited, err := starvation(t, PreferReaders); !errors.Is(err, context.DeadlineExceeded) || waited != 500*time.Millisecond {
		t.Errorf("PreferReaders: the writer waited %v, error %v", waited, err)
	}
}

// TestReadersStarveUnderPreferWriters is documented, and how Balanced differs.
func TestReadersStarveUnderPreferWriters(t *testing.T) {
	for _, p := range []drawbridge.Policy{PreferWriters, Balanced} {
		synctest.Test(t, func(t *testing.T) {
			rw := drawbridge.RWMutex{Policy: p}
			stop := make(chan struct{})
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						rw.Lock()
						time.Sleep(5 * time.Millisecond)
						rw.Unlock()
					}
				})
			}
			time.Sleep(22 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			err := rw.RLockContext(ctx)
			if starved := errors.Is(err, context.DeadlineExceeded); starved != (p == PreferWriters) {
				t.Errorf("%v: error %v", p, err)
			}
			if err == nil {
				rw.RUnlock()
			}
			close(stop)
			wg.Wait()
		})
	}
}

// TestPatience: a writer that has waited for 1 ms or less takes part in a
// window; after that it is handed the lock.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		age      time.Duration
		overtake bool
	}{
		{0, true},
		{time.Microsecond, true},
		{time.Millisecond, true},
		{time.Millisecond + 1, false},
		{time.Hour, false},
	} {
		t.Run(c.age.String(), func(t *testing.T) {
			// A writer that is woken to compete runs as soon as it can, so
			// the window is open for this goroutine alone while there is one
			// processor, unless it is interrupted.
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			overtook := false
			for range 50 {
				synctest.Test(t, func(t *testing.T) {
					var rw drawbridge.RWMutex
					rw.Lock()
					go func() { rw.Lock(); rw.Unlock() }()
					synctest.Wait()
					time.Sleep(c.age)
					rw.Unlock()
					if rw.TryRLock() {
						overtook = rw.State().WaitingWriters == 1
						rw.RUnlock()
					}
				})
				if overtook {
					break
				}
			}
			if overtook != c.overtake {
				t.Errorf("a newcomer overtook: %t, want %t", overtook, c.overtake)
			}
		})
	}
}

// TestAtMost256ReleasesPassAnOldWriter: a woken writer that does not get to run
// is passed by newcomers for as long as nobody looks at the clock. Without the
// count it was passed more than 100,000 times.
func TestAtMost256ReleasesPassAnOldWriter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, c := range []struct {
		name         string
		lock, unlock func(*drawbridge.RWMutex)
		try          func(*drawbridge.RWMutex) bool
	}{
		{"writers", (*drawbridge.RWMutex).Lock, (*drawbridge.RWMutex).Unlock, (*drawbridge.RWMutex).TryLock},
		{"readers", (*drawbridge.RWMutex).RLock, (*drawbridge.RWMutex).RUnlock, (*drawbridge.RWMutex).TryRLock},
		{"upgradable readers", (*drawbridge.RWMutex).ULock, (*drawbridge.RWMutex).UUnlock, (*drawbridge.RWMutex).TryULock},
		{"readers, while others come and give up", (*drawbridge.RWMutex).RLock, (*drawbridge.RWMutex).RUnlock, func(rw *drawbridge.RWMutex) bool {
			entered := rw.TryRLock()
			if entered {
				ctx, cancel := context.WithCancel(t.Context())
				if rw.LockContext(tooShort{ctx, cancel}) == nil {
					t.Error("a writer got in beside a reader")
				}
			}
			return entered
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			most, passed := 0, 0
			for range 20 {
				var rw drawbridge.RWMutex
				rw.Lock()
				var entered atomic.Bool
				done := make(chan struct{})
				go func() { rw.Lock(); entered.Store(true); rw.Unlock(); close(done) }()
				for rw.State().WaitingWriters == 0 {
					runtime.Gosched()
				}
				began := time.Now()
				rw.Unlock() // wakes the writer, which cannot run
				for time.Since(began) < 1500*time.Microsecond {
				}
				n := 0
				for n < 100_000 && c.try(&rw) {
					c.unlock(&rw)
					n++
				}
				interrupted := entered.Load() // it ran, so nobody was passed
				<-done
				if !interrupted {
					most = max(most, n)
					passed += n
				}
			}
			if most > 256 {
				t.Errorf("%d releases passed a writer that was older than 1 ms", most)
			}
			if passed == 0 {
				t.Error("no window was ever open: this test has seen nothing")
			}
		})
	}
}

// TestBatchRunsBeforeTheWriterThatCompetes: woken in one go with the batch that a
// writer lets in, the next writer runs first and closes the door on all of them.
// Then they and the writers run in lockstep.
func TestBatchRunsBeforeTheWriterThatCompetes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for readers := 1; readers <= 3; readers++ {
		for _, c := range []struct {
			name string
			ctx  context.Context
		}{
			{"a waiter each", t.Context()},
			{"a crowd", nil},
		} {
			t.Run(fmt.Sprintf("%d, %s", readers, c.name), func(t *testing.T) {
				// Some rounds are interrupted, and the race detector shuffles
				// who runs. Without the order it was in no round of a thousand.
				for range 100 {
					var rw drawbridge.RWMutex
					var wg sync.WaitGroup
					rw.Lock()
					var before atomic.Int32 // readers that found the door open
					var entered atomic.Bool
					for range readers {
						wg.Go(func() {
							if c.ctx == nil {
								rw.RLock()
							} else if err := rw.RLockContext(c.ctx); err != nil {
								t.Error(err)
							}
							if !entered.Load() && rw.TryRLock() { // the writer has not closed the door
								rw.RUnlock()
								before.Add(1)
							}
							rw.RUnlock()
						})
					}
					for rw.State().WaitingReaders < readers {
						runtime.Gosched()
					}
					wg.Go(func() { rw.Lock(); entered.Store(true); rw.Unlock() })
					for rw.State().WaitingWriters == 0 {
						runtime.Gosched()
					}
					rw.Unlock()
					wg.Wait()
					if int(before.Load()) == readers {
						return
					}
				}
				t.Errorf("the writer was before some of %d readers every time", readers)
			})
		}
	}
}

// tooShort is a context that ends when its call is about to wait, which therefore
// comes and gives up without a switch of goroutines.
type tooShort struct {
	context.Context
	end context.CancelFunc
}

func (c tooShort) Done() <-chan struct{} {
	c.end()
	return c.Context.Done()
}

// TestWokenWriterThatGivesUpPassesItsWakeOn: the wake of the first writer in
// the queue goes to the next, who would sleep on for ever.
func TestWokenWriterThatGivesUpPassesItsWakeOn(t *testing.T) {
	for i := range 200 {
		synctest.Test(t, func(t *testing.T) {
			var rw drawbridge.RWMutex
			rw.Lock()
			ctx, cancel := context.WithCancel(t.Context())
			first := make(chan error, 1)
			go func() { first <- rw.LockContext(ctx) }()
			synctest.Wait()
			entered := false
			go func() {
				rw.Lock()
				entered = true
				rw.Unlock()
			}()
			synctest.Wait()
			if i%2 == 0 {
				rw.Unlock()
				cancel()
			} else {
				cancel()
				rw.Unlock()
			}
			if err := <-first; err == nil {
				rw.Unlock()
			}
			synctest.Wait()
			if !entered {
				t.Fatal("the second writer sleeps on a free lock")
			}
		})
	}
}

// TestNoWindowButAfterAWriter: a writer that waits behind a downgrade, or behind
// a writer that gave up, closes the door at once; if it were woken to compete,
// newcomers would enter before it has run.
func TestNoWindowButAfterAWriter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, p := range doorPolicies {
		for name, downgrade := range map[string]func(*drawbridge.RWMutex){
			"Downgrade":             (*drawbridge.RWMutex).Downgrade,
			"DowngradeToUpgradable": (*drawbridge.RWMutex).DowngradeToUpgradable,
		} {
			synctest.Test(t, func(t *testing.T) {
				rw := drawbridge.RWMutex{Policy: p}
				rw.Lock()
				go func() { rw.Lock(); rw.Unlock() }()
				synctest.Wait()
				downgrade(&rw)
				if rw.TryRLock() {
					t.Errorf("%v: %s: a newcomer entered past the waiting writer", p, name)
					rw.RUnlock()
				}
				if rw.State().Upgradable {
					rw.UUnlock()
				} else {
					rw.RUnlock()
				}
			})
		}
		synctest.Test(t, func(t *testing.T) {
			rw := drawbridge.RWMutex{Policy: p}
			rw.RLock()
			ctx, cancel := context.WithCancel(t.Context())
			first := make(chan error, 1)
			go func() { first <- rw.LockContext(ctx) }()
			synctest.Wait()
			go func() { rw.Lock(); rw.Unlock() }()
			synctest.Wait()
			cancel()
			<-first
			if rw.TryRLock() {
				t.Errorf("%v: a newcomer entered past the second writer when the first gave up", p)
				rw.RUnlock()
			}
			rw.RUnlock()
		})
	}
}

// TestFIFOMutexHandsOver: a release with waiters leaves it locked, and a
// hundred of them enter in order of arrival.
func TestFIFOMutexHandsOver(t *testing.T) {
	for _, p := range []drawbridge.Policy{FIFO, Balanced} {
		t.Run(p.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mu := drawbridge.Mutex{Policy: p}
				mu.Lock()
				var order []int
				for i := range 100 {
					go func() {
						mu.Lock()
						order = append(order, i)
						mu.Unlock()
					}()
					synctest.Wait()
				}
				if p == FIFO {
					mu.Unlock()
					if !mu.Locked() || mu.TryLock() {
						t.Error("a release with waiters left it open")
					}
				} else {
					mu.Unlock()
				}
				synctest.Wait()
				if want := fmt.Sprint(upTo(100)); fmt.Sprint(order) != want {
					t.Errorf("entered in the order %v", order)
				}
				if mu.Locked() {
					t.Error("locked at the end")
				}
			})
		})
	}
}

func upTo(n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, i)
	}
	return numbers
}
