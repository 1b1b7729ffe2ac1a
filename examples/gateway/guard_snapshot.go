package main

import (
	"context"

	"github.com/drawbridge-go/drawbridge"
)

// snapshotGuard replaces the table by a changed copy. A reader keeps the one
// that it has loaded and never waits; a change costs a copy of the table, and
// waits only for other changes.
type snapshotGuard struct {
	table drawbridge.Snapshot[table]
}

func newSnapshotGuard() guard {
	g := new(snapshotGuard)
	g.table.Publish(newTable())
	return g
}

func (g *snapshotGuard) read(ctx context.Context, use func(context.Context, *table) error) error {
	return use(ctx, g.table.Load())
}

func (g *snapshotGuard) change(ctx context.Context, fn func(context.Context, *table, func() error) error) error {
	return g.table.Update(ctx, func(ctx context.Context, old *table) (*table, error) {
		next, changed := old.clone(), false
		err := fn(ctx, next, func() error { changed = true; return nil })
		if err != nil || !changed {
			return nil, err
		}
		return next, nil
	})
}

func (g *snapshotGuard) lock() drawbridge.Observable { return &g.table }
