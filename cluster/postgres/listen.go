package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// listener is the engine's one connection that listens. It is there while anybody follows a value.
type listener struct {
	engine *Engine
	work   sync.WaitGroup

	mu      sync.Mutex
	current *listening
	closed  bool
}

// listening is one such connection, from before it is made until it has broken.
type listening struct {
	ready  chan struct{} // LISTEN has begun, or failed
	err    error         // after ready
	broken chan struct{}
	stop   context.CancelFunc

	// Guarded by the listener.
	subscribers map[*subscriber]struct{}
}

// subscriber follows one name.
type subscriber struct {
	name   string
	news   chan struct{} // of one place: that there is news, not which
	broken <-chan struct{}
	cancel func()
}

// subscribe returns when the connection listens.
func (l *listener) subscribe(ctx context.Context, name string) (*subscriber, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, cluster.ErrClosed
	}
	if l.current == nil {
		l.begin()
	}
	g := l.current
	s := &subscriber{name: name, news: make(chan struct{}, 1), broken: g.broken}
	g.subscribers[s] = struct{}{}
	s.cancel = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(g.subscribers, s)
		if len(g.subscribers) == 0 {
			l.end(g)
		}
	}
	l.mu.Unlock()
	select {
	case <-g.ready:
		if g.err == nil {
			return s, nil
		}
		s.cancel()
		return nil, g.err
	case <-ctx.Done():
		s.cancel()
		return nil, ctx.Err()
	}
}

// begin starts a connection. Called with the mutex.
func (l *listener) begin() {
	ctx, stop := context.WithCancel(context.Background())
	g := &listening{
		ready: make(chan struct{}), broken: make(chan struct{}), stop: stop,
		subscribers: make(map[*subscriber]struct{}),
	}
	l.current = g
	l.work.Go(func() {
		defer stop()
		l.listen(ctx, g)
		l.mu.Lock()
		l.end(g)
		l.mu.Unlock()
		close(g.broken)
	})
}

// end lets the next subscriber begin a new connection. Called with the mutex.
func (l *listener) end(g *listening) {
	g.stop()
	if l.current == g {
		l.current = nil
	}
}

func (l *listener) listen(ctx context.Context, g *listening) {
	e := l.engine
	connecting, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	pg, err := e.dial(connecting, nil)
	if err == nil {
		if _, err = pg.Exec(connecting, "LISTEN drawbridge"); err != nil {
			pg.Close(connecting)
		}
	}
	g.err = err
	close(g.ready)
	if err != nil {
		return
	}
	defer func() {
		farewell, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		pg.Close(farewell)
	}()
	l.hear(ctx, g, pg)
}

// hear passes notifications on until the connection breaks. It asks the server for a sign of life when it was quiet.
func (l *listener) hear(ctx context.Context, g *listening, pg *pgx.Conn) {
	for {
		quiet, cancel := context.WithTimeout(ctx, l.engine.options.Poll)
		n, err := pg.WaitForNotification(quiet)
		cancel()
		if err == nil {
			l.tell(g, n.Payload)
			continue
		}
		if ctx.Err() != nil || pg.IsClosed() {
			return
		}
		alive, cancel := context.WithTimeout(ctx, request)
		err = pg.Ping(alive)
		cancel()
		if err != nil {
			return
		}
	}
}

func (l *listener) tell(g *listening, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range g.subscribers {
		if s.name == name {
			select {
			case s.news <- struct{}{}:
			default: // there is news already
			}
		}
	}
}

func (l *listener) close() {
	l.mu.Lock()
	l.closed = true
	if l.current != nil {
		l.current.stop()
	}
	l.mu.Unlock()
	l.work.Wait()
}
