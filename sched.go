//go:build !explore

package drawbridge

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// What is in this file is all that the locks use to share memory and time, with
// waiter.park and waiter.wake. Built with the tag explore it stops at a
// scheduler before each step (sched_explore.go); here it is what it looks like,
// and the compiler leaves nothing of it.

// word is an atomic 64-bit word.
type word = atomic.Uint64

// section is the internal mutex. It is held for a few steps that never wait.
type section struct{ mu sync.Mutex }

func (s *section) lock()   { s.mu.Lock() }
func (s *section) unlock() { s.mu.Unlock() }

func now() time.Time { return time.Now() }

// either waits until a or b is closed, and reports whether it was a. Of two
// that are closed already it takes a.
func either(a, b <-chan struct{}) bool {
	select {
	case <-a:
		return true
	default:
	}
	select {
	case <-a:
		return true
	case <-b:
		return false
	}
}

// heatLimit is how many readers that met others make a lock striped.
const heatLimit = 512 * heatStep

// stripeHash tells goroutines apart by where their stacks are. A goroutine has
// the same hash for as long as its stack does not move.
func stripeHash() uintptr {
	var here byte
	p := uintptr(unsafe.Pointer(&here))
	return p>>11 ^ p>>15
}

// spawn runs f on a goroutine of its own.
func spawn(f func()) { go f() }
