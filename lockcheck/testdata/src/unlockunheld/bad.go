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
