package lockupgrade

import (
	"sync"

	"github.com/drawbridge-go/drawbridge"
)

type index struct {
	mu sync.RWMutex
	m  map[string]int
}

func (x *index) get(k string) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if n, ok := x.m[k]; ok {
		return n
	}
	x.mu.Lock() // want `x.mu is asked for as a writer while it is held as a reader.*use WithULock of drawbridge.RWMutex`
	x.m[k] = 1
	x.mu.Unlock()
	return 1
}

func (x *index) compact() {
	x.mu.RLock()
	x.rewrite() // want `x.mu is asked for as a writer while it is held as a reader.*locked in \(\*index\).rewrite at bad.go:33`
	x.mu.RUnlock()
}

func (x *index) rewrite() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.m)
}

func upgradable(mu *drawbridge.RWMutex) {
	mu.ULock()
	defer mu.UUnlock()
	mu.Lock() // want `mu is asked for as a writer.*Use Upgrade`
	mu.Unlock()
}
