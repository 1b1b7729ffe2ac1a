package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge/inspect"
)

// A keep is the guarded table of a gateway together with what keeps it up to
// date.
type keep struct {
	guard  guard
	from   string // where the routes are, for people
	run    func(ctx context.Context, hangup <-chan os.Signal)
	status func() status
	locks  http.Handler // the page of the table's lock
	close  func()
}

// status is the answer of /status.
type status struct {
	Guard   string         `json:"guard"`
	Time    time.Time      `json:"time"`
	Refresh *refreshStatus `json:"refresh,omitempty"`
	Engine  *engineStatus  `json:"engine,omitempty"`
}

// openLocal is the table of this gateway alone, which begins with a good
// source: without one there is nothing to serve.
func openLocal(ctx context.Context, o options, checks checker, log *slog.Logger) (*keep, error) {
	stop := func() {}
	if o.Routes == "" {
		var err error
		if o.Routes, stop, err = demo(); err != nil {
			return nil, err
		}
	}
	from, err := newSource(o.Routes)
	if err != nil {
		stop()
		return nil, err
	}
	table := guards[o.Guard]()
	unwatch := inspect.Watch(lockName, table.lock())
	f := &refresher{guard: table, source: from, checks: checks, every: o.Refresh, log: log}
	if err := f.refresh(ctx); err != nil {
		unwatch()
		stop()
		return nil, fmt.Errorf("without a good table there is nothing to serve: %w", err)
	}
	return &keep{
		guard: table,
		from:  from.String(),
		run: func(ctx context.Context, hangup <-chan os.Signal) {
			now := make(chan struct{})
			var relaying sync.WaitGroup
			relaying.Go(func() { relay(ctx, hangup, now) })
			f.run(ctx, now)
			relaying.Wait()
		},
		status: func() status {
			refresh := f.now()
			return status{Guard: o.Guard, Time: time.Now(), Refresh: &refresh}
		},
		locks: inspect.Handler(),
		close: func() { unwatch(); stop() },
	}, nil
}

// openShared is the table that many gateways have in an engine. It does not
// wait for the engine: until there is a table, requests are answered 503.
func openShared(_ context.Context, o options, _ checker, log *slog.Logger) (*keep, error) {
	var seed *source
	if o.Routes != "" {
		from, err := newSource(o.Routes)
		if err != nil {
			return nil, err
		}
		seed = &from
	}
	e, err := openEngine(o.Engine)
	if err != nil {
		return nil, err
	}
	g := new(clusterGuard)
	return &keep{
		guard: g,
		from:  e.name,
		run: func(ctx context.Context, hangup <-chan os.Signal) {
			var answering sync.WaitGroup
			answering.Go(func() { nothingToRead(ctx, hangup, log) })
			g.follow(ctx, e, e.migrate, seed, log)
			answering.Wait()
		},
		status: func() status { return status{Guard: o.Guard, Time: time.Now(), Engine: g.status(e.name)} },
		locks:  noLock(e.name),
		close:  func() { g.close(); e.Close() },
	}, nil
}

// nothingToRead answers signals that ask for a refresh where there is none.
func nothingToRead(ctx context.Context, hangup <-chan os.Signal, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			log.Info("SIGHUP changes nothing: the table is the engine's, and the API changes it; --routes only seeds an empty one")
		}
	}
}

// noLock says why a page of locks would be empty.
func noLock(engine string) http.Handler {
	text := fmt.Sprintf("The table is in %s. This process has a copy of it, which requests load without a lock and\n"+
		"the engine replaces: nobody holds it and nobody waits. /status says how old it is.\n", engine)
	list := inspect.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" || r.URL.Path != "/debug/locks/" {
			list.ServeHTTP(w, r) // programs can read an empty list
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		io.WriteString(w, text)
	})
}

// relay turns signals into refreshes. One that comes while a refresh is under
// way, and may be too late for it, asks for another.
func relay(ctx context.Context, signals <-chan os.Signal, now chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		select {
		case <-ctx.Done():
			return
		case now <- struct{}{}:
		}
	}
}
