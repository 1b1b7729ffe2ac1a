package etcd

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/clustertest"
)

// logbook is etcd's own total order of what happened to the locks' keys.
type logbook struct {
	mu      sync.Mutex
	changed *sync.Cond
	rev     int64 // seen up to here
	err     error
	keys    map[int64]*span // by create revision
}

// span is the life of one key.
type span struct {
	name       string // of the lock, as in the key
	mode       cluster.Mode
	created    int64
	downgraded int64 // revision, 0 if never
	deleted    int64 // revision, 0 if it is still there
}

// keepLog follows the keys of all locks from now on.
func keepLog(t testing.TB, c *clientv3.Client) *logbook {
	t.Helper()
	b := &logbook{keys: make(map[int64]*span)}
	b.changed = sync.NewCond(&b.mu)
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := c.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		for w := range c.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(resp.Header.Revision+1)) {
			b.take(w)
		}
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
	return b
}

func (b *logbook) take(w clientv3.WatchResponse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.changed.Broadcast()
	if err := w.Err(); err != nil {
		b.err = err
		return
	}
	for _, ev := range w.Events {
		rest, ok := strings.CutPrefix(string(ev.Kv.Key), prefix+"l/")
		if !ok {
			continue
		}
		name, rest, _ := strings.Cut(rest, "/")
		switch {
		case ev.IsCreate():
			mode := cluster.Read
			if strings.HasPrefix(rest, "w/") {
				mode = cluster.Write
			}
			b.keys[ev.Kv.CreateRevision] = &span{name: name, mode: mode, created: ev.Kv.CreateRevision}
		case ev.IsModify():
			b.keys[ev.Kv.CreateRevision].downgraded = ev.Kv.ModRevision
		case ev.PrevKv != nil && b.keys[ev.PrevKv.CreateRevision] != nil:
			b.keys[ev.PrevKv.CreateRevision].deleted = ev.Kv.ModRevision
		}
	}
	b.rev = w.Header.Revision
}

// upTo waits until the log is complete up to now and returns it.
func (b *logbook) upTo(t testing.TB, c *clientv3.Client) []*span {
	t.Helper()
	// A change of its own, so that there is something to see.
	resp, err := c.Put(context.Background(), prefix+"mark", "")
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.rev < resp.Header.Revision && b.err == nil {
		b.changed.Wait()
	}
	if b.err != nil {
		t.Fatal(b.err)
	}
	var spans []*span
	for _, s := range b.keys {
		spans = append(spans, s)
	}
	return spans
}

// audit holds a history against the log: at the revision at which a client saw its grant its key was there, and no
// conflicting key with a lower create revision was. That contains the order of arrival and the closed door. It returns
// how many grants were looked at.
func audit(spans []*span, h clustertest.History) (int, error) {
	byName := make(map[string][]*span)
	byToken := make(map[int64]*span)
	for _, s := range spans {
		byName[s.name] = append(byName[s.name], s)
		byToken[s.created] = s
	}
	grants := 0
	for _, a := range h.Attempts {
		if a.Outcome == clustertest.GaveUp {
			continue
		}
		grants++
		own := byToken[int64(a.Token)]
		if own == nil || own.mode != a.Mode {
			return grants, fmt.Errorf("etcd never had the key of %+v", a)
		}
		if a.Note < own.created || own.deleted != 0 && own.deleted <= a.Note {
			return grants, fmt.Errorf("the key of %+v was there from revision %d to %d, not at the grant", a, own.created, own.deleted)
		}
		for _, s := range byName[own.name] {
			if s.created >= own.created || s.mode == cluster.Read && own.mode == cluster.Read {
				continue
			}
			freed := s.deleted
			if own.mode == cluster.Read && s.downgraded != 0 {
				freed = s.downgraded
			}
			if freed == 0 || freed > a.Note {
				return grants, fmt.Errorf("%+v was granted at revision %d while %+v was before it", a, a.Note, *s)
			}
		}
	}
	return grants, nil
}
