package unlockunheld

// resetLocked expects the lock and gives it back.
func (b *box) resetLocked() {
	b.n = 0
	b.mu.Unlock()
}

func (b *box) reset() {
	b.mu.Lock()
	b.resetLocked()
}

func (b *box) relock() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	b.mu.Unlock()
	b.mu.Lock()
}

func (b *box) both(write bool) {
	if write {
		b.mu.Lock()
	} else {
		b.mu.RLock()
	}
	n := b.n
	if write {
		b.mu.Unlock()
	} else {
		b.mu.RUnlock()
	}
	_ = n
}
