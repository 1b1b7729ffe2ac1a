// Package missing has the shapes of reported unlocks that were forgotten.
package missing

import (
	"errors"
	"sync"
)

var errNoConn = errors.New("no connection")

// https://github.com/nats-io/nats.go/pull/1364: the early return.
type sub struct {
	mu     sync.Mutex
	conn   *int
	closed bool
}

func (s *sub) drain() error {
	s.mu.Lock()
	if s.conn == nil {
		return errNoConn // want `s.mu, locked at missing.go:19, is still held at this return`
	}
	s.closed = true
	s.mu.Unlock()
	return nil
}

// https://github.com/gravitational/teleport/pull/27183: the error path of a call.
type watcher struct {
	mu sync.RWMutex
	n  int
}

func (w *watcher) fetch(load func() (int, error)) (int, error) {
	w.mu.RLock()
	n, err := load()
	if err != nil {
		return 0, err // want `w.mu, read-locked at missing.go:35, is still held at this return`
	}
	w.mu.RUnlock()
	return n + w.n, nil
}

// https://github.com/Snowflake-Labs/sansshell/pull/514: a branch of a loop.
func (s *sub) poll(ids []int) {
	for _, id := range ids {
		s.mu.Lock()
		if id < 0 {
			return // want `s.mu, locked at missing.go:47, is still held at this return`
		}
		s.mu.Unlock()
	}
}

// https://github.com/prometheus/prometheus/issues/19021: a panic is recovered, and the lock stays.
func (s *sub) append(n int) {
	s.mu.Lock()
	if n < 0 {
		panic("negative") // want `s.mu, locked at missing.go:57, is held when this panics`
	}
	s.mu.Unlock()
}

// https://github.com/flynn/flynn/pull/2591: of two modes, the wrong one is given back.
func (w *watcher) len() int {
	w.mu.RLock()
	defer w.mu.Unlock() // want `Unlock of w.mu, which is read-locked at missing.go:66`
	return w.n
}
