package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// upstream is a transport on which every answer takes a millisecond.
type upstream struct {
	before, after func() // around the wait
}

func (u upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	u.before()
	defer u.after()
	select {
	case <-time.After(time.Millisecond):
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("well")), Request: r}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func nothing() {}

// halves lets readers look at the table, entry by entry with waits between
// them, while refreshes rebuild it, and counts the looks that found entries
// of more than one refresh.
func halves(t *testing.T, g guard, wait upstream) (halves, looks int) {
	routes := map[string]route{}
	for _, prefix := range []string{"/a", "/b", "/c", "/d"} {
		routes[prefix] = route{Upstream: "http://upstream", Health: "/healthz"}
	}
	f := &refresher{guard: g, checks: newChecker(wait, time.Minute), log: slog.New(slog.DiscardHandler)}
	if err := f.apply(t.Context(), routes); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		all.Go(func() {
			for range 20 {
				err := g.read(t.Context(), func(ctx context.Context, table *table) error {
					generations := map[uint64]bool{table.Generation: true}
					for prefix := range routes {
						generations[table.File[prefix].Generation] = true
						time.Sleep(time.Millisecond / 4)
					}
					mu.Lock()
					defer mu.Unlock()
					looks++
					if len(generations) > 1 {
						halves++
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	all.Go(func() {
		for range 10 {
			if err := f.apply(t.Context(), routes); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		}
	})
	all.Wait()
	return halves, looks
}

func TestNoReaderSeesHalfARefresh(t *testing.T) {
	for name, make := range guards {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, looks := halves(t, make(), upstream{nothing, nothing})
				if got != 0 {
					t.Errorf("%d of %d looks found half a table", got, looks)
				}
			})
		})
	}
}

// stepwise guards each step of a change and nothing across its waits, which
// is no guard at all for those who look between two steps.
type stepwise struct {
	mu    sync.Mutex
	table *table
}

func (g *stepwise) read(ctx context.Context, use func(context.Context, *table) error) error {
	g.mu.Lock()
	seen := g.table.clone()
	g.mu.Unlock()
	return use(ctx, seen)
}

func (g *stepwise) change(ctx context.Context, fn func(context.Context, *table, func() error) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return fn(ctx, g.table, func() error { return nil })
}

func (g *stepwise) lock() drawbridge.Observable { return new(drawbridge.Mutex) }

func TestTheTestForHalfTablesFindsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &stepwise{table: newTable()}
		got, looks := halves(t, g, upstream{g.mu.Unlock, g.mu.Lock})
		if got == 0 {
			t.Errorf("none of %d looks found half a table, with no guard across the waits", looks)
		}
	})
}

// locking are the guards in which a reader can wait.
var locking = []string{"rwmutex", "mutex"}

func TestWaitForTheTableEndsAtTheLimit(t *testing.T) {
	for _, name := range locking {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := impatient{guards[name](), 500 * time.Millisecond}
				go g.guard.change(t.Context(), func(ctx context.Context, _ *table, write func() error) error {
					err := write()
					time.Sleep(2 * time.Second)
					return err
				})
				synctest.Wait()
				began := time.Now()
				err := g.read(t.Context(), func(context.Context, *table) error {
					t.Error("a reader is inside beside a change")
					return nil
				})
				if waited := time.Since(began); !errors.Is(err, errBusy) || waited != 500*time.Millisecond {
					t.Errorf("after %v: %v", waited, err)
				}
				time.Sleep(2 * time.Second)
			})
		})
	}
}

func TestLimitIsForTheWaitAlone(t *testing.T) {
	for name, make := range guards {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := impatient{make(), 500 * time.Millisecond}
				long := func(ctx context.Context) error {
					time.Sleep(time.Minute)
					return ctx.Err()
				}
				err := g.read(t.Context(), func(ctx context.Context, _ *table) error { return long(ctx) })
				if err != nil {
					t.Errorf("read: %v", err)
				}
				err = g.change(t.Context(), func(ctx context.Context, _ *table, write func() error) error {
					return errors.Join(long(ctx), write(), long(ctx))
				})
				if err != nil {
					t.Errorf("change: %v", err)
				}
			})
		})
	}
}

// An upgrade waits for the readers inside; the limit counts for that wait too.
func TestWaitToWriteEndsAtTheLimitAndKeepsTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := impatient{newRWMutexGuard(), 500 * time.Millisecond}
		go g.guard.read(t.Context(), func(context.Context, *table) error {
			time.Sleep(2 * time.Second)
			return nil
		})
		synctest.Wait()
		err := g.change(t.Context(), func(_ context.Context, table *table, write func() error) error {
			if err := write(); err != nil {
				return err
			}
			t.Error("changed beside a reader")
			return nil
		})
		if !errors.Is(err, errBusy) {
			t.Errorf("err = %v", err)
		}
		if err := g.read(t.Context(), func(context.Context, *table) error { return nil }); err != nil {
			t.Errorf("the door stayed closed after the change gave up: %v", err)
		}
		time.Sleep(2 * time.Second)
	})
}
