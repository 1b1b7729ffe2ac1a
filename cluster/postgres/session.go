package postgres

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// session is the connections of one Locker.
type session struct {
	engine  *Engine
	options cluster.SessionOptions
	work    sync.WaitGroup // goroutines of connections and evictions

	mu     sync.Mutex
	conns  map[*conn]struct{} // all that have not ended
	idle   []*conn            // that no claim uses, the last used last
	closed bool
}

func (s *session) Limits() cluster.Limits {
	return cluster.Limits{Shared: true, Claims: s.engine.options.Connections}
}

// take returns a connection that no claim uses.
func (s *session) take(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	for len(s.idle) > 0 {
		c := s.idle[len(s.idle)-1]
		s.idle = s.idle[:len(s.idle)-1]
		if c.idle.Stop() && !c.dead() {
			s.mu.Unlock()
			return c, nil
		}
	}
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, cluster.ErrClosed
	}
	return s.connect(ctx)
}

// put takes back a connection that has nothing at the server any more.
func (s *session) put(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || c.dead() {
		c.kill()
		return
	}
	// The server's own timeout ends it after a TTL.
	c.idle = time.AfterFunc(s.options.TTL/2, c.kill)
	s.idle = append(s.idle, c)
}

func (s *session) connect(ctx context.Context) (*conn, error) {
	if err := s.engine.check(ctx); err != nil {
		return nil, err
	}
	settings := s.settings()
	pg, err := s.engine.dial(ctx, settings)
	if err != nil {
		return nil, refused(err)
	}
	c := newConn(pg)
	if !s.engine.options.Xact {
		if c.place, err = apart(ctx, pg, settings); err != nil {
			pg.Close(ctx)
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	s.work.Go(func() {
		c.run()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
	})
	if s.closed {
		c.kill()
		return nil, cluster.ErrClosed
	}
	return c, nil
}

// settings are those of a session from its start on; with Xact each transaction has its own.
func (s *session) settings() map[string]string {
	if s.engine.options.Xact {
		return nil
	}
	ttl := s.options.TTL
	alive := strconv.Itoa(max(1, int(ttl/3/time.Second)))
	return map[string]string{
		"idle_session_timeout":                millis(ttl), // the lease of a hold
		"client_connection_check_interval":    millis(lookout(ttl)),
		"lock_timeout":                        "0",
		"statement_timeout":                   "0",
		"idle_in_transaction_session_timeout": "0",
		// A client that waits and whose machine is gone is found by the server's kernel.
		"tcp_keepalives_idle":     alive,
		"tcp_keepalives_interval": alive,
		"tcp_keepalives_count":    "3",
	}
}

// lookout is how often a waiting session looks whether its client is still there.
func lookout(ttl time.Duration) time.Duration { return max(ttl/4, 100*time.Millisecond) }

func millis(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

// apart makes sure that the connection is a session of its own, with the settings that it asked for, and says which.
func apart(ctx context.Context, pg *pgx.Conn, settings map[string]string) (p place, err error) {
	var timeout string
	err = pg.QueryRow(ctx, `SELECT pid, backend_start, (SELECT setting FROM pg_settings WHERE name = 'idle_session_timeout')
		FROM pg_stat_activity WHERE pid = pg_backend_pid()`).Scan(&p.pid, &p.started, &timeout)
	if err == nil && (uint32(p.pid) != pg.PgConn().PID() || timeout != settings["idle_session_timeout"]) {
		err = errPooler
	}
	return p, err
}

func (s *session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		c.kill()
	}
	s.idle = nil
	s.mu.Unlock()
	s.work.Wait()
	return nil
}
