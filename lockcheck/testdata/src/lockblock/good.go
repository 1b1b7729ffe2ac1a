package lockblock

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

func (h *hub) after() {
	h.mu.Lock()
	h.mu.Unlock()
	h.c <- 1
}

func (h *hub) tries() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.c <- 1:
	default:
	}
}

func (h *hub) bounded(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.c <- 1:
	case <-ctx.Done():
	}
	select {
	case h.c <- 1:
	case <-time.After(time.Second):
	}
}

func (h *hub) roomy() {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := make(chan int, 1)
	c <- 1
}

func (h *hub) condOwn() {
	h.in.Lock()
	defer h.in.Unlock()
	h.cond.Wait()
}

func (h *hub) starts() {
	h.mu.Lock()
	defer h.mu.Unlock()
	go func() { h.c <- 1 }()
}

func (h *hub) gap() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.outside()
}

// outside gives the lock back while it waits.
func (h *hub) outside() {
	h.mu.Unlock()
	<-h.c
	h.mu.Lock()
}

func withContext(ctx context.Context, mu *drawbridge.Mutex, c *http.Client) error {
	mu.Lock()
	defer mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://localhost", nil)
	if err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	_, err = c.Do(req)
	return err
}

type store interface{ load() int }

type fastStore int

func (s fastStore) load() int { return int(s) }

type shelf struct {
	mu    sync.Mutex
	store store
}

func newShelf() *shelf { return &shelf{store: fastStore(1)} }

func (s *shelf) load() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.load()
}
