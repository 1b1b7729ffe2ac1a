package inspect

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// record is what is known of one watched lock: an observer of that lock alone.
// Its events come on the goroutines of the callers, so each is taken down in a
// few steps under mu.
type record struct {
	id           uint64
	name         string
	kind, policy string
	detail       Detail
	lock         drawbridge.Observable
	unobserve    func()

	// What the kinds of locks can say of themselves; nil if they cannot.
	stater   interface{ State() drawbridge.State }
	snapshot interface {
		Status() drawbridge.SnapshotStatus
	}
	keyed interface{ Len() int }

	start time.Time // all times below are since then

	depths [2 * (drawbridge.Write + 1)]atomic.Uint32 // frames to look at for a call site, by depthOf

	mu         sync.Mutex
	modes      [drawbridge.Write + 1]modeCounts
	gaveUp     GaveUp
	upgrades   uint64
	downgrades uint64
	holds      calls // those inside that have an identity, by Hold
	waits      calls // by Wait
	plain      plainReaders
	recent     recentWaits
	spans      spans
	keys       *keys  // of a Keyed
	labels     labels // of the last call: the next one often has the same
	free       *call  // calls that are over, to be used again
	freeCalls  int
}

type modeCounts struct {
	holds      uint64
	wait, hold *Histogram // made with the first sample
}

// call is one call on the lock while it waits or holds.
type call struct {
	lane    uint64        // the same for a wait and the hold that comes of it
	since   time.Duration // when the wait or the hold began
	counted time.Duration // of a hold: how much of it is in the histograms of modes before this one
	mode    drawbridge.Mode
	upgrade bool // a wait of a hold that is inside already
	site    site
	labels  labels
	key     any
	traced  traced
	next    *call // in the free list
}

// maxFrames is how many frames are looked at at once.
const maxFrames = 16

// clock is the time since the watch began. Across testing/synctest bubbles it
// can run backwards; whoever subtracts takes that as no time at all.
func (r *record) clock() time.Duration { return time.Since(r.start) }

// Observe takes down an event.
func (r *record) Observe(ctx context.Context, e drawbridge.Event) {
	// The frames are looked at here, which is as near to the call as can be.
	var pcs [maxFrames]uintptr
	near := pcs[:0]
	if r.detail == Sites && (e.Kind == drawbridge.Waiting || e.Kind == drawbridge.Granted && e.Wait == 0) && !isSite(e.Caller) {
		near = pcs[:runtime.Callers(2, pcs[:r.depthOf(ctx, e).Load()])]
	}
	switch e.Kind {
	case drawbridge.Waiting:
		r.waiting(ctx, e, near)
	case drawbridge.Granted, drawbridge.Upgraded:
		r.granted(ctx, e, near)
	case drawbridge.GaveUp:
		r.gaveUpWaiting(e)
	case drawbridge.Released, drawbridge.Downgraded:
		r.left(ctx, e)
	}
}

func (r *record) waiting(ctx context.Context, e drawbridge.Event, near []uintptr) {
	var s site
	var packed []byte
	if r.detail != Times {
		var buf labelsBuffer
		s, packed = r.callSite(ctx, e, near), packLabels(ctx, &buf)
	}
	t := traceWait(ctx, r.name, e.Mode)
	now := r.clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.newCall()
	*c = call{lane: r.laneOf(e), since: now, mode: e.Mode, upgrade: e.Hold != 0, site: s, labels: r.keep(packed), key: e.Key, traced: t}
	r.waits.put(e.Wait, c)
	r.keys.waits(e.Key, 1)
}

// WantsCallers makes the lock say who calls, which saves the record most looks
// at the stack.
func (r *record) WantsCallers() bool { return r.detail == Sites }

// callSite returns the site of the call that is being observed.
func (r *record) callSite(ctx context.Context, e drawbridge.Event, near []uintptr) site {
	if r.detail == Sites && len(near) == 0 {
		return site{pc: e.Caller}
	}
	s, frames := callSite(r.detail, near)
	if r.detail == Sites && frames > len(near) {
		r.depthOf(ctx, e).Store(uint32(min(frames, maxFrames))) // it will do next time
	}
	return s
}

// depthOf has how many frames away the caller is, in calls like the one that e
// is of. Each frame costs time, so the calls whose callers are near should not
// pay for those whose callers are far.
func (r *record) depthOf(ctx context.Context, e drawbridge.Event) *atomic.Uint32 {
	i := 2 * e.Mode
	if ctx != context.Background() {
		i++ // by a method that takes a context, which has more frames
	}
	return &r.depths[i]
}

// laneOf names the lane of the call that e is of. A hold without a wait has an
// even number, a wait and the hold that comes of it an odd one, and the wait of
// an upgrade that of its hold.
func (r *record) laneOf(e drawbridge.Event) uint64 {
	if h := r.holds.get(e.Hold); h != nil {
		return h.lane
	}
	if e.Wait != 0 {
		return 2*e.Wait + 1
	}
	return 2 * e.Hold
}

// keep makes labels of what packLabels has returned.
func (r *record) keep(packed []byte) labels {
	if len(packed) == 0 {
		return ""
	}
	if string(packed) != string(r.labels) {
		r.labels = labels(packed)
	}
	return r.labels
}

func (r *record) granted(ctx context.Context, e drawbridge.Event, near []uintptr) {
	var s site
	var packed []byte
	if e.Wait == 0 && r.detail != Times {
		var buf labelsBuffer
		s, packed = r.callSite(ctx, e, near), packLabels(ctx, &buf)
	}
	now := r.clock()
	r.mu.Lock()
	defer r.mu.Unlock()

	l := r.keep(packed)
	w := r.endWait(e, now)
	if w != nil {
		s, l = w.site, w.labels
		w.traced.end()
	}
	m := &r.modes[e.Mode]
	if e.Kind == drawbridge.Upgraded {
		r.upgrades++
		r.changeMode(e.Hold, e.Mode, now)
	} else {
		m.holds++
		r.keys.holds(e.Key, e.Mode, 1)
		if e.Hold == 0 {
			r.plain.enter(now, s.pc, l)
			traceLog(ctx, r.name, e.Mode, "entered")
		} else {
			h := r.newCall()
			*h = call{lane: r.laneOf(e), since: now, mode: e.Mode, site: s, labels: l, key: e.Key}
			h.traced = traceHold(ctx, r.name, e.Mode, s.scoped)
			r.holds.put(e.Hold, h)
		}
	}
	if w != nil {
		r.freeCall(w)
	}
}

// endWait takes the wait that e ends out of the record and counts it. A lock
// that came free before the call queued was not waited for.
func (r *record) endWait(e drawbridge.Event, now time.Duration) *call {
	w := r.waits.get(e.Wait)
	if w == nil && e.Waited == 0 {
		return nil
	}
	if e.Waited > 0 || e.Kind == drawbridge.GaveUp {
		m := &r.modes[e.Mode]
		if m.wait == nil {
			m.wait = new(Histogram)
		}
		m.wait.Add(e.Waited)
		r.recent.add(now)
		r.keys.waited(e.Key, e.Waited)
	}
	if w == nil {
		return nil // it began before the watch
	}
	r.waits.remove(e.Wait)
	r.keys.waits(e.Key, -1)
	if e.Waited > 0 {
		r.spans.add(span{lane: w.lane, from: now - e.Waited, to: now, mode: w.mode, kind: waitSpan(e.Kind), pc: w.site.pc, labels: w.labels, key: w.key})
	}
	return w
}

func (r *record) gaveUpWaiting(e drawbridge.Event) {
	now := r.clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaveUp.count(e.Err)
	if w := r.endWait(e, now); w != nil {
		w.traced.end()
		r.freeCall(w)
	}
}

// changeMode makes a hold one of mode m and counts its time in the mode that
// it had.
func (r *record) changeMode(hold uint64, m drawbridge.Mode, now time.Duration) {
	h := r.holds.get(hold)
	if h == nil {
		return // older than the watch
	}
	segment := max(now-h.since-h.counted, 0)
	r.addHold(h, segment)
	h.counted += segment
	h.mode = m
}

// addHold counts d as held in the mode that h has.
func (r *record) addHold(h *call, d time.Duration) {
	m := &r.modes[h.mode]
	if m.hold == nil {
		m.hold = new(Histogram)
	}
	m.hold.Add(d)
	r.spans.add(span{lane: h.lane, from: h.since + h.counted, to: h.since + h.counted + d, mode: h.mode, kind: held, pc: h.site.pc, labels: h.labels, key: h.key})
}

func (r *record) left(ctx context.Context, e drawbridge.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.holds.get(e.Hold)
	if e.Kind == drawbridge.Downgraded {
		r.downgrades++
		now := r.clock()
		if e.Mode == drawbridge.Upgradable {
			r.changeMode(e.Hold, e.Mode, now)
			return
		}
		// The reader that it becomes has no identity.
		var s site
		var l labels
		if h != nil {
			s, l = h.site, h.labels
		}
		r.plain.enter(now, s.pc, l)
		r.keys.holds(e.Key, e.Mode, 1)
	} else if e.Hold == 0 && e.Mode == drawbridge.Read {
		r.keys.holds(e.Key, e.Mode, -1)
		now := r.clock()
		if free := r.plain.leave(now); free > 0 {
			r.spans.add(span{from: now - free, to: now, mode: drawbridge.Read, kind: readers})
		}
		traceLog(ctx, r.name, e.Mode, "left")
		return
	}
	if h == nil {
		return // older than the watch
	}
	r.keys.holds(e.Key, h.mode, -1)
	r.addHold(h, max(e.Held-h.counted, 0))
	if !h.traced.end() {
		traceLog(ctx, r.name, h.mode, "left")
	}
	r.holds.remove(e.Hold)
	r.freeCall(h)
}

func (r *record) newCall() *call {
	if c := r.free; c != nil {
		r.free = c.next
		r.freeCalls--
		return c
	}
	return new(call)
}

// freeCall keeps c for the next call, unless there are enough.
func (r *record) freeCall(c *call) {
	const enough = 64
	if r.freeCalls == enough {
		return
	}
	*c = call{next: r.free}
	r.free = c
	r.freeCalls++
}

// GaveUp counts the waits that ended without the lock, by reason.
type GaveUp struct {
	Canceled uint64 `json:"canceled"` // the context was cancelled
	Deadline uint64 `json:"deadline"` // its deadline passed
	Deadlock uint64 `json:"deadlock"` // the wait would have closed a cycle
}

func (g *GaveUp) count(err error) {
	switch {
	case err == nil:
		// An observer has panicked, as Detect does for a certain deadlock.
	case errors.Is(err, drawbridge.ErrDeadlock):
		g.Deadlock++
	case errors.Is(err, context.DeadlineExceeded):
		g.Deadline++
	default:
		g.Canceled++
	}
}
