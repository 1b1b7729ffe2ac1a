package etcd

import (
	"context"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// countingKV counts transactions.
type countingKV struct {
	clientv3.KV
	txns atomic.Int64
}

func (k *countingKV) Txn(ctx context.Context) clientv3.Txn {
	k.txns.Add(1)
	return k.KV.Txn(ctx)
}

// countingWatcher counts watches.
type countingWatcher struct {
	clientv3.Watcher
	watches atomic.Int64
}

func (w *countingWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	w.watches.Add(1)
	return w.Watcher.Watch(ctx, key, opts...)
}
