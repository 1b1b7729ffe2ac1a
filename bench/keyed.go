package main

import (
	"sync"
	"sync/atomic"
	"time"
)

const distinctKeys = 1 << 20

// keyedLoop takes and releases the lock of n keys, drawn with the random state it is given.
type keyedLoop func(random uint64, n int)

// nextKey steps a xorshift generator and cuts a key out of it.
func nextKey(random uint64) (next uint64, key int) {
	random ^= random << 13
	random ^= random >> 7
	random ^= random << 17
	return random, int(random % distinctKeys)
}

// keyed spreads n operations over goroutines that draw their keys independently.
func keyed(loop keyedLoop, goroutines, n int) time.Duration {
	const chunk = 64
	pass := func(n int) time.Duration {
		var pool atomic.Int64
		pool.Store(int64(n))
		start := make(chan struct{})
		var ready, done sync.WaitGroup
		for i := range goroutines {
			ready.Add(1)
			done.Go(func() {
				ready.Done()
				<-start
				for random := uint64(i)<<32 | 1; ; random += 0x9E3779B97F4A7C15 {
					before := pool.Add(-chunk) + chunk
					if before <= 0 {
						return
					}
					loop(random|1, int(min(before, chunk)))
				}
			})
		}
		ready.Wait()
		begin := time.Now()
		close(start)
		done.Wait()
		return time.Since(begin)
	}
	pass(n / 10)
	return pass(n)
}

// mutexMap is the usual way to a lock per key: a map of mutexes with reference counts, under one mutex.
type mutexMap struct {
	mu    sync.Mutex
	locks map[int]*countedMutex
}

type countedMutex struct {
	sync.Mutex
	references int // holders and waiters
}

func (m *mutexMap) Lock(key int) {
	m.mu.Lock()
	l := m.locks[key]
	if l == nil {
		l = new(countedMutex)
		m.locks[key] = l
	}
	l.references++
	m.mu.Unlock()
	l.Lock()
}

func (m *mutexMap) Unlock(key int) {
	m.mu.Lock()
	l := m.locks[key]
	l.references--
	if l.references == 0 {
		delete(m.locks, key)
	}
	m.mu.Unlock()
	l.Unlock()
}

func mutexMapLoop() keyedLoop {
	m := &mutexMap{locks: map[int]*countedMutex{}}
	return func(random uint64, n int) {
		var key int
		for range n {
			random, key = nextKey(random)
			m.Lock(key)
			m.Unlock(key)
		}
	}
}
