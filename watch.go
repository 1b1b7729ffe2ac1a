package drawbridge

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// watch is what an observed lock keeps beside its state, in its queue. It stays
// when the observers go, so that the numbers of the lock's events go on.
type watch struct {
	observers []*Observer // of this lock alone, replaced and never changed
	callers   int32       // of those that want to know who calls; read without mu
	kept      bool        // there was one once, and whoever reads callers may still
	seq       uint64

	writer, upgradable holding // the holds inside that have an identity
}

// holding is the identity of a hold. It is zero for one that began before
// anybody observed.
type holding struct {
	hold  uint64
	since moment
}

var lastHold, lastWait atomic.Uint64

func newHolding() holding { return holding{lastHold.Add(1), clock()} }

func (h holding) held() time.Duration {
	if h.hold == 0 {
		return 0
	}
	return h.since.age()
}

// notice is what an event of a lock is made of, taken with mu and used without.
type notice struct {
	to   []*Observer
	seq  uint64
	hold uint64
	held time.Duration
}

//go:norace
func (w *watch) needed() bool { return w.seq != 0 || w.kept }

// observed reports whether anybody wants the events of this lock. The caller
// has mu.
//
//go:norace
func (c *core) observed() bool {
	return c.q != nil && len(c.q.watch.observers) != 0 || !unseen()
}

// current is a notice of no change.
//
//go:norace
func (c *core) current() notice {
	if c.q == nil {
		return notice{}
	}
	return notice{to: c.q.watch.observers, seq: c.q.watch.seq}
}

// upgradableHold names the upgradable hold inside.
//
//go:norace
func (q *queue) upgradableHold() uint64 {
	if q == nil {
		return 0
	}
	return q.watch.upgradable.hold
}

// noteEntered takes down that k has entered.
//
//go:norace
func (c *core) noteEntered(k *call) notice {
	if !c.observed() {
		return notice{}
	}
	q := c.queueOf(k)
	return notice{to: q.watch.observers, seq: q.watch.next(), hold: q.watch.entered(k.mode)}
}

// noteUpgraded takes down that the upgradable hold has become a write hold.
//
//go:norace
func (c *core) noteUpgraded(k *call) notice {
	if !c.observed() {
		return notice{}
	}
	q := c.queueOf(k)
	return notice{to: q.watch.observers, seq: q.watch.next(), hold: q.watch.upgraded()}
}

// noteGrant takes down the grant of w, in the step that grants it.
//
//go:norace
func (q *queue) noteGrant(w *waiter) {
	if len(q.watch.observers) == 0 && unseen() {
		return
	}
	w.seq = q.watch.next()
	q.watch.seq += uint64(w.calls - 1)
	if w.upgrade {
		q.watch.upgraded()
	} else {
		q.watch.entered(w.mode)
	}
}

// noteGranted returns what was taken down of w, which waits no longer.
//
//go:norace
func (c *core) noteGranted(w *waiter) notice {
	raceDisable()
	nothing := w.seq == 0 && c.state.Load()&watched == 0 && unseen()
	raceEnable()
	if nothing {
		return notice{}
	}
	c.lock()
	n := c.current()
	if w.granted.Load() {
		if n.seq = w.seq; n.seq != 0 {
			n.hold = c.q.watch.name(w.mode) // of this hold, which nobody else ends
		}
	}
	c.unlock()
	return n
}

// noteLeft takes down that a hold has ended or changed.
//
//go:norace
func (c *core) noteLeft(ch change) notice {
	if c.q == nil {
		return notice{}
	}
	w := &c.q.watch
	var h holding
	switch ch {
	case writerLeaves, writerReads:
		h, w.writer = w.writer, holding{}
	case writerUpgradable:
		h = w.writer
		w.upgradable, w.writer = w.writer, holding{}
	case upgradableLeaves:
		h, w.upgradable = w.upgradable, holding{}
	}
	if !c.observed() {
		return notice{}
	}
	return notice{to: w.observers, seq: w.next(), hold: h.hold, held: h.held()}
}

//go:norace
func (w *watch) next() uint64 {
	w.seq++
	return w.seq
}

// entered names a new hold, if it is one that has a name.
//
//go:norace
func (w *watch) entered(m Mode) uint64 {
	switch m {
	case Upgradable:
		w.upgradable = newHolding()
	case Write:
		w.writer = newHolding()
	}
	return w.name(m)
}

// name is the name of the hold in mode m.
//
//go:norace
func (w *watch) name(m Mode) uint64 {
	switch m {
	case Upgradable:
		return w.upgradable.hold
	case Write:
		return w.writer.hold
	}
	return 0
}

//go:norace
func (w *watch) upgraded() uint64 {
	w.writer, w.upgradable = w.upgradable, holding{}
	return w.writer.hold
}

// emitGranted tells that k has got the lock. If an observer panics, the lock
// is given back, since the caller will never learn that it has it, and those who
// know of the grant are told so.
func (c *core) emitGranted(k *call, kind EventKind, n notice, waited time.Duration) {
	if n.seq == 0 {
		return
	}
	switch {
	case k.scope == nil || kind == Upgraded: // an upgrade keeps the name
	case k.mode == Read:
		k.scope.rare = &rare{holding: newHolding()}
		n.hold = k.scope.rare.hold
	default:
		if k.scope.rare == nil {
			k.scope.rare = new(rare)
		}
		k.scope.rare.hold = n.hold // for Holds
	}
	e := k.event(kind, n)
	e.Waited = waited
	k.tellOr(n, e, func() Event {
		ch, back := leaves(k.mode), *k
		back.wait = 0
		if kind == Upgraded {
			ch, back.mode = writerUpgradable, Upgradable
		}
		return back.leaving(ch, c.giveBack(ch))
	})
}

// emitLeft tells that a hold has ended or changed, which has happened.
func (c *core) emitLeft(k *call, ch change, n notice) {
	if n.seq == 0 {
		return
	}
	k.tell(n.to, everywhere.all(), k.leaving(ch, n), new(int))
}

// leaving is the event of a hold that has ended or changed.
func (k *call) leaving(ch change, n notice) Event {
	kind := Released
	switch ch {
	case writerReads, writerUpgradable:
		kind = Downgraded
	case readerLeaves:
		if k.scope != nil && k.scope.rare != nil {
			n.hold, n.held = k.scope.rare.hold, k.scope.rare.held()
		}
	}
	e := k.event(kind, n)
	e.Held = n.held
	return e
}

// emitWaiting tells that k is about to wait, and names the wait. If an observer
// panics, the call ends here.
func (c *core) emitWaiting(k *call, n notice) {
	if len(n.to) == 0 && unseen() {
		return
	}
	k.wait = lastWait.Add(1)
	k.tellOr(n, k.event(Waiting, n), func() Event { return k.event(GaveUp, n) })
}

// tellOr tells the observers of e. If one of them panics, those who know of e are
// told what then becomes of the call, which undo brings about. The one that
// panicked may know of e too.
func (k *call) tellOr(n notice, e Event, undo func() Event) {
	own, all := n.to, everywhere.all()
	told := 0
	defer func() {
		if told == len(own)+len(all) {
			return
		}
		undone := undo()
		told++
		k.tell(own[:min(told, len(own))], all[:max(told-len(own), 0)], undone, new(int))
	}()
	k.tell(own, all, e, &told)
}

// emit tells the observers of a wait or a grant.
func (c *core) emit(k *call, kind EventKind, n notice, waited time.Duration, err error) {
	if len(n.to) == 0 && unseen() {
		return
	}
	e := k.event(kind, n)
	e.Waited, e.Err = waited, err
	k.tell(n.to, everywhere.all(), e, new(int))
}

func (k *call) event(kind EventKind, n notice) Event {
	e := Event{Lock: k.lock, Kind: kind, Mode: k.mode, Seq: n.seq, Hold: n.hold, Wait: k.wait, Caller: k.caller}
	if k.key != nil {
		e.Key = k.key.boxed()
	}
	return e
}

// tell tells the lock's own observers and then those of all locks, and counts
// those that it has told.
func (k *call) tell(own, all []*Observer, e Event, told *int) {
	ctx := k.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	for i := range own {
		ownObserver(own, i).Observe(ctx, e)
		*told++
	}
	for _, o := range all {
		(*o).Observe(ctx, e)
		*told++
	}
}

// ownObserver returns the i'th observer. What its user did before registering
// it comes before what it observes.
//
//go:norace
func ownObserver(own []*Observer, i int) Observer {
	raceAcquire(unsafe.Pointer(own[i]))
	return *own[i]
}

// observe adds an observer to this lock alone. From the first one on, a bit in
// the state sends every call to the slow path.
func (c *core) observe(k *call, o Observer) (stop func()) {
	if o == nil {
		panic("drawbridge: nil Observer")
	}
	c.prepare(k)
	entry := &o
	raceRelease(unsafe.Pointer(entry))
	c.setObservers(k, entry, with)
	return sync.OnceFunc(func() { c.setObservers(k, entry, without) })
}

//go:norace
func (c *core) setObservers(k *call, entry *Observer, change func([]*Observer, *Observer) []*Observer) {
	wants := wantsCallers(entry)
	c.lock()
	defer c.unlock()
	w := &c.queueOf(k).watch
	before := len(w.observers)
	w.observers = change(w.observers, entry)
	w.kept = true
	if wants {
		atomic.AddInt32(&w.callers, int32(len(w.observers)-before))
	}
	for {
		old := c.state.Load()
		next := old &^ watched
		if len(w.observers) != 0 {
			next |= watched
		}
		if c.state.CompareAndSwap(old, next) {
			return
		}
	}
}
