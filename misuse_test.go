package drawbridge_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// misuses end the process that commits them. Each names the line that it is
// told.
var misuses = []struct {
	name string
	line string
	do   func(rw *drawbridge.RWMutex)
}{
	{"Unlock of a new lock", "Unlock without a write hold", func(rw *drawbridge.RWMutex) { rw.Unlock() }},
	{"Unlock twice", "Unlock without a write hold", func(rw *drawbridge.RWMutex) { rw.Lock(); rw.Unlock(); rw.Unlock() }},
	{"Unlock of a read hold", "Unlock without a write hold", func(rw *drawbridge.RWMutex) { rw.RLock(); rw.Unlock() }},
	{"Unlock of an upgradable hold", "Unlock without a write hold", func(rw *drawbridge.RWMutex) { rw.ULock(); rw.Unlock() }},
	{"Unlock after a downgrade", "Unlock without a write hold", func(rw *drawbridge.RWMutex) { rw.Lock(); rw.Downgrade(); rw.Unlock() }},
	{"RUnlock of a new lock", "RUnlock without a read hold", func(rw *drawbridge.RWMutex) { rw.RUnlock() }},
	{"RUnlock twice", "RUnlock without a read hold", func(rw *drawbridge.RWMutex) { rw.RLock(); rw.RUnlock(); rw.RUnlock() }},
	{"RUnlock of a write hold", "RUnlock without a read hold", func(rw *drawbridge.RWMutex) { rw.Lock(); rw.RUnlock() }},
	{"RUnlock of an upgradable hold", "RUnlock without a read hold", func(rw *drawbridge.RWMutex) { rw.ULock(); rw.RUnlock() }},
	{"RLocker's Unlock", "RUnlock without a read hold", func(rw *drawbridge.RWMutex) { rw.RLocker().Unlock() }},
	{"RUnlock while a woken writer has not run", "RUnlock without a read hold", func(rw *drawbridge.RWMutex) {
		runtime.GOMAXPROCS(1)
		rw.Lock()
		go func() { rw.Lock(); rw.Unlock() }()
		for rw.State().WaitingWriters == 0 {
			runtime.Gosched()
		}
		rw.Unlock()
		rw.RUnlock()
	}},
	{"RUnlock twice after a downgrade", "RUnlock without a read hold", func(rw *drawbridge.RWMutex) {
		rw.Lock()
		rw.Downgrade()
		rw.RUnlock()
		rw.RUnlock()
	}},
	{"UUnlock of a new lock", "UUnlock without an upgradable hold", func(rw *drawbridge.RWMutex) { rw.UUnlock() }},
	{"UUnlock of a read hold", "UUnlock without an upgradable hold", func(rw *drawbridge.RWMutex) { rw.RLock(); rw.UUnlock() }},
	{"UUnlock after an upgrade", "UUnlock without an upgradable hold", func(rw *drawbridge.RWMutex) { rw.ULock(); rw.Upgrade(); rw.UUnlock() }},
	{"UUnlock during an upgrade", "UUnlock without an upgradable hold", func(rw *drawbridge.RWMutex) {
		rw.ULock()
		rw.RLock()
		go rw.Upgrade()
		for rw.State().WaitingWriters == 0 {
			time.Sleep(time.Millisecond)
		}
		rw.UUnlock()
	}},
	{"Downgrade of a new lock", "Downgrade without a write hold", func(rw *drawbridge.RWMutex) { rw.Downgrade() }},
	{"Downgrade of a read hold", "Downgrade without a write hold", func(rw *drawbridge.RWMutex) { rw.RLock(); rw.Downgrade() }},
	{"Downgrade twice", "Downgrade without a write hold", func(rw *drawbridge.RWMutex) { rw.Lock(); rw.Downgrade(); rw.Downgrade() }},
	{"DowngradeToUpgradable of a new lock", "DowngradeToUpgradable without a write hold", func(rw *drawbridge.RWMutex) { rw.DowngradeToUpgradable() }},
	{"DowngradeToUpgradable of an upgradable hold", "DowngradeToUpgradable without a write hold", func(rw *drawbridge.RWMutex) {
		rw.ULock()
		rw.DowngradeToUpgradable()
	}},
	{"Upgrade of a new lock", "Upgrade without an upgradable hold", func(rw *drawbridge.RWMutex) { rw.Upgrade() }},
	{"Upgrade of a read hold", "Upgrade without an upgradable hold", func(rw *drawbridge.RWMutex) { rw.RLock(); rw.Upgrade() }},
	{"Upgrade of a write hold", "Upgrade without an upgradable hold", func(rw *drawbridge.RWMutex) { rw.Lock(); rw.Upgrade() }},
	{"UpgradeContext of a new lock", "Upgrade without an upgradable hold", func(rw *drawbridge.RWMutex) {
		_ = rw.UpgradeContext(context.Background())
	}},
	{"Upgrade during an upgrade", "Upgrade without an upgradable hold", func(rw *drawbridge.RWMutex) {
		rw.ULock()
		rw.RLock()
		go rw.Upgrade()
		for rw.State().WaitingWriters == 0 {
			time.Sleep(time.Millisecond)
		}
		rw.Upgrade()
	}},
	{"Unlock of a scoped write", "Unlock without a write hold", func(rw *drawbridge.RWMutex) {
		_ = rw.WithLock(context.Background(), func(context.Context) error { rw.Unlock(); return nil })
	}},
	{"Unlock of a Mutex", "Unlock without a write hold", func(*drawbridge.RWMutex) {
		var mu drawbridge.Mutex
		mu.Lock()
		mu.Unlock()
		mu.Unlock()
	}},
	{"Unlock of a free lock on which others waited", "Unlock without a write hold", func(rw *drawbridge.RWMutex) {
		rw.Lock()
		entered := make(chan struct{})
		go func() { rw.RLock(); close(entered) }()
		for rw.State().WaitingReaders == 0 {
			time.Sleep(time.Millisecond)
		}
		rw.Unlock()
		<-entered
		rw.Unlock()
	}},
}

const misuseVariable = "DRAWBRIDGE_MISUSE"

// TestMain commits a misuse where the test asks a child process to.
func TestMain(m *testing.M) {
	name, policy, _ := strings.Cut(os.Getenv(misuseVariable), "/")
	for _, misuse := range misuses {
		if misuse.name == name {
			commit(misuse.do, policy)
		}
	}
	os.Exit(m.Run())
}

func commit(do func(*drawbridge.RWMutex), policy string) {
	defer func() {
		r := recover()
		fmt.Println("survived:", r)
		os.Exit(0)
	}()
	rw := new(drawbridge.RWMutex)
	for rw.Policy.String() != policy && policy != "observed" {
		rw.Policy++
	}
	if policy == "observed" {
		drawbridge.ObserveAll(observerFunc(func(context.Context, drawbridge.Event) {}))
	}
	do(rw)
}

// TestMisuseEndsTheProcess: a panic could be recovered, and would leave a lock
// of which nobody knows who holds it; a call that blocks instead hides the bug:
// https://github.com/neo4j/neo4j-go-driver/pull/363
func TestMisuseEndsTheProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, misuse := range misuses {
		for _, policy := range []string{"Balanced", "PreferWriters", "PreferReaders", "FIFO", "observed"} {
			t.Run(misuse.name+"/"+policy, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, self)
				cmd.Env = append(os.Environ(), misuseVariable+"="+misuse.name+"/"+policy, "GORACE=atexit_sleep_ms=0")
				out, err := cmd.CombinedOutput()
				text := string(out)
				first, rest, _ := strings.Cut(text, "\n")
				if err == nil || !strings.HasPrefix(first, "drawbridge: "+misuse.line) ||
					strings.Contains(rest, "drawbridge: ") || !strings.Contains(rest, "unlocked") {
					t.Errorf("error %v, output:\n%s", err, text)
				}
			})
		}
	}
}

// panicsWith returns what f panics with.
func panicsWith(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return "no panic"
}

// TestNilContext panics before anything is touched, as
// http.NewRequestWithContext tells its callers.
func TestNilContext(t *testing.T) {
	var (
		rw  drawbridge.RWMutex
		mu  drawbridge.Mutex
		g   drawbridge.Guarded[int]
		s   drawbridge.Snapshot[int]
		k   drawbridge.Keyed[int]
		ctx context.Context // nil
	)
	scope := func(context.Context) error { t.Error("entered"); return nil }
	upgradable := func(context.Context, func() error) error { t.Error("entered"); return nil }
	build := func(context.Context) (*int, error) { t.Error("called"); return nil, nil }
	for name, call := range map[string]func() error{
		"RWMutex.LockContext":    func() error { return rw.LockContext(ctx) },
		"RWMutex.RLockContext":   func() error { return rw.RLockContext(ctx) },
		"RWMutex.ULockContext":   func() error { return rw.ULockContext(ctx) },
		"RWMutex.UpgradeContext": func() error { return rw.UpgradeContext(ctx) },
		"RWMutex.WithLock":       func() error { return rw.WithLock(ctx, scope) },
		"RWMutex.WithRLock":      func() error { return rw.WithRLock(ctx, scope) },
		"RWMutex.WithULock":      func() error { return rw.WithULock(ctx, upgradable) },
		"Mutex.LockContext":      func() error { return mu.LockContext(ctx) },
		"Mutex.WithLock":         func() error { return mu.WithLock(ctx, scope) },
		"Guarded.Read":           func() error { return g.Read(ctx, func(context.Context, *int) error { return scope(t.Context()) }) },
		"Guarded.Write":          func() error { return g.Write(ctx, func(context.Context, *int) error { return scope(t.Context()) }) },
		"Guarded.Update": func() error {
			return g.Update(ctx, func(context.Context, *int, func() error) error { return scope(t.Context()) })
		},
		"Snapshot.Update": func() error {
			return s.Update(ctx, func(context.Context, *int) (*int, error) { return build(t.Context()) })
		},
		"Snapshot.Refresh":      func() error { return s.Refresh(ctx, build) },
		"Snapshot.RefreshEvery": func() error { return s.RefreshEvery(ctx, time.Second, build) },
		"Snapshot.Wait":         func() error { _, _, err := s.Wait(ctx, 0); return err },
		"Keyed.WithLock":        func() error { return k.WithLock(ctx, 1, scope) },
		"Keyed.WithRLock":       func() error { return k.WithRLock(ctx, 1, scope) },
		"Keyed.WithULock":       func() error { return k.WithULock(ctx, 1, upgradable) },
		"Keyed.WithLocks":       func() error { return k.WithLocks(ctx, []int{1}, scope) },
		"Keyed.LockContext":     func() error { _, err := k.LockContext(ctx, 1); return err },
		"Keyed.RLockContext":    func() error { _, err := k.RLockContext(ctx, 1); return err },
		"WithoutHolds":          func() error { drawbridge.WithoutHolds(ctx); return nil },
	} {
		text := panicsWith(func() {
			if err := call(); err != nil {
				t.Errorf("%s: error %v", name, err)
			}
		})
		if text != "drawbridge: nil Context; use context.Background or the plain method" {
			t.Errorf("%s: panic %q", name, text)
		}
	}
	if !rw.TryLock() || !mu.TryLock() || g.State() != (drawbridge.State{}) || k.Len() != 0 || s.Status() != (drawbridge.SnapshotStatus{}) {
		t.Error("a call that panicked has left something behind")
	}
}

func TestUnknownPolicyPanicsAtFirstUse(t *testing.T) {
	const wrong = FIFO + 1
	const text = "drawbridge: unknown Policy(4); use Balanced, PreferWriters, PreferReaders or FIFO"
	scope := func(context.Context) error { return nil }
	ctx := t.Context()
	for name, use := range map[string]func(*drawbridge.RWMutex){
		"Lock":         (*drawbridge.RWMutex).Lock,
		"RLock":        (*drawbridge.RWMutex).RLock,
		"ULock":        (*drawbridge.RWMutex).ULock,
		"TryLock":      func(rw *drawbridge.RWMutex) { rw.TryLock() },
		"TryRLock":     func(rw *drawbridge.RWMutex) { rw.TryRLock() },
		"TryULock":     func(rw *drawbridge.RWMutex) { rw.TryULock() },
		"LockContext":  func(rw *drawbridge.RWMutex) { _ = rw.LockContext(ctx) },
		"RLockContext": func(rw *drawbridge.RWMutex) { _ = rw.RLockContext(ctx) },
		"WithRLock":    func(rw *drawbridge.RWMutex) { _ = rw.WithRLock(ctx, scope) },
		"Observe": func(rw *drawbridge.RWMutex) {
			rw.Observe(observerFunc(func(context.Context, drawbridge.Event) {}))
		},
	} {
		rw := drawbridge.RWMutex{Policy: wrong}
		for range 2 { // and not only the first time
			if got := panicsWith(func() { use(&rw) }); got != text {
				t.Errorf("%s: panic %q, want %q", name, got, text)
			}
		}
		if got := rw.State(); got != (drawbridge.State{}) {
			t.Errorf("%s left behind: %s", name, got)
		}
	}
	g := drawbridge.Guarded[int]{Policy: wrong}
	k := drawbridge.Keyed[int]{Policy: wrong}
	for name, use := range map[string]func(){
		"Guarded": func() { _ = g.Read(ctx, func(context.Context, *int) error { return nil }) },
		"Keyed":   func() { _ = k.WithLock(ctx, 1, scope) },
	} {
		if got := panicsWith(use); got != text {
			t.Errorf("%s: panic %q, want %q", name, got, text)
		}
	}
}

// TestPoliciesOfAMutex: those that are about readers are refused.
func TestPoliciesOfAMutex(t *testing.T) {
	for _, policy := range []drawbridge.Policy{PreferWriters, PreferReaders, FIFO + 1} {
		mu := drawbridge.Mutex{Policy: policy}
		want := "drawbridge: a Mutex has no policy " + policy.String() + "; use Balanced or FIFO"
		for name, use := range map[string]func(){
			"Lock":        mu.Lock,
			"TryLock":     func() { mu.TryLock() },
			"LockContext": func() { _ = mu.LockContext(t.Context()) },
			"WithLock":    func() { _ = mu.WithLock(t.Context(), func(context.Context) error { return nil }) },
		} {
			if got := panicsWith(use); got != want {
				t.Errorf("%v: %s: panic %q, want %q", policy, name, got, want)
			}
		}
	}
}

func TestNilObserver(t *testing.T) {
	var (
		rw drawbridge.RWMutex
		mu drawbridge.Mutex
		g  drawbridge.Guarded[int]
		k  drawbridge.Keyed[int]
	)
	for name, observe := range map[string]func(drawbridge.Observer) func(){
		"RWMutex": rw.Observe, "Mutex": mu.Observe, "Guarded": g.Observe, "Keyed": k.Observe, "ObserveAll": drawbridge.ObserveAll,
	} {
		if got := panicsWith(func() { observe(nil) }); got != "drawbridge: nil Observer" {
			t.Errorf("%s: panic %q", name, got)
		}
	}
}
