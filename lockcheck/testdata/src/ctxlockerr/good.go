package ctxlockerr

import (
	"context"
	"errors"
	"fmt"

	"github.com/drawbridge-go/drawbridge"
)

type good struct {
	mu drawbridge.RWMutex
	n  int
}

func (g *good) add(ctx context.Context) error {
	if err := g.mu.LockContext(ctx); err != nil {
		return fmt.Errorf("add: %w", err)
	}
	defer g.mu.Unlock()
	g.n++
	return nil
}

func (g *good) otherWay(ctx context.Context) int {
	if err := g.mu.RLockContext(ctx); err == nil {
		defer g.mu.RUnlock()
		return g.n
	}
	return 0
}

func (g *good) retry(ctx context.Context) error {
	for {
		err := g.mu.LockContext(ctx)
		if errors.Is(err, context.Canceled) {
			return err
		}
		if err != nil {
			continue
		}
		g.n++
		g.mu.Unlock()
		return nil
	}
}

// acquire keeps the lock for its caller, who releases it.
func (g *good) acquire(ctx context.Context) error { return g.mu.LockContext(ctx) }

func (g *good) release() { g.mu.Unlock() }

func (g *good) set(ctx context.Context, n int) error {
	if err := g.acquire(ctx); err != nil {
		return err
	}
	defer g.release()
	g.n = n
	return nil
}

func (g *good) upgrade(ctx context.Context) error {
	if err := g.mu.ULockContext(ctx); err != nil {
		return err
	}
	if g.n > 0 {
		g.mu.UUnlock()
		return nil
	}
	if err := g.mu.UpgradeContext(ctx); err != nil {
		g.mu.UUnlock()
		return err
	}
	g.n = 1
	g.mu.Unlock()
	return nil
}

func (g *good) downgrade(ctx context.Context) (int, error) {
	if err := g.mu.LockContext(ctx); err != nil {
		return 0, err
	}
	g.n++
	g.mu.Downgrade()
	defer g.mu.RUnlock()
	return g.n, nil
}

func (g *good) named(ctx context.Context) (err error) {
	if err = g.mu.LockContext(ctx); err != nil {
		return
	}
	defer func() {
		g.n++
		g.mu.Unlock()
	}()
	return g.check()
}

func (g *good) check() error { return nil }
