package lockstringer

import (
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"sync"
)

type cache struct {
	mu sync.RWMutex
	n  int
}

func (c *cache) String() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return "cache"
}

func (c *cache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	log.Printf("dropping %v", c) // want `c.mu, locked at bad.go:23, is taken again by the method that log.Printf calls on its argument`
	c.n = 0
}

func (c *cache) describe() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return fmt.Sprint("this is ", c) // want `c.mu, read-locked at bad.go:30, is taken again`
}

func (c *cache) slog() {
	c.mu.Lock()
	defer c.mu.Unlock()
	slog.Info("dropping", "cache", c) // want `is taken again by the method that log/slog.Info calls`
}

type doc struct {
	mu sync.Mutex
	n  int
}

func (d *doc) MarshalJSON() ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return []byte("{}"), nil
}

func (d *doc) save() ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return json.Marshal(d) // want `is taken again by the method that encoding/json.Marshal calls`
}
