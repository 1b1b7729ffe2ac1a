package etcd_test

import (
	"context"
	"log"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
)

// A change of a key under a lock of the same etcd. That the hold still stands is a condition of the transaction, so a
// holder that was paused past its time changes nothing.
func Example() {
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://etcd-1:2379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	locks := cluster.New(etcd.New(client, etcd.Options{}), cluster.Options{Label: "rebuild"})
	defer locks.Close()

	err = locks.WithLock(ctx, "routes", func(ctx context.Context, hold *cluster.Hold) error {
		held, err := etcd.Held(hold)
		if err != nil {
			return err
		}
		answer, err := client.Txn(ctx).If(held).Then(clientv3.OpPut("routes/current", "v2")).Commit()
		if err == nil && !answer.Succeeded {
			err = cluster.ErrStale
		}
		return err
	})
	if err != nil {
		log.Print(err)
	}
}

// As commands take it: everything in one URL.
func ExampleOpen() {
	engine, err := etcd.Open("etcd://etcd-1:2379,etcd-2:2379/routes?cacert=ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
}
