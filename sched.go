//go:build !explore

package drawbridge

import (
	"sync"
	"sync/atomic"
	"time"
)

// What is in this file is all that the locks use to share memory and time, with
// waiter.park and waiter.wake. Built with the tag explore it stops at a
// scheduler before each step (sched_explore.go); here it is what it looks like,
// and the compiler leaves nothing of it.

// word is an atomic 64-bit word.
type word struct{ v atomic.Uint64 }

func (w *word) load() uint64              { return w.v.Load() }
func (w *word) cas(old, next uint64) bool { return w.v.CompareAndSwap(old, next) }
func (w *word) add(d uint64) uint64       { return w.v.Add(d) }

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

// spawn runs f on a goroutine of its own.
func spawn(f func()) { go f() }
