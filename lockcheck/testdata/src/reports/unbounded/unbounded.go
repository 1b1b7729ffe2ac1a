// Package unbounded has the shapes of reported waits that did not end with their request.
package unbounded

import (
	"context"
	"log"

	"github.com/drawbridge-go/drawbridge"
)

// https://github.com/moby/moby/pull/23175: readers that cannot give up.
type container struct {
	mu   drawbridge.RWMutex
	exit chan int
}

func (c *container) stop() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return <-c.exit // want `receive from c.exit while c.mu`
}

func (c *container) inspect(ctx context.Context) error {
	c.mu.RLock() // want `RLock waits without end although ctx is at hand`
	defer c.mu.RUnlock()
	return ctx.Err()
}

// The context of an acquire that goes nowhere but into a log line.
func (c *container) acquire(ctx context.Context) error {
	log.Print(ctx)
	return c.mu.LockContext(context.Background()) // want `LockContext with context.Background never gives up although ctx is at hand`
}

func (c *container) free() { c.mu.Unlock() }

// The lock is taken although the context is done: the error is not looked at.
func (c *container) rename(ctx context.Context) {
	c.mu.LockContext(ctx) // want `the error of this call on c.mu is dropped`
	defer c.mu.Unlock()
}
