package etcd

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

// Side by side with etcd's own lock and its recipe of a read-write lock, on one server:
//
//	go test -run '^$' -bench . -benchtime 2s ./internal/tests/etcd
//
// Requests and watches are counted at the client and without keepalives.

// contender makes, for one process, a function that takes a lock and returns the one that gives it back.
type contender struct {
	name string
	join func(b *testing.B, c *clientv3.Client) func(name string) (unlock func())
}

func contenders() []contender {
	ours := func(mode cluster.Mode) func(*testing.B, *clientv3.Client) func(string) func() {
		return func(b *testing.B, c *clientv3.Client) func(string) func() {
			l := newLocker(b, etcd.New(c, etcd.Options{Prefix: prefix}), 10*time.Second)
			take := l.Lock
			if mode == cluster.Read {
				take = l.RLock
			}
			return func(name string) func() {
				h, err := take(context.Background(), name)
				must(b, err)
				return func() { must(b, h.Unlock(context.Background())) }
			}
		}
	}
	session := func(b *testing.B, c *clientv3.Client) *concurrency.Session {
		s, err := concurrency.NewSession(c, concurrency.WithTTL(10))
		must(b, err)
		b.Cleanup(func() { s.Close() })
		return s
	}
	recipes := func(take func(*recipe.RWMutex) error, give func(*recipe.RWMutex) error) func(*testing.B, *clientv3.Client) func(string) func() {
		return func(b *testing.B, c *clientv3.Client) func(string) func() {
			s := session(b, c)
			return func(name string) func() {
				m := recipe.NewRWMutex(s, name)
				must(b, take(m))
				return func() { must(b, give(m)) }
			}
		}
	}
	return []contender{
		{"drawbridge-write", ours(cluster.Write)},
		{"drawbridge-read", ours(cluster.Read)},
		{"concurrency.Mutex", func(b *testing.B, c *clientv3.Client) func(string) func() {
			s := session(b, c)
			return func(name string) func() {
				m := concurrency.NewMutex(s, name)
				must(b, m.Lock(context.Background()))
				return func() { must(b, m.Unlock(context.Background())) }
			}
		}},
		{"recipe.RWMutex-write", recipes((*recipe.RWMutex).Lock, (*recipe.RWMutex).Unlock)},
		{"recipe.RWMutex-read", recipes((*recipe.RWMutex).RLock, (*recipe.RWMutex).RUnlock)},
	}
}

func must(b testing.TB, err error) {
	if err != nil {
		b.Helper()
		b.Error(err)
	}
}

// counts makes a client whose requests are counted.
func counts(b testing.TB) (*clientv3.Client, *countingKV, *countingWatcher) {
	c := dial(b, shared(b)[0])
	kv, w := &countingKV{KV: c.KV}, &countingWatcher{Watcher: c.Watcher}
	c.KV, c.Watcher = kv, w
	return c, kv, w
}

func BenchmarkUncontended(b *testing.B) {
	for _, x := range contenders() {
		b.Run(x.name, func(b *testing.B) {
			c, kv, w := counts(b)
			take, name := x.join(b, c), fresh(b)
			take(name)()
			before := kv.requests.Load()
			for b.Loop() {
				take(name)()
			}
			b.ReportMetric(float64(kv.requests.Load()-before)/float64(b.N), "requests/op")
			b.ReportMetric(float64(w.watches.Load())/float64(b.N), "watches/op")
		})
	}
}

// BenchmarkContended is eight processes in turn on one name: the time of one hand-over.
func BenchmarkContended(b *testing.B) {
	const processes = 8
	for _, x := range contenders() {
		b.Run(x.name, func(b *testing.B) {
			name := fresh(b)
			var kvs []*countingKV
			var watchers []*countingWatcher
			var takes []func(string) func()
			for range processes {
				c, kv, w := counts(b)
				kvs, watchers, takes = append(kvs, kv), append(watchers, w), append(takes, x.join(b, c))
			}
			var warm sync.WaitGroup
			for _, take := range takes {
				warm.Go(func() { take(name)() })
			}
			warm.Wait()
			total := func() (requests, watches float64) {
				for i := range kvs {
					requests += float64(kvs[i].requests.Load())
					watches += float64(watchers[i].watches.Load())
				}
				return requests, watches
			}
			r0, w0 := total()
			var wg sync.WaitGroup
			b.ResetTimer()
			for i, take := range takes {
				wg.Go(func() {
					for n := i; n < b.N; n += processes {
						take(name)()
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			r1, w1 := total()
			b.ReportMetric((r1-r0)/float64(b.N), "requests/op")
			b.ReportMetric((w1-w0)/float64(b.N), "watches/op")
		})
	}
}

// BenchmarkHandOver drains a queue of writers of one process.
func BenchmarkHandOver(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				c, _, w := counts(b)
				l := newLocker(b, etcd.New(c, etcd.Options{Prefix: prefix}), 20*time.Second)
				ctx, name := within(b, 5*time.Minute), fresh(b)
				h, err := newLocker(b, machine(b, shared(b)[0]), 20*time.Second).Lock(ctx, name)
				must(b, err)
				var wg sync.WaitGroup
				for range n {
					wg.Go(func() {
						h, err := l.Lock(ctx, name)
						must(b, err)
						must(b, h.Unlock(ctx))
					})
				}
				for w.watches.Load() < int64(n) {
					time.Sleep(10 * time.Millisecond)
				}
				b.StartTimer()
				must(b, h.Unlock(ctx))
				wg.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/hand-over")
		})
	}
}

// BenchmarkTakeover kills a holder and measures until the next one has the lock.
func BenchmarkTakeover(b *testing.B) {
	for _, ttl := range []time.Duration{2 * time.Second, 10 * time.Second} {
		b.Run("TTL"+ttl.String(), func(b *testing.B) {
			endpoint := shared(b)[0]
			for b.Loop() {
				b.StopTimer()
				name := fresh(b)
				l := newLocker(b, machine(b, endpoint), ttl)
				c := rig.Spawn(b, "write", endpoint, name, ttl)
				c.Expect(b, "held")
				b.StartTimer()
				c.Signal(syscall.SIGKILL)
				unlock(b, l, name)
			}
		})
	}
}

func unlock(b testing.TB, l *cluster.Locker, name string) {
	h, err := l.Lock(within(b, time.Minute), name)
	must(b, err)
	must(b, h.Unlock(within(b, time.Minute)))
}

// BenchmarkFanOut publishes a snapshot of 1 KiB and waits until each of 100 subscribers, each on a connection of its own,
// has it. The percentiles are over all subscribers and publishes.
func BenchmarkFanOut(b *testing.B) {
	const subscribers = 100
	endpoint, name := shared(b)[0], fresh(b)
	ctx := within(b, 10*time.Minute)
	join := func() *cluster.Snapshot[[]byte] {
		s, err := cluster.NewSnapshot(ctx, etcd.New(dial(b, endpoint), etcd.Options{Prefix: prefix}), name, cluster.Codec[[]byte]{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		return s
	}
	publisher := join()
	var followers []*cluster.Snapshot[[]byte]
	for range subscribers {
		followers = append(followers, join())
	}
	var mu sync.Mutex
	var took []time.Duration
	last := uint64(0)
	for b.Loop() {
		var wg sync.WaitGroup
		began := time.Now()
		for _, f := range followers {
			wg.Go(func() {
				_, _, err := f.Wait(ctx, last)
				d := time.Since(began)
				must(b, err)
				mu.Lock()
				defer mu.Unlock()
				took = append(took, d)
			})
		}
		version, err := publisher.Publish(ctx, make([]byte, 768)) // 1 KiB in JSON
		must(b, err)
		wg.Wait()
		last = version
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
