// Package lib has locks that its importers can hold.
package lib

import "sync"

type Registry struct {
	sync.Mutex
	names map[string]int
}

func (r *Registry) Len() int {
	r.Lock()
	defer r.Unlock()
	return len(r.names)
}

func (r *Registry) Put(k string, locked bool) {
	if !locked {
		r.Lock()
		defer r.Unlock()
	}
	r.names[k]++
}

// Each calls f with the lock held.
func (r *Registry) Each(f func(string)) {
	r.Lock()
	defer r.Unlock()
	for n := range r.names {
		f(n)
	}
}
