package mem

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// Session implements [cluster.Engine].
func (e *Engine) Session(o cluster.SessionOptions) cluster.Session {
	return &session{engine: e, options: o, limits: e.Limits}
}

// session has one lease at a time, made when a claim first needs it and anew after it was lost.
type session struct {
	engine  *Engine
	options cluster.SessionOptions
	limits  cluster.Limits

	mu     sync.Mutex
	at     *lease // at the server
	lease  *cluster.Lease
	closed bool
}

func (s *session) Limits() cluster.Limits { return s.limits }

func (s *session) Claim(name string, mode cluster.Mode) cluster.Claim {
	return &claim{session: s, name: name, mode: mode}
}

// open returns a lease that stands.
func (s *session) open(ctx context.Context) (*lease, *cluster.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, cluster.ErrClosed
	}
	if s.lease != nil && s.lease.Held() == nil {
		return s.at, s.lease, nil
	}
	if s.lease != nil {
		s.lease.Stop()
		s.lease = nil
	}
	e := s.engine
	var at *lease
	sent := time.Now()
	err := e.call(ctx, false, func() { at = e.server.newLease(s.options.TTL) })
	if at != nil {
		e.mu.Lock()
		e.leases[at] = struct{}{}
		e.mu.Unlock()
	}
	if err != nil {
		return nil, nil, err // what the server made unheard of ends by itself
	}
	s.at = at
	s.lease = cluster.NewLease(sent, s.options.TTL, func(ctx context.Context) (time.Duration, error) {
		stands := false
		if err := e.call(ctx, true, func() { stands = at.renew() }); err != nil {
			return 0, err
		}
		if !stands {
			return 0, fmt.Errorf("%w: the server has ended the lease", cluster.ErrLost)
		}
		return s.options.TTL, nil
	})
	return s.at, s.lease, nil
}

func (s *session) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.lease == nil {
		return nil
	}
	s.lease.Stop()
	return s.engine.call(ctx, false, func() { s.engine.server.endLease(s.at) })
}

// claim is one attempt.
type claim struct {
	session *session
	name    string
	mode    cluster.Mode

	lease   *cluster.Lease
	entry   *entry // made here, so that a request that was carried out unheard can be found again
	granted bool
}

func (c *claim) Acquire(ctx context.Context, try bool, trouble func(error)) (cluster.Grant, error) {
	e := c.session.engine
	for {
		err := c.enter(ctx, try)
		if err == nil {
			break
		}
		if errors.Is(err, cluster.ErrLost) || errors.Is(err, cluster.ErrBusy) || errors.Is(err, cluster.ErrClosed) || ctx.Err() != nil {
			return cluster.Grant{}, err
		}
		trouble(err)
	}
	trouble(nil)

	// The wait ends with the lease too.
	wait, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(c.lease.Context(), func() { stop(context.Cause(c.lease.Context())) })()
	for !c.granted {
		if err := e.hear(wait, c.entry.news); err != nil {
			return cluster.Grant{}, context.Cause(wait)
		}
		// The grant is proved by an answer that shows the entry in place.
		ask, cancel := context.WithTimeout(wait, c.session.options.TTL/3)
		gone := false
		err := e.call(ask, false, func() { gone = c.entry.gone })
		cancel()
		switch {
		case wait.Err() != nil:
			return cluster.Grant{}, context.Cause(wait)
		case err != nil:
			trouble(err)
		case gone:
			return cluster.Grant{}, fmt.Errorf("%w: the entry was removed while it waited", cluster.ErrLost)
		default:
			c.granted = true
		}
	}
	if err := c.lease.Held(); err != nil {
		return cluster.Grant{}, err
	}
	return cluster.Grant{Token: c.entry.Token, Lease: c.lease}, nil
}

// enter sends the one request that takes a place; the same entry is sent again if the answer was lost.
func (c *claim) enter(ctx context.Context, try bool) error {
	s, e := c.session, c.session.engine
	ctx, cancel := context.WithTimeout(ctx, s.options.TTL/3)
	defer cancel()
	if c.entry == nil {
		at, lease, err := s.open(ctx)
		if err != nil {
			return err
		}
		c.lease = lease
		c.entry = &entry{
			Entry:  cluster.Entry{Owner: s.options.Owner, Mode: c.mode, Since: time.Now()},
			shared: s.limits.Shared,
			lease:  at,
			news:   make(chan struct{}),
			ended:  make(chan struct{}),
		}
	}
	if err := c.lease.Held(); err != nil {
		return err
	}
	busy, gone, over := false, false, false
	err := e.call(ctx, false, func() {
		_, known := c.entry.lease.entries[c.entry]
		switch {
		case c.entry.gone:
			gone = true
		case c.entry.lease.over:
			over = true
		case try && !known && blocked(c.mode, e.server.line(c.name).entries):
			busy = true
			c.entry.gone = true // not to be added by a request that is still on its way
		case !known:
			e.server.add(c.name, c.entry)
		}
		c.granted = c.entry.Granted
	})
	switch {
	case err != nil:
		c.granted = false
		return err
	case gone:
		return fmt.Errorf("%w: the entry was removed while it waited", cluster.ErrLost)
	case over:
		// The server had ended the lease and nobody had noticed. No place was lost: there was none yet.
		c.lease.Lose(cluster.ErrLost)
		c.entry = nil
		return c.enter(ctx, try)
	case busy:
		return cluster.ErrBusy
	}
	return nil
}

func (c *claim) Watch(ctx context.Context) error {
	if err := c.session.engine.hear(ctx, c.entry.ended); err != nil {
		return err
	}
	return fmt.Errorf("%w: the entry was removed at the server", cluster.ErrLost)
}

func (c *claim) Downgrade(ctx context.Context) error {
	s := c.session.engine.server
	gone := false
	err := c.session.engine.call(ctx, false, func() {
		if gone = c.entry.gone; !gone {
			s.revision++
			c.entry.Mode = cluster.Read
			s.grant(s.line(c.name))
		}
	})
	if err == nil && gone {
		err = fmt.Errorf("%w: the entry was removed at the server", cluster.ErrLost)
	}
	return err
}

func (c *claim) Release(ctx context.Context) error {
	if c.entry == nil {
		return nil // nothing was ever sent
	}
	if err := c.lease.Held(); err != nil {
		return err
	}
	removed := false
	err := c.session.engine.call(ctx, false, func() {
		removed = c.session.engine.server.remove(c.name, c.entry)
		c.entry.gone = true // a request that is still on its way will find no place
	})
	if err == nil && !removed && c.granted {
		err = fmt.Errorf("%w: the entry had been removed at the server", cluster.ErrLost)
	}
	return err
}
