package linear

import (
	"context"
	"fmt"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/drawbridge-go/drawbridge"
)

// versioned is the state of a snapshot that does one thing at a time: the name
// of the value and its version.
type versioned struct {
	value   int
	version uint64
}

// snapshotCall is a call on a snapshot. It writes value, unless that is 0.
type snapshotCall struct {
	name  string
	value int
	after uint64 // of a wait
}

// snapshotAnswer is what came of it.
type snapshotAnswer struct {
	failed  bool
	value   int    // read
	version uint64 // read or written, 0 where it is not told
}

var snapshotModel = porcupine.Model{
	Init: func() any { return versioned{} },
	Step: func(state, in, out any) (bool, any) {
		s, c, a := state.(versioned), in.(snapshotCall), out.(snapshotAnswer)
		if a.failed {
			return true, s
		}
		switch c.name {
		case "load":
			return a.value == s.value, s
		case "wait":
			return s.version > c.after && a == snapshotAnswer{value: s.value, version: s.version}, s
		case "publish":
			s = versioned{c.value, s.version + 1}
			return a.version == s.version, s
		case "update": // of the value that it read, and no other
			return a.value == s.value, versioned{c.value, s.version + 1}
		}
		return true, versioned{c.value, s.version + 1} // refresh
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v: %+v", in, out) },
}

func TestSnapshotIsLinearizable(t *testing.T) {
	for seed := range rounds(t) {
		var s drawbridge.Snapshot[int]
		history := newRecorder().run(5, uint64(seed), func(c *client) {
			for n := range 10 {
				c.useSnapshot(&s, 1+c.id+5*n)
			}
		})
		linearizable(t, snapshotModel, history)
		if st := s.Status(); st.Refreshing {
			t.Fatal("all calls have returned and a build is still under way")
		}
	}
}

// useSnapshot makes one call; value is written by nobody else.
func (c *client) useSnapshot(s *drawbridge.Snapshot[int], value int) {
	ctx, cancel := c.patience()
	defer cancel()
	began := c.now()
	switch c.rnd.IntN(5) {
	case 0:
		var a snapshotAnswer
		if v := s.Load(); v != nil {
			a.value = *v
		}
		c.add(began, snapshotCall{name: "load"}, a)
	case 1:
		version := s.Publish(&value)
		c.add(began, snapshotCall{name: "publish", value: value}, snapshotAnswer{version: version})
	case 2:
		var a snapshotAnswer
		err := s.Update(ctx, func(_ context.Context, old *int) (*int, error) {
			a.value = 0
			if old != nil {
				a.value = *old
			}
			c.pause()
			return &value, nil
		})
		a.failed = err != nil
		c.add(began, snapshotCall{name: "update", value: value}, a)
	case 3:
		// Whoever shares the build of another writes nothing.
		built := false
		err := s.Refresh(context.Background(), func(context.Context) (*int, error) {
			built = true
			c.pause()
			return &value, nil
		})
		if built {
			c.add(began, snapshotCall{name: "refresh", value: value}, snapshotAnswer{failed: err != nil})
		}
	case 4:
		after := uint64(c.rnd.IntN(5))
		waiting, cancel := context.WithTimeout(ctx, 1e6)
		defer cancel()
		var a snapshotAnswer
		v, version, err := s.Wait(waiting, after)
		if err == nil {
			a.value, a.version = *v, version
		}
		a.failed = err != nil
		c.add(began, snapshotCall{name: "wait", after: after}, a)
	}
}
