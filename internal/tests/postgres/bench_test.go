package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/postgres"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

// Side by side with plain advisory locks, which have no token, no lease and no queue in the process, on one server:
//
//	go test -run '^$' -bench . -benchtime 2s ./internal/tests/postgres

// contender makes, for one process, a function that takes a lock and returns the one that gives it back.
type contender struct {
	name string
	join func(b *testing.B, url string) func(name string) (unlock func())
}

func contenders() []contender {
	ours := func(o postgres.Options, mode cluster.Mode) func(*testing.B, string) func(string) func() {
		return func(b *testing.B, url string) func(string) func() {
			o.Schema = schema
			e, err := postgres.Open(url, o)
			must(b, err)
			b.Cleanup(func() { e.Close() })
			l := newLocker(b, e, 10*time.Second)
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
	plain := func(suffix string) func(*testing.B, string) func(string) func() {
		return func(b *testing.B, url string) func(string) func() {
			c, err := pgx.Connect(context.Background(), url)
			must(b, err)
			b.Cleanup(func() { c.Close(context.Background()) })
			run := func(function, name string) {
				_, err := c.Exec(context.Background(), "SELECT pg_advisory_"+function+suffix+"(hashtext($1))", name)
				must(b, err)
			}
			return func(name string) func() {
				run("lock", name)
				return func() { run("unlock", name) }
			}
		}
	}
	return []contender{
		{"drawbridge-write", ours(postgres.Options{}, cluster.Write)},
		{"drawbridge-read", ours(postgres.Options{}, cluster.Read)},
		{"drawbridge-xact-write", ours(postgres.Options{Xact: true}, cluster.Write)},
		{"plain-advisory-write", plain("")},
		{"plain-advisory-read", plain("_shared")},
	}
}

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkUncontended(b *testing.B) {
	url := shared(b)
	for _, c := range contenders() {
		b.Run(c.name, func(b *testing.B) {
			take, name := c.join(b, url), fresh(b)
			take(name)()
			for b.Loop() {
				take(name)()
			}
		})
	}
}

// One operation is one hand-over among n processes that all want the lock.
func BenchmarkHandOver(b *testing.B) {
	url := shared(b)
	for _, n := range []int{2, 10, 100} {
		for _, c := range contenders() {
			b.Run(fmt.Sprintf("%s/processes=%d", c.name, n), func(b *testing.B) {
				name := fresh(b)
				calls := make(chan struct{}, b.N)
				for range b.N {
					calls <- struct{}{}
				}
				close(calls)
				var takes []func(string) func()
				for range n {
					takes = append(takes, c.join(b, url))
				}
				var processes sync.WaitGroup
				b.ResetTimer()
				for _, take := range takes {
					processes.Go(func() {
						for range calls {
							take(name)()
						}
					})
				}
				processes.Wait()
			})
		}
	}
}

// How long a lock stays taken after its holder was killed.
func BenchmarkTakeover(b *testing.B) {
	url := shared(b)
	l := newLocker(b, machine(b, url, postgres.Options{}), 10*time.Second)
	for range b.N {
		b.StopTimer()
		name := fresh(b)
		c := rig.Spawn(b, "write", url, name, 10*time.Second)
		c.Expect(b, "held")
		b.StartTimer()
		c.Signal(syscall.SIGKILL)
		unlocked(b, locked(b, l, name))
	}
}

// How long until the last of 100 processes has what was published.
func BenchmarkFanOut(b *testing.B) {
	url, name := shared(b), fresh(b)
	ctx := context.Background()
	follow := func() *cluster.Snapshot[int] {
		e, err := postgres.Open(url, postgres.Options{Schema: schema})
		must(b, err)
		b.Cleanup(func() { e.Close() })
		s, err := cluster.NewSnapshot(ctx, e, name, cluster.Codec[int]{})
		must(b, err)
		b.Cleanup(func() { s.Close() })
		return s
	}
	var all []*cluster.Snapshot[int]
	for range 100 {
		all = append(all, follow())
	}
	publisher := follow()
	version, err := publisher.Publish(ctx, 0)
	must(b, err)
	var each []time.Duration
	var mu sync.Mutex
	for b.Loop() {
		before, began := version, time.Now()
		version, err = publisher.Publish(ctx, 1)
		must(b, err)
		var done sync.WaitGroup
		for _, s := range all {
			done.Go(func() {
				if _, _, err := s.Wait(ctx, before); err != nil {
					b.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				each = append(each, time.Since(began))
			})
		}
		done.Wait()
	}
	slices.Sort(each)
	b.ReportMetric(float64(each[len(each)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(each[len(each)/2].Microseconds()), "p50-µs")
}
