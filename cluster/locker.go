package cluster

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Options of a Locker. The zero value is ready.
type Options struct {
	// TTL is how long the engine waits for a keepalive before it takes a dead process's holds away; 10 s if
	// zero. A hold ends here earlier, by Margin(TTL). Keepalives go out every third of it. Below 2 s a slow
	// machine loses holds that it should have kept.
	TTL time.Duration

	// Label says what this process is, to people who look at State.
	Label string

	// Logger hears of holds that were lost and of releases that the engine did not confirm; slog.Default if nil.
	Logger *slog.Logger
}

// A Locker takes named read-write locks on one engine. It is safe for concurrent use and usually one per process.
type Locker struct {
	engine  Engine
	session Session
	limits  Limits
	ttl     time.Duration
	logger  *slog.Logger
	work    sync.WaitGroup // goroutines of attempts, guards and releases

	mu       sync.Mutex
	queues   map[string]*queue
	attempts map[*attempt]struct{} // wait at the engine
	grants   map[*grant]struct{}   // have holds
	claims   int                   // not yet released
	starved  []*queue              // have calls in line and found no claim left, in order
	closed   bool
}

// New returns a Locker. It does not talk to the engine until the first call does.
func New(engine Engine, o Options) *Locker {
	if o.TTL <= 0 {
		o.TTL = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	l := &Locker{
		engine:   engine,
		ttl:      o.TTL,
		logger:   o.Logger,
		queues:   make(map[string]*queue),
		attempts: make(map[*attempt]struct{}),
		grants:   make(map[*grant]struct{}),
	}
	l.session = engine.Session(SessionOptions{
		TTL:    o.TTL,
		Owner:  Owner{Host: host, PID: os.Getpid(), Label: cleanLabel(o.Label)},
		Logger: o.Logger,
	})
	l.limits = l.session.Limits()
	return l
}

// cleanLabel makes s fit for every engine: valid UTF-8 without NUL, at most 256 bytes.
func cleanLabel(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	if len(s) > 256 {
		s = s[:256]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	return s
}

// Lock takes the write lock of name. It waits until everybody who came before has left. When ctx ends first it
// returns at once with a *WaitError, even if the engine cannot be reached; what the call left there is removed in
// the background. ctx has no say over the hold once it is granted.
//
// If ctx carries a hold of name (see [Hold.Context]) waiting for it would be waiting for oneself: the error is
// drawbridge.ErrUpgrade for a read hold and drawbridge.ErrReentrant for a write hold, at once.
func (l *Locker) Lock(ctx context.Context, name string) (*Hold, error) {
	return l.acquire(ctx, name, Write, false)
}

// RLock takes a read lock of name, as Lock does. If ctx carries a read hold of name, the new hold is part of it: it is
// granted at once, with the same token, even while a writer waits, and the lock is released after both were unlocked.
func (l *Locker) RLock(ctx context.Context, name string) (*Hold, error) {
	return l.acquire(ctx, name, Read, false)
}

// TryLock is Lock that returns ErrBusy where Lock would wait for other holds. ctx bounds the talk with the engine.
func (l *Locker) TryLock(ctx context.Context, name string) (*Hold, error) {
	return l.acquire(ctx, name, Write, true)
}

// TryRLock is RLock that returns ErrBusy where RLock would wait for other holds. ctx bounds the talk with the engine.
func (l *Locker) TryRLock(ctx context.Context, name string) (*Hold, error) {
	return l.acquire(ctx, name, Read, true)
}

// WithLock runs f under the write lock of name and releases it when f returns, panics or exits. The context that f
// gets ends with ctx and with the hold, whichever ends first. If the hold was lost before f was through, the
// returned error matches ErrLost whatever f returned.
func (l *Locker) WithLock(ctx context.Context, name string, f func(context.Context, *Hold) error) error {
	return l.with(ctx, name, Write, f)
}

// WithRLock is WithLock with a read lock.
func (l *Locker) WithRLock(ctx context.Context, name string, f func(context.Context, *Hold) error) error {
	return l.with(ctx, name, Read, f)
}

func (l *Locker) with(ctx context.Context, name string, mode Mode, f func(context.Context, *Hold) error) (err error) {
	h, err := l.acquire(ctx, name, mode, false)
	if err != nil {
		return err
	}
	inner, cancel := context.WithCancelCause(carry(ctx, h))
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	defer func() {
		stop()
		held := h.Held()
		released := h.Unlock(ctx)
		cancel(ErrUnlocked)
		switch {
		case held != nil:
			err = errors.Join(err, held)
		case released != nil && !isDone(ctx, released):
			// Lost before f was through, for all anybody knows, or not confirmed by the engine.
			err = errors.Join(err, released)
		}
	}()
	return f(inner, h)
}

// isDone reports whether err only says that ctx ended: the release goes on in the background.
func isDone(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, ErrLost)
}

func (l *Locker) acquire(ctx context.Context, name string, mode Mode, try bool) (*Hold, error) {
	if err := ValidName(name); err != nil {
		return nil, err
	}
	began := time.Now()
	fail := func(err error) error {
		return &WaitError{Name: name, Mode: mode, Waited: time.Since(began), Err: err}
	}
	if ctx.Err() != nil {
		return nil, fail(whyDone(ctx))
	}

	if hold, err, ok := carried(ctx, l.engine, name, mode); ok {
		return hold, err
	}

	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, ErrClosed
	}
	q := l.queue(name)
	w := &waiter{ctx: ctx, mode: mode, try: try, result: make(chan result, 1)}
	if !l.enqueue(q, w) {
		l.mu.Unlock()
		return nil, ErrBusy
	}
	l.mu.Unlock()

	var r result
	select {
	case r = <-w.result:
	case <-ctx.Done():
		if last, left := l.leave(q, w); left {
			err := &WaitError{Name: name, Mode: mode, Waited: time.Since(began), Err: whyDone(ctx), Last: last}
			return nil, err
		}
		r = <-w.result // decided just before
	}
	if r.err == nil {
		// The grant may have come while this process was paused, or too late for the caller.
		switch held := r.hold.Held(); {
		case held != nil:
			r.err = held
		case ctx.Err() != nil:
			r.err = whyDone(ctx)
		default:
			return r.hold, nil
		}
		l.giveBack(r.hold)
	}
	if errors.Is(r.err, ErrBusy) || errors.Is(r.err, ErrClosed) {
		return nil, r.err
	}
	return nil, fail(r.err)
}

// State says who holds name and who waits, in order.
func (l *Locker) State(ctx context.Context, name string) (State, error) {
	if err := ValidName(name); err != nil {
		return State{}, err
	}
	entries, err := l.engine.Entries(ctx, name)
	if err != nil {
		return State{}, err
	}
	s := NewState(name, entries)
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.queues[name]; q != nil {
		s.Queued = q.line.Len()
	}
	return s, nil
}

// Close gives back every hold that is left, whose contexts then end with ErrLost, ends every waiting call with
// ErrClosed, and returns when the engine has confirmed it, or after one TTL at most.
func (l *Locker) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.closeQueues()
	for g := range l.grants {
		l.lose(g, errors.Join(ErrLost, ErrClosed))
	}
	l.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), l.ttl)
	defer cancel()
	released := make(chan struct{})
	go func() {
		l.work.Wait()
		close(released)
	}()
	select {
	case <-released:
	case <-ctx.Done():
	}
	err := l.session.Close(ctx)
	<-released // what a closed session does not release ends by itself
	return err
}
