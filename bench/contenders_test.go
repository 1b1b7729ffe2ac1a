package main

import (
	"context"
	"sync"
	"testing"
)

// A contender that does not exclude would be fast for nothing.
func TestContendersExclude(t *testing.T) {
	for _, c := range append(append(rwPeers(), rwOwn()...), append(mutexPeers(), mutexOwn()...)...) {
		t.Run(c.name, func(t *testing.T) {
			l := c.make()
			count, total := 0, 0
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 500 {
						l.write(func() { count++; total++ })
						if l.read != nil {
							l.read(func() { _ = count })
						}
						if l.writeContext != nil {
							must(l.writeContext(context.Background(), func() { count--; total++ }))
						} else {
							l.write(func() { count--; total++ })
						}
					}
				})
			}
			all.Wait()
			if count != 0 || total != 8_000 {
				t.Errorf("count %d and total %d after 8,000 writes, want 0 and 8000", count, total)
			}
		})
	}
}

// The crowd does as many operations as it is asked for, with about the asked share of writes.
func TestCrowdDoesItsWork(t *testing.T) {
	for _, m := range []mix{{goroutines: 1}, {goroutines: 7, writes: 0.1}, {goroutines: 100, writes: 0.5}, {goroutines: 3, writes: 1}} {
		for _, n := range []int{1, 10, 999, 20_000} {
			var mu sync.Mutex
			operations, writes := 0, 0
			m.pass(&lock{crowd: func(w *worker) {
				for w.next() {
					write := w.writes()
					mu.Lock()
					operations++
					if write {
						writes++
					}
					mu.Unlock()
				}
			}}, n)
			if operations != n {
				t.Errorf("%+v: %d operations, want %d", m, operations, n)
			}
			share := float64(writes) / float64(n)
			if exact := m.writes == 0 || m.writes == 1; exact && share != m.writes || n > 10_000 && (share < m.writes-0.02 || share > m.writes+0.02) {
				t.Errorf("%+v: %v of %d operations write", m, share, n)
			}
		}
	}
}

// The textbook lock lets readers share.
func TestTextbookReadersShare(t *testing.T) {
	l := condRW()
	inside := make(chan struct{})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			l.read(func() {
				select {
				case inside <- struct{}{}:
				case <-inside:
				}
			})
		})
	}
	both.Wait()
}
