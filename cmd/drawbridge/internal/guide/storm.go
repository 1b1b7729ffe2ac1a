package guide

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
)

// noWakeStorm: ten thousand wait behind a writer, half of them to write, and
// the writers came first. One release lets in whom the policy lets in. A
// goroutine that wakes looks at its context before anything else, so the
// contexts know who woke.
func (g Guide) noWakeStorm() (string, error) {
	const half = 5000
	var measured []string
	for _, p := range policies {
		want := drawbridge.State{Readers: half, WaitingWriters: half}
		if p == drawbridge.PreferWriters || p == drawbridge.FIFO {
			want = drawbridge.State{Writer: true, WaitingReaders: half, WaitingWriters: half - 1}
		}
		woken, err := g.storm(p, half, want)
		if err != nil {
			return "", fmt.Errorf("%v: %w", p, err)
		}
		measured = append(measured, fmt.Sprintf("%v %d", p, woken))
	}
	vain, err := textbookStorm(1000)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("one release woke of 10,000: %s (the textbook lock: %d of 1,000)", strings.Join(measured, ", "), vain), nil
}

func (g Guide) storm(p drawbridge.Policy, half int, want drawbridge.State) (woken int, err error) {
	rw := g.NewRWMutex(p)
	ctx, cancel := bounded()
	defer cancel()
	if err := rw.LockContext(ctx); err != nil {
		return 0, err
	}
	contexts := make([]*watched, 2*half)
	returned := make([]atomic.Bool, 2*half)
	var all, leave sync.WaitGroup
	leave.Add(1)
	start := func(i int, acquire func(context.Context) error, release func()) {
		contexts[i] = &watched{Context: ctx}
		all.Go(func() {
			if acquire(contexts[i]) == nil {
				returned[i].Store(true)
				leave.Wait()
				release()
			}
		})
	}
	end := func() error {
		cancel()
		leave.Done()
		all.Wait()
		return becomes(rw, drawbridge.State{})
	}
	for i := range half {
		start(i, rw.LockContext, rw.Unlock)
	}
	err = becomes(rw, drawbridge.State{Writer: true, WaitingWriters: half})
	for i := half; i < 2*half; i++ {
		start(i, rw.RLockContext, rw.RUnlock)
	}
	err = errors.Join(err, becomes(rw, drawbridge.State{Writer: true, WaitingWriters: half, WaitingReaders: half}))
	before := make([]int64, 2*half)
	for i, c := range contexts {
		before[i] = c.looks.Load()
	}

	rw.Unlock()
	entered := func() (n int) {
		for i := range returned {
			if returned[i].Load() {
				n++
			}
		}
		return n
	}
	enter := max(want.Readers, 1)
	err = errors.Join(err, becomes(rw, want), until(fmt.Sprintf("%d callers have returned", enter), func() bool { return entered() == enter }))
	time.Sleep(20 * time.Millisecond) // for whoever woke in vain
	invain, most, least := 0, int64(0), int64(1<<62)
	for i, c := range contexts {
		looks := c.looks.Load() - before[i]
		switch {
		case returned[i].Load():
			woken++
			most, least = max(most, looks), min(least, looks)
		case looks > 0:
			invain++
		}
	}
	if n := entered(); n != enter {
		err = errors.Join(err, fmt.Errorf("%d entered, not %d", n, enter))
	}
	// Balanced may wake the first writer to compete before it grants.
	allowed := 0
	if p == drawbridge.Balanced {
		allowed = 1
	}
	if invain > allowed {
		err = errors.Join(err, fmt.Errorf("%d were woken that could not enter", invain))
	}
	if most != least {
		err = errors.Join(err, fmt.Errorf("some woke once and some more often: they looked at their contexts %d to %d times", least, most))
	}
	return woken, errors.Join(err, end())
}

// watched is a context that counts who asks it whether it is done.
type watched struct {
	context.Context
	looks atomic.Int64
}

func (w *watched) Done() <-chan struct{} {
	w.looks.Add(1)
	return w.Context.Done()
}

func (w *watched) Err() error {
	w.looks.Add(1)
	return w.Context.Err()
}

// textbookStorm returns how many of n waiting writers one release of the
// textbook lock wakes.
func textbookStorm(n int) (woken int, err error) {
	rw := contender.NewTextbook(true)
	ctx, cancel := bounded()
	defer cancel()
	if err := rw.Lock(ctx); err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range n {
		all.Go(func() { _ = rw.Lock(ctx) }) // one of them holds it from then on
	}
	if err := becomes(rw, drawbridge.State{Writer: true, WaitingWriters: n}); err != nil {
		return 0, err
	}
	rw.Unlock()
	err = until("every waiter has woken", func() bool { return rw.Wakes() >= n })
	return rw.Wakes(), err
}
