package operator_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/mem"
	"github.com/drawbridge-go/drawbridge/cluster/operator"
)

// Taking a lock away from a holder that does not come back: by its token, so that nobody else's is taken.
func ExampleRelease() {
	ctx := context.Background()
	engine := mem.New()
	locks := cluster.New(engine, cluster.Options{Label: "nightly report"})
	defer locks.Close()
	hold, err := locks.Lock(ctx, "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}

	// os.Stdout in place of io.Discard says who loses what.
	err = operator.Release(ctx, io.Discard, engine, "ledger", hold.Token(), false)
	fmt.Println("not confirmed:", errors.Is(err, operator.ErrNotConfirmed))
	fmt.Println("confirmed:", operator.Release(ctx, io.Discard, engine, "ledger", hold.Token(), true))
	err = operator.Release(ctx, io.Discard, engine, "ledger", hold.Token(), true)
	fmt.Println("nothing is left to release:", errors.Is(err, cluster.ErrLost))
	// Output:
	// not confirmed: true
	// confirmed: <nil>
	// nothing is left to release: true
}
