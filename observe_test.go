package drawbridge_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// journal is an observer that writes down what it is told.
type journal struct {
	mu     sync.Mutex
	events []drawbridge.Event
	names  map[uint64]string // of holds
}

func (j *journal) Observe(_ context.Context, e drawbridge.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

// lines returns the events in the order of their numbers and forgets them. A
// hold is called by the order in which holds appear.
func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.names == nil {
		j.names = map[uint64]string{0: "-"}
	}
	slices.SortStableFunc(j.events, func(a, b drawbridge.Event) int { return int(a.Seq) - int(b.Seq) })
	var lines []string
	for _, e := range j.events {
		name, known := j.names[e.Hold]
		if !known {
			name = fmt.Sprint("hold ", len(j.names))
			j.names[e.Hold] = name
		}
		line := fmt.Sprintf("%d %s to %s, %s", e.Seq, e.Kind, e.Mode, name)
		if e.Waited != 0 {
			line += fmt.Sprintf(", waited %v", e.Waited)
		}
		if e.Held != 0 {
			line += fmt.Sprintf(", held %v", e.Held)
		}
		if e.Err != nil {
			line += ": " + e.Err.Error()
		}
		lines = append(lines, line)
	}
	j.events = nil
	return lines
}

func (j *journal) want(t *testing.T, want ...string) {
	t.Helper()
	if got := j.lines(); !slices.Equal(got, want) {
		t.Fatalf("\n got: %s\nwant: %s", strings.Join(got, "\n      "), strings.Join(want, "\n      "))
	}
}

// watched runs f in a bubble with an observed lock.
func watched(t *testing.T, p drawbridge.Policy, f func(*testing.T, *drawbridge.RWMutex, *journal)) {
	synctest.Test(t, func(t *testing.T) {
		rw, j := &drawbridge.RWMutex{Policy: p}, new(journal)
		stop := rw.Observe(j)
		f(t, rw, j)
		if lines := j.lines(); lines != nil {
			t.Errorf("and then: %q", lines)
		}
		stop()
		rw.Lock()
		rw.Unlock()
		j.want(t)
	})
}

func TestEventsOfUncontendedCalls(t *testing.T) {
	for _, p := range everyPolicy {
		watched(t, p, func(t *testing.T, rw *drawbridge.RWMutex, j *journal) {
			rw.Lock()
			time.Sleep(time.Second)
			rw.Unlock()
			j.want(t, "1 granted to write, hold 1", "2 released to write, hold 1, held 1s")

			rw.RLock()
			time.Sleep(time.Second)
			rw.RUnlock()
			j.want(t, "3 granted to read, -", "4 released to read, -")

			rw.ULock()
			time.Sleep(time.Second)
			rw.Upgrade()
			rw.DowngradeToUpgradable()
			rw.UUnlock()
			j.want(t, "5 granted to read upgradably, hold 2", "6 upgraded to write, hold 2",
				"7 downgraded to read upgradably, hold 2, held 1s", "8 released to read upgradably, hold 2, held 1s")

			rw.Lock()
			time.Sleep(time.Second)
			rw.Downgrade()
			rw.RUnlock()
			j.want(t, "9 granted to write, hold 3", "10 downgraded to read, hold 3, held 1s", "11 released to read, -")

			rw.TryLock()
			rw.TryRLock() // fails: no event
			rw.Unlock()
			j.want(t, "12 granted to write, hold 4", "13 released to write, hold 4")
		})
	}
}

func TestEventsOfAWait(t *testing.T) {
	for _, p := range everyPolicy {
		watched(t, p, func(t *testing.T, rw *drawbridge.RWMutex, j *journal) {
			rw.Lock()
			go func() {
				rw.RLock()
				rw.RUnlock()
			}()
			synctest.Wait()
			j.want(t, "1 granted to write, hold 1", "1 waiting to read, -")
			time.Sleep(time.Second)
			rw.Unlock()
			synctest.Wait()
			j.want(t, "2 released to write, hold 1, held 1s", "3 granted to read, -, waited 1s", "4 released to read, -")
		})
	}
}

func TestEventsOfAWaitThatIsGivenUp(t *testing.T) {
	for _, p := range everyPolicy {
		watched(t, p, func(t *testing.T, rw *drawbridge.RWMutex, j *journal) {
			rw.RLock()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := rw.LockContext(ctx)
			j.want(t, "1 granted to read, -", "1 waiting to write, -", "1 gave up to write, -, waited 1s: "+err.Error())

			// A context that is done before the call: it did not wait.
			if err := rw.RLockContext(ctx); err == nil {
				t.Error("entered")
			}
			j.want(t)
			rw.RUnlock()
			j.want(t, "2 released to read, -")
		})
	}
}

func TestEventsOfAnUpgradeThatWaits(t *testing.T) {
	for _, p := range everyPolicy {
		watched(t, p, func(t *testing.T, rw *drawbridge.RWMutex, j *journal) {
			rw.RLock()
			rw.ULock()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := rw.UpgradeContext(ctx)
			j.want(t, "1 granted to read, -", "2 granted to read upgradably, hold 1",
				"2 waiting to write, hold 1", "2 gave up to write, -, waited 1s: "+err.Error())
			go func() {
				time.Sleep(time.Second)
				rw.RUnlock()
			}()
			rw.Upgrade()
			synctest.Wait()
			j.want(t, "2 waiting to write, hold 1", "3 released to read, -", "4 upgraded to write, hold 1, waited 1s")
			rw.Unlock()
			j.want(t, "5 released to write, hold 1, held 2s")
		})
	}
}

// TestEventsOfScopedReads: there a read has a name of its own.
func TestEventsOfScopedReads(t *testing.T) {
	watched(t, Balanced, func(t *testing.T, rw *drawbridge.RWMutex, j *journal) {
		err := rw.WithRLock(t.Context(), func(ctx context.Context) error {
			time.Sleep(time.Second)
			return rw.WithRLock(ctx, func(context.Context) error { return nil }) // the same hold: no event
		})
		if err != nil {
			t.Error(err)
		}
		j.want(t, "1 granted to read, hold 1", "2 released to read, hold 1, held 1s")
	})
}

// TestEventOfALateGrant: the call gave up, and whoever is next gets the lock.
func TestEventOfALateGrant(t *testing.T) {
	watched(t, FIFO, func(t *testing.T, rw *drawbridge.RWMutex, j *journal) {
		rw.Lock()
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- rw.LockContext(ctx) }()
		synctest.Wait()
		j.lines()
		cancel()
		rw.Unlock()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v", err)
		}
		// Whether it was granted in between is not told; that it gave up is,
		// before or after the release.
		lines := j.lines()
		if all := strings.Join(lines, ""); strings.Count(all, "gave up to write") != 1 || strings.Contains(all, "granted") {
			t.Errorf("got %q", lines)
		}
	})
}

// TestEventsSayWhichLock, and which key.
func TestEventsSayWhichLock(t *testing.T) {
	var (
		rw drawbridge.RWMutex
		mu drawbridge.Mutex
		g  drawbridge.Guarded[int]
		k  drawbridge.Keyed[string]
	)
	fn := func(context.Context) error { return nil }
	for name, c := range map[string]struct {
		observe func(drawbridge.Observer) func()
		lock    any
		key     any
		use     func(context.Context) error
	}{
		"RWMutex": {rw.Observe, &rw, nil, func(ctx context.Context) error { return rw.WithLock(ctx, fn) }},
		"Mutex":   {mu.Observe, &mu, nil, func(ctx context.Context) error { return mu.WithLock(ctx, fn) }},
		"Guarded": {g.Observe, &g, nil, func(ctx context.Context) error {
			return g.Write(ctx, func(context.Context, *int) error { return nil })
		}},
		"Keyed": {k.Observe, &k, "a key", func(ctx context.Context) error { return k.WithLock(ctx, "a key", fn) }},
	} {
		for which, observe := range map[string]func(drawbridge.Observer) func(){"Observe": c.observe, "ObserveAll": drawbridge.ObserveAll} {
			type ctxKey struct{}
			var got []drawbridge.Event
			stop := observe(observerFunc(func(ctx context.Context, e drawbridge.Event) {
				if ctx.Value(ctxKey{}) != name {
					t.Errorf("%s: %s has not the context of the call", name, e.Kind)
				}
				got = append(got, e)
			}))
			if err := c.use(context.WithValue(t.Context(), ctxKey{}, name)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			stop()
			stop() // nothing
			if len(got) != 2 || got[0].Kind != drawbridge.Granted || got[1].Kind != drawbridge.Released {
				t.Fatalf("%s: %s: got %v", name, which, got)
			}
			for _, e := range got {
				if e.Lock != c.lock || e.Key != c.key || e.Mode != Write || e.Hold == 0 || e.Hold != got[0].Hold {
					t.Errorf("%s: %s: got %+v", name, which, e)
				}
			}
		}
	}
}

// TestPlainCallsHaveTheBackgroundContext.
func TestPlainCallsHaveTheBackgroundContext(t *testing.T) {
	var rw drawbridge.RWMutex
	n := 0
	defer rw.Observe(observerFunc(func(ctx context.Context, _ drawbridge.Event) {
		if n++; ctx != context.Background() {
			t.Errorf("got %v", ctx)
		}
	}))()
	rw.Lock()
	rw.Unlock()
	if n != 2 {
		t.Errorf("%d events", n)
	}
}

// TestObserveOfHoldsThatWereThere: a hold that is older than the observation
// has no name.
func TestObserveOfHoldsThatWereThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rw drawbridge.RWMutex
		var j journal
		rw.Lock()
		go func() {
			rw.ULock()
			rw.UUnlock()
		}()
		synctest.Wait()
		defer rw.Observe(&j)()
		rw.Unlock()
		synctest.Wait()
		lines := j.lines()
		if len(lines) != 3 || lines[0] != "1 released to write, -" ||
			!strings.HasPrefix(lines[1], "2 granted to read upgradably, hold 1") || lines[2] != "3 released to read upgradably, hold 1" {
			t.Errorf("got %q", lines)
		}
	})
}

// Readers that began to wait before anybody observed wait as one. Each of them
// has a grant with a number of its own all the same.
func TestObserveOfReadersThatWaitAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rw drawbridge.RWMutex
		var j journal
		rw.Lock()
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(rw.RLock)
		}
		synctest.Wait()
		defer rw.Observe(&j)()
		rw.Unlock()
		readers.Wait()
		for range 3 {
			rw.RUnlock()
		}
		j.want(t,
			"1 released to write, -",
			"2 granted to read, -", "3 granted to read, -", "4 granted to read, -",
			"5 released to read, -", "6 released to read, -", "7 released to read, -")
	})
}

// TestObserverMayCallState: it runs outside the internal mutex.
func TestObserverMayCallState(t *testing.T) {
	play := func(name string, use func(*drawbridge.RWMutex)) {
		rw := new(drawbridge.RWMutex)
		defer rw.Observe(observerFunc(func(context.Context, drawbridge.Event) { _ = rw.State() }))()
		done := make(chan struct{})
		go func() { use(rw); close(done) }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: an observer that calls State hangs", name)
		}
	}
	play("hammer", func(rw *drawbridge.RWMutex) { hammer(t, rw, 3, 100) })
	play("upgrade", func(rw *drawbridge.RWMutex) { rw.ULock(); rw.Upgrade(); rw.Unlock() })
	play("give up", func(rw *drawbridge.RWMutex) {
		rw.Lock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_ = rw.LockContext(ctx)
		rw.Unlock()
	})
}

// TestPanickingObserver: an acquiring call gives the lock back, and a release
// has completed, before the panic goes on. A lock that forgets this is held by
// nobody for ever:
//
// https://github.com/openjdk/jdk/pull/22396
// https://github.com/dotnet/runtime/issues/8710
func TestPanickingObserver(t *testing.T) {
	for _, p := range everyPolicy {
		for _, c := range []struct {
			kind drawbridge.EventKind
			name string
			use  func(ctx context.Context, rw *drawbridge.RWMutex)
			left drawbridge.State // of what use did before
		}{
			{drawbridge.Granted, "Lock", func(_ context.Context, rw *drawbridge.RWMutex) { rw.Lock() }, drawbridge.State{}},
			{drawbridge.Granted, "RLock", func(_ context.Context, rw *drawbridge.RWMutex) { rw.RLock() }, drawbridge.State{}},
			{drawbridge.Granted, "ULock", func(_ context.Context, rw *drawbridge.RWMutex) { rw.ULock() }, drawbridge.State{}},
			{drawbridge.Granted, "TryLock", func(_ context.Context, rw *drawbridge.RWMutex) { rw.TryLock() }, drawbridge.State{}},
			{drawbridge.Granted, "WithRLock", func(ctx context.Context, rw *drawbridge.RWMutex) {
				_ = rw.WithRLock(ctx, func(context.Context) error { t.Error("entered"); return nil })
			}, drawbridge.State{}},
			{drawbridge.Upgraded, "Upgrade", func(_ context.Context, rw *drawbridge.RWMutex) { rw.ULock(); rw.Upgrade() }, drawbridge.State{Upgradable: true}},
			{drawbridge.Upgraded, "upgrade", func(ctx context.Context, rw *drawbridge.RWMutex) {
				_ = rw.WithULock(ctx, func(_ context.Context, upgrade func() error) error { return upgrade() })
			}, drawbridge.State{}},
			{drawbridge.Released, "Unlock", func(_ context.Context, rw *drawbridge.RWMutex) { rw.Lock(); rw.Unlock() }, drawbridge.State{}},
			{drawbridge.Released, "RUnlock", func(_ context.Context, rw *drawbridge.RWMutex) { rw.RLock(); rw.RUnlock() }, drawbridge.State{}},
			{drawbridge.Downgraded, "Downgrade", func(_ context.Context, rw *drawbridge.RWMutex) { rw.Lock(); rw.Downgrade() }, drawbridge.State{Readers: 1}},
			{drawbridge.Waiting, "a wait", func(_ context.Context, rw *drawbridge.RWMutex) { rw.RLock(); rw.Lock() }, drawbridge.State{Readers: 1}},
			{drawbridge.GaveUp, "a wait given up", func(ctx context.Context, rw *drawbridge.RWMutex) {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				rw.RLock()
				_ = rw.LockContext(ctx)
			}, drawbridge.State{Readers: 1}},
		} {
			t.Run(fmt.Sprintf("%v/%s", p, c.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rw := &drawbridge.RWMutex{Policy: p}
					stop := rw.Observe(observerFunc(func(_ context.Context, e drawbridge.Event) {
						if e.Kind == c.kind {
							panic("oh no")
						}
					}))
					if got := panicsWith(func() { c.use(t.Context(), rw) }); got != "oh no" {
						t.Errorf("panic %q", got)
					}
					if got := rw.State(); got != c.left {
						t.Errorf("left %s, want %s", got, c.left)
					}
					stop()
				})
			})
		}
	}
}

// TestPanicIsToldToTheOthers: who was told of a grant or a wait before another
// observer panicked would believe in it for ever.
func TestPanicIsToldToTheOthers(t *testing.T) {
	for _, c := range []struct {
		kind drawbridge.EventKind
		name string
		use  func(ctx context.Context, rw *drawbridge.RWMutex)
		want []drawbridge.EventKind
	}{
		{drawbridge.Granted, "Lock", func(_ context.Context, rw *drawbridge.RWMutex) { rw.Lock() },
			[]drawbridge.EventKind{drawbridge.Granted, drawbridge.Released}},
		{drawbridge.Granted, "RLock", func(_ context.Context, rw *drawbridge.RWMutex) { rw.RLock() },
			[]drawbridge.EventKind{drawbridge.Granted, drawbridge.Released}},
		{drawbridge.Granted, "WithRLock", func(ctx context.Context, rw *drawbridge.RWMutex) {
			_ = rw.WithRLock(ctx, func(context.Context) error { t.Error("entered"); return nil })
		}, []drawbridge.EventKind{drawbridge.Granted, drawbridge.Released}},
		{drawbridge.Upgraded, "Upgrade", func(_ context.Context, rw *drawbridge.RWMutex) { rw.ULock(); rw.Upgrade() },
			[]drawbridge.EventKind{drawbridge.Granted, drawbridge.Upgraded, drawbridge.Downgraded}},
		{drawbridge.Waiting, "a wait", func(_ context.Context, rw *drawbridge.RWMutex) { rw.RLock(); rw.Lock() },
			[]drawbridge.EventKind{drawbridge.Granted, drawbridge.Waiting, drawbridge.GaveUp}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var rw drawbridge.RWMutex
			var before, after []drawbridge.Event
			note := func(to *[]drawbridge.Event) observerFunc {
				return func(_ context.Context, e drawbridge.Event) { *to = append(*to, e) }
			}
			defer rw.Observe(note(&before))()
			defer rw.Observe(observerFunc(func(_ context.Context, e drawbridge.Event) {
				if e.Kind == c.kind {
					panic("oh no")
				}
			}))()
			defer rw.Observe(note(&after))()
			if got := panicsWith(func() { c.use(t.Context(), &rw) }); got != "oh no" {
				t.Errorf("panic %q", got)
			}
			var kinds []drawbridge.EventKind
			for _, e := range before {
				kinds = append(kinds, e.Kind)
			}
			if !slices.Equal(kinds, c.want) {
				t.Errorf("the observer before was told %v, want %v", kinds, c.want)
			}
			if len(after) != len(before)-2 {
				t.Errorf("the observer after was told %v, of what it could not know", after)
			}
			first, last := before[len(before)-2], before[len(before)-1]
			if last.Hold != first.Hold || last.Kind == drawbridge.GaveUp && last.Wait != first.Wait {
				t.Errorf("%+v does not end %+v", last, first)
			}
		})
	}
}

// TestPanicAfterAWait: the lock goes on to the next in line.
func TestPanicAfterAWait(t *testing.T) {
	for _, p := range everyPolicy {
		synctest.Test(t, func(t *testing.T) {
			rw := &drawbridge.RWMutex{Policy: p}
			rw.Lock()
			var panicked atomic.Bool
			defer rw.Observe(observerFunc(func(_ context.Context, e drawbridge.Event) {
				if e.Kind == drawbridge.Granted && panicked.CompareAndSwap(false, true) {
					panic("oh no")
				}
			}))()
			entered := 0
			for range 2 {
				go func() {
					defer func() { _ = recover() }()
					rw.Lock()
					entered++
					rw.Unlock()
				}()
				synctest.Wait()
			}
			rw.Unlock()
			synctest.Wait()
			if got := rw.State(); entered != 1 || got != (drawbridge.State{}) {
				t.Errorf("%v: %d entered, state %s", p, entered, got)
			}
		})
	}
}

// TestCallerIsTheCaller: a method that grows a function in between would name the
// function instead of its caller.
func TestCallerIsTheCaller(t *testing.T) {
	var rw drawbridge.RWMutex
	var mu drawbridge.Mutex
	g := drawbridge.NewGuarded(0)
	nothing := func(context.Context) error { return nil }
	uses := map[string]func(ctx context.Context){
		"Lock":         func(context.Context) { rw.Lock(); rw.Unlock() },
		"RLock":        func(context.Context) { rw.RLock(); rw.RUnlock() },
		"ULock":        func(context.Context) { rw.ULock(); rw.UUnlock() },
		"LockContext":  func(ctx context.Context) { _ = rw.LockContext(ctx); rw.Unlock() },
		"RLockContext": func(ctx context.Context) { _ = rw.RLockContext(ctx); rw.RUnlock() },
		"ULockContext": func(ctx context.Context) { _ = rw.ULockContext(ctx); rw.UUnlock() },
		"WithLock":     func(ctx context.Context) { _ = rw.WithLock(ctx, nothing) },
		"WithRLock":    func(ctx context.Context) { _ = rw.WithRLock(ctx, nothing) },
		"WithULock": func(ctx context.Context) {
			_ = rw.WithULock(ctx, func(context.Context, func() error) error { return nil })
		},
		"Mutex.Lock":        func(context.Context) { mu.Lock(); mu.Unlock() },
		"Mutex.LockContext": func(ctx context.Context) { _ = mu.LockContext(ctx); mu.Unlock() },
		"Mutex.WithLock":    func(ctx context.Context) { _ = mu.WithLock(ctx, nothing) },
		"Guarded.Read": func(ctx context.Context) {
			_ = g.Read(ctx, func(context.Context, *int) error { return nil })
		},
		"Guarded.Write": func(ctx context.Context) {
			_ = g.Write(ctx, func(context.Context, *int) error { return nil })
		},
	}
	for _, asks := range []bool{true, false} {
		var callers []uintptr
		o := callerObserver{asks, func(_ context.Context, e drawbridge.Event) {
			if e.Kind == drawbridge.Granted {
				callers = append(callers, e.Caller)
			}
		}}
		for name, use := range uses {
			callers = nil
			stops := []func(){rw.Observe(o), mu.Observe(o), g.Observe(o)}
			use(t.Context())
			for _, stop := range stops {
				stop()
			}
			if len(callers) != 1 || asks != (callers[0] != 0) {
				t.Fatalf("%s, asked %v: %v", name, asks, callers)
			}
			if f, _ := runtime.CallersFrames(callers).Next(); asks && !strings.Contains(f.Function, ".TestCallerIsTheCaller.") {
				t.Errorf("%s was called by %q (%s:%d)", name, f.Function, f.File, f.Line)
			}
		}
	}
}

// callerObserver is an observer that may ask who calls.
type callerObserver struct {
	asks bool
	observerFunc
}

func (o callerObserver) WantsCallers() bool { return o.asks }

// TestObserversComeAndGo under load. An observer that comes changes the way
// that every call takes, and one that goes changes it back.
func TestObserversComeAndGo(t *testing.T) {
	for _, p := range everyPolicy {
		t.Run(p.String(), func(t *testing.T) {
			rw := &drawbridge.RWMutex{Policy: p}
			var stop atomic.Bool
			var wg sync.WaitGroup
			var events atomic.Int64
			count := observerFunc(func(context.Context, drawbridge.Event) { events.Add(1) })
			for _, observe := range []func(drawbridge.Observer) func(){rw.Observe, rw.Observe, drawbridge.ObserveAll, drawbridge.ObserveAll} {
				wg.Go(func() {
					for !stop.Load() {
						end := observe(count)
						time.Sleep(20 * time.Microsecond)
						end()
						time.Sleep(20 * time.Microsecond)
					}
				})
			}
			// Three rounds may be over before an observer runs for the first time.
			for begin, n := time.Now(), 0; n < 3 || events.Load() == 0 && time.Since(begin) < 10*time.Second; n++ {
				hammer(t, rw, 4, 200)
			}
			// The numbers of a lock's events go on, without a gap, for one
			// that observes throughout.
			stop.Store(true)
			wg.Wait()
			var j journal
			end := rw.Observe(&j)
			hammer(t, rw, 4, 100)
			end()
			seen := map[uint64]bool{}
			first, last := ^uint64(0), uint64(0)
			for _, e := range j.events {
				if e.Kind == drawbridge.Waiting || e.Kind == drawbridge.GaveUp {
					continue
				}
				if seen[e.Seq] {
					t.Fatalf("two changes have the number %d", e.Seq)
				}
				seen[e.Seq] = true
				first, last = min(first, e.Seq), max(last, e.Seq)
			}
			if uint64(len(seen)) != last-first+1 {
				t.Errorf("%d changes have the numbers %d to %d", len(seen), first, last)
			}
			if events.Load() == 0 {
				t.Error("no events while observers came and went")
			}
		})
	}
}

// TestSequenceNumbersTellTheOrder: at any number at most one writer is inside.
func TestSequenceNumbersTellTheOrder(t *testing.T) {
	for _, p := range everyPolicy {
		rw := &drawbridge.RWMutex{Policy: p}
		var j journal
		end := rw.Observe(&j)
		hammer(t, rw, 5, 200)
		end()
		slices.SortStableFunc(j.events, func(a, b drawbridge.Event) int { return int(a.Seq) - int(b.Seq) })
		readers, writers := 0, 0
		for _, e := range j.events {
			d := map[drawbridge.EventKind]int{drawbridge.Granted: 1, drawbridge.Released: -1}[e.Kind]
			if e.Mode == Read {
				readers += d
			} else {
				writers += d
			}
			if writers < 0 || writers > 1 || readers < 0 || writers == 1 && readers > 0 {
				t.Fatalf("%v: %d readers and %d writers at number %d", p, readers, writers, e.Seq)
			}
		}
	}
}
