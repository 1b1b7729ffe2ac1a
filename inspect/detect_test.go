package inspect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// detect runs program in a bubble while it is looked at, and returns what was
// found.
func detect(t *testing.T, program func(*testing.T)) (found []Misuse) {
	var mu sync.Mutex
	synctest.Test(t, func(t *testing.T) {
		defer Detect{Func: func(m Misuse) {
			mu.Lock()
			defer mu.Unlock()
			found = append(found, m)
		}}.Start()()
		program(t)
	})
	return found
}

// caught runs f on a goroutine of its own, and returns what it panicked with.
func caught(f func()) (p any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { p = recover() }()
		f()
	}()
	<-done
	return p
}

// mustPanic is for a wait that would have no end.
func mustPanic(t *testing.T, f func()) {
	t.Helper()
	if p := caught(f); p == nil || !strings.Contains(fmt.Sprint(p), "drawbridge: ") {
		t.Errorf("panicked with %v, want the report of a misuse", p)
	}
}

// atOnce runs the functions one after the other, each on a goroutine of its
// own, and all of the goroutines are there from the first to the last.
func atOnce(fs ...func()) {
	var wg sync.WaitGroup
	end := make(chan struct{})
	turns := make([]chan struct{}, len(fs)+1)
	for i := range turns {
		turns[i] = make(chan struct{})
	}
	for i, f := range fs {
		wg.Go(func() {
			<-turns[i]
			f()
			close(turns[i+1])
			<-end
		})
	}
	close(turns[0])
	<-turns[len(fs)]
	close(end)
	wg.Wait()
}

// both takes a and then b, to write.
func both(a, b sync.Locker) func() {
	return func() {
		a.Lock()
		b.Lock()
		b.Unlock()
		a.Unlock()
	}
}

type contextLocker interface {
	sync.Locker
	LockContext(context.Context) error
}

// crossed starts two goroutines that each hold one of two locks and then wait for
// the other's.
func crossed(ctx context.Context, wg *sync.WaitGroup, a, b contextLocker) {
	for _, l := range [][2]contextLocker{{a, b}, {b, a}} {
		wg.Go(func() {
			l[0].Lock()
			time.Sleep(time.Second)
			if l[1].LockContext(ctx) == nil {
				l[1].Unlock()
			}
			l[0].Unlock()
		})
	}
}

type rw = drawbridge.RWMutex

var misuses = []struct {
	name  string
	kind  MisuseKind
	steps int
	run   func(*testing.T)
}{
	{"lock inside lock", SelfDeadlock, 2, func(t *testing.T) {
		var mu drawbridge.Mutex
		mustPanic(t, func() { mu.Lock(); mu.Lock() })
	}},
	{"read inside a write, in a callee", SelfDeadlock, 2, func(t *testing.T) {
		var mu rw
		get := func() { mu.RLock(); mu.RUnlock() }
		mustPanic(t, func() { mu.Lock(); defer mu.Unlock(); get() })
	}},
	{"a callback takes the lock that its caller holds", SelfDeadlock, 2, func(t *testing.T) {
		var cache drawbridge.Mutex
		onClose := func() { cache.Lock(); cache.Unlock() }
		mustPanic(t, func() { cache.Lock(); defer cache.Unlock(); func(f func()) { f() }(onClose) })
	}},
	{"a loop that goes on without unlocking", SelfDeadlock, 2, func(t *testing.T) {
		var mu drawbridge.Mutex
		mustPanic(t, func() {
			for i := range 3 {
				mu.Lock()
				if i == 1 {
					continue
				}
				mu.Unlock()
			}
		})
	}},
	{"upgradable inside upgradable", SelfDeadlock, 2, func(t *testing.T) {
		var mu rw
		mustPanic(t, func() { mu.ULock(); mu.ULock() })
	}},
	{"lock inside a scoped hold", SelfDeadlock, 2, func(t *testing.T) {
		var mu rw
		begin := time.Now()
		mustPanic(t, func() {
			mu.WithLock(t.Context(), func(context.Context) error { mu.RLock(); return nil })
		})
		if d := time.Since(begin); d != 0 {
			t.Errorf("a scoped hold was given %v", d)
		}
		if s := mu.State().String(); s != "free" {
			t.Errorf("after the panic the lock is not free: %s", s)
		}
	}},
	{"lock inside lock, with a context that can end", SelfDeadlock, 2, func(t *testing.T) {
		var mu rw
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		mu.Lock()
		defer mu.Unlock()
		if err := mu.LockContext(ctx); err == nil {
			t.Error("entered twice")
		}
	}},
	{"upgrade by hand", UpgradeByHand, 2, func(t *testing.T) {
		var mu rw
		mustPanic(t, func() { mu.RLock(); defer mu.RUnlock(); mu.Lock() })
	}},
	{"upgrade by hand, in a callee, of a locker", UpgradeByHand, 2, func(t *testing.T) {
		var mu rw
		compact := func() { mu.Lock(); mu.Unlock() }
		mustPanic(t, func() { l := mu.RLocker(); l.Lock(); defer l.Unlock(); compact() })
	}},
	{"upgrade while a read of its own is inside", UpgradeByHand, 2, func(t *testing.T) {
		var mu rw
		mustPanic(t, func() { mu.ULock(); mu.RLock(); mu.Upgrade() })
	}},
	{"read inside a read behind a writer", RecursiveRead, 3, func(t *testing.T) {
		var mu rw
		mustPanic(t, func() {
			mu.RLock()
			defer mu.RUnlock()
			go both(&mu, new(rw))()
			synctest.Wait()
			mu.RLock()
		})
	}},
	{"read inside a read behind a writer, by a locker, over four calls", RecursiveRead, 3, func(t *testing.T) {
		mu := rw{Policy: drawbridge.FIFO}
		l := mu.RLocker()
		f4 := func() { l.Lock() }
		f3 := func() { f4() }
		mustPanic(t, func() {
			l.Lock()
			defer l.Unlock()
			go both(&mu, new(rw))()
			synctest.Wait()
			f3()
		})
	}},
	{"a writer comes after a read inside a read", RecursiveRead, 3, func(t *testing.T) {
		var mu rw
		mu.RLock()
		mu.RLock()
		go both(&mu, new(rw))()
		synctest.Wait()
		mu.RUnlock()
		mu.RUnlock()
		synctest.Wait()
	}},
	{"a holder of many readers is still found", RecursiveRead, 3, func(t *testing.T) {
		var mu rw
		mustPanic(t, func() {
			mu.RLock()
			defer mu.RUnlock()
			caught(func() { mu.RLock(); mu.RUnlock() }) // another comes and goes
			go both(&mu, new(rw))()
			synctest.Wait()
			mu.RLock()
		})
	}},
	{"two locks in two orders", OrderInversion, 4, func(t *testing.T) {
		var a, b drawbridge.Mutex
		atOnce(both(&a, &b), both(&b, &a))
	}},
	{"two locks in two orders, deadlocked", OrderInversion, 4, func(t *testing.T) {
		var a, b rw
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		crossed(ctx, &wg, &a, &b)
		wg.Wait()
	}},
	{"three locks in a circle", OrderInversion, 6, func(t *testing.T) {
		var a, b, c drawbridge.Mutex
		atOnce(both(&a, &b), both(&b, &c), both(&c, &a))
	}},
	{"five locks in a circle", OrderInversion, 10, func(t *testing.T) {
		l := make([]drawbridge.Mutex, 5)
		var fs []func()
		for i := range l {
			fs = append(fs, both(&l[i], &l[(i+1)%5]))
		}
		atOnce(fs...)
	}},
	{"reads and writes in two orders", OrderInversion, 4, func(t *testing.T) {
		var stripe, series rw
		atOnce(both(stripe.RLocker(), &series), both(&series, &stripe))
	}},
	{"reads in two orders, and writers between them", OrderInversion, 4, func(t *testing.T) {
		var a, b rw
		write := func() { a.Lock(); a.Unlock(); b.Lock(); b.Unlock() }
		atOnce(write, both(a.RLocker(), b.RLocker()), both(b.RLocker(), a.RLocker()))
	}},
	{"two keys in two orders", OrderInversion, 4, func(t *testing.T) {
		var k drawbridge.Keyed[string]
		nested := func(a, b string) func() {
			return func() {
				k.WithLock(t.Context(), a, func(context.Context) error {
					return k.WithLock(t.Context(), b, func(context.Context) error { return nil })
				})
			}
		}
		atOnce(nested("a", "b"), nested("b", "a"))
	}},
	{"scoped and plain in two orders", OrderInversion, 4, func(t *testing.T) {
		var a, b rw
		atOnce(both(&a, &b), func() {
			b.WithLock(t.Context(), func(context.Context) error { a.Lock(); a.Unlock(); return nil })
		})
	}},
	{"the other order inside a scoped hold, on another goroutine", OrderInversion, 4, func(t *testing.T) {
		var a, b rw
		atOnce(both(&a, &b), func() {
			b.WithRLock(t.Context(), func(ctx context.Context) error {
				var wg sync.WaitGroup
				wg.Go(func() {
					a.WithRLock(ctx, func(context.Context) error { return nil })
				})
				wg.Wait()
				return nil
			})
		})
	}},
	{"the goroutine that took the lock is gone", HolderGone, 2, func(t *testing.T) {
		var mu drawbridge.Mutex
		caught(func() { mu.Lock() })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		mu.LockContext(ctx)
	}},
}

func TestMisuseIsFound(t *testing.T) {
	for _, m := range misuses {
		t.Run(m.name, func(t *testing.T) {
			found := detect(t, m.run)
			if len(found) != 1 {
				t.Fatalf("%d reports, want 1:\n%v", len(found), found)
			}
			f := found[0]
			if f.Kind != m.kind || len(f.Steps) != m.steps || f.Note != (m.kind == HolderGone) {
				t.Errorf("want %v of %d steps, got\n%v", m.kind, m.steps, f)
			}
			for _, s := range f.Steps {
				if len(s.Stack) == 0 || !strings.HasSuffix(s.Stack[0].File, "_test.go") || s.Goroutine == 0 {
					t.Errorf("a step without a site of the program: %+v", s)
				}
			}
		})
	}
}

var lookAlikes = []struct {
	name string
	run  func(*testing.T)
}{
	{"unlocked by another goroutine, a semaphore", func(t *testing.T) {
		var mu drawbridge.Mutex
		for range 3 {
			mu.Lock()
			time.AfterFunc(time.Second/2, mu.Unlock)
		}
		pass(time.Minute)
	}},
	{"once handed over, not judged any more", func(t *testing.T) {
		var mu drawbridge.Mutex
		mu.Lock()
		caught(mu.Unlock)
		mu.Lock()
		time.AfterFunc(time.Hour, mu.Unlock)
		mu.Lock()
		mu.Unlock()
	}},
	{"read twice, unlocked elsewhere, then locked", func(t *testing.T) {
		var mu rw
		mu.RLock()
		mu.RLock()
		caught(mu.RUnlock)
		caught(mu.RUnlock)
		mu.Lock()
		mu.Unlock()
	}},
	{"reads in two orders without writers", func(t *testing.T) {
		var a, b rw
		atOnce(both(a.RLocker(), b.RLocker()), both(b.RLocker(), a.RLocker()))
	}},
	{"reads in two orders, writers before all of them", func(t *testing.T) {
		var a, b rw
		caught(func() { a.Lock(); a.Unlock(); b.Lock(); b.Unlock() })
		atOnce(both(a.RLocker(), b.RLocker()), both(b.RLocker(), a.RLocker()))
	}},
	{"two orders under a gate", func(t *testing.T) {
		var gate, a, b drawbridge.Mutex
		gated := func(f func()) func() { return func() { gate.Lock(); f(); gate.Unlock() } }
		atOnce(gated(both(&a, &b)), gated(both(&b, &a)))
	}},
	{"two orders in one goroutine", func(t *testing.T) {
		var a, b drawbridge.Mutex
		both(&a, &b)()
		both(&b, &a)()
	}},
	{"the other order in a goroutine that is forked and joined", func(t *testing.T) {
		var a, b drawbridge.Mutex
		both(&a, &b)()
		caught(both(&b, &a))
		both(&a, &b)()
	}},
	{"the other order in a goroutine before, forked and joined", func(t *testing.T) {
		for range 100 {
			var a, b drawbridge.Mutex
			caught(both(&b, &a))
			both(&a, &b)()
		}
	}},
	{"two orders, one goroutine after the other", func(t *testing.T) {
		var a, b drawbridge.Mutex
		for range 3 {
			caught(both(&a, &b))
			caught(both(&b, &a))
		}
	}},
	{"the other order by trying", func(t *testing.T) {
		var a, b rw
		atOnce(both(&a, &b), func() {
			b.Lock()
			if a.TryLock() {
				a.Unlock()
			}
			b.Unlock()
		}, func() {
			b.Lock()
			if a.TryRLock() {
				a.RUnlock()
			}
			b.Unlock()
		})
	}},
	{"always in the same order", func(t *testing.T) {
		var a, b, c drawbridge.Mutex
		atOnce(both(&a, &b), both(&b, &c), both(&a, &c), both(&a, &b))
	}},
	{"a try inside a hold of its own", func(t *testing.T) {
		var mu rw
		mu.Lock()
		if mu.TryLock() || mu.TryRLock() {
			t.Error("entered")
		}
		mu.Unlock()
	}},
	{"looks and upgrades while others read", func(t *testing.T) {
		var mu rw
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { mu.RLock(); time.Sleep(time.Second); mu.RUnlock() })
			wg.Go(func() { mu.ULock(); time.Sleep(time.Second); mu.Upgrade(); mu.DowngradeToUpgradable(); mu.UUnlock() })
		}
		wg.Wait()
	}},
	{"a read inside an upgradable hold", func(t *testing.T) {
		var mu rw
		mu.ULock()
		mu.RLock()
		mu.RUnlock()
		mu.UUnlock()
	}},
	{"a read inside a read, and never a writer", func(t *testing.T) {
		var mu rw
		for range 3 {
			caught(func() { mu.RLock(); mu.RLock(); mu.RUnlock(); mu.RUnlock() })
		}
	}},
	{"a read inside a read, and a writer, with readers preferred", func(t *testing.T) {
		mu := rw{Policy: drawbridge.PreferReaders}
		mu.RLock()
		go both(&mu, new(rw))()
		synctest.Wait()
		mu.RLock()
		mu.RUnlock()
		mu.RUnlock()
		synctest.Wait()
	}},
	{"a scoped read inside a scoped read behind a writer", func(t *testing.T) {
		var mu rw
		nothing := func(context.Context) error { return nil }
		mu.WithRLock(t.Context(), func(ctx context.Context) error {
			go mu.WithLock(t.Context(), nothing)
			synctest.Wait()
			return mu.WithRLock(ctx, nothing)
		})
		synctest.Wait()
	}},
	{"a downgrade", func(t *testing.T) {
		var mu rw
		mu.Lock()
		mu.Downgrade()
		mu.RUnlock()
		mu.Lock()
		mu.Unlock()
	}},
	{"a slow holder that is there", func(t *testing.T) {
		var mu drawbridge.Mutex
		go func() { mu.Lock(); time.Sleep(time.Hour); mu.Unlock() }()
		synctest.Wait()
		mu.Lock()
		mu.Unlock()
	}},
	{"many keys at once", func(t *testing.T) {
		var k drawbridge.Keyed[int]
		nothing := func(context.Context) error { return nil }
		atOnce(
			func() { k.WithLocks(t.Context(), []int{1, 2, 3}, nothing) },
			func() { k.WithLocks(t.Context(), []int{3, 2, 1}, nothing) })
	}},
	{"a condition variable", func(t *testing.T) {
		var mu rw
		cond := sync.NewCond(mu.RLocker())
		ready := false
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				cond.L.Lock()
				for !ready {
					cond.Wait()
				}
				cond.L.Unlock()
			})
		}
		synctest.Wait()
		mu.Lock()
		ready = true
		mu.Unlock()
		cond.Broadcast()
		wg.Wait()
	}},
	{"the other order on another goroutine, for which the hold was taken off the context", func(t *testing.T) {
		var a, b rw
		atOnce(both(&a, &b), func() {
			b.WithLock(t.Context(), func(ctx context.Context) error {
				go a.WithLock(drawbridge.WithoutHolds(ctx), func(context.Context) error { return nil })
				return nil
			})
		})
		synctest.Wait()
	}},
	{"a storm in one order", func(t *testing.T) {
		locks := make([]rw, 4)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for seed := range uint64(12) {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, 2))
				for range 100 {
					a := rng.IntN(len(locks) - 1)
					b := a + 1 + rng.IntN(len(locks)-a-1)
					switch rng.IntN(4) {
					case 0:
						both(&locks[a], &locks[b])()
					case 1:
						both(locks[a].RLocker(), &locks[b])()
					case 2:
						locks[a].WithRLock(ctx, func(ctx context.Context) error {
							return locks[b].WithULock(ctx, func(_ context.Context, upgrade func() error) error { return upgrade() })
						})
					case 3:
						locks[a].ULock()
						locks[a].Upgrade()
						locks[a].Downgrade()
						locks[a].RUnlock()
					}
					time.Sleep(time.Duration(rng.IntN(100)) * time.Microsecond)
				}
			})
		}
		wg.Wait()
	}},
	{"an error of a scoped call", func(t *testing.T) {
		var mu rw
		mu.WithRLock(t.Context(), func(ctx context.Context) error {
			if err := mu.WithLock(ctx, nil); err == nil {
				t.Error("a write inside a read")
			}
			return nil
		})
	}},
	{"a lock that an argument leaves out", func(t *testing.T) {
		var mu drawbridge.Mutex
		remove := func(locked bool) {
			if !locked {
				mu.Lock()
				defer mu.Unlock()
			}
		}
		atOnce(func() { mu.Lock(); remove(true); mu.Unlock() }, func() { remove(false) })
	}},
	{"a helper that gives the lock back for a while", func(t *testing.T) {
		var mu, other drawbridge.Mutex
		pause := func() { mu.Unlock(); both(&other, &mu)(); mu.Lock() }
		atOnce(func() { mu.Lock(); pause(); mu.Unlock() }, both(&other, &mu), func() { mu.Lock(); pause(); mu.Unlock() })
	}},
	{"stripes in the order of their numbers, and all of them", func(t *testing.T) {
		var stripes [4]rw
		move := func(i, j int) func() { return both(&stripes[min(i, j)], &stripes[max(i, j)]) }
		all := func() {
			for i := range stripes {
				stripes[i].Lock()
			}
			for i := range stripes {
				stripes[i].Unlock()
			}
		}
		atOnce(move(0, 3), move(3, 0), all, move(2, 1), all, move(1, 3))
	}},
	{"hand over hand along a list", func(t *testing.T) {
		var list [5]drawbridge.Mutex
		walk := func() {
			list[0].Lock()
			for i := range len(list) - 1 {
				list[i+1].Lock()
				list[i].Unlock()
			}
			list[len(list)-1].Unlock()
		}
		atOnce(walk, walk, walk)
	}},
	{"a hold passed on to another goroutine, the first one ends", func(t *testing.T) {
		var mu drawbridge.Mutex
		caught(func() {
			mu.Lock()
			time.AfterFunc(time.Second/2, mu.Unlock)
		})
		mu.Lock()
		mu.Unlock()
	}},
}

func TestLookAlikesAreNotReported(t *testing.T) {
	if len(lookAlikes) < len(misuses) {
		t.Errorf("%d misuses and %d look-alikes", len(misuses), len(lookAlikes))
	}
	for _, l := range lookAlikes {
		t.Run(l.name, func(t *testing.T) {
			for _, m := range detect(t, l.run) {
				t.Errorf("reported:\n%v", m)
			}
		})
	}
}

func TestReportNamesTheTestAndBothSites(t *testing.T) {
	found := detect(t, func(t *testing.T) {
		var mu drawbridge.Mutex
		mustPanic(t, func() { mu.Lock(); mu.Lock() })
	})
	text := found[0].String()
	if found[0].Test != "TestReportNamesTheTestAndBothSites" || strings.Count(text, "detect_test.go:") < 2 ||
		!strings.Contains(text, "holds to write") || !strings.Contains(text, "waits to write") {
		t.Errorf("got\n%s", text)
	}
}

func TestSameMisuseIsToldOnce(t *testing.T) {
	found := detect(t, func(t *testing.T) {
		for range 10 {
			var mu drawbridge.Mutex
			caught(func() { mu.Lock(); mu.Lock() })
		}
	})
	if len(found) != 1 {
		t.Errorf("told %d times", len(found))
	}
}

func TestGoroutinesAreKnown(t *testing.T) {
	if !goroutinesAreKnown() {
		t.Error("runtime.Stack does not begin as it is documented to")
	}
	for _, bad := range []string{"", "goroutine", "goroutine x [running]:", "goroutine 0 [running]:", "gopher 7 [running]:", "goroutine 18446744073709551616 ["} {
		if id, ok := parseGoroutine([]byte(bad)); ok {
			t.Errorf("%q is goroutine %d", bad, id)
		}
	}
}

// TestVerifyFailsATest uses a stand-in for the test that is to fail.
func TestVerifyFailsATest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeTest{T: t}
		Verify(fake)
		var mu drawbridge.Mutex
		caught(func() { mu.Lock(); mu.Lock() })
		fake.cleanup()
		caught(func() { var mu drawbridge.Mutex; mu.Lock(); mu.Unlock() })
		if fake.errors != 1 {
			t.Errorf("%d errors, want 1", fake.errors)
		}
	})
}

type fakeTest struct {
	*testing.T
	errors  int
	cleanup func()
}

func (f *fakeTest) Errorf(string, ...any) { f.errors++ }
func (f *fakeTest) Cleanup(c func())      { f.cleanup = c }

// TestVerifyTestMainExits runs this test binary as one that is verified.
func TestVerifyTestMainExits(t *testing.T) {
	for program, want := range map[string]int{"misuse": 1, "right": 0, "failed": 3} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "VERIFIED="+program)
		out, err := cmd.CombinedOutput()
		code := cmd.ProcessState.ExitCode()
		if code != want || strings.Contains(string(out), "recursive read") != (program == "misuse") {
			t.Errorf("%s: exit code %d (%v), want %d\n%s", program, code, err, want, out)
		}
	}
}

type verified string

// Run is what the tests of a package are to VerifyTestMain.
func (p verified) Run() int {
	var mu rw
	mu.RLock()
	if p == "misuse" {
		mu.RLock()
	}
	done := make(chan struct{})
	go func() { mu.Lock(); close(done) }()
	for mu.State().WaitingWriters == 0 {
		time.Sleep(time.Millisecond)
	}
	mu.RUnlock()
	if p == "misuse" {
		mu.RUnlock()
	}
	<-done
	if p == "failed" {
		return 3
	}
	return 0
}

func TestMain(m *testing.M) {
	if p := os.Getenv("VERIFIED"); p != "" {
		VerifyTestMain(verified(p))
	}
	os.Exit(m.Run())
}

// TestSearchHasABound: many locks that are all taken under one another, by
// goroutines that are all there, have more paths than can be looked through.
func TestSearchHasABound(t *testing.T) {
	o := newOrder()
	o.snapshots = maxSnapshots // no look at the real goroutines
	locks := make([]drawbridge.Mutex, 30)
	most, g := 0, uint64(0)
	for i := len(locks) - 1; i >= 0; i-- {
		for j := i + 1; j < len(locks); j++ {
			g++
			o.seen[g] = seenTimes{time.Now(), time.Now().Add(time.Hour)}
			h := &taken{lockID: lockID{lock: &locks[i]}, mode: drawbridge.Write, goroutine: g}
			e := &edge{holds: h, takes: &taken{lockID: lockID{lock: &locks[j]}, mode: drawbridge.Write, goroutine: g, gates: []*taken{h}}, at: time.Now().Add(time.Minute)}
			o.add(e)
			o.steps = 0
			if o.search([]*edge{e}) != nil {
				t.Fatal("a cycle in one order")
			}
			most = max(most, o.steps)
		}
	}
	if most <= maxSteps || most > maxSteps+maxCycle*len(locks) {
		t.Errorf("the longest search took %d steps; want one that the bound of %d has ended", most, maxSteps)
	}
}
