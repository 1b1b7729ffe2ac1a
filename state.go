package drawbridge

// The whole lock is one 64-bit word, so that every change of it is one atomic
// step and nobody ever sees half of one:
//
//	63    56 55   46 45  42 41                 32 31      0
//	[ window ][ heat ][ - ][ flags, see below    ][ readers ]
//
// The fast paths change it without any lock:
//
//	enter to read    readers+1             while the door is not closed
//	leave            readers-1             the last one looks whether somebody waits
//	enter to write   writing and closed    from free, or in a window
//	leave            both cleared          while nobody waits who is not on the way
//	enter and leave upgradably             upgradable set and cleared
//
// Everything else happens under core.mu, in core.settle. A fast path that
// meets a bit it does not know leaves the word alone and takes the slow path,
// so whoever sets a bit under core.mu and finds, in the same compare-and-swap,
// that somebody is inside, knows that the one inside will see it when leaving.
const (
	// readersInside counts the readers that hold, an upgradable one left out.
	readersInside = 1<<32 - 1

	// ready: the policy has been checked. A lock is free when this is the
	// only bit, and never used when there is none.
	ready = 1 << (32 + iota - 1)

	// writing: a writer holds. It implies closed.
	writing

	// closed: the door is closed to newcomers. Without writing it means
	// that somebody (queue.drainer) waits for those inside to leave.
	closed

	// writersWait: queue.writers is not empty.
	writersWait

	// readersWait: queue.readers or queue.upgradables is not empty.
	readersWait

	// upgradable: an upgradable reader holds.
	upgradable

	// competing: the first of queue.writers was woken to compete and has
	// not run yet. Under Balanced only. Until it has run, newcomers enter as if
	// nobody waited: the window.
	competing

	// watched: the lock is observed, every call takes the slow path.
	watched

	// striped: readers enter and leave by the stripes, see stripes.go.
	striped

	// heatStep counts the readers that found others inside since the last
	// writer, up to heatMask: how read-hot the lock is.
	heatStep = 1 << 46
	heatMask = 0x3ff << 46

	// windowStep counts the releases in a window, in the eight bits at the
	// top: when they overflow, the release looks at the clock.
	windowStep = 1 << (64 - windowBits)
	windowMask = (1<<windowBits - 1) << (64 - windowBits)
)

// The two states that the fast paths of a writer know.
const (
	free = uint64(ready)
	busy = free | writing | closed
)

// passable is what keeps no reader out.
const passable = heatMask | windowMask | writersWait | competing

// readers returns how many readers state counts. On a striped lock the stripes
// count too.
func readers(state uint64) uint64 { return state & readersInside }

// warmer returns state with one more reader that found others inside, if it does.
func warmer(state uint64) uint64 {
	if readers(state) != 0 && state&heatMask < heatLimit {
		state += heatStep
	}
	return state
}

// mayRead reports whether a newcomer may enter to read.
func mayRead(state uint64) bool { return state&(ready|closed) == ready }

// mayUpgradably is mayRead for an upgradable newcomer. One that finds another
// inside waits for that one alone.
func mayUpgradably(state uint64) bool { return state&(ready|closed|upgradable) == ready }

// mayWrite reports whether a newcomer may enter to write: nobody is inside,
// the door is open, and if anybody waits at all, it is in a window.
//
// On a striped lock a writer has to close the door before it can tell.
func mayWrite(state uint64) bool {
	return state&(ready|closed|upgradable|striped|readersInside) == ready &&
		(state&writersWait == 0 || state&competing != 0)
}

// enter returns state with a newcomer inside, and whether it may enter.
func enter(state uint64, m Mode) (next uint64, ok bool) {
	switch m {
	case Read:
		return warmer(state) + 1, mayRead(state)
	case Upgradable:
		return state | upgradable, mayUpgradably(state)
	default:
		return state&^heatMask | writing | closed, mayWrite(state)
	}
}
