package main

import (
	"context"

	"github.com/drawbridge-go/drawbridge"
)

// rwmutexGuard changes the table in place. Readers share it, across their
// waits; a change waits for the readers inside and keeps the others out.
type rwmutexGuard struct {
	mu    drawbridge.RWMutex
	table *table
}

func newRWMutexGuard() guard { return &rwmutexGuard{table: newTable()} }

func (g *rwmutexGuard) read(ctx context.Context, use func(context.Context, *table) error) error {
	return g.mu.WithRLock(ctx, func(ctx context.Context) error {
		return use(ctx, g.table)
	})
}

// change looks at the table beside the readers and keeps them out only from
// write on: a change that finds nothing to do delays nobody.
func (g *rwmutexGuard) change(ctx context.Context, fn func(context.Context, *table, func() error) error) error {
	return g.mu.WithULock(ctx, func(ctx context.Context, upgrade func() error) error {
		return fn(ctx, g.table, upgrade)
	})
}

func (g *rwmutexGuard) lock() drawbridge.Observable { return &g.mu }
