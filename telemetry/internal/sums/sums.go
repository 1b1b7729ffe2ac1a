// Package sums adds up what is known of the watched locks by name, for systems
// that keep time series.
package sums

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge/inspect"
)

// MaxNames is how many names have a series of their own. Locks with further
// names are counted under [Other].
const (
	MaxNames = 500
	Other    = "other"
)

// Modes are the values of the label mode, in the order of [Sum.Modes].
var Modes = [3]string{"read", "upgradable", "write"}

// Sum is what all locks of one name have counted, those that are gone included.
type Sum struct {
	Name                 string
	Modes                [3]Mode
	GaveUp               inspect.GaveUp
	Upgrades, Downgrades uint64

	PlainReads    uint64        // reads that are in no histogram of holds
	PlainReadTime time.Duration // by all of them

	// What is so now.
	Instances int
	Holders   [3]int
	Waiters   [2]int // readers of both kinds, and writers
}

// Mode is what has been counted in one mode.
type Mode struct {
	Holds      uint64
	Wait, Hold inspect.Histogram
}

// Locks adds up. Its sums never fall: what a lock had counted when it was last
// seen stays in the sum of its name when it is gone. The zero value is ready.
type Locks struct {
	mu    sync.Mutex
	names map[string]bool
	gone  map[string]*Sum
	last  map[uint64]inspect.Lock
}

// Now returns the sums by name, in the order of names.
func (l *Locks) Now() []*Sum {
	return l.add(inspect.Locks())
}

func (l *Locks) add(locks []inspect.Lock) []*Sum {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names, l.gone = make(map[string]bool), make(map[string]*Sum)
	}
	now := make(map[uint64]inspect.Lock, len(locks))
	for _, lock := range locks {
		now[lock.ID] = lock
	}
	for id, lock := range l.last {
		if _, ok := now[id]; !ok {
			name := l.name(lock.Name)
			if l.gone[name] == nil {
				l.gone[name] = &Sum{Name: name}
			}
			l.gone[name].count(&lock)
		}
	}
	l.last = now

	sums := make(map[string]*Sum)
	for name, s := range l.gone {
		c := *s
		sums[name] = &c
	}
	// The oldest first, so that it does not depend on what is busy which names
	// have a series of their own.
	slices.SortFunc(locks, func(a, b inspect.Lock) int { return cmp.Compare(a.ID, b.ID) })
	for i := range locks {
		name := l.name(locks[i].Name)
		if sums[name] == nil {
			sums[name] = &Sum{Name: name}
		}
		sums[name].count(&locks[i])
		sums[name].show(&locks[i])
	}
	list := make([]*Sum, 0, len(sums))
	for _, s := range sums {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *Sum) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// name returns the name under which a lock is counted.
func (l *Locks) name(name string) string {
	if !l.names[name] {
		if len(l.names) >= MaxNames {
			return Other
		}
		l.names[name] = true
	}
	return name
}

// count adds what only ever grows.
func (s *Sum) count(l *inspect.Lock) {
	for i, m := range []*inspect.Mode{&l.Read, &l.Upgradable, &l.Write} {
		s.Modes[i].Holds += m.Holds
		s.Modes[i].Wait.Merge(m.Wait)
		s.Modes[i].Hold.Merge(m.Hold)
	}
	s.GaveUp.Canceled += l.GaveUp.Canceled
	s.GaveUp.Deadline += l.GaveUp.Deadline
	s.GaveUp.Deadlock += l.GaveUp.Deadlock
	s.Upgrades += l.Upgrades
	s.Downgrades += l.Downgrades
	s.PlainReads += l.PlainReaders.Entered
	s.PlainReadTime += l.PlainReaders.Mean * time.Duration(l.PlainReaders.Entered)
}

// show adds what is so now.
func (s *Sum) show(l *inspect.Lock) {
	s.Instances++
	for i, n := range []int{l.State.Readers, l.State.Upgradables, l.State.Writers} {
		s.Holders[i] += n
	}
	s.Waiters[0] += l.State.WaitingReaders
	s.Waiters[1] += l.State.WaitingWriters
}
