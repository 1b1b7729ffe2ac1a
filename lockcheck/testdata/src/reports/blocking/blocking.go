// Package blocking has the shapes of reported locks held over something that did not end.
package blocking

import (
	"database/sql"
	"net"
	"net/http"
	"os/exec"
	"sync"
)

// https://github.com/hashicorp/consul/issues/8504: a state lock over a call to another machine.
type agent struct {
	mu     sync.Mutex
	client *http.Client
	queue  chan int
}

func (a *agent) syncState(req *http.Request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.register(req) // want `\(\*net/http.Client\).Do while a.mu, locked at blocking.go:20, is held: in \(\*agent\).register at blocking.go:26`
}

func (a *agent) register(req *http.Request) error {
	_, err := a.client.Do(req)
	return err
}

// https://github.com/hashicorp/consul/issues/3700: queueing for a reader that waits for the lock.
func (a *agent) notify() {
	a.mu.Lock()
	a.queue <- 1 // want `send on a.queue while a.mu`
	a.mu.Unlock()
}

// https://github.com/containerd/containerd/pull/2624: over the wait for stdio.
type task struct {
	mu sync.Mutex
	wg sync.WaitGroup
}

func (t *task) delete() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wg.Wait() // want `\(\*sync.WaitGroup\).Wait while t.mu`
}

// https://github.com/grpc/grpc-go/pull/7662 and https://github.com/golang/go/issues/33425: over a write to a
// connection whose other end is gone.
type transport struct {
	mu sync.Mutex
	c  net.Conn
}

func (t *transport) goAway(b []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.c.Write(b) // want `\(net.Conn\).Write while t.mu`
	return err
}

// A limit on requests in flight that locks around the handler it wraps.
type limiter struct {
	mu   sync.Mutex
	next http.Handler
}

func (l *limiter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next.ServeHTTP(w, r) // want `\(net/http.Handler\).ServeHTTP while l.mu`
}

type store struct {
	mu sync.RWMutex
	db *sql.DB
}

func (s *store) load() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.db.Exec("SELECT 1") // want `\(\*database/sql.DB\).Exec while s.mu`
	return err
}

// https://github.com/moby/moby/issues/27761: everybody who lists waits for one container's process.
func (t *task) inspect() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return exec.Command("sleep", "1").Run() // want `\(\*os/exec.Cmd\).Run while t.mu`
}
