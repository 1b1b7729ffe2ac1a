package drawbridge_test

import (
	"context"
	"testing"
	"unsafe"

	"github.com/drawbridge-go/drawbridge"
)

// TestSizes: locks are put into structs by the million.
func TestSizes(t *testing.T) {
	if size := unsafe.Sizeof(drawbridge.RWMutex{}); size > 64 {
		t.Errorf("an RWMutex has %d bytes, promised are at most 64", size)
	}
	if size := unsafe.Sizeof(drawbridge.Mutex{}); size > 40 {
		t.Errorf("a Mutex has %d bytes, promised are at most 40", size)
	}
}

// TestAllocations of calls that need not wait.
func TestAllocations(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var (
		rw drawbridge.RWMutex
		mu drawbridge.Mutex
		g  drawbridge.Guarded[int]
		s  drawbridge.Snapshot[int]
		k  drawbridge.Keyed[int]
	)
	r := rw.RLocker()
	s.Publish(new(int))
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	fn := func(context.Context) error { return nil }
	value := func(context.Context, *int) error { return nil }
	for _, c := range []struct {
		name string
		most float64
		call func()
	}{
		{"Lock", 0, func() { rw.Lock(); rw.Unlock() }},
		{"RLock", 0, func() { rw.RLock(); rw.RUnlock() }},
		{"RLocker", 0, func() { r.Lock(); r.Unlock() }},
		{"TryLock", 0, func() { rw.TryLock(); rw.Unlock() }},
		{"TryRLock", 0, func() { rw.TryRLock(); rw.RUnlock() }},
		{"TryULock", 0, func() { rw.TryULock(); rw.UUnlock() }},
		{"TryLock that fails", 0, func() { rw.RLock(); rw.TryLock(); rw.RUnlock() }},
		{"LockContext", 0, func() { must(rw.LockContext(ctx)); rw.Unlock() }},
		{"RLockContext", 0, func() { must(rw.RLockContext(ctx)); rw.RUnlock() }},
		{"ULockContext", 0, func() { must(rw.ULockContext(ctx)); rw.UUnlock() }},
		{"Upgrade", 0, func() { rw.ULock(); rw.Upgrade(); rw.Unlock() }},
		{"UpgradeContext", 0, func() { rw.ULock(); must(rw.UpgradeContext(ctx)); rw.Unlock() }},
		{"Downgrade", 0, func() { rw.Lock(); rw.Downgrade(); rw.RUnlock() }},
		{"DowngradeToUpgradable", 0, func() { rw.Lock(); rw.DowngradeToUpgradable(); rw.UUnlock() }},
		{"State", 0, func() { rw.State() }},
		{"Mutex.Lock", 0, func() { mu.Lock(); mu.Unlock() }},
		{"Mutex.TryLock", 0, func() { mu.TryLock(); mu.Unlock() }},
		{"Mutex.LockContext", 0, func() { must(mu.LockContext(ctx)); mu.Unlock() }},
		{"Mutex.Locked", 0, func() { mu.Locked() }},
		{"Snapshot.Load", 0, func() { s.Load() }},
		{"Snapshot.Status", 0, func() { s.Status() }},

		{"WithRLock", 1, func() { must(rw.WithRLock(ctx, fn)) }},
		{"WithLock", 1, func() { must(rw.WithLock(ctx, fn)) }},
		{"Mutex.WithLock", 1, func() { must(mu.WithLock(ctx, fn)) }},
		{"Guarded.Read", 1, func() { must(g.Read(ctx, value)) }},
		{"Guarded.Write", 1, func() { must(g.Write(ctx, value)) }},
		{"Keyed.WithRLock", 1, func() { must(k.WithRLock(ctx, 1, fn)) }},
		{"Keyed.WithLock", 1, func() { must(k.WithLock(ctx, 1, fn)) }},

		// These allocate the upgrade function that they pass, too.
		{"WithULock", 2, func() {
			must(rw.WithULock(ctx, func(context.Context, func() error) error { return nil }))
		}},
		{"WithULock and upgrade", 2, func() {
			must(rw.WithULock(ctx, func(_ context.Context, upgrade func() error) error { return upgrade() }))
		}},
		{"Guarded.Update", 2, func() {
			must(g.Update(ctx, func(context.Context, *int, func() error) error { return nil }))
		}},
	} {
		if got := testing.AllocsPerRun(100, c.call); got > c.most {
			t.Errorf("%s: %v allocations, promised are at most %v", c.name, got, c.most)
		}
	}
}
