package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/cluster"
)

// clusterGuard is the snapshot guard of many gateways: the table is in an
// engine that all of them reach, and each serves the last one it has seen. A
// reader never waits, neither for a change nor for the network. Without a
// table yet, calls end with [errNoTable].
type clusterGuard struct {
	follows atomic.Pointer[cluster.Snapshot[table]] // nil until the engine has answered
}

// errEngine says that the engine gave no answer to a change, which may or may
// not have been made.
var errEngine = errors.New("the engine gives no answer; look whether the change was made")

func (g *clusterGuard) read(ctx context.Context, use func(context.Context, *table) error) error {
	s := g.follows.Load()
	if s == nil {
		return errNoTable
	}
	t, _, ok := s.Load()
	if !ok {
		return errNoTable
	}
	return use(ctx, &t)
}

// change runs fn again if another gateway has changed the table in between.
func (g *clusterGuard) change(ctx context.Context, fn func(context.Context, *table, func() error) error) error {
	s := g.follows.Load()
	if s == nil {
		return errNoTable
	}
	var refused error // by fn
	_, err := s.Update(ctx, func(ctx context.Context, old table) (table, error) {
		next, changed := old.clone(), false
		refused = fn(ctx, next, func() error { changed = true; return nil })
		if refused == nil && !changed {
			return table{}, errNothingToDo
		}
		return *next, refused
	})
	switch {
	case refused != nil:
		return refused
	case err == nil, errors.Is(err, errNothingToDo):
		return nil
	}
	return fmt.Errorf("%w: %w", errEngine, err)
}

var errNothingToDo = errors.New("nothing to do")

// lock returns nil: nobody waits for anybody in this process.
func (g *clusterGuard) lock() drawbridge.Observable { return nil }

// tableCodec takes nothing from other processes that the API would refuse.
var tableCodec = cluster.Codec[table]{Decode: func(data []byte) (table, error) {
	var t table
	if err := json.Unmarshal(data, &t); err != nil {
		return table{}, err
	}
	for _, layer := range []map[string]route{t.File, t.API} {
		for prefix, r := range layer {
			if err := errors.Join(checkPrefix(prefix), r.check()); err != nil {
				return table{}, err
			}
		}
	}
	return t, nil
}}

// follow looks for the engine until it answers, and then seeds the table from
// the source, if there is one, unless there is a table already: one attempt a
// second or so. From then on the table is changed by the API alone.
func (g *clusterGuard) follow(ctx context.Context, engine cluster.Engine, migrate func(context.Context) error, from *source, log *slog.Logger) {
	again := func(what string, attempt func(context.Context) error) {
		for said := ""; ctx.Err() == nil; {
			limit, cancel := context.WithTimeout(ctx, 5*time.Second)
			err := attempt(limit)
			cancel()
			if err == nil {
				return
			}
			if text := err.Error(); text != said && ctx.Err() == nil {
				log.Error(what+" failed, and is tried again", "why", err)
				said = text
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second/2 + rand.N(time.Second)):
			}
		}
	}
	again("following the table", func(ctx context.Context) error {
		cannot := migrate(ctx) // a role that may not make tables can use those that are there
		s, err := cluster.NewSnapshot(ctx, engine, "gateway/routes", tableCodec)
		if err != nil {
			return errors.Join(err, cannot)
		}
		g.follows.Store(s)
		return nil
	})
	if from == nil {
		return
	}
	again("seeding the table", func(ctx context.Context) error { return g.seed(ctx, *from) })
}

// seed makes the routes of the source those of the API, where there has never
// been a table.
func (g *clusterGuard) seed(ctx context.Context, from source) error {
	if g.read(ctx, func(context.Context, *table) error { return nil }) == nil {
		return nil
	}
	routes, err := from.load(ctx)
	if err != nil {
		return err
	}
	return g.change(ctx, func(_ context.Context, t *table, write func() error) error {
		if t.Generation > 0 || len(t.API) > 0 {
			return nil // another gateway was first
		}
		if err := write(); err != nil {
			return err
		}
		t.Generation, t.API = 1, routes
		return nil
	})
}

func (g *clusterGuard) close() {
	if s := g.follows.Load(); s != nil {
		s.Close()
	}
}

// engineStatus says how old the table of this gateway may be.
type engineStatus struct {
	Engine  string    `json:"engine"`  // without the password
	Version uint64    `json:"version"` // 0 before the first table
	AsOf    time.Time `json:"as_of"`   // nothing was newer then
	Age     string    `json:"age"`     // since then
	Error   string    `json:"error,omitempty"`
}

func (g *clusterGuard) status(name string) *engineStatus {
	s := g.follows.Load()
	if s == nil {
		return &engineStatus{Engine: name, Error: "the engine has not answered yet"}
	}
	st, asOf := s.Status(), s.AsOf()
	status := &engineStatus{Engine: name, Version: st.Version, AsOf: asOf, Age: time.Since(asOf).Round(time.Millisecond).String()}
	if st.Err != nil {
		status.Error = st.Err.Error()
	}
	return status
}
