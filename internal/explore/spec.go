//go:build explore

package explore

import (
	"fmt"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
)

// The contract of the locks, as far as it can be seen from outside: who may be
// inside together, who may sleep, and who may overtake whom. It knows nothing
// of how they do it.

// inside is who holds.
type inside struct {
	readers, upgradables, writers int
}

// exclusion returns who is inside together and must not be.
func (in inside) exclusion() error {
	if in.writers > 1 || in.upgradables > 1 || in.writers == 1 && in.readers+in.upgradables > 0 {
		return fmt.Errorf("exclusion: %d writers, %d upgradable readers and %d readers hold together",
			in.writers, in.upgradables, in.readers)
	}
	return nil
}

// admits reports whether one more may enter while nobody waits.
func (in inside) admits(m drawbridge.Mode) bool {
	switch m {
	case drawbridge.Read:
		return in.writers == 0
	case drawbridge.Upgradable:
		return in.writers+in.upgradables == 0
	}
	return in == inside{}
}

// sleeper is a call that waits; earlier ones come first.
type sleeper struct {
	name    string
	mode    drawbridge.Mode
	upgrade bool
}

// mustNotSleep returns the sleeper that the policy allows to enter while nobody
// is on the way: all calls that have not returned are asleep, and no wake is
// under way to any of them.
func mustNotSleep(p drawbridge.Policy, in inside, sleepers []sleeper) error {
	if len(sleepers) == 0 || in.writers > 0 {
		return nil
	}
	wrong := func(s sleeper, why string) error {
		return fmt.Errorf("asleep though it may enter: %s waits to %s while %s", s.name, s.mode, why)
	}
	for _, s := range sleepers {
		if s.upgrade {
			if in.readers == 0 {
				return wrong(s, "no reader is inside")
			}
			return nil // it has closed the door to everybody
		}
	}
	if in.readers+in.upgradables == 0 {
		return wrong(sleepers[0], "nobody is inside")
	}
	writerWaits, writerCame := false, false
	for _, s := range sleepers {
		writerWaits = writerWaits || s.mode == drawbridge.Write
	}
	for _, s := range sleepers {
		shut := writerWaits
		switch p {
		case drawbridge.PreferReaders:
			shut = false
		case drawbridge.FIFO:
			shut = writerCame
		}
		switch {
		case s.mode == drawbridge.Write:
			writerCame = true
		case shut:
		case s.mode == drawbridge.Read:
			return wrong(s, "no writer keeps it out")
		case in.upgradables == 0:
			return wrong(s, "neither a writer nor an upgradable reader keeps it out")
		}
	}
	return nil
}

// overtaking is a call that has got the lock, and one that slept from before
// the first one began until after.
type overtaking struct {
	policy drawbridge.Policy
	by     drawbridge.Mode

	of      drawbridge.Mode
	upgrade bool // the sleeper waits for its upgrade

	// window: a writer was on its way to compete at some time during the call.
	window bool

	// slept: the call waited, as one of those who enter together when a
	// writer leaves.
	slept bool
}

// allowed reports whether the policy lets that happen at all; how often is
// another question.
func (o overtaking) allowed() bool {
	const R, U, W = drawbridge.Read, drawbridge.Upgradable, drawbridge.Write
	if o.upgrade {
		return false // under every policy it passes the queue and shuts the door
	}
	if o.of == U && o.by == R {
		return true // it may wait for another upgradable reader alone
	}
	switch o.policy {
	case drawbridge.FIFO:
		return false
	case drawbridge.PreferWriters:
		return o.by == W && o.of != W
	case drawbridge.PreferReaders:
		return o.by != W && o.of == W
	default:
		if o.of == W {
			return o.window || o.slept && o.by != W
		}
		return o.by == W // bounded by writersPerReader
	}
}

// writersPerReader is how many writers a reader may wait for, from when it is
// asleep; below 0 there is no bound.
func writersPerReader(p drawbridge.Policy) int {
	switch p {
	case drawbridge.Balanced:
		return 1
	case drawbridge.PreferReaders:
		return 0
	}
	return -1
}

// afterPatience is how many calls that began after its patience may overtake a
// writer: as many as leave in a window before one looks at the clock.
const afterPatience = 2

// agree compares the lock's own account with what its callers know, while
// nobody is in the middle of a call but asleep.
func agree(p sched.Picture, in inside, sleepers []sleeper) error {
	want := sched.Picture{Readers: in.readers, Writer: in.writers == 1, Upgradable: in.upgradables == 1}
	for _, s := range sleepers {
		if s.mode == drawbridge.Write {
			want.WaitingWriters++
		} else {
			want.WaitingReaders++
		}
	}
	if p != want {
		return fmt.Errorf("the lock's account is wrong: it says %s, and its callers %s", state(p), state(want))
	}
	return nil
}

// state puts a picture into words.
func state(p sched.Picture) drawbridge.State { return drawbridge.State(p) }
