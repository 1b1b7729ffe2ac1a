// Package harmless has what looks like a deadlock and is none.
package harmless

import "sync"

type a struct{ mu sync.RWMutex }
type b struct{ mu sync.RWMutex }
type c struct{ mu sync.Mutex }
type d struct{ mu sync.Mutex }

var gate sync.Mutex

// Both orders, behind one gate.
func gateLock(x *c, y *d) {
	gate.Lock()
	x.mu.Lock()
	y.mu.Lock()
	y.mu.Unlock()
	x.mu.Unlock()
	gate.Unlock()
	gate.Lock()
	y.mu.Lock()
	x.mu.Lock()
	x.mu.Unlock()
	y.mu.Unlock()
	gate.Unlock()
}

type e struct{ mu sync.Mutex }
type f struct{ mu sync.Mutex }

// Both orders, one after the other in one goroutine.
func oneGoroutine() {
	var x e
	var y f
	x.mu.Lock()
	y.mu.Lock()
	y.mu.Unlock()
	x.mu.Unlock()
	y.mu.Lock()
	x.mu.Lock()
	x.mu.Unlock()
	y.mu.Unlock()
}

type g struct{ mu sync.Mutex }
type h struct{ mu sync.Mutex }

// Both orders, the second after the goroutine with the first is done.
func forkJoin(x *g, y *h) {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		x.mu.Lock()
		y.mu.Lock()
		y.mu.Unlock()
		x.mu.Unlock()
	}()
	wg.Wait()
	y.mu.Lock()
	x.mu.Lock()
	x.mu.Unlock()
	y.mu.Unlock()
}

// Both orders of read locks that nobody takes for writing.
func readersOnly(x *a, y *b) {
	x.mu.RLock()
	y.mu.RLock()
	y.mu.RUnlock()
	x.mu.RUnlock()
	y.mu.RLock()
	x.mu.RLock()
	x.mu.RUnlock()
	y.mu.RUnlock()
}

// A holder that takes its time.
func slowHolder(x *c) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for i := range 1 << 30 {
		n += i
	}
	return n
}

// A lock used as a semaphore: another goroutine gives it back.
func otherGoroutine(x *c) {
	x.mu.Lock()
	go func() { x.mu.Unlock() }()
	x.mu.Lock()
	x.mu.Unlock()
}

type i struct{ mu sync.Mutex }
type j struct{ mu sync.Mutex }

// The other order only when it need not wait.
func tryInversion(x *i, y *j) {
	x.mu.Lock()
	y.mu.Lock()
	y.mu.Unlock()
	x.mu.Unlock()
	y.mu.Lock()
	if x.mu.TryLock() {
		x.mu.Unlock()
	}
	y.mu.Unlock()
}

// A lock that a constant argument leaves out.
func (x *c) remove(locked bool) {
	if !locked {
		x.mu.Lock()
	}
	if !locked {
		x.mu.Unlock()
	}
}

func (x *c) clear() {
	x.mu.Lock()
	x.remove(true)
	x.mu.Unlock()
	x.remove(false)
}

// A helper that gives the lock back for a while.
func (x *c) pause() {
	x.mu.Unlock()
	x.remove(false)
	x.mu.Lock()
}

func (x *c) work() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pause()
}

// Stripes of one array.
type stripes struct{ mu [16]sync.Mutex }

func (s *stripes) move(from, to int) {
	s.mu[from].Lock()
	if from != to {
		s.mu[to].Lock()
		s.mu[to].Unlock()
	}
	s.mu[from].Unlock()
}

func (s *stripes) all(do func()) {
	for n := range s.mu {
		s.mu[n].Lock()
	}
	do()
	for n := range s.mu {
		s.mu[n].Unlock()
	}
}

// Hand over hand along a list.
type node struct {
	mu   sync.Mutex
	next *node
	key  int
}

func (n *node) find(key int) bool {
	n.mu.Lock()
	for n.key < key {
		next := n.next
		if next == nil {
			n.mu.Unlock()
			return false
		}
		next.mu.Lock()
		n.mu.Unlock()
		n = next
	}
	found := n.key == key
	n.mu.Unlock()
	return found
}

type ownG struct{ mu sync.Mutex }
type ownH struct{ mu sync.Mutex }

// The same with locks that no other run of the function has.
func forkJoinOwn() {
	var x ownG
	var y ownH
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.mu.Lock()
		y.mu.Lock()
		y.mu.Unlock()
		x.mu.Unlock()
	}()
	<-done
	y.mu.Lock()
	x.mu.Lock()
	x.mu.Unlock()
	y.mu.Unlock()
}
