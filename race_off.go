//go:build !race

package drawbridge

import "unsafe"

// See race_on.go. Without the race detector all of this is nothing.

const raceEnabled = false

func raceDisable()                    {}
func raceEnable()                     {}
func raceAcquire(unsafe.Pointer)      {}
func raceRelease(unsafe.Pointer)      {}
func raceReleaseMerge(unsafe.Pointer) {}
