package guide

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// mutexInOrder: a hundred goroutines wait for a mutex, one after another. The
// check releases it for each of them: a hold belongs to no goroutine.
func (g Guide) mutexInOrder() (string, error) {
	const waiters = 100
	for _, p := range []drawbridge.Policy{drawbridge.FIFO, drawbridge.Balanced} {
		m := g.NewMutex(p)
		ctx, cancel := bounded()
		defer cancel()
		if err := m.LockContext(ctx); err != nil {
			return "", err
		}
		entered := make(chan int)
		for i := range waiters {
			go func() {
				if m.LockContext(ctx) == nil {
					entered <- i
				}
			}()
			if err := becomes(m, drawbridge.State{Writer: true, WaitingWriters: i + 1}); err != nil {
				return "", fmt.Errorf("%v: %w", p, err)
			}
		}
		for next := range waiters {
			m.Unlock()
			if p == drawbridge.FIFO && !m.Locked() {
				return "", fmt.Errorf("%v: a release with %d waiting left the mutex open", p, waiters-next)
			}
			select {
			case i := <-entered:
				if i != next {
					return "", fmt.Errorf("%v: waiter %d entered when it was the turn of %d", p, i, next)
				}
			case <-ctx.Done():
				return "", fmt.Errorf("%v: waiter %d never entered", p, next)
			}
		}
		m.Unlock()
	}
	if err := g.handOff(); err != nil {
		return "", err
	}
	longest, overtakes, err := g.sleepBehindNewcomers()
	if err != nil {
		return "", err
	}
	if longest > time.Millisecond+slack {
		return "", fmt.Errorf("zero value: a waiter slept for %s behind newcomers", round(longest))
	}
	return fmt.Sprintf("100 entered in order, FIFO and zero value; no newcomer passed a FIFO waiter; zero value: at most %s asleep behind %d newcomers",
		longest.Round(10*time.Microsecond), overtakes), nil
}

// handOff: a FIFO mutex goes from the releaser to the waiter, even to one that
// has only just come, so that the releaser itself cannot have it again.
func (g Guide) handOff() error {
	m := g.NewMutex(drawbridge.FIFO)
	for range 100 {
		if err := try(m.LockContext).enters(); err != nil {
			return err
		}
		waiter := try(m.LockContext)
		if err := waiter.waits(m, drawbridge.State{Writer: true, WaitingWriters: 1}); err != nil {
			return err
		}
		m.Unlock()
		if m.TryLock() {
			return fmt.Errorf("%v: a newcomer passed a waiter", drawbridge.FIFO)
		}
		if err := waiter.enters(); err != nil {
			return err
		}
		m.Unlock()
	}
	return nil
}

// sleepBehindNewcomers measures how long a waiter of the zero value sleeps
// while two goroutines take the mutex as often as they can, and how many
// times they did in the longest of the sleeps.
func (g Guide) sleepBehindNewcomers() (longest time.Duration, overtakes int64, err error) {
	const trials = 20
	m := g.NewMutex(drawbridge.Balanced)
	ctx, cancel := bounded()
	defer cancel()
	var taken atomic.Int64
	var stop atomic.Bool
	var newcomers sync.WaitGroup
	defer newcomers.Wait()
	defer stop.Store(true)
	for range 2 {
		newcomers.Go(func() {
			for !stop.Load() && m.LockContext(ctx) == nil {
				taken.Add(1)
				m.Unlock()
			}
		})
	}
	for range trials {
		time.Sleep(time.Millisecond)
		before, began := taken.Load(), time.Now()
		if err := m.LockContext(ctx); err != nil {
			return 0, 0, err
		}
		waited, passed := time.Since(began), taken.Load()-before
		m.Unlock()
		if waited > longest {
			longest, overtakes = waited, passed
		}
	}
	return longest, overtakes, nil
}

// mutexGivenUp: the mutex is busy for longer than the second that the caller
// has.
func (g Guide) mutexGivenUp() (string, error) {
	const limit = time.Second
	m := g.NewMutex(drawbridge.Balanced)
	if err := try(m.LockContext).enters(); err != nil {
		return "", err
	}
	began := time.Now() // before the limit begins to run
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := m.LockContext(ctx)
	waited := time.Since(began)
	switch {
	case !errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("it returned %v", err)
	case waited < limit || waited > limit+slack:
		return "", fmt.Errorf("it returned after %s", round(waited))
	}
	m.Unlock()
	if s := m.State(); s != (drawbridge.State{}) || !m.TryLock() {
		return "", fmt.Errorf("the mutex is not free after it: %s", s)
	}
	m.Unlock()
	return fmt.Sprintf("gave up after %s, and the mutex is free again", round(waited)), nil
}
