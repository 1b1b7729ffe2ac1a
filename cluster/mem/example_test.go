package mem_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/mem"
)

// A machine was paused past its lease and does not know it. What it still writes is refused, because a later holder's
// token was seen.
func Example() {
	ctx := context.Background()
	here := mem.New()
	there := here.Peer() // another machine on the same server
	ours, theirs := cluster.New(here, cluster.Options{}), cluster.New(there, cluster.Options{})
	defer theirs.Close()
	defer ours.Close()
	write := func(ledger *cluster.Fence, hold *cluster.Hold) error {
		return ledger.Write(hold.Token(), func() error { return nil })
	}

	var ledger cluster.Fence
	old, err := ours.Lock(ctx, "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	here.Revoke() // the server ends the lease and does not say so
	hold, err := theirs.Lock(ctx, "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)
	fmt.Println("the new holder writes:", write(&ledger, hold))
	fmt.Println("the old one is too late:", errors.Is(write(&ledger, old), cluster.ErrStale))
	// Output:
	// the new holder writes: <nil>
	// the old one is too late: true
}
