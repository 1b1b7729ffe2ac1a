// Package mem is the engine of package cluster in memory, with leases, slow and broken links, and lost replies. It is
// for tests: those of the cluster package itself, and those of programs that use it. Inside a testing/synctest
// bubble a lease runs out in no time.
//
//	here := mem.New()
//	there := here.Peer() // another machine on the same server
//	a, b := cluster.New(here, cluster.Options{}), cluster.New(there, cluster.Options{})
//	here.SetLink(mem.Link{DropRequests: true, DropReplies: true}) // a is cut off; b gets its locks after the TTL
package mem

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// Engine is one machine's way to a server in memory. It implements cluster.Engine.
type Engine struct {
	// Limits are those of the sessions made afterwards. With Limits.Shared tokens are given with the grant, and
	// readers get that of the last writer, as on PostgreSQL; without, every entry has its own, as on etcd.
	Limits cluster.Limits

	server *server

	mu      sync.Mutex
	link    Link
	relink  chan struct{} // closed when link changes
	leases  map[*lease]struct{}
	traffic Traffic
}

// Link is how one machine reaches the server. The zero value is at once and without loss.
type Link struct {
	RequestDelay, ReplyDelay time.Duration
	// DropRequests: what is sent never arrives. DropReplies: it is carried out, and nobody hears of it. Calls
	// hang until their context ends.
	DropRequests, DropReplies bool
}

// Traffic counts what one machine sent.
type Traffic struct {
	Requests int // without keepalives
	Renewals int
}

var errNoAnswer = errors.New("mem: no answer from the server")

// New returns the first machine of a new server.
func New() *Engine { return newEngine(newServer()) }

// Peer returns another machine of the same server, with the same Limits and a good link.
func (e *Engine) Peer() *Engine {
	p := newEngine(e.server)
	p.Limits = e.Limits
	return p
}

func newEngine(s *server) *Engine {
	return &Engine{server: s, relink: make(chan struct{}), leases: make(map[*lease]struct{})}
}

// SetLink changes the link. Calls that hang stay lost.
func (e *Engine) SetLink(link Link) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.link = link
	close(e.relink)
	e.relink = make(chan struct{})
}

// Traffic returns what this machine has sent so far.
func (e *Engine) Traffic() Traffic {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.traffic
}

// Revoke ends, at the server, all leases of this machine before their time. The machine is not told.
func (e *Engine) Revoke() {
	e.mu.Lock()
	leases := e.leases
	e.leases = make(map[*lease]struct{})
	e.mu.Unlock()
	for l := range leases {
		e.server.do(func() { e.server.endLease(l) })
	}
}

// Delete removes a stored value, as an administrator would.
func (e *Engine) Delete(name string) { e.server.do(func() { e.server.deleteValue(name) }) }

// call carries op out at the server, over the link.
func (e *Engine) call(ctx context.Context, renewal bool, op func()) error {
	e.mu.Lock()
	link := e.link
	if renewal {
		e.traffic.Renewals++
	} else {
		e.traffic.Requests++
	}
	e.mu.Unlock()
	if err := travel(ctx, link.RequestDelay, link.DropRequests); err != nil {
		return err
	}
	e.server.do(op)
	return travel(ctx, link.ReplyDelay, link.DropReplies)
}

func travel(ctx context.Context, delay time.Duration, lost bool) error {
	if lost {
		<-ctx.Done()
		return errors.Join(errNoAnswer, ctx.Err())
	}
	if delay <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return errors.Join(errNoAnswer, ctx.Err())
	case <-time.After(delay):
		return nil
	}
}

// hear waits for news that the server sends without being asked: they come late, or after the link is good again.
func (e *Engine) hear(ctx context.Context, news <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-news:
	}
	for {
		e.mu.Lock()
		link, relink := e.link, e.relink
		e.mu.Unlock()
		if !link.DropReplies {
			return travel(ctx, link.ReplyDelay, false)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-relink:
		}
	}
}
