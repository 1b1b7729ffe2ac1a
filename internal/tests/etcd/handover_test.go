package etcd

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

// counted is a machine whose requests and watches are counted; keepalives are not.
func counted(t testing.TB, endpoint string) (*etcd.Engine, *countingKV, *countingWatcher) {
	c := dial(t, endpoint)
	kv, w := &countingKV{KV: c.KV}, &countingWatcher{Watcher: c.Watcher}
	c.KV, c.Watcher = kv, w
	return etcd.New(c, etcd.Options{Prefix: prefix}), kv, w
}

// A hand-over costs at most two requests and one watch, however many wait, and wakes one waiter. A hold that lasts has a
// watch on its own key besides, which is not counted: a thousand readers at once take longer to leave than that.
func TestHandOverCostsTheSameForAnyNumberOfWaiters(t *testing.T) {
	endpoint := shared(t)[0]
	for _, n := range []int{10, 1000} {
		for _, mode := range []cluster.Mode{cluster.Write, cluster.Read} {
			t.Run(fmt.Sprintf("%d waiting to %v", n, mode), func(t *testing.T) {
				name := rig.Fresh(t)
				engine, kv, w := counted(t, endpoint)
				l := rig.NewLocker(t, engine, 20*time.Second)
				h := rig.Locked(t, rig.NewLocker(t, machine(t, endpoint), 20*time.Second), name)
				var done sync.WaitGroup
				ctx := rig.Within(t, 2*time.Minute)
				for range n {
					done.Go(func() {
						take := l.Lock
						if mode == cluster.Read {
							take = l.RLock
						}
						got, err := take(ctx, name)
						if err != nil {
							t.Error(err)
							return
						}
						if err := got.Unlock(ctx); err != nil {
							t.Error(err)
						}
					})
				}
				began := time.Now()
				for w.watches.Load() < int64(n) {
					time.Sleep(10 * time.Millisecond)
				}
				t.Logf("%d entered the queue in %v", n, time.Since(began).Round(time.Millisecond))
				before := settled(kv)
				rig.Unlocked(t, h)
				began = time.Now()
				done.Wait()
				t.Logf("and left it in %v", time.Since(began).Round(time.Millisecond))
				perRequest := float64(kv.requests.Load()-before) / float64(n)
				perWatch := float64(w.watches.Load()-w.guards.Load()) / float64(n)
				t.Logf("%.2f requests and %.2f watches per hand-over", perRequest, perWatch)
				if perRequest > 2.05 || perWatch > 1.05 || perWatch < 0.9 {
					t.Errorf("%.2f requests and %.2f watches per hand-over, want 2 and 1", perRequest, perWatch)
				}
			})
		}
	}
}

// A call on a free lock is one request to take it and one to give it back.
func TestUncontendedLockIsTwoRequests(t *testing.T) {
	engine, kv, w := counted(t, shared(t)[0])
	l := rig.NewLocker(t, engine, 10*time.Second)
	rig.Unlocked(t, rig.Locked(t, l, rig.Fresh(t)))
	before := kv.requests.Load()
	for range 10 {
		rig.Unlocked(t, rig.Locked(t, l, rig.Fresh(t)))
	}
	if n := kv.requests.Load() - before; n != 20 || w.watches.Load() != 0 {
		t.Errorf("%d requests and %d watches for 10 calls, want 20 and 0", n, w.watches.Load())
	}
}

// A writer behind many readers that leave in any order is woken for the last ones only.
func TestWriterBehindManyReadersIsNotWokenByEach(t *testing.T) {
	endpoint, name := shared(t)[0], rig.Fresh(t)
	engine, kv, _ := counted(t, endpoint)
	readers := rig.NewLocker(t, machine(t, endpoint), 20*time.Second)
	ctx := rig.Within(t, time.Minute)
	var holds []*cluster.Hold
	for range 100 {
		h, err := readers.RLock(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		holds = append(holds, h)
	}
	l := rig.NewLocker(t, engine, 20*time.Second)
	got := make(chan *cluster.Hold)
	go func() { got <- rig.Locked(t, l, name) }()
	rig.Waiters(t, readers, name, 1)
	before := settled(kv)
	for _, i := range rand.Perm(len(holds)) {
		if err := holds[i].Unlock(ctx); err != nil {
			t.Fatal(err)
		}
	}
	h := <-got
	if n := kv.requests.Load() - before; n > 25 {
		t.Errorf("the writer looked %d times while 100 readers left", n)
	}
	rig.Unlocked(t, h)
}

// settled returns the number of requests when no more come.
func settled(kv *countingKV) int64 {
	for {
		n := kv.requests.Load()
		time.Sleep(200 * time.Millisecond)
		if kv.requests.Load() == n {
			return n
		}
	}
}
