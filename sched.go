//go:build !explore

package drawbridge

import (
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// What is in this file is all that the locks use to share memory and time, with
// waiter.park and waiter.wake. Built with the tag explore it stops at a
// scheduler before each step (sched_explore.go); here it is what it looks like,
// and the compiler leaves nothing of it.

// windowBits is how many bits count the releases in a window.
const windowBits = 8

// word is an atomic 64-bit word.
type word = atomic.Uint64

// section is the internal mutex. It is held for a few steps that never wait.
type section struct{ mu sync.Mutex }

func (s *section) lock()   { s.mu.Lock() }
func (s *section) unlock() { s.mu.Unlock() }

type (
	flag           = atomic.Bool
	counter        = atomic.Int32
	stripeCount    = atomic.Int64
	pointer[T any] = atomic.Pointer[T]
	pool           = sync.Pool
	mutex          = sync.Mutex // one that may be held for longer than a section
)

func now() time.Time { return time.Now() }

var started = time.Now().Add(-1) // before any reading

func clock() moment { return moment(time.Since(started)) }

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

// stripeNumber is a power of two: four stripes for each processor that may run
// readers, so that two that run seldom share one.
func stripeNumber() int {
	n := 4
	for n < 4*runtime.GOMAXPROCS(0) {
		n *= 2
	}
	return n
}

// stripeHash tells goroutines apart by where their stacks are. A goroutine has
// the same hash for as long as its stack does not move.
func stripeHash() uintptr {
	var here byte
	p := uintptr(unsafe.Pointer(&here))
	return p>>11 ^ p>>15
}

// hashOf is the hash of a key.
func hashOf[K comparable](seed maphash.Seed, key K) uint64 { return maphash.Comparable(seed, key) }

// spawn runs f on a goroutine of its own.
func spawn(f func()) { go f() }
