package etcd

import (
	"context"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// countingKV counts requests.
type countingKV struct {
	clientv3.KV
	requests atomic.Int64
}

func (k *countingKV) Txn(ctx context.Context) clientv3.Txn {
	k.requests.Add(1)
	return k.KV.Txn(ctx)
}

func (k *countingKV) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	k.requests.Add(1)
	return k.KV.Get(ctx, key, opts...)
}

func (k *countingKV) Put(ctx context.Context, key, val string, opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	k.requests.Add(1)
	return k.KV.Put(ctx, key, val, opts...)
}

func (k *countingKV) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	k.requests.Add(1)
	return k.KV.Delete(ctx, key, opts...)
}

// countingWatcher counts watches.
type countingWatcher struct {
	clientv3.Watcher
	watches atomic.Int64
	guards  atomic.Int64 // those of them that begin in the past: of holders on their own keys, which waiters' do not
}

func (w *countingWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	w.watches.Add(1)
	if op := clientv3.OpGet(key, opts...); op.Rev() != 0 {
		w.guards.Add(1)
	}
	return w.Watcher.Watch(ctx, key, opts...)
}
