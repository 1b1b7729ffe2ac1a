package ctxlock

import (
	"context"

	"github.com/drawbridge-go/drawbridge"
)

// Nothing waits under counter.mu, so a plain lock is soon there.
type counter struct {
	mu drawbridge.Mutex
	n  int
}

func (c *counter) add(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return nil
}

func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

func (s *store) cleanUp(ctx context.Context) {
	defer func() {
		s.mu.Lock()
		s.n = 0
		s.mu.Unlock()
	}()
}

func (s *store) try(ctx context.Context) {
	if s.mu.TryLock() {
		s.mu.Unlock()
	}
}
