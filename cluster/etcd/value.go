package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// A value is one key; its version is the key's modification revision, which rises also across a deletion.

// Value implements cluster.Engine.
func (e *Engine) Value(ctx context.Context, name string) (cluster.Value, error) {
	resp, err := e.client.Get(clientv3.WithRequireLeader(ctx), e.valueKey(name))
	if err != nil {
		return cluster.Value{}, fmt.Errorf("drawbridge: reading value %q: %w", name, e.explain(ctx, err))
	}
	if len(resp.Kvs) == 0 {
		return cluster.Value{}, nil
	}
	return cluster.Value{Data: resp.Kvs[0].Value, Version: uint64(resp.Kvs[0].ModRevision)}, nil
}

// Store implements cluster.Engine.
func (e *Engine) Store(ctx context.Context, name string, data []byte, cond cluster.Condition) (uint64, error) {
	var conditions []clientv3.Cmp
	if cond.At != nil {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(e.valueKey(name)), "=", int64(*cond.At)))
	}
	if cond.Held != nil {
		c, ok := cond.Held.(*claim)
		if !ok {
			return 0, errors.New("drawbridge: the hold is not of an etcd engine")
		}
		conditions = append(conditions, c.stands(cluster.Write))
	}
	resp, err := e.client.Txn(clientv3.WithRequireLeader(ctx)).
		If(conditions...).Then(clientv3.OpPut(e.valueKey(name), string(data))).Commit()
	if err != nil {
		return 0, fmt.Errorf("drawbridge: storing value %q: %w", name, err)
	}
	if !resp.Succeeded {
		return 0, cluster.ErrConflict
	}
	return uint64(resp.Header.Revision), nil
}

// progress is how often a follower asks whether it is up to date.
const progress = 5 * time.Second

// Watch implements cluster.Engine.
func (e *Engine) Watch(ctx context.Context, name string, after uint64, seen func(*cluster.Value)) error {
	for {
		asking, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), request)
		resp, err := e.client.Get(asking, e.valueKey(name))
		cancel()
		if err != nil {
			return err
		}
		switch {
		case len(resp.Kvs) > 0 && uint64(resp.Kvs[0].ModRevision) > after:
			after = uint64(resp.Kvs[0].ModRevision)
			seen(&cluster.Value{Data: resp.Kvs[0].Value, Version: after})
		case len(resp.Kvs) == 0 && after > 0:
			// Deleted at some revision up to this one; whatever comes next has a higher one.
			after = uint64(resp.Header.Revision)
			seen(&cluster.Value{Version: after, Deleted: true})
		default:
			seen(nil)
		}
		// A watch that begins right after the look misses nothing. If what it needs was compacted, look again.
		if err := e.follow(ctx, name, resp.Header.Revision+1, seen); !errors.Is(err, rpctypes.ErrCompacted) {
			return err
		}
	}
}

func (e *Engine) follow(ctx context.Context, name string, from int64, seen func(*cluster.Value)) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	watch := e.client.Watch(ctx, e.valueKey(name), clientv3.WithRev(from), clientv3.WithProgressNotify())
	ask := time.NewTicker(progress)
	defer ask.Stop()
	heard := time.Now()
	for {
		select {
		case resp, ok := <-watch:
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case !ok:
				return errClosed
			case resp.Err() != nil:
				return resp.Err()
			}
			heard = time.Now()
			if len(resp.Events) == 0 {
				seen(nil)
				continue
			}
			ev := resp.Events[len(resp.Events)-1] // those before it are history
			seen(&cluster.Value{Data: ev.Kv.Value, Version: uint64(ev.Kv.ModRevision), Deleted: ev.Type == clientv3.EventTypeDelete})
		case <-ask.C:
			if time.Since(heard) > 3*progress {
				return fmt.Errorf("no answer from etcd for %v", time.Since(heard).Round(time.Second))
			}
			// Not awaited here: on a broken connection it would wait for a new one.
			go func() {
				asking, cancel := context.WithTimeout(ctx, progress)
				defer cancel()
				e.client.RequestProgress(asking)
			}()
		}
	}
}
