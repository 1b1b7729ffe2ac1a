package unlockunheld

import (
	"sync"

	"github.com/drawbridge-go/drawbridge"
)

type box struct {
	mu sync.RWMutex
	n  int
}

func (b *box) wrongMode() int {
	b.mu.RLock()
	defer b.mu.Unlock() // want `Unlock of b.mu, which is read-locked at bad.go:15. Use RUnlock`
	return b.n
}

func (b *box) otherWay() {
	b.mu.Lock()
	b.n++
	b.mu.RUnlock() // want `RUnlock of b.mu, which is locked at bad.go:21. Use Unlock`
}

func (b *box) twice(fail bool) {
	b.mu.Lock()
	defer b.mu.Unlock() // want `b.mu is unlocked here a second time on some path`
	if fail {
		b.mu.Unlock()
		return
	}
	b.n++
}

func upgraded(mu *drawbridge.RWMutex) {
	mu.ULock()
	mu.Upgrade()
	mu.UUnlock() // want `UUnlock of mu, which is locked at bad.go:37. Use Unlock`
}

func local() int {
	var mu sync.Mutex
	n := 1
	mu.Unlock() // want `mu is unlocked here and is not held: neither local nor a caller locks it`
	return n
}

func fresh() *box {
	b := &box{}
	defer b.mu.Unlock() // want `box.mu is unlocked here and is not held: neither fresh nor a caller locks it`
	b.n = 1
	return b
}

func (b *box) sometimesLocks(lock bool) {
	if lock {
		b.mu.Lock()
	}
	b.n++
	b.mu.Unlock() // want `b.mu is unlocked here also where it has not been locked: locked at bad.go:58 only under a condition`
}

func (b *box) later() int {
	defer b.mu.RUnlock() // want `b.mu is unlocked here also where it has not been locked: read-locked at bad.go:69`
	if b.n == 0 {
		return 0
	}
	b.mu.RLock()
	return b.n
}

func (b *box) nested(a, c bool) {
	if a {
		if c {
			return
		}
		b.mu.Lock()
	} else {
		b.n = 0
	}
	func() {
		defer b.mu.Unlock()
		b.n++
	}() // want `b.mu is unlocked here also where it has not been locked`
}

func (b *box) failedTry() {
	if b.mu.TryLock() {
		b.n++
		b.mu.Unlock()
	} else {
		b.mu.Unlock() // want `b.mu is unlocked here also where the try at bad.go:89 has failed`
	}
}

func (b *box) triedAnyway() {
	if !b.mu.TryRLock() {
		b.n = 0
	}
	b.mu.RUnlock() // want `b.mu is unlocked here also where the try at bad.go:98 has failed`
}

func (b *box) callee() {
	b.mu.Lock()
	b.resetLocked()
	b.mu.Unlock() // want `b.mu is unlocked here a second time on some path`
}

func (b *box) helperLocked() {
	b.resetLocked()
	b.mu.Unlock() // want `b.mu is unlocked here a second time on some path: it has been given back at bad.go:111`
}

func (b *box) callHelper() {
	b.mu.Lock()
	b.helperLocked()
}

type tray struct {
	mu sync.Mutex
	n  int
}

func (t *tray) Add() {
	defer t.mu.Unlock() // want `t.mu is unlocked here and is not held: neither \(\*tray\).Add nor a caller locks it`
	t.n++
}

func (t *tray) Get() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

func (t *tray) add() {
	t.n++
	t.mu.Unlock() // want `t.mu is unlocked here and is not held: neither \(\*tray\).add nor a caller locks it`
}

func (t *tray) AddTwice() {
	t.add()
	t.add() // want `t.mu is unlocked here a second time on some path`
}

func open(fail error) (b *box, err error) {
	b = &box{}
	b.mu.Lock()
	done := false
	defer func() { // want `b.mu is unlocked here a second time on some path`
		if !done {
			b.mu.Unlock()
		}
	}()
	if fail != nil {
		b.mu.Unlock()
		return nil, fail
	}
	done = true
	b.mu.Unlock()
	return b, nil
}
