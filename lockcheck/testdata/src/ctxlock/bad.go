package ctxlock

import (
	"context"
	"net/http"

	"github.com/drawbridge-go/drawbridge"
)

type store struct {
	mu drawbridge.RWMutex
	n  int
	c  chan int
}

func (s *store) refresh(ctx context.Context) error {
	s.mu.Lock() // want `Lock waits without end although ctx is at hand, and a section of this lock waits for something else. Use LockContext\(ctx\)`
	defer s.mu.Unlock()
	s.n = <-s.c
	return nil
}

func (s *store) get(ctx context.Context, k string) (int, error) {
	s.mu.RLock() // want `RLock waits without end although ctx is at hand`
	defer s.mu.RUnlock()
	return s.n, nil
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock() // want `RLock waits without end although r.Context\(\) is at hand`
	defer s.mu.RUnlock()
}
