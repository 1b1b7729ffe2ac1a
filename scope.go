package drawbridge

import (
	"context"

	"github.com/drawbridge-go/drawbridge/internal/carrying"
)

// scope is the hold of a scoped call and the context that carries it, in one
// allocation. A call that finds it in its context knows what its own caller
// holds; a lock never knows by itself who holds it.
type scope struct {
	context.Context
	parent *scope // the next one out that was live when this one began

	core  *core
	mode  Mode   // as it was taken
	outer *scope // of a read inside an upgradable scope: that one, kept open

	// others counts the calls that use the hold beside the one that took it:
	// the reads inside a read. The last one out releases, so that a
	// goroutine that was given the context is still inside when the call
	// that made the scope has returned. Below 0 the scope is over, for good.
	others counter

	rare *rare // nil for most
}

// rare is what only some scopes need.
type rare struct {
	holding // the identity of an observed hold; of one to write or upgrade its name alone

	// Of an upgradable scope: how many reads are open inside it, or where its
	// upgrade stands, and what upgrade calls. mu is held to begin an upgrade
	// and to end it; ended is of those who wait for the end of one, or nil.
	inner counter
	mu    mutex
	ended chan struct{}
	call  call
}

const (
	upgradeDone    = -1
	upgradePending = -2
)

func newScope(k *call, c *core) *scope {
	if k.mode != Upgradable {
		return &scope{Context: k.ctx, parent: carried(k.ctx), core: c, mode: k.mode}
	}
	both := &struct {
		scope
		rare
	}{scope: scope{Context: k.ctx, parent: carried(k.ctx), core: c, mode: k.mode}}
	both.scope.rare = &both.rare
	both.rare.call = k.with(&both.scope)
	both.rare.call.mode = Write
	return &both.scope
}

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

// WithoutHolds returns ctx without the holds that it carries, those of package
// cluster too: with the result, a call waits like anybody else's. Use it for work
// that outlives the scope, or that is done for somebody else.
func WithoutHolds(ctx context.Context) context.Context {
	mustContext(ctx)
	return unscoped{ctx}
}

// Holds returns the names, as in [Event], of the holds that ctx carries, the
// innermost first. It is for observers: a hold has a name if it was observed
// from its beginning, and others are left out.
func Holds(ctx context.Context) (names []uint64) {
	mustContext(ctx)
	for s := carried(ctx); s != nil; s = s.parent {
		if s.rare != nil && s.rare.hold != 0 && s.live() {
			names = append(names, s.rare.hold)
		}
	}
	return names
}

type unscoped struct{ context.Context }

func (u unscoped) Value(key any) any {
	switch key.(type) {
	case scopeKey, carrying.Key:
		return nil
	}
	return u.Context.Value(key)
}

func (s *scope) live() bool { return s.others.Load() >= 0 }

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
		n := s.others.Load()
		if n < 0 {
			return false
		}
		if s.others.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// open keeps an upgradable scope from being upgraded while a read is inside.
func (s *scope) open() bool {
	for {
		n := s.rare.inner.Load()
		if n < 0 {
			return false
		}
		if s.rare.inner.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (s *scope) close() { s.rare.inner.Add(-1) }

// refuse says what a call to hold in mode m inside s is answered; nil is for a
// read that may go on inside.
func (s *scope) refuse(m Mode) error {
	switch {
	case s.mode == Read && m == Read:
		return nil
	case s.mode == Read:
		return ErrUpgrade
	case s.mode == Upgradable && s.rare.inner.Load() >= 0:
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
	if h.mode == Read {
		return h.passDoor(k), nil
	}
	if inside, err = h.readInside(k); inside {
		h.close()
	}
	return inside, err
}

// passDoor enters to read whoever waits at the door, unless h is over. h is pinned
// until the new hold is counted, since another goroutine may be ending it.
func (h *scope) passDoor(k *call) (inside bool) {
	if !h.join() {
		return false
	}
	defer h.leave(k.lock, k.key)
	h.core.enterPastDoor(k)
	return true
}

// readInside is passDoor for the upgradable scope h, which stays open if it
// succeeds. It does so while h is left as well: were an upgrade to begin in
// between, the two would wait for each other.
func (h *scope) readInside(k *call) (inside bool, err error) {
	if !h.open() {
		return false, ErrReentrant
	}
	defer func() {
		if !inside {
			h.close()
		}
	}()
	return h.passDoor(k), nil
}

// within runs fn with the lock held in k.mode and the hold in its context.
func (c *core) within(k *call, fn func(context.Context, *scope) error) error {
	mustContext(k.ctx)
	if k.ctx.Err() != nil {
		return c.tooLate(k)
	}
	s := newScope(k, c)
	k.scope = s
	c.takeCaller(k)
	ctx := context.Context(s)
	entered := false
	if h := s.parent.on(c); h != nil {
		err := h.refuse(k.mode)
		switch {
		case err != nil:
		case h.mode == Upgradable:
			if entered, err = h.readInside(k); entered {
				s.outer = h
			}
		case h.join():
			s, ctx, entered = h, k.ctx, true // a share of that hold, and nothing new
		}
		if err != nil {
			return err
		}
	}
	if !entered {
		if err := c.acquireContext(k); err != nil {
			return err
		}
	}
	defer s.leave(k.lock, k.key)
	return fn(ctx, s)
}

// leave ends the caller's share of the hold, and with the last share the hold.
func (s *scope) leave(lock any, key keyed) {
	if s.others.Add(-1) >= 0 {
		return
	}
	switch {
	case s.mode == Read && s.core.leaveReading():
	case s.mode == Write && s.core.state.CompareAndSwap(fastBusy.Load(), free):
	default:
		s.release(lock, key)
	}
	if s.outer != nil {
		s.outer.close()
	}
}

// release is leave where the hold may matter to somebody.
func (s *scope) release(lock any, key keyed) {
	mode := s.mode
	if mode == Upgradable {
		// An upgrade that another goroutine began ends first.
		s.rare.lock()
		if s.rare.inner.Load() == upgradeDone {
			mode = Write
		}
		s.rare.mu.Unlock()
	}
	s.core.release(&call{ctx: s.Context, lock: lock, key: key, mode: mode, scope: s}, leaves(mode))
}

// upgrade is what the function of an upgradable scope gets.
func (s *scope) upgrade() error {
	if err := s.beginUpgrade(); err != nil || s.rare.inner.Load() == upgradeDone {
		return err
	}
	state := int32(0) // also if an observer panics: the upgradable hold is kept
	defer func() { s.rare.endUpgrade(state) }()
	u := s.rare.call
	err := s.core.upgradeContext(&u)
	if err == nil {
		state = upgradeDone
	}
	return err
}

func (s *scope) beginUpgrade() error {
	s.rare.lock()
	defer s.rare.mu.Unlock()
	switch {
	case !s.live():
		return ErrUpgrade
	case s.rare.inner.Load() == upgradeDone:
		return nil
	case !s.rare.inner.CompareAndSwap(0, upgradePending):
		return ErrUpgrade // a read is open inside
	}
	return nil
}

func (r *rare) endUpgrade(state int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inner.Store(state)
	if r.ended != nil {
		close(r.ended)
		r.ended = nil
	}
}

// lock locks mu once no upgrade is pending. It waits on a channel, since the
// upgrade may take its time and a wait for a mutex is not durably blocking.
func (r *rare) lock() {
	r.mu.Lock()
	for r.inner.Load() == upgradePending {
		if r.ended == nil {
			r.ended = make(chan struct{})
		}
		ended := r.ended
		r.mu.Unlock()
		either(ended, nil)
		r.mu.Lock()
	}
}
