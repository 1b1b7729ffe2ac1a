package unlockunheld

import (
	"sync"
	"time"
)

// Who calls these has the lock, or may have it. Each has a type of its own, so that no other function speaks for it.

type chain struct {
	mu sync.Mutex
	n  int
}

func (c *chain) last() {
	c.n--
	c.mu.Unlock()
}

func (c *chain) middle() { c.last() }

func (c *chain) First() {
	c.mu.Lock()
	c.middle()
}

type paused struct {
	mu sync.Mutex
	n  int
}

func (p *paused) nap() {
	p.mu.Unlock()
	time.Sleep(1)
	p.mu.Lock()
}

func (p *paused) Nap() { p.nap() }

type documented struct {
	mu sync.Mutex
	n  int
}

// put is called with mu held.
func (d *documented) put() {
	d.n++
	d.mu.Unlock()
}

func (d *documented) Put() { d.put() }

type spawning struct {
	mu   sync.Mutex
	next chan bool
}

func (s *spawning) giver() {
	<-s.next
	s.mu.Unlock()
}

func (s *spawning) Run() {
	go s.giver()
	s.mu.Lock()
	s.next <- true
	select {}
}

type timed struct {
	mu sync.Mutex
	n  int
}

func (t *timed) Expire() {
	t.n++
	t.mu.Unlock()
}

func (t *timed) Run() {
	t.mu.Lock()
	time.AfterFunc(1, t.Expire)
	select {}
}

type turner interface{ Turn() }

type car struct {
	mu sync.Mutex
	n  int
}

func (c *car) Drive(t turner) {
	for {
		c.mu.Lock()
		t.Turn()
	}
}

// Wheel is made a turner in another package.
type Wheel struct{ car *car }

func (w *Wheel) Turn() {
	w.car.n++
	w.car.mu.Unlock()
}

// The lock has two names.
func twoNames(a, b *chain, first bool) {
	if first {
		a.mu.Lock()
	} else {
		b.mu.Lock()
	}
	a.mu.Unlock()
}

// The callee may know when.
func (c *chain) perhaps(yes bool) {
	if yes {
		c.mu.Lock()
	}
	c.ifNeeded()
}

func (c *chain) ifNeeded() {
	if c.n > 0 {
		c.mu.Unlock()
	}
}

// Both conditions may be one.
func (c *chain) related(yes bool, n int) int {
	if yes {
		c.mu.Lock()
	}
	if n == 0 {
		return 0
	}
	c.mu.Unlock()
	return n
}

// There may be no third way.
func (c *chain) twoWays(n int) {
	if n > 0 {
		c.mu.Lock()
	} else if n <= 0 {
		c.n = n
		c.mu.Lock()
	}
	c.mu.Unlock()
}

// Another goroutine takes it.
func takenElsewhere() {
	var mu sync.Mutex
	ready := make(chan bool)
	go func() {
		mu.Lock()
		ready <- true
	}()
	<-ready
	mu.Unlock()
}

var current *chain

func published(ready chan bool) {
	c := &chain{}
	current = c
	<-ready
	c.mu.Unlock()
}

// Only the way on which the try has failed and something else holds comes here.
func (c *chain) tryOr(other bool) {
	ok := c.mu.TryLock()
	if !ok && !other {
		return
	}
	if !other {
		c.mu.Unlock()
	}
}

// The number says whether the try was lucky.
func (c *chain) tryCount() {
	n := 0
	if c.mu.TryLock() {
		n = 4
	}
	if c.n+n > 3 {
		c.mu.Unlock()
	}
}
