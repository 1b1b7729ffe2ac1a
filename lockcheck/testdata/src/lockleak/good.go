package lockleak

import (
	"sync"
	"time"
)

type table struct {
	mu     sync.Mutex
	locks  [4]sync.Mutex
	closed bool
	n      int
}

// begin keeps the lock for end.
func (t *table) begin() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return errClosed
	}
	return nil
}

func (t *table) end() { t.mu.Unlock() }

func (t *table) add() error {
	if err := t.begin(); err != nil {
		return err
	}
	defer t.end()
	t.n++
	return nil
}

func (t *table) conditional(shared bool) {
	if shared {
		t.mu.Lock()
	}
	t.n++
	if shared {
		t.mu.Unlock()
	}
}

func (t *table) closer() func() {
	t.mu.Lock()
	return func() { t.mu.Unlock() }
}

func (t *table) handOff(fail bool) {
	t.mu.Lock()
	if fail {
		t.mu.Unlock()
		return
	}
	go func() {
		defer t.mu.Unlock()
		t.n++
	}()
}

func (t *table) stripe(i int, skip bool) {
	t.locks[i].Lock()
	if skip {
		t.locks[i].Unlock()
		return
	}
	t.n++
	t.locks[i].Unlock()
}

func (t *table) all() {
	for i := range t.locks {
		t.locks[i].Lock()
	}
	for i := range t.locks {
		t.locks[i].Unlock()
	}
}

func (t *table) poll() {
	t.mu.Lock()
	for t.n == 0 {
		t.mu.Unlock()
		time.Sleep(time.Millisecond)
		t.mu.Lock()
	}
	t.n--
	t.mu.Unlock()
}

func (t *table) try() bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	t.n++
	return true
}

func (t *table) tryKeep() bool {
	if !t.mu.TryLock() {
		return false
	}
	if t.closed {
		t.mu.Unlock()
		return false
	}
	return true
}

func (t *table) flagInDefer() {
	unlocked := false
	t.mu.Lock()
	defer func() {
		if !unlocked {
			t.mu.Unlock()
		}
	}()
	if t.n > 0 {
		t.mu.Unlock()
		unlocked = true
	}
}

func (t *table) switchLock(k int) {
	switch {
	case k == 1:
		t.mu.Lock()
		defer t.mu.Unlock()
	case k == 2:
		return
	}
	t.n++
}

func (t *table) sameLen(changes []int) {
	if len(changes) != 0 {
		t.mu.Lock()
	}
	t.n++
	if len(changes) != 0 {
		t.mu.Unlock()
	}
}

type branch struct {
	mu     sync.Mutex
	parent *branch
	done   bool
}

// alive takes another lock in each round, and keeps them all to the end.
func (b *branch) alive() *branch {
	for p := b.parent; p != nil; p = p.parent {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.done {
			return p
		}
	}
	return nil
}

func open(i int) (*table, error) { return &table{n: i}, nil }

// lockEach locks another table in each round.
func lockEach() (all []*table) {
	for i := range 3 {
		t, _ := open(i)
		t.mu.Lock()
		all = append(all, t)
	}
	return all
}
