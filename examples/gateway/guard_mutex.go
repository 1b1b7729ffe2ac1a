package main

import (
	"context"

	"github.com/drawbridge-go/drawbridge"
)

// mutexGuard lets one call at a time have the table: each reader waits for
// all that came before it, and for what they wait for.
type mutexGuard struct {
	mu    drawbridge.Mutex
	table *table
}

func newMutexGuard() guard { return &mutexGuard{table: newTable()} }

func (g *mutexGuard) read(ctx context.Context, use func(context.Context, *table) error) error {
	return g.mu.WithLock(ctx, func(ctx context.Context) error {
		return use(ctx, g.table)
	})
}

func (g *mutexGuard) change(ctx context.Context, fn func(context.Context, *table, func() error) error) error {
	return g.mu.WithLock(ctx, func(ctx context.Context) error {
		return fn(ctx, g.table, func() error { return nil })
	})
}

func (g *mutexGuard) lock() drawbridge.Observable { return &g.mu }
