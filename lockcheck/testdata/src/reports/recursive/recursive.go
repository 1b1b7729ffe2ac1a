// Package recursive has the shapes of reported read locks inside read locks.
package recursive

import (
	"sort"
	"sync"
)

// https://github.com/hashicorp/consul/pull/2130: through three callees.
type registrator struct {
	mu       sync.RWMutex
	services map[string]int
}

func (r *registrator) sync() {
	r.mu.RLock()
	defer r.mu.RUnlock()
	r.syncServices() // want `r.mu is read-locked again`
}

func (r *registrator) syncServices() {
	for name := range r.services {
		r.syncService(name)
	}
}

func (r *registrator) syncService(name string) int { return r.lookup(name) }

func (r *registrator) lookup(name string) int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.services[name]
}

func (r *registrator) add(name string) {
	r.mu.Lock()
	r.services[name]++
	r.mu.Unlock()
}

// https://github.com/nats-io/nats-server/pull/6527: a getter under the getter's lock.
type account struct {
	mu  sync.RWMutex
	tag string
}

func (a *account) info() string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return "account " + a.nameTag() // want `a.mu is read-locked again`
}

func (a *account) nameTag() string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.tag
}

func (a *account) setTag(t string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tag = t
}

// https://github.com/cockroachdb/cockroach/pull/97381: a comparison that locks, through an interface.
type ordered interface{ desc() int }

type replica struct {
	mu sync.RWMutex
	d  int
}

func (r *replica) desc() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.d
}

func (r *replica) set(d int) {
	r.mu.Lock()
	r.d = d
	r.mu.Unlock()
}

func less(x ordered, d int) bool { return x.desc() < d }

func (r *replica) insert(d int) bool {
	var x ordered = r
	r.mu.RLock()
	defer r.mu.RUnlock()
	return less(x, d) // want `(r.mu is read-locked again|may be read-locked)`
}

// https://github.com/prometheus/prometheus/pull/1432: both on one path.
func (a *account) both(long bool) string {
	a.mu.RLock()
	t := a.tag
	if long {
		a.mu.RLock() // want `a.mu is read-locked again`
		t += a.tag
		a.mu.RUnlock()
	}
	a.mu.RUnlock()
	return t
}

// https://github.com/milvus-io/milvus/pull/29813: in a callback that runs at once.
func (r *registrator) sorted(names []string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	sort.Slice(names, func(i, j int) bool { return r.lookup(names[i]) < r.lookup(names[j]) }) // want `r.mu is read-locked again`
}
