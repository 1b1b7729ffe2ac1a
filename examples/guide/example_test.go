package guide_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/mem"
)

type table map[string]string

// healthy stands for a call that waits.
func healthy(ctx context.Context, upstream string) error {
	select {
	case <-time.After(time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func Example_snapshot() {
	var routes drawbridge.Snapshot[table]

	build := func(ctx context.Context) (*table, error) {
		next := table{"/orders": "orders-v2", "/users": "users-v1"} // from calls that wait
		return &next, healthy(ctx, next["/orders"])
	}
	handle := func(ctx context.Context, path string) (string, error) {
		seen := routes.Load() // one whole table, for as long as the request lasts
		upstream := (*seen)[path]
		return upstream, healthy(ctx, upstream)
	}

	ctx := context.Background()
	if err := routes.Refresh(ctx, build); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(handle(ctx, "/orders"))
	// Output: orders-v2 <nil>
}

func Example_lock() {
	var mu drawbridge.RWMutex // was sync.RWMutex
	routes := table{"/orders": "orders-v1"}

	lookup := func(path string) string {
		mu.RLock()
		defer mu.RUnlock()
		return routes[path]
	}

	fmt.Println(lookup("/orders"))
	// Output: orders-v1
}

func Example_givesUp() {
	var mu drawbridge.RWMutex
	mu.RLock() // a long read

	ctx, cancel := context.WithCancel(context.Background())
	writer := make(chan error)
	go func() { writer <- mu.LockContext(ctx) }()
	for mu.State().WaitingWriters == 0 { // the door is closed now
		time.Sleep(time.Millisecond)
	}
	reader := make(chan error)
	go func() { reader <- mu.RLockContext(context.Background()) }()
	for mu.State().WaitingReaders == 0 {
		time.Sleep(time.Millisecond)
	}

	cancel() // the writer gives up; nobody else does anything
	fmt.Println("writer:", errors.Is(<-writer, context.Canceled))
	fmt.Println("reader:", <-reader)
	fmt.Println(mu.State())
	// Output:
	// writer: true
	// reader: <nil>
	// 2 readers inside
}

func Example_timeLimit() {
	var mu drawbridge.RWMutex
	routes := table{"/orders": "orders-v1"}

	lookup := func(ctx context.Context, path string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if err := mu.RLockContext(ctx); err != nil {
			return "", err
		}
		defer mu.RUnlock()
		return routes[path], nil
	}

	mu.Lock() // somebody is stuck
	_, err := lookup(context.Background(), "/orders")
	var wait *drawbridge.WaitError
	if errors.As(err, &wait) {
		fmt.Println("gave up;", wait.State)
	}
	mu.Unlock()
	fmt.Println(lookup(context.Background(), "/orders"))
	// Output:
	// gave up; 1 writer inside
	// orders-v1 <nil>
}

func Example_noUpgrade() {
	var mu drawbridge.RWMutex
	err := mu.WithRLock(context.Background(), func(ctx context.Context) error {
		return mu.WithLock(ctx, func(context.Context) error { // would wait for itself
			return nil
		})
	})
	fmt.Println(errors.Is(err, drawbridge.ErrUpgrade))
	// Output: true
}

func Example_checkThenAct() {
	var mu drawbridge.RWMutex
	routes := table{}
	errExists := errors.New("there is one already")

	upsertIfMissing := func(ctx context.Context, path, upstream string) error {
		return mu.WithULock(ctx, func(ctx context.Context, upgrade func() error) error {
			if _, ok := routes[path]; ok {
				return errExists // no reader was kept out
			}
			if err := healthy(ctx, upstream); err != nil { // nor is one now
				return err
			}
			if err := upgrade(); err != nil {
				return err
			}
			routes[path] = upstream
			return nil
		})
	}

	var all sync.WaitGroup
	results := make([]error, 5)
	for i := range results {
		all.Go(func() {
			results[i] = upsertIfMissing(context.Background(), "/orders", fmt.Sprint("orders-", i))
		})
	}
	all.Wait()
	inserted := 0
	for _, err := range results {
		if err == nil {
			inserted++
		}
	}
	fmt.Println("inserted by", inserted, "of", len(results))
	// Output: inserted by 1 of 5
}

func Example_machines() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	here := mem.New()    // or etcd.Open, postgres.Open
	there := here.Peer() // another machine

	mine, err := cluster.NewSnapshot(ctx, here, "routes", cluster.Codec[table]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer mine.Close()
	theirs, err := cluster.NewSnapshot(ctx, there, "routes", cluster.Codec[table]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer theirs.Close()

	if _, err := mine.Publish(ctx, table{"/orders": "orders-v3"}); err != nil {
		fmt.Println(err)
		return
	}
	routes, _, err := theirs.Wait(ctx, 0)
	fmt.Println(routes["/orders"], err)
	// Output: orders-v3 <nil>
}
