package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// conn is a connection of one claim at a time. One goroutine talks on it, one request after the other. While there is
// none it listens, so that it hears at once that the server ended the session.
type conn struct {
	pg    *pgx.Conn
	place place // without Xact
	life  context.Context
	kill  context.CancelFunc // ends the connection, whatever it is doing
	ended chan struct{}
	why   error // after ended

	mu       sync.Mutex
	requests []*exchange
	hush     context.CancelFunc // ends the listening

	// Guarded by the session.
	idle *time.Timer // ends a connection that nobody used for a while
}

// exchange is one request and its answer.
type exchange struct {
	conn     *conn
	talk     func(context.Context, *pgx.Conn) error
	answered chan struct{}
	err      error // after answered
}

var errKilled = errors.New("the connection was given up")

// ended is an error with which the connection ended.
type ended struct{ error }

func (e ended) Unwrap() error { return e.error }

func hasEnded(err error) bool { return errors.As(err, new(ended)) }

func newConn(pg *pgx.Conn) *conn {
	c := &conn{pg: pg, ended: make(chan struct{}), hush: func() {}}
	c.life, c.kill = context.WithCancel(context.Background())
	return c
}

// send has talk run as soon as the requests before it are answered. It does not wait. A request once sent is not taken
// back: what the server makes of it counts.
func (c *conn) send(talk func(context.Context, *pgx.Conn) error) *exchange {
	x := &exchange{conn: c, talk: talk, answered: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, x)
	c.hush()
	return x
}

// next returns the first request, or else a context to listen with, which ends when one comes.
func (c *conn) next() (*exchange, context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.requests) > 0 {
		x := c.requests[0]
		c.requests = c.requests[1:]
		return x, nil
	}
	c.hush()
	var quiet context.Context
	quiet, c.hush = context.WithCancel(c.life)
	return nil, quiet
}

// wait returns what talk returned, or why the connection ended, or the error of ctx. An error with which the connection
// ended is an ended.
func (x *exchange) wait(ctx context.Context) error {
	select {
	case <-x.answered:
		return x.err
	case <-x.conn.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-x.answered: // right before the end
		return x.err
	default:
		return x.conn.why
	}
}

// do sends and waits.
func (c *conn) do(ctx context.Context, talk func(context.Context, *pgx.Conn) error) error {
	return c.send(talk).wait(ctx)
}

func (c *conn) dead() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// run is the goroutine that talks.
func (c *conn) run() {
	var last error
	for c.life.Err() == nil && !c.pg.IsClosed() {
		x, quiet := c.next()
		if x == nil {
			_, last = c.pg.WaitForNotification(quiet)
			continue
		}
		x.err = x.talk(c.life, c.pg)
		last = x.err
		if x.err != nil && c.pg.IsClosed() {
			x.err = ended{x.err}
		}
		close(x.answered)
	}
	if last == nil || c.life.Err() != nil {
		last = errKilled
	}
	c.why = ended{last}
	close(c.ended)
	c.kill()
	// A short word of farewell. If a statement was under way, pgx asks the server to cancel it, in the background.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c.pg.Close(ctx)
	select {
	case <-c.pg.PgConn().CleanupDone():
	case <-ctx.Done():
	}
}
