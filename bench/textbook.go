package main

import "sync"

// textbookRW is the read-write lock of the textbooks: a mutex, a condition variable and three counts, where
// waiting writers keep new readers out and every release that can matter wakes everybody. Its changed.L must
// point to mu.
type textbookRW struct {
	mu      sync.Mutex
	changed sync.Cond
	readers int
	waiting int // writers
	writing bool
}

func (l *textbookRW) RLock() {
	l.mu.Lock()
	for l.writing || l.waiting > 0 {
		l.changed.Wait()
	}
	l.readers++
	l.mu.Unlock()
}

func (l *textbookRW) RUnlock() {
	l.mu.Lock()
	l.readers--
	if l.readers == 0 {
		l.changed.Broadcast()
	}
	l.mu.Unlock()
}

func (l *textbookRW) Lock() {
	l.mu.Lock()
	l.waiting++
	for l.writing || l.readers > 0 {
		l.changed.Wait()
	}
	l.waiting--
	l.writing = true
	l.mu.Unlock()
}

func (l *textbookRW) Unlock() {
	l.mu.Lock()
	l.writing = false
	l.changed.Broadcast()
	l.mu.Unlock()
}
