//lint:file-ignore SA2001 Taking a lock and letting it go is what is measured.

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/inspect"
)

// The ways in which a lock can be watched, or not.
const (
	unwatched     = "not watched"
	watchedTimes  = "counts and times"
	watchedSites  = "call sites and labels"
	watchedStacks = "whole stacks"
)

// watchedRows are about what it costs to be seen by inspect.
func watchedRows() []row {
	// The labels are those of a service that labels its requests.
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("route", "/things/{id}", "tenant", "blue"))
	hold := func(watch func(drawbridge.Observable) (stop func()), loop func(mu *drawbridge.RWMutex, n int)) func(n int) time.Duration {
		return func(n int) time.Duration {
			mu := newPadded[drawbridge.RWMutex]()
			defer watch(mu)()
			return steady(func(n int) { loop(mu, n) }, n)
		}
	}
	watch := func(d inspect.Detail) func(drawbridge.Observable) func() {
		return func(mu drawbridge.Observable) func() { return inspect.WatchDetail("bench", mu, d) }
	}
	none := func(drawbridge.Observable) func() { return func() {} }
	kinds := []struct {
		name  string
		watch func(drawbridge.Observable) func()
	}{{unwatched, none}, {watchedTimes, watch(inspect.Times)}, {watchedSites, watch(inspect.Sites)}, {watchedStacks, watch(inspect.Stacks)}}
	reads := func(mu *drawbridge.RWMutex, n int) {
		for range n {
			must(mu.RLockContext(ctx))
			mu.RUnlock()
		}
	}
	writes := func(mu *drawbridge.RWMutex, n int) {
		for range n {
			must(mu.LockContext(ctx))
			mu.Unlock()
		}
	}
	var read, write, allocations []entry
	for _, k := range kinds {
		read = append(read, entry{name: k.name, role: own, loop: hold(k.watch, reads)})
		write = append(write, entry{name: k.name, role: own, loop: hold(k.watch, writes)})
		allocations = append(allocations, entry{name: k.name, role: own, measure: func() []float64 {
			mu := newPadded[drawbridge.RWMutex]()
			defer k.watch(mu)()
			return []float64{allocationsOf(func(n int) { writes(mu, n) })}
		}})
	}
	onTop := func(kind string, limit float64) bar {
		return bar{of: term{entry: kind, above: unwatched}, limit: limit}
	}
	return []row{{
		name: "watched/read", figures: perOperation, entries: read,
		what: "RLockContext and RUnlock of a lock that inspect watches, one goroutine, a context with two labels",
		bars: []bar{onTop(watchedTimes, 150), onTop(watchedSites, 500)},
	}, {
		name: "watched/write", figures: perOperation, entries: write,
		what: "the same to write",
		bars: []bar{onTop(watchedTimes, 150), onTop(watchedSites, 500)},
	}, {
		name: "watched/allocations", figures: []figure{{unit: "allocations/hold"}}, counted: true, entries: allocations,
		what: "what a watched hold takes from the heap",
		bars: []bar{
			{of: term{entry: watchedTimes}, limit: 0.01},
			{of: term{entry: watchedSites}, limit: 2.01},
		},
	}, {
		name: "watched/load", figures: perOperation, multicore: true, operations: 400_000,
		what: "10,000 locks, 1,000 goroutines, sections of 10 µs, one in ten a write, and 20 open pages when watched",
		entries: []entry{
			{name: unwatched, role: own, loop: func(n int) time.Duration { return (&load{}).run(ctx, n) }},
			{name: watchedSites, role: own, loop: func(n int) time.Duration { return (&load{watched: true}).run(ctx, n) }},
		},
		bars: []bar{under(watchedSites, 1.1, unwatched)},
	}}
}

// load is a program with many locks, of which some are always busy, that people
// look at. 400,000 of its operations take two seconds on two processors: the pages
// get a few reports meanwhile.
type load struct {
	watched bool
	locks   [10_000]drawbridge.RWMutex
}

const loadPages = 20

func (l *load) run(ctx context.Context, n int) time.Duration {
	if l.watched {
		for i := range l.locks {
			defer inspect.Watch(fmt.Sprintf("lock %d", i), &l.locks[i])()
		}
		defer openPages(loadPages)()
	}
	m := mix{goroutines: 1_000, writes: 0.1, section: 10 * time.Microsecond}
	var start atomic.Uint64 // each goroutine begins with locks of its own
	return m.run(&lock{crowd: func(w *worker) {
		next := start.Add(7)
		for w.next() {
			next++
			mu := &l.locks[next%uint64(len(l.locks))]
			if w.writes() {
				must(mu.LockContext(ctx))
				w.section()
				mu.Unlock()
			} else {
				must(mu.RLockContext(ctx))
				w.section()
				mu.RUnlock()
			}
		}
	}}, n)
}

// openPages serves the page of inspect and opens it n times, half of them at the
// table and half at a lock. They are in this process, so their own part of the
// work counts too.
func openPages(n int) (shut func()) {
	s := httptest.NewServer(inspect.Handler())
	locks := inspect.Locks()
	var open, ended sync.WaitGroup
	for i := range n {
		url := s.URL + "/events"
		if i%2 == 1 {
			url += fmt.Sprintf("?lock=%d", locks[i].ID)
		}
		open.Add(1)
		ended.Go(func() {
			response, err := http.Get(url)
			must(err)
			defer response.Body.Close()
			page := bufio.NewReader(response.Body)
			_, err = page.ReadString('\n')
			must(err)
			open.Done()
			_, _ = io.Copy(io.Discard, page)
		})
	}
	open.Wait()
	return func() {
		s.CloseClientConnections()
		s.Close()
		ended.Wait()
	}
}
