package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// Session implements cluster.Engine.
func (e *Engine) Session(o cluster.SessionOptions) cluster.Session {
	return &session{engine: e, options: o, opening: make(chan struct{}, 1), asking: make(chan struct{}, 32)}
}

// session has one lease at a time: made when a claim first needs it, and anew after it was lost.
type session struct {
	engine  *Engine
	options cluster.SessionOptions
	revokes sync.WaitGroup
	opening chan struct{} // whoever makes a lease has its one place
	asking  chan struct{} // places of requests to enter, so that a thousand of them do not keep a keepalive waiting

	mu     sync.Mutex
	lease  *lease
	closed bool
}

// lease is one lease of etcd.
type lease struct {
	*cluster.Lease
	id      clientv3.LeaseID
	name    string // of its keys
	numbers numbers
	// epoch is the revision of the lease's epoch key, 0 before there is one. See claim.Release.
	epoch atomic.Int64
}

func (s *session) Limits() cluster.Limits { return cluster.Limits{} }

func (s *session) Claim(name string, mode cluster.Mode) cluster.Claim {
	return &claim{session: s, name: name, mode: mode}
}

// current returns the lease if it stands.
func (s *session) current() (*lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, cluster.ErrClosed
	}
	if s.lease != nil && s.lease.Held() == nil {
		return s.lease, nil
	}
	return nil, nil
}

// open returns a lease that stands.
func (s *session) open(ctx context.Context) (*lease, error) {
	if l, err := s.current(); l != nil || err != nil {
		return l, err
	}
	select {
	case s.opening <- struct{}{}:
		defer func() { <-s.opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l, err := s.current(); l != nil || err != nil {
		return l, err
	}
	l, err := s.grant(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		l.Stop()
		s.revoke(l)
		return nil, cluster.ErrClosed
	}
	if s.lease != nil {
		// Whatever still hangs on it belongs to nobody: its holders were told. Without this it would go
		// only when the server's time is up.
		s.lease.Stop()
		s.revoke(s.lease)
	}
	s.lease = l
	return l, nil
}

func (s *session) grant(ctx context.Context) (*lease, error) {
	seconds := int64((s.options.TTL + time.Second - 1) / time.Second)
	client := s.engine.client
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), request)
	defer cancel()
	if err := s.engine.unreachable(ctx); err != nil {
		return nil, err
	}
	sent := time.Now()
	resp, err := client.Grant(ctx, seconds)
	if err != nil {
		return nil, err // a lease that was made unheard of has no keys and ends by itself
	}
	l := &lease{id: resp.ID, name: strconv.FormatInt(int64(resp.ID), 16)}
	l.Lease = cluster.NewLease(sent, time.Duration(resp.TTL)*time.Second, func(ctx context.Context) (time.Duration, error) {
		resp, err := client.KeepAliveOnce(clientv3.WithRequireLeader(ctx), l.id)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return 0, fmt.Errorf("%w: etcd has ended the lease", cluster.ErrLost)
		}
		if err != nil {
			return 0, err
		}
		return time.Duration(resp.TTL) * time.Second, nil
	})
	return l, nil
}

// revoke tells etcd in the background that the lease is not needed any more, if it can be told.
func (s *session) revoke(l *lease) {
	s.revokes.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.TTL)
		defer cancel()
		s.engine.client.Revoke(ctx, l.id)
	})
}

func (s *session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	l := s.lease
	s.mu.Unlock()
	defer s.revokes.Wait()
	if l == nil {
		return nil
	}
	over := l.Held() != nil
	l.Stop()
	if over {
		s.revoke(l)
		return nil
	}
	_, err := s.engine.client.Revoke(ctx, l.id)
	if err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return fmt.Errorf("drawbridge: giving the lease back to etcd: %w", err)
	}
	return nil
}
