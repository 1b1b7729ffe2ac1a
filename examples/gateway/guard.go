package main

import (
	"context"
	"errors"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// A guard keeps the table, so that nobody sees half of a change. The three
// that there are do the same for their callers; what differs is who waits.
type guard interface {
	// read runs use with a table that stays as it is until use returns. use
	// must not change it.
	read(ctx context.Context, use func(context.Context, *table) error) error

	// change runs fn with a table that nobody else changes until fn returns.
	// fn may look at it, and may change it once write has returned nil.
	// Readers see all of its changes or none. If fn returns an error it must
	// have changed nothing.
	change(ctx context.Context, fn func(ctx context.Context, t *table, write func() error) error) error

	// lock is what inspect shows of the guard.
	lock() drawbridge.Observable
}

// guards are the values of --guard.
var guards = map[string]func() guard{
	"snapshot": newSnapshotGuard,
	"rwmutex":  newRWMutexGuard,
	"mutex":    newMutexGuard,
}

// errBusy is the cause of a wait for the table that took longer than it may.
var errBusy = errors.New("the routing table was busy for too long")

// impatient is a guard whose calls give up with [errBusy] after waiting that
// long. The limit is for waits alone: the function that they wait to run
// takes the time that it takes.
type impatient struct {
	guard
	limit time.Duration // 0 for none
}

func (g impatient) read(ctx context.Context, use func(context.Context, *table) error) error {
	ctx, clock := g.start(ctx)
	defer clock.end()
	return g.guard.read(ctx, func(ctx context.Context, t *table) error {
		if err := clock.stop(); err != nil {
			return err
		}
		return use(ctx, t)
	})
}

func (g impatient) change(ctx context.Context, fn func(context.Context, *table, func() error) error) error {
	ctx, clock := g.start(ctx)
	defer clock.end()
	return g.guard.change(ctx, func(ctx context.Context, t *table, write func() error) error {
		if err := clock.stop(); err != nil {
			return err
		}
		return fn(ctx, t, func() error {
			clock.restart()
			if err := write(); err != nil {
				return err
			}
			return clock.stop()
		})
	})
}

// A clock cancels its context when a wait lasts too long. A deadline in the
// context would go on to count after the wait.
type clock struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  time.Duration
	timer  *time.Timer
}

func (g impatient) start(ctx context.Context) (context.Context, *clock) {
	c := &clock{limit: g.limit}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.restart()
	return c.ctx, c
}

func (c *clock) restart() {
	if c.limit > 0 {
		c.timer = time.AfterFunc(c.limit, func() { c.cancel(errBusy) })
	}
}

// stop ends the wait. The limit may have passed while the lock was granted:
// then the context is cancelled, or about to be, and the call gives up.
func (c *clock) stop() error {
	timer := c.timer
	c.timer = nil // a change that is run again waits for nobody
	if timer != nil && !timer.Stop() {
		return errBusy
	}
	return nil
}

func (c *clock) end() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.cancel(nil)
}
