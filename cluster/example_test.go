package cluster_test

import (
	"context"
	"fmt"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/mem"
)

// A lock and the fence of what it protects. In production the engine is that of cluster/etcd or cluster/postgres.
func Example() {
	ctx := context.Background()
	locks := cluster.New(mem.New(), cluster.Options{Label: "example"})
	defer locks.Close()

	var ledger cluster.Fence // lives where the ledger is
	err := locks.WithLock(ctx, "ledger", func(ctx context.Context, hold *cluster.Hold) error {
		return ledger.Write(hold.Token(), func() error {
			fmt.Println("written under the lock")
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// written under the lock
	// <nil>
}

// Who holds a lock and who waits, from any machine.
func ExampleLocker_State() {
	ctx := context.Background()
	locks := cluster.New(mem.New(), cluster.Options{Label: "nightly report"})
	defer locks.Close()

	hold, err := locks.RLock(ctx, "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)
	state, err := locks.State(ctx, "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, holder := range state.Holders {
		fmt.Println(holder.Label, "holds it to", holder.Mode)
	}
	// Output: nightly report holds it to read
}

// A routing table that one process publishes and all others read from memory.
func ExampleSnapshot() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	here := mem.New()
	there := here.Peer() // another machine

	published, err := cluster.NewSnapshot(ctx, here, "routes", cluster.Codec[map[string]string]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer published.Close()
	followed, err := cluster.NewSnapshot(ctx, there, "routes", cluster.Codec[map[string]string]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer followed.Close()

	if _, err := published.Publish(ctx, map[string]string{"/": "10.0.0.7"}); err != nil {
		fmt.Println(err)
		return
	}
	routes, _, err := followed.Wait(ctx, 0)
	fmt.Println(routes["/"], err)
	// Output: 10.0.0.7 <nil>
}
