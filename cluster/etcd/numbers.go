package etcd

import "sync"

// numbers tells the keys of one lease apart. A number is used again, because etcd goes through every key that was ever in
// a range, the deleted ones too, until its history is compacted: with a new key for each call a look would take longer
// with each call there was. So a lock has as many keys of a lease as calls of it at one time.
type numbers struct {
	mu    sync.Mutex
	bases map[string]*used
}

type used struct {
	made int
	free []int // given back, the last one last
}

// number is one that is in use.
type number struct {
	base string // what the key begins with: lock and mode
	n    int
}

// take returns a number that nobody uses under base.
func (ns *numbers) take(base string) number {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	u := ns.bases[base]
	if u == nil {
		if ns.bases == nil {
			ns.bases = make(map[string]*used)
		}
		u = new(used)
		ns.bases[base] = u
	}
	if last := len(u.free) - 1; last >= 0 {
		n := u.free[last]
		u.free = u.free[:last]
		return number{base, n}
	}
	u.made++
	return number{base, u.made}
}

// give takes a number back. Its key is gone and no request is under way that could make it; a number of which that is
// not certain is never given back.
func (ns *numbers) give(n number) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	u := ns.bases[n.base]
	if u.free = append(u.free, n.n); len(u.free) == u.made {
		delete(ns.bases, n.base)
	}
}
