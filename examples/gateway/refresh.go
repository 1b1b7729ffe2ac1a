package main

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"sync"
	"time"
)

// A refresher brings the file layer of the table up to date.
type refresher struct {
	guard  guard // without a limit: a refresh can wait
	source source
	checks checker
	every  time.Duration
	log    *slog.Logger

	mu     sync.Mutex
	status refreshStatus
}

// refreshStatus says how the refreshes are doing.
type refreshStatus struct {
	Source   string    `json:"source"`
	Good     time.Time `json:"last_good"`
	Failures int       `json:"failures"` // since the last good one
	Error    string    `json:"error,omitempty"`
}

// run refreshes on an interval, and at once when now is sent to, until ctx is
// done. The interval varies by up to a tenth, so that many gateways do not
// ask the source together.
func (f *refresher) run(ctx context.Context, now <-chan struct{}) {
	for {
		timer := time.NewTimer(f.every + time.Duration((rand.Float64()*2-1)*float64(f.every)/10))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-now:
			timer.Stop()
		case <-timer.C:
		}
		if err := f.refresh(ctx); err != nil && ctx.Err() == nil {
			f.log.Error("refresh failed, the last good table stays", "why", err)
		}
	}
}

// refresh reads the source and changes the table. Everything that can fail
// comes before the first change: after an error the table is as it was.
func (f *refresher) refresh(ctx context.Context) error {
	routes, err := f.source.load(ctx)
	if err == nil {
		err = f.apply(ctx, routes)
	}
	if err != nil && ctx.Err() != nil {
		return err // the gateway ends
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.Source = f.source.String()
	if err != nil {
		f.status.Failures++
		f.status.Error = err.Error()
		return err
	}
	f.status.Good, f.status.Failures, f.status.Error = time.Now(), 0, ""
	return nil
}

// apply makes routes the file layer, one route after the other, and asks each
// upstream on the way. Those are the waits in the middle of the change that
// the guard hides from readers. All together they take no longer than one
// health check may: upstreams that the time does not suffice for are not asked.
func (f *refresher) apply(ctx context.Context, routes map[string]route) error {
	ctx = pprof.WithLabels(ctx, pprof.Labels("by", "refresh"))
	return f.guard.change(ctx, func(ctx context.Context, t *table, write func() error) error {
		if err := write(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, f.checks.limit)
		defer cancel()
		generation := t.Generation + 1
		maps.DeleteFunc(t.File, func(prefix string, _ route) bool {
			_, stays := routes[prefix]
			return !stays
		})
		for _, prefix := range slices.Sorted(maps.Keys(routes)) {
			r := routes[prefix]
			r.Generation = generation
			if ctx.Err() != nil {
				r.Down = "not asked: the refresh had no time left"
			} else if err := f.checks.check(ctx, r, "refresh"); err != nil {
				r.Down = err.Error()
			}
			t.File[prefix] = r
		}
		t.Generation = generation
		return nil
	})
}

func (f *refresher) now() refreshStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}
