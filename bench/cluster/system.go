package main

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// A system is an engine, and the locks that people use on the same servers.
type system struct {
	name, url  string
	contenders []contender
	watches    bool // there is something to count besides requests

	// connect returns the engine as a process of its own has it, on connections that count what is sent.
	connect func(ctx context.Context, sent *sent) (engine, error)

	// apart is how many processes can wait at a time, each with an entry of its own at the engine.
	apart int
}

// engine is an engine and its connections.
type engine interface {
	cluster.Engine
	Close() error
}

// A contender is one kind of lock.
type contender struct {
	name string
	// join is a process that uses the lock: with connections of its own, ready.
	join func(ctx context.Context, sent *sent) (process, error)
}

// process uses one lock at a time.
type process struct {
	lock  func(ctx context.Context, name string) (unlock func(context.Context) error, err error)
	close func()
}

// use takes a lock and gives it back.
func (p process) use(ctx context.Context, name string) error {
	unlock, err := p.lock(ctx, name)
	if err != nil {
		return err
	}
	return unlock(ctx)
}

// member is a process that was started to be measured.
type member struct {
	process
	sent *sent
}

// join starts n processes of each contender.
func (s system) join(ctx context.Context, n int) (all [][]member, err error) {
	for _, c := range s.contenders {
		var of []member
		for range n {
			m := member{sent: new(sent)}
			if m.process, err = c.join(ctx, m.sent); err != nil {
				leave(append(all, of))
				return nil, err
			}
			of = append(of, m)
		}
		all = append(all, of)
	}
	return all, nil
}

func leave(all [][]member) {
	for _, of := range all {
		for _, m := range of {
			m.close()
		}
	}
}

// open returns the engine as a process of its own has it, what counts what it sends, and what closes it.
func (s system) open(ctx context.Context) (engine, *sent, func(), error) {
	sent := new(sent)
	e, err := s.connect(ctx, sent)
	if err != nil {
		return nil, nil, nil, err
	}
	return e, sent, func() { e.Close() }, nil
}

// heading is a table with columns for what was measured and for what it cost.
func (s system) heading(columns ...string) *table {
	columns = append([]string{""}, append(columns, "requests")...)
	if s.watches {
		columns = append(columns, "watches")
	}
	return &table{columns: columns}
}

// line is a line of such a table: what was measured, and what each of ops cost.
func (s system) line(name string, cost counts, ops int, measured ...string) []string {
	line := append([]string{name}, append(measured, per(cost.requests, ops))...)
	if s.watches {
		line = append(line, per(cost.watches, ops))
	}
	return line
}

// sent counts what a process asked of the server. Keepalives of leases are not counted.
type sent struct {
	requests atomic.Int64
	watches  atomic.Int64
}

type counts struct{ requests, watches int64 }

func (s *sent) now() counts { return counts{s.requests.Load(), s.watches.Load()} }

// add adds what was sent since then.
func (c *counts) add(s *sent, since counts) {
	now := s.now()
	c.requests += now.requests - since.requests
	c.watches += now.watches - since.watches
}

// ttl is that of all leases, where a row does not say otherwise.
const ttl = 10 * time.Second

// ours is the lock of package cluster.
func (s system) ours(name string, mode cluster.Mode) contender {
	return contender{name, func(ctx context.Context, sent *sent) (process, error) {
		e, err := s.connect(ctx, sent)
		if err != nil {
			return process{}, err
		}
		locks := locker(e, ttl)
		take := locks.Lock
		if mode == cluster.Read {
			take = locks.RLock
		}
		return process{
			lock: func(ctx context.Context, name string) (func(context.Context) error, error) {
				h, err := take(ctx, name)
				if err != nil {
					return nil, err
				}
				return h.Unlock, nil
			},
			close: func() { locks.Close(); e.Close() },
		}, nil
	}}
}

func locker(e cluster.Engine, ttl time.Duration) *cluster.Locker {
	return cluster.New(e, cluster.Options{TTL: ttl, Label: "bench", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
}
