package inspect

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// Detect looks for misuse of all locks of the process: those of [MisuseKind].
// It is for tests, see [VerifyTestMain], and for staging: each call on a lock
// costs some microseconds and a stack.
//
//	defer inspect.Detect{Func: report}.Start()()
//
// A hold belongs to no goroutine, so what is found is found by who took the
// lock: a lock that one goroutine locks and another unlocks is no longer judged
// by its goroutines once that was seen. Locks that are taken by a Try call wait
// for nobody and are in no order. Two orders are reported only if the locks'
// modes exclude one another, no other lock keeps the two apart, and both
// goroutines were alive at both moments, so that none of them was started or
// awaited in between, or if they wait for one
// another now. Orders that are kept apart by channels alone are reported
// wrongly; a lock around both says to everybody what they are.
//
// What hangs by more than locks, such as a goroutine that holds a lock and
// waits for a channel that is served under the same lock, is found when the
// detector is stopped: see [LeftWaiting].
//
// Scoped calls find their own errors, recursion and deadlocks
// ([drawbridge.ErrReentrant], [drawbridge.ErrDeadlock]). Here a scoped hold is
// one of the goroutine that took it and of every goroutine that calls with its
// context.
type Detect struct {
	// Func is called with each misuse, once for each set of sites, on the
	// goroutine that it was found on. Nil logs by [log/slog].
	Func func(Misuse)

	// Patience is for a goroutine that is about to wait for a lock that it
	// has taken itself. Nobody can know that no other goroutine will unlock
	// it, so it is given that long. Then, if no context can end its wait,
	// the goroutine panics instead of hanging. A second if 0. A scoped hold
	// needs no patience: no other goroutine can end it.
	Patience time.Duration
}

// Start begins to look at all locks and returns what ends it. Holds that are
// older are not known. If goroutines wait for locks when it is ended, stop
// watches for up to Patience whether anything still moves, for [LeftWaiting]
// and [HolderGone].
func (d Detect) Start() (stop func()) {
	if d.Func == nil {
		d.Func = func(m Misuse) { slog.Error(m.String()) }
	}
	if d.Patience <= 0 {
		d.Patience = time.Second
	}
	if !goroutinesAreKnown() {
		slog.Error("drawbridge: this Go version does not tell goroutines apart; inspect.Detect finds nothing")
		return func() {}
	}
	det := newDetector(d)
	unobserve := drawbridge.ObserveAll(det)
	return sync.OnceFunc(func() {
		det.lastLook()
		unobserve()
	})
}

// goroutinesAreKnown checks that goroutine has a number, the same each time,
// and another one in another goroutine.
func goroutinesAreKnown() bool {
	here, other := goroutine(), make(chan uint64)
	go func() { other <- goroutine() }()
	there := <-other
	_, found := liveGoroutines()[here]
	return here != 0 && there != 0 && here != there && here == goroutine() && found
}

// lockID is a lock, and the key of a Keyed.
type lockID struct{ lock, key any }

func (id lockID) String() string {
	s := fmt.Sprintf("%T %p", id.lock, id.lock)
	if id.key != nil {
		s += " key " + keyText(id.key)
	}
	return s
}

// taken is a hold or a wait of a goroutine.
type taken struct {
	lockID
	mode      drawbridge.Mode
	goroutine uint64
	hold      uint64 // 0 for plain reads
	scoped    bool
	many      bool     // by WithLocks, whose order among its keys is its own
	endless   bool     // of a wait: no context ends it
	gates     []*taken // what else the goroutine held when it took it
	pcs       []uintptr
	at        time.Time
	timer     *time.Timer // of a wait
	scanned   bool        // of a wait: it was looked whether the holder is there
	noted     bool        // of a hold: it was reported as gone
}

func (t *taken) step(waits bool) Step {
	return Step{Goroutine: t.goroutine, Waits: waits, Mode: t.mode, Lock: t.String(), Stack: site{stack: t.pcs}.frames()}
}

type detector struct {
	Detect

	mu     sync.Mutex
	held   map[uint64][]*taken // by goroutine, in the order in which they were taken
	byHold map[uint64]*taken   // those that have an identity
	waits  map[uint64]*taken   // by Wait
	waiter map[uint64]*taken   // the same, by goroutine
	locks  map[lockID]*users   // the same holds and waits, by lock
	handed map[lockID]bool     // unlocked by others than those who locked
	told   map[string]bool
	order  *order

	scanned time.Time // when it was last looked who is there
}

func newDetector(d Detect) *detector {
	return &detector{
		Detect: d, held: make(map[uint64][]*taken), byHold: make(map[uint64]*taken), waits: make(map[uint64]*taken),
		waiter: make(map[uint64]*taken), locks: make(map[lockID]*users),
		handed: make(map[lockID]bool), told: make(map[string]bool), order: newOrder(),
	}
}

// users are the holds of a lock and the waits for it, oldest first.
type users struct{ holds, waits []*taken }

func (d *detector) usersOf(id lockID) *users {
	u := d.locks[id]
	if u == nil {
		u = &users{}
		d.locks[id] = u
	}
	return u
}

// remove returns l without t.
func remove(l []*taken, t *taken) []*taken {
	if i := slices.Index(l, t); i >= 0 {
		return slices.Delete(l, i, i+1)
	}
	return l
}

// Observe follows what each goroutine holds.
func (d *detector) Observe(ctx context.Context, e drawbridge.Event) {
	g := goroutine()
	id := lockID{e.Lock, e.Key}
	switch e.Kind {
	case drawbridge.Waiting:
		d.waiting(ctx, g, id, e)
	case drawbridge.Granted:
		d.granted(ctx, g, id, e)
	case drawbridge.GaveUp:
		d.mu.Lock()
		d.endWait(e.Wait)
		d.mu.Unlock()
	case drawbridge.Upgraded, drawbridge.Downgraded:
		d.changed(g, id, e)
	case drawbridge.Released:
		d.released(g, id, e)
	}
}

// newTaken takes down the call that is being observed. try says that it was a
// Try call, which does not wait.
func newTaken(g uint64, id lockID, e drawbridge.Event) (t *taken, try bool) {
	var pcs [64]uintptr
	n := runtime.Callers(4, pcs[:])
	t = &taken{lockID: id, mode: e.Mode, goroutine: g, hold: e.Hold, at: time.Now()}
	for i, pc := range pcs[:n] {
		switch kindOfFrame(pc) {
		case scoped:
			t.scoped = true
		case manyKeys:
			t.many = true
		case outside:
			if i > 0 {
				name := frameAt(pcs[i-1]).Function
				try = strings.HasPrefix(name[strings.LastIndex(name, ".")+1:], "Try")
			}
			t.pcs = slices.Clone(pcs[i:n])
			return t, try
		}
	}
	return t, false
}

func (d *detector) waiting(ctx context.Context, g uint64, id lockID, e drawbridge.Event) {
	t, _ := newTaken(g, id, e)
	t.endless = ctx.Done() == nil

	d.mu.Lock()
	t.gates = d.heldBy(ctx, g)
	d.waits[e.Wait], d.waiter[g] = t, t
	u := d.usersOf(id)
	u.waits = append(u.waits, t)
	var found []Misuse
	if e.Hold == 0 { // the upgrade of a hold is no new place in the order
		found = d.order.take(t)
	}
	if len(found) == 0 {
		found = d.deadlock(t)
	}
	found = append(found, d.writerBetween(t)...)
	t.timer = time.AfterFunc(d.Patience, func() { d.stuck(e.Wait) })
	own, kind := d.ownHold(t, e.Hold)
	d.mu.Unlock()

	d.tell(found)
	if own == nil {
		return
	}
	deadline := time.Now().Add(d.Patience)
	for pause := d.Patience / 100; !own.scoped && time.Now().Before(deadline) && ctx.Err() == nil; pause *= 2 {
		time.Sleep(min(pause, time.Until(deadline)))
		if !d.stands(own, t, kind) {
			return
		}
	}
	if !d.stands(own, t, kind) {
		return
	}
	m := Misuse{Kind: kind, Steps: []Step{own.step(false), t.step(true)}}
	certain := t.endless
	if kind == RecursiveRead {
		d.mu.Lock()
		if w := d.writerWaiting(id); w != nil {
			m.Steps = slices.Insert(m.Steps, 1, w.step(true))
			certain = certain && w.endless
		}
		d.mu.Unlock()
	}
	d.tell([]Misuse{m})
	if certain {
		d.mu.Lock()
		d.endWait(e.Wait)
		d.mu.Unlock()
		m.findTest()
		panic(m.String())
	}
}

// ownHold returns a hold of t's own goroutine that t waits for, and what kind
// of misuse that is. upgrades names the hold that t is the upgrade of.
func (d *detector) ownHold(t *taken, upgrades uint64) (*taken, MisuseKind) {
	if d.handed[t.lockID] {
		return nil, 0
	}
	for _, h := range d.held[t.goroutine] {
		switch {
		case h.lockID != t.lockID || upgrades != 0 && h.hold == upgrades:
		case t.mode == drawbridge.Write && h.mode == drawbridge.Read:
			return h, UpgradeByHand
		case excludes(t.mode, h.mode):
			return h, SelfDeadlock
		case d.writerWaiting(t.lockID) != nil:
			return h, RecursiveRead
		}
	}
	return nil, 0
}

// stands reports whether t still waits for its own hold.
func (d *detector) stands(own, t *taken, kind MisuseKind) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.handed[t.lockID] && slices.Contains(d.held[t.goroutine], own) &&
		(kind != RecursiveRead || d.writerWaiting(t.lockID) != nil)
}

// excludes reports whether a and b cannot be inside together.
func excludes(a, b drawbridge.Mode) bool {
	return a == drawbridge.Write || b == drawbridge.Write || a == drawbridge.Upgradable && b == drawbridge.Upgradable
}

// writerWaiting returns a wait to write id, the oldest.
func (d *detector) writerWaiting(id lockID) *taken {
	if u := d.locks[id]; u != nil {
		for _, t := range u.waits {
			if t.mode == drawbridge.Write {
				return t
			}
		}
	}
	return nil
}

// writerBetween is for a writer that comes while a goroutine reads the lock
// twice: it could have come between the two, unless another lock that both
// held keeps it from that.
func (d *detector) writerBetween(w *taken) (found []Misuse) {
	if w.mode != drawbridge.Write || d.handed[w.lockID] || policyOf(w.lock) == drawbridge.PreferReaders.String() {
		return nil
	}
	first := make(map[uint64]*taken) // by goroutine
	for _, h := range d.locks[w.lockID].holds {
		outer := first[h.goroutine]
		switch {
		case h.mode != drawbridge.Read || h.goroutine == w.goroutine:
		case outer == nil:
			first[h.goroutine] = h
		case !h.scoped && !gated(h, w):
			found = append(found, Misuse{Kind: RecursiveRead, Steps: []Step{outer.step(false), w.step(true), h.step(false)}})
		}
	}
	return found
}

// gated reports whether a lock that excludes the one from the other was held
// both times.
func gated(a, b *taken) bool {
	for _, x := range a.gates {
		for _, y := range b.gates {
			if x.lockID == y.lockID && excludes(x.mode, y.mode) {
				return true
			}
		}
	}
	return false
}

// heldBy returns what goroutine g holds, and what ctx carries that another one
// has taken: a goroutine that works inside a scoped hold holds it too.
func (d *detector) heldBy(ctx context.Context, g uint64) []*taken {
	holds := slices.Clone(d.held[g])
	for _, name := range drawbridge.Holds(ctx) {
		if h := d.byHold[name]; h != nil && h.goroutine != g {
			holds = append(holds, h)
		}
	}
	return holds
}

func (d *detector) granted(ctx context.Context, g uint64, id lockID, e drawbridge.Event) {
	d.mu.Lock()
	t := d.endWait(e.Wait)
	d.mu.Unlock()
	try := false
	waited := t != nil
	if !waited {
		t, try = newTaken(g, id, e)
	}
	d.mu.Lock()
	t.hold = e.Hold
	t.gates = d.heldBy(ctx, g)
	var found []Misuse
	if !waited && !try {
		found = d.order.take(t)
	}
	d.held[g] = append(d.held[g], t)
	u := d.usersOf(id)
	u.holds = append(u.holds, t)
	if t.hold != 0 {
		d.byHold[t.hold] = t
	}
	d.mu.Unlock()
	d.tell(found)
}

func (d *detector) endWait(wait uint64) *taken {
	t := d.waits[wait]
	if t != nil {
		t.timer.Stop()
		delete(d.waits, wait)
		if d.waiter[t.goroutine] == t {
			delete(d.waiter, t.goroutine)
		}
		u := d.locks[t.lockID]
		u.waits = remove(u.waits, t)
		d.forget(t.lockID, u)
	}
	return t
}

// forget drops what is known of a lock that nobody uses.
func (d *detector) forget(id lockID, u *users) {
	if len(u.holds) == 0 && len(u.waits) == 0 {
		delete(d.locks, id)
	}
}

func (d *detector) changed(g uint64, id lockID, e drawbridge.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endWait(e.Wait)
	h := d.byHold[e.Hold]
	if h == nil {
		return
	}
	// Others may be reading the old one as a gate.
	next := *h
	next.mode = e.Mode
	if e.Mode == drawbridge.Read {
		delete(d.byHold, e.Hold)
		next.hold = 0
	} else {
		d.byHold[e.Hold] = &next
	}
	for _, l := range [][]*taken{d.held[h.goroutine], d.locks[id].holds} {
		if i := slices.Index(l, h); i >= 0 {
			l[i] = &next
		}
	}
}

func (d *detector) released(g uint64, id lockID, e drawbridge.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.Hold != 0 {
		h := d.byHold[e.Hold]
		if h == nil {
			return // older than the detector
		}
		delete(d.byHold, e.Hold)
		d.drop(h)
		if h.goroutine != g && !h.scoped {
			d.handOver(id)
		}
		return
	}
	if e.Mode != drawbridge.Read {
		return
	}
	holds := d.held[g]
	for i := len(holds) - 1; i >= 0; i-- {
		if h := holds[i]; h.lockID == id && h.mode == drawbridge.Read && h.hold == 0 {
			d.drop(h)
			return
		}
	}
	// It ended somebody else's read, nobody knows whose.
	if u := d.locks[id]; u != nil {
		for _, h := range slices.Clone(u.holds) {
			if h.mode == drawbridge.Read && h.hold == 0 {
				d.handOver(id)
				d.drop(h)
			}
		}
	}
}

// handOver remembers that a lock is unlocked by others than those who lock it.
func (d *detector) handOver(id lockID) {
	if len(d.handed) >= maxEdges {
		clear(d.handed)
	}
	d.handed[id] = true
}

func (d *detector) drop(h *taken) {
	if l := remove(d.held[h.goroutine], h); len(l) > 0 {
		d.held[h.goroutine] = l
	} else {
		delete(d.held, h.goroutine)
	}
	u := d.locks[h.lockID]
	u.holds = remove(u.holds, h)
	d.forget(h.lockID, u)
}

// stuck looks, when a wait has lasted for longer than the patience, whether
// those who took the lock are still there. To know that stops the world, so it
// is done for all long waits together and at most once in the time of the
// patience.
func (d *detector) stuck(wait uint64) {
	d.mu.Lock()
	w := d.waits[wait]
	if w == nil || w.scanned {
		d.mu.Unlock()
		return
	}
	now := time.Now()
	if since := now.Sub(d.scanned); since < d.Patience {
		w.timer.Reset(d.Patience - since)
		d.mu.Unlock()
		return
	}
	d.scanned = now
	d.mu.Unlock()

	live := liveGoroutines()
	if live == nil {
		return
	}

	d.mu.Lock()
	var found []Misuse
	for _, w := range d.waits {
		if now.Sub(w.at) < d.Patience {
			continue
		}
		w.scanned = true
		for _, h := range d.locks[w.lockID].holds {
			// A goroutine that is newer than the look is in no list.
			if _, there := live[h.goroutine]; !there && h.at.Before(now) && !h.noted {
				h.noted = true
				found = append(found, holderGone(h, w))
			}
		}
	}
	d.mu.Unlock()
	d.tell(found)
}

func holderGone(h, w *taken) Misuse {
	return Misuse{Kind: HolderGone, Note: true, Steps: []Step{h.step(false), w.step(true)}}
}

func (d *detector) tell(found []Misuse) {
	for _, m := range found {
		m.findTest()
		d.mu.Lock()
		known := d.told[m.same()]
		d.told[m.same()] = true
		d.mu.Unlock()
		if !known {
			d.Func(m)
		}
	}
}
