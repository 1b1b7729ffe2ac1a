package drawbridge

import "fmt"

// Policy says who enters next when several wait. It is set once, in the
// declaration of the lock, before its first use:
//
//	var routes = drawbridge.RWMutex{Policy: drawbridge.FIFO}
//
// All policies keep the same exclusion: while a writer holds, everybody
// waits; while readers hold, a writer waits. They differ in whom they let
// pass:
//
//	                 a waiting writer       a writer leaves          can starve
//	Balanced         closes the door        the waiting readers,     nobody
//	                                        then the next writer
//	PreferWriters    closes the door        the next writer          readers
//	PreferReaders    leaves the door open   the waiting readers      writers
//	FIFO             closes the door        whoever came first       nobody
type Policy uint8

const (
	// Balanced is phase-fair and the zero value. A waiting writer keeps new
	// readers out; when a writer leaves, the readers that were waiting
	// enter together, then the next writer. A reader waits for at most one
	// writer; a writer waits for the readers inside when it came and, for
	// each writer before it, one writer and one batch of readers.
	//
	// When a writer leaves, the next writer is woken to compete rather than
	// given the lock, and until it has run, newcomers may enter as if
	// nobody waited. That window is what makes short sections fast: the
	// lock changes hands between running goroutines without a switch. A
	// writer that has slept for more than a millisecond gets no more
	// windows but the lock itself, so the bounds above hold apart from
	// what enters in the first millisecond.
	Balanced Policy = iota

	// PreferWriters lets no reader in while any writer waits. Readers
	// starve under a steady stream of writers.
	PreferWriters

	// PreferReaders lets a reader in whenever no writer holds. Writers
	// starve under overlapping readers.
	PreferReaders

	// FIFO serves strictly in order of arrival, neighbouring readers
	// together. Nobody overtakes, and every contended release costs a
	// switch of goroutines.
	FIFO
)

// String returns the name of the constant.
func (p Policy) String() string {
	switch p {
	case Balanced:
		return "Balanced"
	case PreferWriters:
		return "PreferWriters"
	case PreferReaders:
		return "PreferReaders"
	case FIFO:
		return "FIFO"
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// check panics when p is none of the constants. Mutex has its own check.
func (p Policy) check() {
	if p > FIFO {
		panic("drawbridge: unknown " + p.String() + "; use Balanced, PreferWriters, PreferReaders or FIFO")
	}
}
