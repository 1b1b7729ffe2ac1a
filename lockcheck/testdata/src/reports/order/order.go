// Package order has the shapes of reported orders that contradict one another.
package order

import (
	"sync"

	"reports/order/client"
)

// https://github.com/grpc/grpc-go/issues/3047: the other half, in the package that uses the client.
func reconnect(a *client.AddrConn) {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Cc.Mu.Lock() // want `client.AddrConn.Mu .* then client.Conn.Mu .*; client.Conn.Mu .* then client.AddrConn.Mu`
	a.Cc.Mu.Unlock()
}

// https://github.com/prometheus/prometheus/issues/19445: stripe and series.
type stripe struct{ sync.RWMutex }

type series struct{ sync.Mutex }

type head struct {
	stripes [8]stripe
	series  map[int]*series
}

func (h *head) mmap(i int) {
	h.stripes[i].RLock()
	defer h.stripes[i].RUnlock()
	for _, s := range h.series {
		s.Lock()
		s.Unlock()
	}
}

func (h *head) gc(i int, s *series) {
	s.Lock()
	defer s.Unlock()
	h.stripes[i].Lock() // want `order.series.Mutex .* then order.stripe.RWMutex .*; order.stripe.RWMutex .* then order.series.Mutex`
	h.stripes[i].Unlock()
}

// https://github.com/syncthing/syncthing/issues/3596: read locks in both orders, with writers about.
type model struct{ mu sync.RWMutex }

type folders struct{ mu sync.RWMutex }

func status(m *model, f *folders) {
	m.mu.RLock()
	f.mu.RLock()
	f.mu.RUnlock()
	m.mu.RUnlock()
}

func scan(m *model, f *folders) {
	f.mu.RLock()
	m.mu.RLock() // want `order.folders.mu .* then order.model.mu .*; order.model.mu .* then order.folders.mu`
	m.mu.RUnlock()
	f.mu.RUnlock()
}

func change(m *model, f *folders) {
	m.mu.Lock()
	m.mu.Unlock()
	f.mu.Lock()
	f.mu.Unlock()
}

// https://github.com/istio/istio/issues/9882: three locks.
type registry struct{ mu sync.Mutex }

type controller struct{ mu sync.Mutex }

type aggregate struct{ mu sync.Mutex }

func one(r *registry, c *controller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.mu.Lock()
	c.mu.Unlock()
}

func two(c *controller, a *aggregate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.mu.Lock()
	a.mu.Unlock()
}

func three(a *aggregate, r *registry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.mu.Lock() // want `order.aggregate.mu .* then order.registry.mu .*; order.registry.mu .* then order.controller.mu .*; order.controller.mu .* then order.aggregate.mu`
	r.mu.Unlock()
}
