package lockleak

import (
	"errors"
	"sync"
)

var errClosed = errors.New("closed")

type queue struct {
	mu     sync.Mutex
	closed bool
	n      int
}

func (q *queue) push() error {
	q.mu.Lock()
	if q.closed {
		return errClosed // want `q.mu, locked at bad.go:17, is still held at this return`
	}
	q.n++
	q.mu.Unlock()
	return nil
}

func (q *queue) drain(items []int) {
	for _, i := range items {
		q.mu.Lock() // want `q.mu is taken again by the next round of the loop`
		if i == 0 {
			continue
		}
		q.n -= i
		q.mu.Unlock()
	}
}

func (q *queue) deferLock() {
	q.mu.Lock()
	defer q.mu.Lock() // want `defer takes q.mu again`
	q.n++
}

func (q *queue) whileBusy() error {
	for {
		q.mu.Lock()
		if q.closed {
			return errClosed // want `q.mu, locked at bad.go:45, is still held at this return`
		}
		q.mu.Unlock()
	}
}

func use(q *queue) { _ = q.whileBusy() }

type reader struct {
	mu sync.RWMutex
	n  int
}

func (r *reader) read(k int) (int, bool) {
	r.mu.RLock()
	if k > r.n {
		return 0, false // want `r.mu, read-locked at bad.go:61, is still held at this return`
	}
	r.mu.RUnlock()
	return r.n, true
}

func (r *reader) set(n int) {
	r.mu.Lock()
	if n < 0 {
		panic("negative") // want `r.mu, locked at bad.go:70, is held when this panics`
	}
	r.n = n
	r.mu.Unlock()
}

func (q *queue) peek() int {
	if q == nil {
		return 0
	}
	q.mu.Lock()
	return q.n // want `q.mu, locked at bad.go:82, is still held at this return, and no way through \(\*queue\).peek gives it back`
}

func (r *reader) count(ks []int) (n int) {
	for _, k := range ks {
		r.mu.RLock() // want `r.mu is read-locked again by the next round of the loop, and a writer that comes between`
		if k > r.n {
			continue
		}
		n++
		r.mu.RUnlock()
	}
	return n
}

// readMany is right as long as nobody writes.
func readMany(n int) {
	var mu sync.RWMutex
	for range n {
		mu.RLock() // want `mu is read-locked again by the next round of the loop: some way`
	}
	for range n {
		mu.RUnlock()
	}
}
