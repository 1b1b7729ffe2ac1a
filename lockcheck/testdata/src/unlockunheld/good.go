package unlockunheld

import "sync"

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

// finish is called with and without the lock.
func (b *box) finish(locked bool) {
	if !locked {
		b.mu.Lock()
	}
	b.n = 0
	b.mu.Unlock()
}

func (b *box) run() {
	b.mu.Lock()
	b.n++
	b.finish(true)
	b.finish(false)
}

// drop expects the lock, by way of another function.
func (b *box) drop() {
	b.n--
	b.mu.Unlock()
}

func (b *box) dropTwice() {
	b.n--
	b.drop()
}

func (b *box) useDrop() {
	b.mu.Lock()
	b.dropTwice()
}

// settle does without the lock while it works.
func (b *box) settle() {
	b.mu.Unlock()
	b.reset()
	b.mu.Lock()
}

// sometimes has one condition for both, which it asks for twice.
func (b *box) sometimes() {
	if b.concurrent() {
		b.mu.Lock()
	}
	b.n++
	if b.concurrent() {
		b.mu.Unlock()
	}
}

func (b *box) concurrent() bool { return b.n > 0 }

type kind uint8

const (
	reads kind = iota
	writes
)

// byKind locks in one of two ways, of which there are no others.
func (b *box) byKind(k kind) {
	switch k {
	case reads:
		b.mu.RLock()
		defer b.mu.RUnlock()
	case writes:
		b.mu.Lock()
		defer b.mu.Unlock()
	}
	b.n++
}

// onlyWrites returns in the other case.
func (b *box) onlyWrites(k kind) {
	switch k {
	case reads:
		return
	case writes:
		b.mu.Lock()
	}
	b.n++
	b.mu.Unlock()
}

func (b *box) onlyBoxes(v any) {
	switch v.(type) {
	case *box:
		b.mu.Lock()
	case *pair:
		return
	}
	b.n++
	b.mu.Unlock()
}

// first locks in the first round.
func (b *box) first(rounds int) {
	for i := range rounds {
		if i == 0 {
			b.mu.Lock()
		}
		b.n++
	}
	b.mu.Unlock()
}

func (b *box) try() bool {
	if !b.mu.TryLock() {
		return false
	}
	defer b.mu.Unlock()
	b.n++
	return true
}

func (b *box) tryThenWait() {
	if !b.mu.TryLock() {
		b.mu.Lock()
	}
	b.n++
	b.mu.Unlock()
}

func (b *box) tryKept() {
	ok := b.mu.TryLock()
	b.n++
	if ok {
		b.mu.Unlock()
	}
}

func (b *box) tryTimes(n int) bool {
	for !b.mu.TryLock() {
		if n--; n < 0 {
			return false
		}
	}
	b.mu.Unlock()
	return true
}

// A pair of functions, of which one keeps the lock for the other.
type pair struct {
	mu sync.Mutex
	n  int
}

func (p *pair) Begin() {
	p.mu.Lock()
	p.n++
}

func (p *pair) End() {
	p.n--
	p.mu.Unlock()
}

// Another object's lock, behind a pointer.
type part struct {
	mu *sync.Mutex
	n  int
}

type whole struct {
	mu   sync.Mutex
	part part
}

func newWhole() *whole {
	w := &whole{}
	w.part.mu = &w.mu
	return w
}

func (p *part) Done() {
	p.n++
	p.mu.Unlock()
}

func (w *whole) Do() {
	w.mu.Lock()
	w.part.Done()
}

// A lock that another goroutine gives back.
func semaphore() {
	var mu sync.Mutex
	mu.Lock()
	go func() {
		mu.Unlock()
	}()
	mu.Lock()
	mu.Unlock()
}

// A function that is called through a variable while the lock is held.
type queue struct {
	mu     sync.Mutex
	after  func()
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.after = q.giveBack
	return q
}

func (q *queue) giveBack() {
	q.closed = true
	q.mu.Unlock()
}

func (q *queue) Run() {
	q.mu.Lock()
	q.after()
}

// A function that is called through an interface while the lock is held.
type stepper interface{ step() }

type stepA struct{ q *counter }

type counter struct {
	mu    sync.Mutex
	steps []stepper
}

func (a stepA) step() { a.q.mu.Unlock() }

func (c *counter) Run() {
	for _, s := range c.steps {
		c.mu.Lock()
		s.step()
	}
}

// Next of a list, each with a lock of its own.
type link struct {
	mu   sync.Mutex
	next *link
}

func unlockAll(l *link) {
	for ; l != nil; l = l.next {
		l.mu.Unlock()
	}
}

func lockAll(l *link) {
	for ; l != nil; l = l.next {
		l.mu.Lock()
	}
}

// scan keeps the lock, and next gives it back if it was kept.
type rows struct {
	mu   sync.RWMutex
	kept bool
}

func (r *rows) scan() {
	r.mu.RLock()
	r.kept = true
}

func (r *rows) giveBack() {
	if r.kept {
		r.kept = false
		r.mu.RUnlock()
	}
}

func (r *rows) next() {
	r.giveBack()
	r.mu.RLock()
	r.mu.RUnlock()
	r.giveBack()
}

func (r *rows) each() {
	r.scan()
	r.next()
	r.giveBack()
}

func (r *rows) nextOrClose(last bool) {
	done := false
	defer func() {
		if done {
			r.giveBack()
		}
	}()
	r.mu.RLock()
	defer r.mu.RUnlock()
	done = last
}
