package drawbridge

import (
	"context"
	"sync"
	"sync/atomic"
)

// scope is the hold of a scoped call and the context that carries it, in one
// allocation. A call that finds it in its context knows what its own caller
// holds; a lock never knows by itself who holds it.
type scope struct {
	context.Context
	parent *scope // the next one out that was live when this one began

	core *core
	mode Mode // as it was taken

	// sharers counts the calls that use the hold: the one that took it and,
	// for a read, the reads inside it. The last one out releases, so that a
	// goroutine that was given the context is still inside when the call
	// that made the scope has returned. At 0 the scope is over, for good.
	sharers atomic.Int32

	// inner is for an upgradable scope: how many reads are open inside it,
	// or where its upgrade stands.
	inner    atomic.Int32
	upgrades sync.Mutex // held while an upgrade waits

	holding // the identity of an observed read
}

const (
	upgradeDone    = -1
	upgradePending = -2
)

type scopeKey struct{}

// Value makes the scope findable from every context derived from it.
func (s *scope) Value(key any) any {
	if _, ok := key.(scopeKey); ok {
		return s
	}
	return s.Context.Value(key)
}

// carried returns the innermost scope that ctx carries and that is not over.
func carried(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	for s != nil && !s.live() {
		s = s.parent
	}
	return s
}

// WithoutHolds returns ctx without the holds that it carries: with the result,
// a call waits like anybody else's. Use it for work that outlives the scope, or
// that is done for somebody else.
func WithoutHolds(ctx context.Context) context.Context {
	mustContext(ctx)
	return unscoped{ctx}
}

type unscoped struct{ context.Context }

func (u unscoped) Value(key any) any {
	if _, ok := key.(scopeKey); ok {
		return nil
	}
	return u.Context.Value(key)
}

func (s *scope) live() bool { return s.sharers.Load() > 0 }

// on returns the innermost live scope on c.
func (s *scope) on(c *core) *scope {
	for ; s != nil; s = s.parent {
		if s.core == c && s.live() {
			return s
		}
	}
	return nil
}

// holdsOther reports whether a lock other than c is held.
func (s *scope) holdsOther(c *core) bool {
	for ; s != nil; s = s.parent {
		if s.core != c && s.live() {
			return true
		}
	}
	return false
}

// reads reports whether c is held to read.
func (s *scope) reads(c *core) bool {
	for ; s != nil; s = s.parent {
		if s.core == c && s.mode == Read && s.live() {
			return true
		}
	}
	return false
}

// join makes the caller a sharer of a scope that is not over.
func (s *scope) join() bool {
	for {
		n := s.sharers.Load()
		if n <= 0 {
			return false
		}
		if s.sharers.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// open keeps an upgradable scope from being upgraded while a read is inside.
func (s *scope) open() bool {
	for {
		n := s.inner.Load()
		if n < 0 {
			return false
		}
		if s.inner.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (s *scope) close() { s.inner.Add(-1) }

// refuse says what a call to hold in mode m inside s is answered; nil is for a
// read that may go on inside.
func (s *scope) refuse(m Mode) error {
	switch {
	case s.mode == Read && m == Read:
		return nil
	case s.mode == Read:
		return ErrUpgrade
	case s.mode == Upgradable && s.inner.Load() >= 0:
		switch m {
		case Read:
			return nil
		case Write:
			return ErrUpgrade
		}
	}
	return ErrReentrant
}

// enterPast is for a plain call that is about to wait for c: a read whose
// context holds the lock already enters past the door, any other call inside a
// hold would wait for itself.
func (s *scope) enterPast(c *core, k *call) (inside bool, err error) {
	h := s.on(c)
	if h == nil {
		return false, nil
	}
	if err := h.refuse(k.mode); err != nil {
		return false, err
	}
	// The hold is pinned until the new one is counted, since another
	// goroutine may be ending it.
	if h.mode == Read {
		if !h.join() {
			return false, nil
		}
		defer h.leave(k.lock, k.key)
	} else {
		if !h.open() {
			return false, ErrReentrant
		}
		defer h.close()
	}
	c.enterPastDoor(k)
	return true, nil
}

// within runs fn with the lock held in k.mode and the hold in its context.
func (c *core) within(k call, fn func(context.Context, *scope) error) error {
	mustContext(k.ctx)
	if k.ctx.Err() != nil {
		return newWaitError(&k, 0, c.picture())
	}
	s := &scope{Context: k.ctx, parent: carried(k.ctx), core: c, mode: k.mode}
	k.scope = s
	if h := s.parent.on(c); h != nil {
		if err := h.refuse(k.mode); err != nil {
			return err
		}
		if h.mode == Read {
			if h.join() {
				defer h.leave(k.lock, k.key)
				return fn(k.ctx, h)
			}
		} else {
			if !h.open() {
				return ErrReentrant
			}
			defer h.close()
			c.enterPastDoor(&k)
			return c.run(s, &k, fn)
		}
	}
	if err := c.acquireContext(&k); err != nil {
		return err
	}
	return c.run(s, &k, fn)
}

func (c *core) run(s *scope, k *call, fn func(context.Context, *scope) error) error {
	s.sharers.Store(1)
	defer s.leave(k.lock, k.key)
	return fn(s, s)
}

// leave ends the caller's share of the hold, and with the last share the hold.
func (s *scope) leave(lock any, key keyed) {
	if s.sharers.Add(-1) > 0 {
		return
	}
	mode := s.mode
	if mode == Upgradable {
		// An upgrade that another goroutine began ends first.
		s.upgrades.Lock()
		if s.inner.Load() == upgradeDone {
			mode = Write
		}
		s.upgrades.Unlock()
	}
	k := call{ctx: s.Context, lock: lock, key: key, mode: mode, scope: s}
	s.core.leave(&k)
}

// upgrade is what the function of an upgradable scope gets.
func (s *scope) upgrade(k *call) error {
	s.upgrades.Lock()
	defer s.upgrades.Unlock()
	switch {
	case !s.live():
		return ErrUpgrade
	case s.inner.Load() == upgradeDone:
		return nil
	case !s.inner.CompareAndSwap(0, upgradePending):
		return ErrUpgrade // a read is open inside
	}
	state := int32(0) // also if an observer panics: the upgradable hold is kept
	defer func() { s.inner.Store(state) }()
	u := *k
	u.ctx, u.mode = s, Write
	err := s.core.upgradeContext(&u)
	if err == nil {
		state = upgradeDone
	}
	return err
}
