package lockdouble

import (
	"sync"

	"github.com/drawbridge-go/drawbridge"
	"lockdouble/lib"
)

type cache struct {
	mu sync.Mutex
	m  map[string]string
}

func (c *cache) direct() {
	c.mu.Lock()
	c.mu.Lock() // want `c.mu is taken again while it is held, and this never returns: locked at bad.go:16, then locked here`
	c.mu.Unlock()
}

func (c *cache) get(k string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size() == 0 { // want `c.mu is taken again while it is held.*then locked in \(\*cache\).size at bad.go:31`
		return ""
	}
	return c.m[k]
}

func (c *cache) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.m)
}

func (c *cache) farther() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step() // want `then locked in \(\*cache\).size at bad.go:31, through \(\*cache\).step`
}

func (c *cache) step() { c.size() }

func (c *cache) closure() {
	add := func(k string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.m[k] = k
	}
	c.mu.Lock()
	add("a") // want `c.mu is taken again`
	c.mu.Unlock()
}

func (c *cache) onErrorPath(fail bool) {
	c.mu.Lock()
	if fail {
		c.exit() // want `c.mu is taken again`
	}
	c.mu.Unlock()
}

func (c *cache) exit() {
	c.mu.Lock()
	defer c.mu.Unlock()
}

type sizer interface{ size() int }

func throughInterface(c *cache) {
	var s sizer = c
	c.mu.Lock()
	defer c.mu.Unlock()
	s.size() // want `c.mu is taken again`
}

func otherPackage(r *lib.Registry) {
	r.Lock()
	defer r.Unlock()
	_ = r.Len()       // want `r.Mutex is taken again while it is held.*\(\*Registry\).Len at lib.go:12`
	r.Put("a", false) // want `r.Mutex is taken again`
	r.Put("a", true)
}

func callback(r *lib.Registry) {
	r.Each(func(string) { // want `r.Mutex is taken again`
		_ = r.Len()
	})
}

type once struct {
	mu   sync.Mutex
	init sync.Once
}

func (o *once) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.init.Do(func() { // want `o.mu is taken again`
		o.mu.Lock()
		defer o.mu.Unlock()
	})
}

func readUnderWrite(mu *sync.RWMutex) {
	mu.Lock()
	defer mu.Unlock()
	mu.RLock() // want `mu is taken again while it is held.*then read-locked here`
	mu.RUnlock()
}

func ours(mu *drawbridge.Mutex) {
	mu.Lock()
	defer mu.Unlock()
	mu.Lock() // want `mu is taken again`
}

type parent struct {
	mu   sync.Mutex
	kids map[string]*kid
}

type kid struct{ owner *parent }

func (p *parent) notify() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.kids {
		k.changed() // want `parent.mu may be taken while p.mu, locked at bad.go:126, is held`
	}
}

func (k *kid) changed() {
	k.owner.mu.Lock()
	defer k.owner.mu.Unlock()
}

// stuck locks twice in each of its goroutines, whatever others do with the lock.
func stuck() {
	var mu sync.Mutex
	go func() {
		mu.Lock()
		mu.Lock() // want `mu is taken again while it is held`
		mu.Unlock()
	}()
}
