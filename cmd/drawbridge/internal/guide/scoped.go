package guide

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
)

// checkThenAct: five goroutines insert a key if it is missing, with a wait
// between looking and inserting. Whoever looks must still be right when it
// inserts.
func (g Guide) checkThenAct() (string, error) {
	const upserts = 5
	var found int64
	for _, p := range policies {
		for _, way := range []struct {
			name   string
			upsert func(RWMutex, context.Context, *row) error
		}{
			{"WithLock", func(rw RWMutex, ctx context.Context, r *row) error {
				return rw.WithLock(ctx, func(context.Context) error {
					if r.missing() {
						r.insert()
					}
					return nil
				})
			}},
			{"WithULock", func(rw RWMutex, ctx context.Context, r *row) error {
				return rw.WithULock(ctx, func(_ context.Context, upgrade func() error) error {
					if !r.missing() {
						return nil
					}
					if err := upgrade(); err != nil {
						return err
					}
					r.insert()
					return nil
				})
			}},
		} {
			rw, r := g.NewRWMutex(p), new(row)
			ctx, cancel := bounded()
			defer cancel()
			var all sync.WaitGroup
			failed := make([]error, upserts)
			for i := range upserts {
				all.Go(func() { failed[i] = way.upsert(rw, ctx, r) })
			}
			all.Wait()
			err := rw.WithRLock(ctx, func(context.Context) error {
				found = r.inserts.Load()
				return nil
			})
			if err := errors.Join(append(failed, err)...); err != nil {
				return "", fmt.Errorf("%v, %s: %w", p, way.name, err)
			}
			if found != 1 {
				return "", fmt.Errorf("%v, %s: %d of %d inserted", p, way.name, found, upserts)
			}
		}
	}
	return fmt.Sprintf("%d of %d inserted, and the lookup finds it, with WithLock and with WithULock", found, upserts), nil
}

// row is a key of a table. It is atomic so that a broken lock shows as a wrong
// count, not as a data race.
type row struct{ inserts atomic.Int64 }

func (r *row) missing() bool {
	missing := r.inserts.Load() == 0
	time.Sleep(2 * time.Millisecond) // say, a call to register the route
	return missing
}

func (r *row) insert() { r.inserts.Add(1) }

// upgradeIsRefused: a write inside a read waits for itself, so it must not
// wait at all.
func (g Guide) upgradeIsRefused() (string, error) {
	for _, p := range policies {
		rw := g.NewRWMutex(p)
		ctx, cancel := bounded()
		defer cancel()
		err := rw.WithRLock(ctx, func(ctx context.Context) error {
			return rw.WithLock(ctx, func(context.Context) error { return nil })
		})
		if !errors.Is(err, drawbridge.ErrUpgrade) {
			return "", fmt.Errorf("%v: WithLock inside WithRLock returned %v", p, err)
		}
		if s := rw.State(); s != (drawbridge.State{}) {
			return "", fmt.Errorf("%v: after it the lock says %s", p, s)
		}
	}
	return "ErrUpgrade at once, and nothing held after it", nil
}

// readInsideRead: a reader reads again while a writer waits for it.
func (g Guide) readInsideRead() (string, error) {
	for _, p := range policies {
		rw := g.NewRWMutex(p)
		ctx, cancel := bounded()
		defer cancel()
		var writer attempt
		err := rw.WithRLock(ctx, func(ctx context.Context) error {
			writer = try(rw.LockContext)
			if err := writer.waits(rw, drawbridge.State{Readers: 1, WaitingWriters: 1}); err != nil {
				return err
			}
			return rw.WithRLock(ctx, func(context.Context) error { return nil })
		})
		if err != nil {
			return "", fmt.Errorf("%v: the inner read: %w", p, err)
		}
		if err := writer.enters(); err != nil {
			return "", fmt.Errorf("%v: the writer after both reads: %w", p, err)
		}
		rw.Unlock()
	}

	const bound = 100 * time.Millisecond
	beside := ""
	for _, peer := range []struct {
		name  string
		hangs func(time.Duration) (bool, error)
	}{{"sync.RWMutex", standardHangs}, {"textbook", textbookHangs}} {
		hangs, err := peer.hangs(bound)
		if err != nil {
			return "", fmt.Errorf("%s: %w", peer.name, err)
		}
		if hangs {
			beside += ", " + peer.name
		}
	}
	if beside == "" {
		return "the inner read returned, with each policy", nil
	}
	return fmt.Sprintf("the inner read returned, with each policy (still hung after %s: %s)", bound, beside[2:]), nil
}

// standardHangs reports whether a read inside a read of a [sync.RWMutex] still
// waits after the bound. It leaves no goroutine behind.
func standardHangs(bound time.Duration) (bool, error) {
	var rw sync.RWMutex
	var all sync.WaitGroup
	defer all.Wait()
	rw.RLock()
	defer rw.RUnlock() // the writer, then the inner read
	all.Go(func() {
		rw.Lock()
		//lint:ignore SA2001 to have been inside is all it wants
		rw.Unlock()
	})
	err := until("the writer keeps readers out", func() bool {
		free := rw.TryRLock()
		if free {
			rw.RUnlock()
		}
		return !free
	})
	if err != nil {
		return false, err
	}
	inner := make(chan struct{})
	all.Go(func() {
		rw.RLock()
		close(inner)
		rw.RUnlock()
	})
	select {
	case <-inner:
		return false, nil
	case <-time.After(bound):
		return true, nil
	}
}

// textbookHangs is the same for the lock on a condition variable.
func textbookHangs(bound time.Duration) (bool, error) {
	rw := contender.NewTextbook(true)
	if err := try(rw.RLock).enters(); err != nil {
		return false, err
	}
	writer := try(rw.Lock)
	if err := writer.waits(rw, drawbridge.State{Readers: 1, WaitingWriters: 1}); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	hangs := rw.RLock(ctx) != nil
	return hangs, writer.giveUp()
}
