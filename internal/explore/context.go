//go:build explore

package explore

import (
	"context"
	"time"

	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
)

// endable is a context whose end is a step of the program.
type endable struct {
	done  chan struct{}
	err   error
	fixed bool // nobody will end it
}

func newEndable(cancelled bool) *endable {
	return &endable{done: make(chan struct{}), fixed: !cancelled}
}

func (c *endable) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *endable) Done() <-chan struct{}       { return c.done }
func (c *endable) Value(any) any               { return nil }

// Err is a step while its answer may change.
func (c *endable) Err() error {
	if c.err == nil && !c.fixed {
		sched.Step(nil)
		if c.err == nil {
			sched.Saw(0)
		} else {
			sched.Saw(1)
		}
	}
	return c.err
}

// end is the whole of an actor.
func (c *endable) end() {
	c.err = context.Canceled
	close(c.done)
	sched.Note("ends the context")
}
