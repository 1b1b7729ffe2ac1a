//go:build race

package drawbridge

import (
	"runtime"
	"unsafe"
)

// Under the race detector a lock must make exactly the edges that it
// promises: each release of a writer comes before every later grant, each
// release of a reader before every later grant of a writer, and nothing else.
// Its own atomics and its internal mutex would add edges from reader to
// reader and so hide a write under a read hold.
//
// So every internal step runs between raceDisable and raceEnable, where the
// detector ignores synchronization, and the promised edges are declared
// outside, at two addresses of the lock. Plain fields of the lock are then
// touched without any edge that the detector could see, which it would report
// as our race; the functions that touch them are marked go:norace. No
// context, observer or function of the user is called between the two: its
// edges would be lost.

const raceEnabled = true

func raceDisable()                      { runtime.RaceDisable() }
func raceEnable()                       { runtime.RaceEnable() }
func raceAcquire(p unsafe.Pointer)      { runtime.RaceAcquire(p) }
func raceRelease(p unsafe.Pointer)      { runtime.RaceRelease(p) }
func raceReleaseMerge(p unsafe.Pointer) { runtime.RaceReleaseMerge(p) }
