// Package rig is what the tests of all engines run on: a network that can fail, processes that can be killed, and a
// checker of histories.
package rig

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a TCP proxy on loopback that can be slow or deaf in each direction.
type Proxy struct {
	target   string
	listener net.Listener
	done     sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed when a direction changes
	up      Direction     // towards the server
	down    Direction
	conns   map[net.Conn]struct{}
}

// Direction is one way through a Proxy.
type Direction struct {
	Delay time.Duration
	Cut   bool // nothing passes, nobody is told
}

// NewProxy returns a proxy before target that is closed with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: target, listener: l, changed: make(chan struct{}), conns: make(map[net.Conn]struct{})}
	p.done.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr is where to connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes both directions.
func (p *Proxy) Set(up, down Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up, p.down = up, down
	close(p.changed)
	p.changed = make(chan struct{})
}

// Reset breaks all connections with an RST.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	clear(p.conns)
}

// Refuse takes no further connections.
func (p *Proxy) Refuse() { p.listener.Close() }

func (p *Proxy) close() {
	p.listener.Close()
	p.Reset()
	p.Set(Direction{}, Direction{})
	p.done.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.done.Go(func() { p.pipe(server, client, &p.up) })
		p.done.Go(func() { p.pipe(client, server, &p.down) })
	}
}

// chunk is what was read at one moment. Each is delayed from its own arrival, so that those behind it do not wait for
// it on top of their own delay.
type chunk struct {
	data    []byte
	arrived time.Time
}

func (p *Proxy) pipe(to, from net.Conn, d *Direction) {
	queue := make(chan chunk, 1024)
	p.done.Go(func() {
		defer to.Close()
		for c := range queue {
			p.pass(c, d)
			if _, err := to.Write(c.data); err != nil {
				break
			}
		}
		for range queue { // let the reader end
		}
	})
	defer close(queue)
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			queue <- chunk{append([]byte(nil), buf[:n]...), time.Now()}
		}
		if err != nil {
			if err != io.EOF {
				p.forget(from, to)
			}
			return
		}
	}
}

// pass returns when the chunk may go on.
func (p *Proxy) pass(c chunk, d *Direction) {
	for {
		p.mu.Lock()
		now, changed := *d, p.changed
		p.mu.Unlock()
		if now.Cut {
			<-changed
			continue
		}
		left := now.Delay - time.Since(c.arrived)
		if left <= 0 {
			return
		}
		select {
		case <-time.After(left):
		case <-changed:
		}
	}
}

func (p *Proxy) forget(cs ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range cs {
		delete(p.conns, c)
	}
}
