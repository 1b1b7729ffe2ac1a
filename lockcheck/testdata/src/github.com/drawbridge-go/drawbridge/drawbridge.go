// Package drawbridge has the names of the real package, for the analyzers' tests.
package drawbridge

import (
	"context"
	"sync"
)

type RWMutex struct{ state uint64 }

func (*RWMutex) Lock()                                    {}
func (*RWMutex) Unlock()                                  {}
func (*RWMutex) TryLock() bool                            { return true }
func (*RWMutex) RLock()                                   {}
func (*RWMutex) RUnlock()                                 {}
func (*RWMutex) TryRLock() bool                           { return true }
func (*RWMutex) RLocker() sync.Locker                     { return nil }
func (*RWMutex) LockContext(ctx context.Context) error    { return ctx.Err() }
func (*RWMutex) RLockContext(ctx context.Context) error   { return ctx.Err() }
func (*RWMutex) Downgrade()                               {}
func (*RWMutex) ULock()                                   {}
func (*RWMutex) ULockContext(ctx context.Context) error   { return ctx.Err() }
func (*RWMutex) TryULock() bool                           { return true }
func (*RWMutex) UUnlock()                                 {}
func (*RWMutex) Upgrade()                                 {}
func (*RWMutex) UpgradeContext(ctx context.Context) error { return ctx.Err() }
func (*RWMutex) DowngradeToUpgradable()                   {}
func (*RWMutex) WithRLock(ctx context.Context, fn func(context.Context) error) error {
	return fn(ctx)
}
func (*RWMutex) WithLock(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }
func (*RWMutex) WithULock(ctx context.Context, fn func(ctx context.Context, upgrade func() error) error) error {
	return fn(ctx, func() error { return nil })
}

type Mutex struct{ state uint64 }

func (*Mutex) Lock()                                                              {}
func (*Mutex) Unlock()                                                            {}
func (*Mutex) TryLock() bool                                                      { return true }
func (*Mutex) LockContext(ctx context.Context) error                              { return ctx.Err() }
func (*Mutex) WithLock(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }
