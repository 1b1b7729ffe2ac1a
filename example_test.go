package drawbridge_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// A table that many requests read and few change. Change the type of a lock
// that you have, and nothing else changes.
func ExampleRWMutex() {
	var (
		mu     drawbridge.RWMutex // was: sync.RWMutex
		routes = map[string]string{"/": "home"}
	)
	lookup := func(path string) string {
		mu.RLock()
		defer mu.RUnlock()
		return routes[path]
	}
	add := func(path, handler string) {
		mu.Lock()
		defer mu.Unlock()
		routes[path] = handler
	}

	add("/about", "about")
	fmt.Println(lookup("/"), lookup("/about"))
	// Output: home about
}

// A request has 50 ms. If somebody holds the lock for longer, it gets an error
// that says who was in the way, and the lock is as if it had never asked.
func ExampleRWMutex_LockContext() {
	var mu drawbridge.RWMutex
	mu.Lock() // somebody is stuck

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := mu.LockContext(ctx); err != nil {
		var wait *drawbridge.WaitError
		fmt.Println(errors.Is(err, context.DeadlineExceeded), errors.As(err, &wait))
		fmt.Println("in the way:", wait.State)
		return
	}
	defer mu.Unlock()
	// Output:
	// true true
	// in the way: 1 writer inside
}

// The context that the function gets knows that the lock is held. A read inside
// a read works even while a writer waits, and a write inside a read is an error
// instead of a deadlock.
func ExampleRWMutex_WithRLock() {
	var mu drawbridge.RWMutex
	ctx := context.Background()

	err := mu.WithRLock(ctx, func(ctx context.Context) error {
		return mu.WithRLock(ctx, func(ctx context.Context) error {
			return mu.WithLock(ctx, func(context.Context) error { return nil })
		})
	})
	fmt.Println(errors.Is(err, drawbridge.ErrUpgrade))
	// Output: true
}

// Look, and change only what is missing: no other writer comes in between.
func ExampleRWMutex_WithULock() {
	var mu drawbridge.RWMutex
	table := map[string]int{}
	upsert := func(ctx context.Context, key string, value int) error {
		return mu.WithULock(ctx, func(ctx context.Context, upgrade func() error) error {
			if _, ok := table[key]; ok {
				return nil // readers were never kept out
			}
			if err := upgrade(); err != nil {
				return err
			}
			table[key] = value
			return nil
		})
	}

	fmt.Println(upsert(context.Background(), "a", 1), upsert(context.Background(), "a", 2), table)
	// Output: <nil> <nil> map[a:1]
}

// A writer makes a change and goes on to read it, with no gap in which another
// writer could undo it.
func ExampleRWMutex_Downgrade() {
	var mu drawbridge.RWMutex
	count := 0

	mu.Lock()
	count++
	mu.Downgrade() // other readers enter now
	fmt.Println(count, mu.State())
	mu.RUnlock()
	// Output: 1 1 reader inside
}

// What a lock is doing, for a log line or a health check.
func ExampleRWMutex_State() {
	var mu drawbridge.RWMutex
	mu.RLock()
	mu.RLock()
	fmt.Println(mu.State())
	mu.RUnlock()
	mu.RUnlock()
	fmt.Println(mu.State())
	// Output:
	// 2 readers inside
	// free
}

// slow reports holds of a second and more.
type slow struct{}

func (slow) Observe(_ context.Context, e drawbridge.Event) {
	if e.Kind == drawbridge.Released && e.Held >= time.Second {
		fmt.Printf("held to %s for %s\n", e.Mode, e.Held)
	}
}

// See what happens to a lock. ObserveAll does so for all locks at once.
func ExampleRWMutex_Observe() {
	var mu drawbridge.RWMutex
	stop := mu.Observe(slow{})
	defer stop()

	mu.Lock()
	mu.Unlock() // quick: nothing is reported
	// Output:
}

// The policy says who goes first. It is set in the declaration of the lock.
func ExamplePolicy() {
	queue := drawbridge.RWMutex{Policy: drawbridge.FIFO} // strictly by arrival
	stats := drawbridge.RWMutex{Policy: drawbridge.PreferReaders}
	var table drawbridge.RWMutex // Balanced: nobody starves

	fmt.Println(queue.Policy, stats.Policy, table.Policy)
	// Output: FIFO PreferReaders Balanced
}

// One instrument on one connection. Whoever finds it busy for a second gives up.
func ExampleMutex() {
	var bus drawbridge.Mutex
	read := func(ctx context.Context, register int) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := bus.LockContext(ctx); err != nil {
			return 0, fmt.Errorf("the bus is busy: %w", err)
		}
		defer bus.Unlock()
		return 2 * register, nil // write the address, then read the answer
	}

	fmt.Println(read(context.Background(), 21))
	// Output: 42 <nil>
}

// A value that can be reached only with its lock held: no call can forget it.
func ExampleGuarded() {
	visits := drawbridge.NewGuarded(map[string]int{})
	ctx := context.Background()

	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			_ = visits.Write(ctx, func(_ context.Context, m *map[string]int) error {
				(*m)["/"]++
				return nil
			})
		})
	}
	wg.Wait()
	_ = visits.Read(ctx, func(_ context.Context, m *map[string]int) error {
		fmt.Println((*m)["/"])
		return nil
	})
	// Output: 100
}

// A table that is built from somewhere else. Readers take no lock: they load
// the table and keep it for as long as they like.
func ExampleSnapshot() {
	type table map[string]string
	var routes drawbridge.Snapshot[table]
	build := func(context.Context) (*table, error) {
		return &table{"/": "home"}, nil // from a database, say
	}

	if err := routes.Refresh(context.Background(), build); err != nil {
		fmt.Println(err) // the last good table stays
	}
	fmt.Println((*routes.Load())["/"], routes.Status().Version)
	// Output: home 1
}

// One lock for each user, made when it is needed and gone afterwards. Users do
// not wait for one another.
func ExampleKeyed() {
	var users drawbridge.Keyed[string]
	ctx := context.Background()

	err := users.WithLock(ctx, "user 7", func(ctx context.Context) error {
		fmt.Println("user 7, with", users.Len(), "user locked")
		return nil
	})
	fmt.Println(err, users.Len())
	// Output:
	// user 7, with 1 user locked
	// <nil> 0
}

// Money goes from one account to another. Two transfers between the same
// accounts never wait for each other for ever, whatever their directions.
func ExampleKeyed_WithLocks() {
	var accounts drawbridge.Keyed[string]
	balance := map[string]int{"a": 100, "b": 100}
	transfer := func(ctx context.Context, from, to string, amount int) error {
		return accounts.WithLocks(ctx, []string{from, to}, func(context.Context) error {
			balance[from] -= amount
			balance[to] += amount
			return nil
		})
	}

	var wg sync.WaitGroup
	wg.Go(func() { _ = transfer(context.Background(), "a", "b", 10) })
	wg.Go(func() { _ = transfer(context.Background(), "b", "a", 20) })
	wg.Wait()
	fmt.Println(balance)
	// Output: map[a:110 b:90]
}

// Work that goes on after a scope has ended must not count on its hold.
func ExampleWithoutHolds() {
	var mu drawbridge.RWMutex
	finished := make(chan error)
	_ = mu.WithRLock(context.Background(), func(ctx context.Context) error {
		ctx = drawbridge.WithoutHolds(ctx)
		go func() {
			finished <- mu.WithLock(ctx, func(context.Context) error { return nil }) // waits for its turn
		}()
		return nil
	})
	fmt.Println(<-finished)
	// Output: <nil>
}
