// Package upgrade has the shapes of reported write locks inside read locks.
package upgrade

import "sync"

// https://github.com/kubesphere/kubesphere/pull/5941: the read lock is not yet given back.
type cache struct {
	mu sync.RWMutex
	m  map[string]string
}

func (c *cache) get(k string) string {
	c.mu.RLock()
	v, ok := c.m[k]
	if !ok {
		c.mu.Lock() // want `c.mu is asked for as a writer while it is held as a reader`
		c.m[k] = k
		c.mu.Unlock()
	}
	c.mu.RUnlock()
	return v
}

// https://github.com/prometheus/prometheus/pull/12920: a read lock around a call that writes.
type db struct {
	mu     sync.RWMutex
	blocks int
}

func (d *db) snapshot() {
	d.mu.RLock()
	defer d.mu.RUnlock()
	d.compact() // want `d.mu is asked for as a writer`
}

func (d *db) compact() { d.reload() }

func (d *db) reload() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blocks++
}
