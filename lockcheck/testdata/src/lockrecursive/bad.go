package lockrecursive

import "sync"

type store struct {
	mu   sync.RWMutex
	name string
}

func (s *store) rename(n string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = n
}

func (s *store) report() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.label() // want `s.mu is read-locked again while it is held: read-locked at bad.go:17, then in \(\*store\).label at bad.go:23; a writer that comes between`
}

func (s *store) label() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.name
}

type config struct{ mu sync.RWMutex }

func (c *config) readOnly() {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.mu.RLock() // want `c.mu is read-locked again.*no writer of it is seen here`
	c.mu.RUnlock()
}

type session struct {
	mu   sync.RWMutex
	cond *sync.Cond
}

func newSession() *session {
	s := &session{}
	s.cond = sync.NewCond(s.mu.RLocker())
	return s
}

func (s *session) close() { s.mu.Lock(); s.mu.Unlock() }

func (s *session) run() {
	s.cond.L.Lock()
	defer s.cond.L.Unlock()
	s.peek() // want `s.mu is read-locked again`
}

func (s *session) peek() {
	s.mu.RLock()
	defer s.mu.RUnlock()
}
