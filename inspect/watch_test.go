package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

var update = flag.Bool("update", false, "write the golden files anew")

// find returns the report of the watch with name.
func find(t *testing.T, name string) Lock {
	t.Helper()
	for _, l := range Locks() {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("no lock named %q is watched", name)
	return Lock{}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; go test -update writes it anew\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}

// busyLock lets a lock be read by three, one of them in a scope, while a
// writer has been waiting for 212 ms, after a writer has come and gone. It
// calls look at that moment.
func busyLock(t *testing.T, look func(*record)) {
	synctest.Test(t, func(t *testing.T) {
		var mu drawbridge.RWMutex
		r := newRecord("routes", &mu, Sites)
		r.id = 1
		defer mu.Observe(r)()

		mu.Lock()
		time.Sleep(40 * time.Millisecond)
		mu.Unlock()

		ctx := pprof.WithLabels(t.Context(), pprof.Labels("route", "/users", "<b>", "\x1b[31m"))
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			mu.WithRLock(ctx, func(context.Context) error { <-done; return nil })
		})
		synctest.Wait()
		time.Sleep(time.Millisecond)
		for range 2 {
			mu.RLock()
		}
		time.Sleep(time.Millisecond)
		wg.Go(func() {
			mu.Lock()
			mu.Unlock()
		})
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if mu.RLockContext(ctx) == nil {
				t.Error("a reader entered at a closed door")
			}
		})
		time.Sleep(112 * time.Millisecond)
		look(r)
		close(done)
		mu.RUnlock()
		mu.RUnlock()
		wg.Wait()
	})
}

// closureNumber differs between versions of the compiler.
var closureNumber = regexp.MustCompile(`(func|gowrap)\d+`)

// normal makes a report the same in every run.
func normal(l Lock) Lock {
	calls := uint64(0)
	ids := map[uint64]uint64{}
	id := func(old uint64) uint64 {
		if ids[old] == 0 {
			calls++
			ids[old] = calls
		}
		return ids[old]
	}
	frames := func(stack []Frame) {
		for i := range stack {
			f := &stack[i]
			f.File, f.Line = filepath.Base(f.File), 1
			f.Function = f.Function[strings.LastIndex(f.Function, "/")+1:]
			if _, name, ok := strings.Cut(f.Function, "busyLock."); ok {
				f.Function = "inspect.busyLock." + closureNumber.ReplaceAllString(name, "func")
			}
		}
	}
	for _, c := range [][]Call{l.Holders, l.Waiters} {
		for i := range c {
			c[i].ID = id(c[i].ID)
			frames(c[i].Stack)
		}
	}
	for i := range l.PlainReaders.Sites {
		frames(l.PlainReaders.Sites[i].Stack)
	}
	for i := range l.Spans {
		s := &l.Spans[i]
		s.Call = id(s.Call)
		if s.Site != nil {
			site := []Frame{*s.Site}
			frames(site)
			s.Site = &site[0]
		}
	}
	return l
}

func TestReportOfABusyLock(t *testing.T) {
	busyLock(t, func(r *record) {
		after := uint64(0)
		l, _ := r.reportAfter(&after)
		if want := "3 readers inside, 1 writer waiting 212 ms, door closed"; l.Words != want {
			t.Errorf("state in words %q, want %q", l.Words, want)
		}
		report := &Report{Version: Version, Time: time.Now().UTC(), Program: "program", Watched: 1, Locks: []Lock{normal(l)}}
		data, err := json.MarshalIndent(report, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "report.json", append(data, '\n'))
		var back Report
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(&back, report) {
			t.Errorf("the report came back from JSON as\n%+v\nwant\n%+v", &back, report)
		}

		var text, trace bytes.Buffer
		WriteText(&text, report)
		golden(t, "report.txt", text.Bytes())
		if strings.Contains(text.String(), "\x1b") {
			t.Error("a label reached the text with its escape sequence")
		}
		writeTrace(&trace, report.Locks)
		golden(t, "trace.json", trace.Bytes())
	})
}

// TestTraceLoads reads the trace by the rules of the format: every event has a
// category, without which some parsers fail, every X event has a time and a duration, and the events of a thread do not overlap.
func TestTraceLoads(t *testing.T) {
	busyLock(t, func(r *record) {
		after := uint64(0)
		l, _ := r.reportAfter(&after)
		var buf bytes.Buffer
		if err := writeTrace(&buf, []Lock{l}); err != nil {
			t.Fatal(err)
		}
		var trace struct {
			TraceEvents []struct {
				Name, Ph string
				Cat      *string
				Ts       *float64
				Dur      *float64
				Pid, Tid *int
				Args     map[string]any
			}
		}
		if err := json.Unmarshal(buf.Bytes(), &trace); err != nil {
			t.Fatal(err)
		}
		ends := map[int]float64{}
		n := 0
		for _, e := range trace.TraceEvents {
			if e.Ts == nil || e.Cat == nil || e.Pid == nil || e.Tid == nil || e.Name == "" {
				t.Fatalf("an event lacks a field: %+v", e)
			}
			if e.Ph != "X" {
				continue
			}
			n++
			if e.Dur == nil || *e.Dur < 0 || *e.Ts < ends[*e.Tid]-1e-6 {
				t.Errorf("thread %d: %+v overlaps what ended at %v", *e.Tid, e, ends[*e.Tid])
			}
			ends[*e.Tid] = *e.Ts + *e.Dur
		}
		if n != 4 { // the writer's hold, the scoped reader, the wait given up, the writer's wait
			t.Errorf("%d spans, want 4", n)
		}
	})
}

func TestProfilesAreReadByPprof(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal("the go command is needed to read the profiles: ", err)
	}
	dir := t.TempDir()
	busyLock(t, func(r *record) {
		for _, waiting := range []bool{false, true} {
			f, err := os.Create(filepath.Join(dir, fmt.Sprint(waiting)))
			if err != nil {
				t.Fatal(err)
			}
			if err := writeProfile(f, []Lock{r.report()}, waiting, time.Now()); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
	})
	top := func(file string, arg ...string) string {
		out, err := exec.Command("go", append([]string{"tool", "pprof"}, append(arg, filepath.Join(dir, file))...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("go tool pprof: %v\n%s", err, out)
		}
		return string(out)
	}
	held := top("false", "-top", "-sample_index=calls")
	if !strings.Contains(held, "busyLock") || !strings.Contains(held, "Type: calls") || !strings.Contains(held, "3 total") {
		t.Errorf("held: want 3 calls in busyLock, got\n%s", held)
	}
	waiting := top("true", "-top", "-sample_index=age")
	if !strings.Contains(waiting, "busyLock") || !strings.Contains(waiting, "212ms total") {
		t.Errorf("waiting: want 212 ms in busyLock, got\n%s", waiting)
	}
	tags := top("false", "-tags")
	for _, want := range []string{"routes", "/users", "read"} {
		if !strings.Contains(tags, want) {
			t.Errorf("held: no label %q in\n%s", want, tags)
		}
	}
}

// TestCollectedLockDisappears: neither the registry nor the stop function may
// keep a lock alive.
func TestCollectedLockDisappears(t *testing.T) {
	type owner struct {
		_  [3]int
		mu drawbridge.RWMutex
	}
	names := map[string]func() func(){
		"gone field":    func() func() { return Watch("gone field", &new(owner).mu) },
		"gone mutex":    func() func() { return Watch("gone mutex", new(drawbridge.Mutex)) },
		"gone guarded":  func() func() { return Watch("gone guarded", drawbridge.NewGuarded(1)) },
		"gone keyed":    func() func() { return Watch("gone keyed", new(drawbridge.Keyed[string])) },
		"gone snapshot": func() func() { return Watch("gone snapshot", new(drawbridge.Snapshot[int])) },
		"gone used": func() func() {
			mu := new(drawbridge.RWMutex)
			stop := WatchDetail("gone used", mu, Stacks)
			mu.WithLock(t.Context(), func(context.Context) error { return nil })
			mu.RLock()
			return stop
		},
	}
	var stops []func()
	for _, watch := range names {
		stops = append(stops, watch())
	}
	var kept drawbridge.RWMutex
	defer Watch("kept", &kept)()
	left := func() (l []string) {
		for _, lock := range Locks() {
			if strings.HasPrefix(lock.Name, "gone") {
				l = append(l, lock.Name)
			}
		}
		return l
	}
	for deadline := time.Now().Add(10 * time.Second); len(left()) > 0 && time.Now().Before(deadline); {
		runtime.GC()
	}
	if l := left(); len(l) > 0 {
		t.Errorf("still there after garbage collection: %q", l)
	}
	find(t, "kept")
	for _, stop := range stops {
		stop() // finds nothing to stop
	}
	runtime.KeepAlive(&kept)
}

var global drawbridge.Mutex

func TestWatchOfAGlobal(t *testing.T) {
	stop := Watch("global", &global)
	runtime.GC()
	global.Lock()
	if l := find(t, "global"); l.State.Writers != 1 || len(l.Holders) != 1 || l.Kind != "Mutex" {
		t.Errorf("got %+v", l)
	}
	global.Unlock()
	stop()
	stop()
	for _, l := range Locks() {
		if l.Name == "global" {
			t.Error("still there after stop")
		}
	}
}

func TestTwoOfOneNameAreToldApart(t *testing.T) {
	var a, b drawbridge.RWMutex
	defer Watch("twin", &a)()
	defer Watch("twin", &b)()
	a.Lock()
	defer a.Unlock()
	writers, ids := 0, map[uint64]bool{}
	for _, l := range Locks() {
		if l.Name == "twin" {
			ids[l.ID] = true
			writers += l.State.Writers
		}
	}
	if len(ids) != 2 || writers != 1 {
		t.Errorf("%d ids with %d writers, want 2 with 1", len(ids), writers)
	}
}

func TestHoldOlderThanTheWatchCountsWithoutAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu drawbridge.RWMutex
		mu.RLock()
		defer Watch("older", &mu)()
		mu.RLock()
		time.Sleep(time.Second)
		l := find(t, "older")
		if l.State.Readers != 2 || l.PlainReaders.Inside != 1 || l.Read.Holds != 1 {
			t.Errorf("state %+v, plain %+v, %d holds; want 2 readers of which 1 known", l.State, l.PlainReaders, l.Read.Holds)
		}
		mu.RUnlock()
		mu.RUnlock()
		mu.RLock()
		if l := find(t, "older"); l.PlainReaders.Inside != 1 {
			t.Errorf("%d plain readers inside, want 1: a release of an older hold was counted twice", l.PlainReaders.Inside)
		}
		mu.RUnlock()
	})
}

func TestUpgradeOfAHoldOlderThanTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu drawbridge.RWMutex
		mu.ULock()
		defer Watch("older", &mu)()
		mu.Upgrade()
		if l := find(t, "older"); l.State.Writers != 1 || len(l.Holders) != 0 || l.Upgrades != 1 {
			t.Errorf("state %+v, holders %+v, %d upgrades; want a writer of whom nothing is known", l.State, l.Holders, l.Upgrades)
		}
		mu.Unlock()
		mu.Lock()
		if l := find(t, "older"); len(l.Holders) != 1 {
			t.Errorf("holders %+v, want the new writer", l.Holders)
		}
		mu.Unlock()
	})
}

func TestModesOfAHoldAreCountedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu drawbridge.RWMutex
		defer Watch("modes", &mu)()
		mu.ULock()
		time.Sleep(time.Second)
		mu.Upgrade()
		time.Sleep(2 * time.Second)
		if l := find(t, "modes"); l.Words != "1 writer inside 2.00 s, door closed" || l.Holders[0].Age != 3*time.Second || l.Holders[0].InMode != 2*time.Second {
			t.Errorf("after 1 s upgradable and 2 s as a writer: %q, %+v", l.Words, l.Holders)
		}
		mu.DowngradeToUpgradable()
		time.Sleep(4 * time.Second)
		mu.Upgrade()
		time.Sleep(8 * time.Second)
		mu.Downgrade()
		time.Sleep(16 * time.Second)
		if l := find(t, "modes"); l.LongestHold != 16*time.Second {
			t.Errorf("a read hold of 16 s shows %v", l.LongestHold)
		}
		mu.RUnlock()
		l := find(t, "modes")
		if got, want := l.Upgradable.Hold.Sum, 5*time.Second; got != want {
			t.Errorf("held upgradably for %v, want %v", got, want)
		}
		if got, want := l.Write.Hold.Sum, 10*time.Second; got != want {
			t.Errorf("held to write for %v, want %v", got, want)
		}
		if l.PlainReaders.Mean != 16*time.Second || l.Upgrades != 2 || l.Downgrades != 2 || l.Words != "free" {
			t.Errorf("mean read %v, %d upgrades, %d downgrades, %s", l.PlainReaders.Mean, l.Upgrades, l.Downgrades, l.Words)
		}
	})
}

func TestAgeOfPlainReadersIsNeverTooHigh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu drawbridge.RWMutex
		defer Watch("ages", &mu)()
		mu.RLock() // leaves last
		for range 100 {
			time.Sleep(time.Second)
			mu.RLock()
		}
		for i := range 100 {
			mu.RUnlock() // the newest, as it happens
			l := find(t, "ages")
			truth := 100 * time.Second
			if l.PlainReaders.AtLeast > truth {
				t.Fatalf("after %d releases the oldest is said to be %v old, and is %v", i+1, l.PlainReaders.AtLeast, truth)
			}
		}
		mu.RUnlock()
		if l := find(t, "ages"); l.LongestHold != 0 {
			t.Errorf("nobody is inside, and the oldest is %v old", l.LongestHold)
		}
	})
}

func TestGaveUpByReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu, other drawbridge.RWMutex
		defer Watch("reasons", &mu)()
		mu.Lock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		mu.LockContext(ctx)
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		mu.RLockContext(ctx)
		mu.Unlock()

		var wg sync.WaitGroup
		inside := func(a, b *drawbridge.RWMutex) func() {
			return func() {
				a.WithLock(t.Context(), func(ctx context.Context) error {
					time.Sleep(time.Second)
					err := b.WithLock(ctx, func(context.Context) error { return nil })
					if b == &mu && !errors.Is(err, drawbridge.ErrDeadlock) {
						t.Errorf("the later wait got %v", err)
					}
					return nil
				})
			}
		}
		wg.Go(inside(&mu, &other))
		time.Sleep(time.Millisecond) // the other wait is the later one
		wg.Go(inside(&other, &mu))
		wg.Wait()
		l := find(t, "reasons")
		if want := (GaveUp{Canceled: 1, Deadline: 1, Deadlock: 1}); l.GaveUp != want {
			t.Errorf("gave up %+v, want %+v", l.GaveUp, want)
		}
		if len(l.Waiters) != 0 {
			t.Errorf("still waiting: %+v", l.Waiters)
		}
	})
}

func TestBusiestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks drawbridge.Keyed[int]
		defer Watch("keyed", &locks)()
		nothing := func(context.Context) error { return nil }
		for i := range 5000 {
			locks.WithLock(t.Context(), i, nothing)
			locks.WithRLock(t.Context(), -1, nothing)
		}
		unlock, err := locks.RLockContext(t.Context(), -2)
		if err != nil {
			t.Fatal(err)
		}
		go locks.WithLock(t.Context(), -2, nothing)
		synctest.Wait()
		time.Sleep(time.Second)
		l := find(t, "keyed")
		if len(l.Keys) != topKeys || l.Keys[0].Key != "-2" || l.Keys[0].Waiting != 1 || l.Keys[0].Inside != 1 {
			t.Errorf("the key that is waited for is not the first: %+v", l.Keys)
		}
		if k := l.Keys[1]; k.Key != "-1" || k.Holds-k.Overcount > 5000 || k.Holds < 5000 {
			t.Errorf("the busiest key: %+v, want -1 with 5000 holds", k)
		}
		if want := "1 key in use, 1 reader inside, 1 writer waiting 1.00 s"; l.Words != want {
			t.Errorf("words %q, want %q", l.Words, want)
		}
		unlock()
		unlock()
	})
}

func TestSnapshotShowsItsStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[int]
		defer Watch("snapshot", &s)()
		one := 1
		s.Publish(&one)
		time.Sleep(3 * time.Second)
		s.Refresh(t.Context(), func(context.Context) (*int, error) { return nil, errors.New("no route\nto host") })
		go s.Update(t.Context(), func(context.Context, *int) (*int, error) { time.Sleep(time.Hour); return nil, nil })
		time.Sleep(time.Second)
		l := find(t, "snapshot")
		if want := "version 1, 4.00 s old, 1 failed in a row, 1 update under way 1.00 s"; l.Words != want {
			t.Errorf("words %q, want %q", l.Words, want)
		}
		if l.Snapshot.Error != "no route" {
			t.Errorf("error %q", l.Snapshot.Error)
		}
		time.Sleep(time.Hour)
	})
}

func TestTextWithoutLocks(t *testing.T) {
	var b strings.Builder
	if err := WriteText(&b, &Report{Program: "program"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "0 locks watched") || !strings.Contains(b.String(), "inspect.Watch") || strings.Contains(b.String(), "STATE") {
		t.Errorf("%s", b.String())
	}
}

// TestSiteOfABackgroundRefresh: what a Snapshot does on a goroutine of its own
// has no caller, and the runtime is not one.
func TestSiteOfABackgroundRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[int]
		defer Watch("background", &s)()
		go s.Refresh(t.Context(), func(context.Context) (*int, error) { time.Sleep(time.Hour); return new(int), nil })
		time.Sleep(time.Second)
		l := find(t, "background")
		if len(l.Holders) != 1 || len(l.Holders[0].Stack) != 1 || !strings.HasPrefix(l.Holders[0].Stack[0].Function, module+".") {
			t.Errorf("holders %+v", l.Holders)
		}
		time.Sleep(time.Hour)
	})
}

func TestLabelsAndSitesOfEachDetail(t *testing.T) {
	for d, frames := range map[Detail]int{Times: 0, Sites: 1, Stacks: 3} {
		var mu drawbridge.RWMutex
		stop := WatchDetail("detail", &mu, d)
		ctx := pprof.WithLabels(t.Context(), pprof.Labels("long", strings.Repeat("ä", 200)))
		mu.LockContext(ctx)
		l := find(t, "detail")
		h := l.Holders[0]
		if got := len(h.Stack); (d == Stacks && got < 2) || (d != Stacks && got != frames) {
			t.Errorf("detail %d: %d frames %+v", d, got, h.Stack)
		}
		if d != Times {
			if f := h.Stack[0].Function; !strings.HasSuffix(f, "TestLabelsAndSitesOfEachDetail") {
				t.Errorf("the site is in %s", f)
			}
			if len(h.Labels) != 1 || len(h.Labels[0].Value) > maxLabel+4 {
				t.Errorf("labels %q, want one that is cut", h.Labels)
			}
		}
		mu.Unlock()
		stop()
	}
}

// TestSiteIsFoundFromAnyDepth: the number of frames that are looked at is
// learned from the calls so far, and each call may be deeper than those.
func TestSiteIsFoundFromAnyDepth(t *testing.T) {
	g := drawbridge.NewGuarded(0)
	defer Watch("depth", g)()
	check := func() {
		t.Helper()
		if h := find(t, "depth").Holders[0]; len(h.Stack) != 1 || !strings.HasSuffix(h.Stack[0].File, "_test.go") {
			t.Errorf("the site is %+v", h.Stack)
		}
	}
	for range 2 {
		g.Write(t.Context(), func(context.Context, *int) error { check(); return nil })
		g.Update(t.Context(), func(ctx context.Context, _ *int, upgrade func() error) error {
			check()
			return g.Read(ctx, func(context.Context, *int) error { check(); return nil })
		})
	}
}

// TestSiteOfIndirectCalls: the call site is the user's line, whatever of the
// standard library is in between.
func TestSiteOfIndirectCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu drawbridge.RWMutex
		defer Watch("indirect", &mu)()
		cond := sync.NewCond(mu.RLocker())
		cond.L.Lock()
		go func() {
			time.Sleep(time.Second)
			cond.Signal()
		}()
		cond.Wait()
		for _, s := range find(t, "indirect").PlainReaders.Sites {
			if f := s.Stack[0]; !strings.HasSuffix(f.File, "_test.go") {
				t.Errorf("the site is %+v", f)
			}
		}
		cond.L.Unlock()
	})
}

func TestWatchOfNothingPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"nil":         func() { Watch("x", nil) },
		"nil pointer": func() { Watch("x", (*drawbridge.RWMutex)(nil)) },
		"detail":      func() { WatchDetail("x", new(drawbridge.RWMutex), 9) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestWaitsOfTheLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w recentWaits
		start := time.Now()
		now := func() time.Duration { return time.Since(start) }
		add := func() { w.add(now()) }
		add()
		add()
		time.Sleep(time.Second)
		add()
		if l, n := w.list(now()), w.sum(now()); n != 3 || l[58] != 2 || l[59] != 1 {
			t.Errorf("after a second: %v", l)
		}
		time.Sleep(59 * time.Second)
		if l, n := w.list(now()), w.sum(now()); n != 1 || l[0] != 1 {
			t.Errorf("after a minute: %v", l)
		}
		time.Sleep(time.Hour)
		if n := w.sum(now()); n != 0 {
			t.Errorf("after an hour: %d left", n)
		}
	})
}

// TestPanicOfAnotherObserver: what a later observer refuses, as Detect does with
// a certain deadlock, is neither inside nor waiting.
func TestPanicOfAnotherObserver(t *testing.T) {
	var mu drawbridge.RWMutex
	defer Watch("refused", &mu)()
	refuse := drawbridge.Granted
	defer mu.Observe(observerFunc(func(_ context.Context, e drawbridge.Event) {
		if e.Kind == refuse {
			panic("refused")
		}
	}))()
	lock := func() {
		defer func() {
			if recover() == nil {
				t.Error("the call went on")
			}
		}()
		mu.Lock()
	}
	lock()
	refuse = drawbridge.Waiting
	mu.RLock()
	lock()
	mu.RUnlock()
	if l := find(t, "refused"); l.Words != "free" || len(l.Holders)+len(l.Waiters) != 0 || l.GaveUp != (GaveUp{}) {
		t.Errorf("%s, %d holders, %d waiters, gave up %+v", l.Words, len(l.Holders), len(l.Waiters), l.GaveUp)
	}
}

type observerFunc func(context.Context, drawbridge.Event)

func (f observerFunc) Observe(ctx context.Context, e drawbridge.Event) { f(ctx, e) }

func TestSpansAreKeptAcrossViewers(t *testing.T) {
	var s spans
	for i := range 100 {
		s.add(span{lane: uint64(i), kind: held})
	}
	check := func(want int, first uint64) {
		t.Helper()
		if l, _ := s.after(0); len(l) != want || l[0].lane != first {
			t.Errorf("%d spans from %d on, want %d from %d on", len(l), l[0].lane, want, first)
		}
	}
	check(spansKept, 100-spansKept)
	s.view(1)
	check(spansKept, 100-spansKept)
	for i := range 1000 {
		s.add(span{lane: uint64(100 + i), kind: held})
	}
	check(1000+spansKept, 100-spansKept)
	s.view(-1)
	check(spansKept, 1100-spansKept)
	if l, gone := s.after(10); len(l) != spansKept || gone != 1100-spansKept-10 {
		t.Errorf("%d left and %d gone", len(l), gone)
	}
}

func benchmarkHold(b *testing.B, d Detail) {
	var mu drawbridge.RWMutex
	defer WatchDetail("bench", &mu, d)()
	ctx := pprof.WithLabels(b.Context(), pprof.Labels("route", "/users"))
	b.ReportAllocs()
	for b.Loop() {
		mu.LockContext(ctx)
		mu.Unlock()
	}
}

func BenchmarkHoldTimes(b *testing.B) { benchmarkHold(b, Times) }
func BenchmarkHoldSites(b *testing.B) { benchmarkHold(b, Sites) }

// BenchmarkHoldObserved is what the lock itself pays for an observer that does
// nothing.
func BenchmarkHoldObserved(b *testing.B) {
	var mu drawbridge.RWMutex
	defer mu.Observe(nobody{})()
	ctx := pprof.WithLabels(b.Context(), pprof.Labels("route", "/users"))
	for b.Loop() {
		mu.LockContext(ctx)
		mu.Unlock()
	}
}

type nobody struct{}

func (nobody) Observe(context.Context, drawbridge.Event) {}
