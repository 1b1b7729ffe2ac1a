// Package double has the shapes of reported locks inside themselves.
package double

import "sync"

// https://github.com/pingcap/tidb/issues/40408: the close callback of a failed init takes the map's lock.
type pool struct {
	mu    sync.Mutex
	conns map[string]*conn
}

type conn struct{ onClose func() }

func (c *conn) init() error { return nil }

func (c *conn) close() { c.onClose() }

func (p *pool) get(k string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &conn{}
	c.onClose = func() { p.delete(k) }
	if err := c.init(); err != nil {
		c.close() // want `pool.mu may be taken while p.mu`
		return nil
	}
	p.conns[k] = c
	return c
}

func (p *pool) delete(k string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, k)
}

// https://github.com/istio/istio/issues/14611: the continue path takes it again.
type client struct {
	mu   sync.Mutex
	open bool
}

func (c *client) run(events []int) {
	for _, e := range events {
		c.mu.Lock() // want `c.mu is taken again by the next round of the loop`
		if e == 0 {
			continue
		}
		c.open = e > 0
		c.mu.Unlock()
	}
}

// https://github.com/etcd-io/etcd/pull/6948: a helper that locks.
type watchers struct {
	mu sync.Mutex
	n  int
}

func (w *watchers) remove() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n--
	if w.empty() { // want `w.mu is taken again`
		w.n = 0
	}
}

func (w *watchers) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n == 0
}

// https://github.com/upper/db/pull/460: four frames and an interface away.
type session struct {
	mu   sync.Mutex
	name string
}

type contexter interface{ context() string }

type builder struct{ s contexter }

func (s *session) Name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.name == "" {
		s.name = s.lookupName() // want `s.mu is taken again`
	}
	return s.name
}

func (s *session) lookupName() string { return newBuilder(s).query() }

func newBuilder(s contexter) *builder { return &builder{s: s} }

func (b *builder) query() string { return b.s.context() }

func (s *session) context() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

// https://github.com/golang/go/issues/81606: the read half of a lock is held, the write half asked for.
type tx struct {
	closemu sync.RWMutex
	done    bool
}

func (t *tx) raw(f func() error) error {
	t.closemu.RLock()
	defer t.closemu.RUnlock()
	if err := f(); err != nil {
		t.rollback() // want `t.closemu is asked for as a writer`
		return err
	}
	return nil
}

func (t *tx) rollback() {
	t.closemu.Lock()
	t.done = true
	t.closemu.Unlock()
}
