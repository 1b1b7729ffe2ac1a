package drawbridge

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Keyed is one [RWMutex] for each key, made when somebody asks for the key and
// gone when nobody holds it or waits for it. The zero value is ready.
//
// A hold or a wait on one key never delays another key beyond the look-up. What
// [RWMutex.WithRLock], [RWMutex.WithLock] and [RWMutex.WithULock] promise about
// contexts, nesting, errors and panics is true here for each key.
//
// A key that does not equal itself (NaN), or an interface whose value cannot be
// a map key, panics and leaves nothing locked. A Keyed must not be copied after
// its first use.
type Keyed[K comparable] struct {
	// Policy says who goes first. Set it before the first use.
	Policy Policy `json:"-"`

	once      sync.Once
	seed      maphash.Seed
	parts     []part[K]
	created   atomic.Uint64 // entries so far
	observers observers
	unused    pool // of entries
}

const parts = 64

// part has the entries of some of the keys, in a hash table of its own: the
// race detector watches Go's maps from inside, where their accesses cannot be
// kept apart from those of the user (see race_on.go).
type part[K comparable] struct {
	mu      section
	len     int
	past    int // those of len that nobody has pinned; see unpin
	buckets []*entry[K]
	_       [16]byte // a cache line each
}

// entry is the lock of a key. It exists while it is pinned.
type entry[K comparable] struct {
	next *entry[K] // in its bucket

	key    K
	hash   uint64
	number uint64 // in order of creation: the order in which WithLocks locks
	pins   int    // those who hold, wait, or are about to; guarded by part.mu
	core   core
}

func (e *entry[K]) boxed() any { return e.key }

// pin returns the entry of key, which stays until unpin. It panics for a key
// that could not be found again.
//
//go:norace
func (k *Keyed[K]) pin(key K) *entry[K] {
	k.Policy.check()
	if key != key {
		panic("drawbridge: a key of a Keyed must equal itself; NaN does not")
	}
	raceDisable()
	defer raceEnable()
	k.once.Do(k.init)
	hash := hashOf(k.seed, key)
	p := &k.parts[hash%parts]
	p.mu.lock()
	defer p.mu.unlock()
	e := p.find(key, hash)
	switch {
	case e == nil:
		e = k.newEntry(key, hash)
		p.add(e)
	case e.pins == 0:
		p.past--
	}
	e.pins++
	return e
}

//go:norace
func (k *Keyed[K]) unpin(e *entry[K]) {
	raceDisable()
	defer raceEnable()
	p := &k.parts[e.hash%parts]
	p.mu.lock()
	defer p.mu.unlock()
	if e.pins--; e.pins > 0 {
		return
	}
	if raceEnabled {
		// The edges from this hold to the next one of the same key are at
		// the address of the entry, so here it stays for ever.
		p.past++
		return
	}
	p.remove(e)
	if e.core.state.Load() == free && e.core.q == nil {
		// It was not observed and is not striped.
		e.core.stripes.Store(nil)
		k.unused.Put(e)
	}
}

//go:norace
func (k *Keyed[K]) init() {
	k.seed = maphash.MakeSeed()
	k.parts = make([]part[K], parts)
}

//go:norace
func (k *Keyed[K]) newEntry(key K, hash uint64) *entry[K] {
	e, _ := k.unused.Get().(*entry[K])
	if e == nil {
		e = new(entry[K])
	}
	e.key, e.hash, e.number = key, hash, k.created.Add(1)
	for _, o := range k.observers.all() {
		k.observeEntry(e, o, with)
	}
	return e
}

//go:norace
func (p *part[K]) find(key K, hash uint64) *entry[K] {
	if p.len == 0 {
		return nil
	}
	e := *p.bucket(hash)
	for e != nil && (e.hash != hash || e.key != key) {
		e = e.next
	}
	return e
}

// bucket returns where the entries with hash begin.
//
//go:norace
func (p *part[K]) bucket(hash uint64) **entry[K] {
	return &p.buckets[hash/parts%uint64(len(p.buckets))]
}

//go:norace
func (p *part[K]) add(e *entry[K]) {
	if p.len == len(p.buckets) {
		p.resize(max(4, 2*p.len))
	}
	first := p.bucket(e.hash)
	e.next, *first = *first, e
	p.len++
}

//go:norace
func (p *part[K]) remove(e *entry[K]) {
	at := p.bucket(e.hash)
	for *at != e {
		at = &(*at).next
	}
	*at, e.next = e.next, nil
	p.len--
	if n := len(p.buckets); n > 64 && p.len < n/8 {
		p.resize(n / 4)
	}
}

//go:norace
func (p *part[K]) resize(n int) {
	old := p.buckets
	p.buckets = make([]*entry[K], n)
	for _, e := range old {
		for e != nil {
			next := e.next
			first := p.bucket(e.hash)
			e.next, *first = *first, e
			e = next
		}
	}
}

func (k *Keyed[K]) call(e *entry[K], m Mode) call {
	return call{lock: k, key: e, policy: k.Policy, mode: m}
}

func (k *Keyed[K]) within(ctx context.Context, key K, m Mode, fn func(context.Context, *scope) error) error {
	mustContext(ctx)
	e := k.pin(key)
	defer k.unpin(e)
	call := k.call(e, m).with(ctx)
	return e.core.within(&call, fn)
}

// WithLock runs fn with key held to write and returns its error.
func (k *Keyed[K]) WithLock(ctx context.Context, key K, fn func(context.Context) error) error {
	return k.within(ctx, key, Write, func(ctx context.Context, _ *scope) error { return fn(ctx) })
}

// WithRLock runs fn with key held to read and returns its error.
func (k *Keyed[K]) WithRLock(ctx context.Context, key K, fn func(context.Context) error) error {
	return k.within(ctx, key, Read, func(ctx context.Context, _ *scope) error { return fn(ctx) })
}

// WithULock runs fn with key held upgradably and returns its error.
func (k *Keyed[K]) WithULock(ctx context.Context, key K, fn func(ctx context.Context, upgrade func() error) error) error {
	mustContext(ctx)
	e := k.pin(key)
	defer k.unpin(e)
	c := k.call(e, Upgradable).with(ctx)
	return e.core.within(&c, func(ctx context.Context, s *scope) error {
		return fn(ctx, s.upgrade)
	})
}

// WithLocks runs fn with all keys held to write and returns its error. All
// calls take the keys that they share in the same order, so no two of them
// deadlock, whatever the order of keys. A key that is there twice is locked
// once.
func (k *Keyed[K]) WithLocks(ctx context.Context, keys []K, fn func(context.Context) error) error {
	mustContext(ctx)
	// All entries are pinned before the first is locked: from here on their
	// numbers cannot change, and nobody can be given others for the keys.
	entries := make([]*entry[K], 0, len(keys))
	defer func() {
		for _, e := range entries {
			k.unpin(e)
		}
	}()
	for _, key := range keys {
		entries = append(entries, k.pin(key))
	}
	order := slices.Clone(entries)
	slices.SortFunc(order, func(a, b *entry[K]) int { return cmp.Compare(a.number, b.number) })
	return k.withEntries(ctx, slices.Compact(order), fn)
}

func (k *Keyed[K]) withEntries(ctx context.Context, entries []*entry[K], fn func(context.Context) error) error {
	if len(entries) == 0 {
		return fn(ctx)
	}
	e := entries[0]
	call := k.call(e, Write).with(ctx)
	return e.core.within(&call, func(ctx context.Context, _ *scope) error {
		return k.withEntries(ctx, entries[1:], fn)
	})
}

// LockContext takes key to write, with the errors of [RWMutex.LockContext].
// unlock ends the hold; calls after the first do nothing. It is nil with an
// error.
func (k *Keyed[K]) LockContext(ctx context.Context, key K) (unlock func(), err error) {
	return k.lockContext(ctx, key, Write)
}

// RLockContext takes key to read, as [Keyed.LockContext] does to write.
func (k *Keyed[K]) RLockContext(ctx context.Context, key K) (unlock func(), err error) {
	return k.lockContext(ctx, key, Read)
}

func (k *Keyed[K]) lockContext(ctx context.Context, key K, m Mode) (unlock func(), err error) {
	mustContext(ctx)
	e := k.pin(key)
	held := false
	defer func() {
		if !held {
			k.unpin(e)
		}
	}()
	c := k.call(e, m).with(ctx)
	if ctx.Err() != nil {
		return nil, e.core.tooLate(&c)
	}
	if err := e.core.acquireContext(&c); err != nil {
		return nil, err
	}
	held = true
	return sync.OnceFunc(func() {
		defer k.unpin(e)
		e.core.leave(&call{lock: k, key: e, mode: m})
	}), nil
}

// Len returns how many keys are held or waited for.
//
//go:norace
func (k *Keyed[K]) Len() int {
	n := 0
	k.each(func(p *part[K]) { n += p.len - p.past })
	return n
}

// Observe sends the events of all keys to o until stop is called, as
// [RWMutex.Observe] does. Their Key says which key they are of.
func (k *Keyed[K]) Observe(o Observer) (stop func()) {
	if o == nil {
		panic("drawbridge: nil Observer")
	}
	entry := &o
	raceRelease(unsafe.Pointer(entry))
	k.setObservers(entry, with)
	return sync.OnceFunc(func() { k.setObservers(entry, without) })
}

// setObservers changes the set for the keys to come, and then for the keys
// that are there. A key that comes in between has it changed twice, which is
// the same as once.
//
//go:norace
func (k *Keyed[K]) setObservers(o *Observer, change func([]*Observer, *Observer) []*Observer) {
	k.observers.mu.Lock()
	defer k.observers.mu.Unlock()
	k.observers.set(o, change)
	k.each(func(p *part[K]) {
		for _, e := range p.buckets {
			for ; e != nil; e = e.next {
				k.observeEntry(e, o, change)
			}
		}
	})
}

//go:norace
func (k *Keyed[K]) observeEntry(e *entry[K], o *Observer, change func([]*Observer, *Observer) []*Observer) {
	c := k.call(e, 0)
	e.core.prepare(&c)
	e.core.setObservers(&c, o, change)
}

//go:norace
func (k *Keyed[K]) each(f func(*part[K])) {
	raceDisable()
	defer raceEnable()
	k.once.Do(k.init)
	for i := range k.parts {
		p := &k.parts[i]
		p.mu.lock()
		f(p)
		p.mu.unlock()
	}
}
