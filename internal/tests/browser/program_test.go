package browser

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/inspect"
)

// evilName would run a script in a page that takes names for markup.
const evilName = `<script>document.title="run"</script><img src=x onerror=alert(1)>`

// runProgram keeps a few locks of every kind busy until the test ends.
func runProgram(t *testing.T) {
	var (
		routes   drawbridge.RWMutex
		evil     drawbridge.Mutex
		sessions drawbridge.Keyed[string]
		config   drawbridge.Snapshot[int]
		index    = drawbridge.NewGuarded(0)
		journal  = drawbridge.Mutex{Policy: drawbridge.FIFO}
		idle     drawbridge.RWMutex
	)
	for name, lock := range map[string]drawbridge.Observable{
		"routes": &routes, evilName: &evil, "sessions": &sessions, "config": &config,
		"search index": index, "journal": &journal, "never used": &idle,
	} {
		t.Cleanup(inspect.Watch(name, lock))
	}
	t.Cleanup(func() { runtime.KeepAlive(&idle) }) // nobody else refers to it
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	sleep := func(d time.Duration) {
		select {
		case <-time.After(d/2 + rand.N(d)):
		case <-ctx.Done():
		}
	}
	// loop runs f with labels again and again.
	loop := func(f func(context.Context), labels ...string) {
		wg.Go(func() {
			pprof.Do(ctx, pprof.Labels(labels...), func(ctx context.Context) {
				for ctx.Err() == nil {
					f(ctx)
				}
			})
		})
	}
	held := func(d time.Duration) func(context.Context) error {
		return func(context.Context) error { sleep(d); return nil }
	}
	for _, path := range []string{"/users", "/orders", "/health"} {
		loop(func(ctx context.Context) {
			routes.WithRLock(ctx, held(180*time.Millisecond))
			sleep(60 * time.Millisecond)
		}, "route", path)
	}
	loop(func(ctx context.Context) {
		routes.RLock()
		sleep(90 * time.Millisecond)
		routes.RUnlock()
		sleep(200 * time.Millisecond)
	})
	loop(func(ctx context.Context) {
		routes.WithLock(ctx, held(120*time.Millisecond))
		sleep(400 * time.Millisecond)
	}, "job", "reload")
	loop(func(ctx context.Context) {
		routes.WithULock(ctx, func(ctx context.Context, upgrade func() error) error {
			sleep(200 * time.Millisecond)
			if upgrade() == nil {
				sleep(50 * time.Millisecond)
			}
			return nil
		})
		sleep(700 * time.Millisecond)
	}, "job", "repair")
	loop(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
		defer cancel()
		routes.WithLock(ctx, held(time.Millisecond))
		sleep(500 * time.Millisecond)
	}, "job", "impatient", "<b>label</b>", "<i>value</i>")
	for i := range 3 {
		loop(func(ctx context.Context) { journal.WithLock(ctx, held(30*time.Millisecond)) }, "shard", string(rune('a'+i)))
		loop(func(ctx context.Context) {
			sessions.WithLock(ctx, []string{"alpha", "beta", "gamma"}[rand.IntN(3)], held(50*time.Millisecond))
		})
	}
	loop(func(ctx context.Context) { evil.WithLock(ctx, held(20*time.Millisecond)) })
	loop(func(ctx context.Context) {
		index.Read(ctx, func(context.Context, *int) error { sleep(10 * time.Millisecond); return nil })
	})
	loop(func(ctx context.Context) {
		config.Refresh(ctx, func(context.Context) (*int, error) {
			sleep(100 * time.Millisecond)
			if rand.IntN(3) == 0 {
				return nil, errors.New("the source does not answer")
			}
			return new(int), nil
		})
		sleep(time.Second)
	})
}
