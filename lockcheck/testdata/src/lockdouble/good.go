package lockdouble

import (
	"context"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

type good struct {
	mu sync.Mutex
	n  int
}

func (g *good) unlockBetween() {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
	g.mu.Lock()
	g.n--
	g.mu.Unlock()
}

// flush expects the lock to be held and gives it back for a while.
func (g *good) flush() {
	g.mu.Unlock()
	time.Sleep(time.Millisecond)
	g.mu.Lock()
}

func (g *good) withFlush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flush()
}

func (g *good) add(needLock bool) {
	if needLock {
		g.mu.Lock()
		defer g.mu.Unlock()
	}
	g.n++
}

func (g *good) addTwice() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.add(false)
}

func (g *good) pass(needLock bool) {
	lock := func() {
		if needLock {
			g.mu.Lock()
		}
	}
	unlock := func() {
		if needLock {
			g.mu.Unlock()
		}
	}
	lock()
	g.n++
	unlock()
}

func (g *good) callsPass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass(false)
}

func (g *good) flag(c bool) {
	locked := false
	if c {
		g.mu.Lock()
		locked = true
	}
	g.n++
	if locked {
		g.mu.Unlock()
	}
	g.mu.Lock()
	g.mu.Unlock()
}

type node struct {
	mu   sync.Mutex
	next *node
}

func walk(n *node) {
	n.mu.Lock()
	for n.next != nil {
		next := n.next
		next.mu.Lock()
		n.mu.Unlock()
		n = next
	}
	n.mu.Unlock()
}

type stripes [8]sync.Mutex

func (s *stripes) two(i, j int) {
	s[i].Lock()
	s[j].Lock()
	s[j].Unlock()
	s[i].Unlock()
}

func (g *good) inGoroutine() {
	g.mu.Lock()
	defer g.mu.Unlock()
	go g.add(true)
}

func (g *good) tryAgain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.TryLock() {
		panic("two holders")
	}
}

func scoped(ctx context.Context, mu *drawbridge.RWMutex) error {
	return mu.WithRLock(ctx, func(ctx context.Context) error {
		return mu.WithRLock(ctx, func(context.Context) error { return nil })
	})
}

func swap(g *good, other *good) {
	cur := g
	cur.mu.Lock()
	cur.mu.Unlock()
	cur = other
	cur.mu.Lock()
	cur.mu.Unlock()
}

// rendezvous is given back by whoever is not waiting for it.
func rendezvous(work func()) {
	var turn sync.Mutex
	turn.Lock()
	done := make(chan struct{})
	go func() {
		for range 10 {
			work()
			turn.Unlock()
			turn.Lock()
		}
		close(done)
	}()
	for range 10 {
		turn.Lock()
		turn.Unlock()
	}
	<-done
}

type fileStore struct{ mu sync.Mutex }

type memStore struct{ mu sync.Mutex }

type holder struct{ store any }

// either asks twice what the store is; it is the same both times.
func (h *holder) either() {
	if f, ok := h.store.(*fileStore); ok {
		f.mu.Lock()
	} else if m, ok := h.store.(*memStore); ok {
		m.mu.Lock()
	}
	if f, ok := h.store.(*fileStore); ok {
		f.mu.Unlock()
	} else if m, ok := h.store.(*memStore); ok {
		m.mu.Unlock()
	}
	if f, ok := h.store.(*fileStore); ok {
		f.mu.Lock()
		f.mu.Unlock()
	} else if m, ok := h.store.(*memStore); ok {
		m.mu.Lock()
		m.mu.Unlock()
	}
}

type rope struct {
	mu          sync.Mutex
	left, right *rope
	text        string
}

// join goes along the left side and calls itself for each right side, which is another rope.
func (r *rope) join() (s string) {
	at := r
	for at.right != nil {
		at.right.mu.Lock()
		s = at.right.join() + s
		at.right.mu.Unlock()
		l := at.left
		if at != r {
			at.mu.Unlock()
		}
		l.mu.Lock()
		at = l
	}
	return at.text + s
}
