package lockorder

import "sync"

type p struct{ mu sync.RWMutex }
type q struct{ mu sync.RWMutex }

// Nobody locks p.mu and q.mu for writing.
func pq(a *p, b *q) {
	a.mu.RLock()
	b.mu.RLock()
	b.mu.RUnlock()
	a.mu.RUnlock()
}

func qp(a *p, b *q) {
	b.mu.RLock()
	a.mu.RLock()
	a.mu.RUnlock()
	b.mu.RUnlock()
}

type left struct{ mu sync.Mutex }
type right struct{ mu sync.Mutex }

var gate sync.Mutex

func lr(l *left, r *right) {
	gate.Lock()
	defer gate.Unlock()
	l.mu.Lock()
	r.mu.Lock()
	r.mu.Unlock()
	l.mu.Unlock()
}

func rl(l *left, r *right) {
	gate.Lock()
	defer gate.Unlock()
	r.mu.Lock()
	l.mu.Lock()
	l.mu.Unlock()
	r.mu.Unlock()
}

type one struct{ mu sync.Mutex }
type two struct{ mu sync.Mutex }

func oneTwo(a *one, b *two) {
	a.mu.Lock()
	b.mu.Lock()
	b.mu.Unlock()
	a.mu.Unlock()
}

func twoOne(a *one, b *two) {
	b.mu.Lock()
	if a.mu.TryLock() {
		a.mu.Unlock()
	}
	b.mu.Unlock()
}
