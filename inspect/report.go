package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// Version is the version of the JSON format. It changes when a field changes
// its meaning or goes; new fields may come at any time.
const Version = 1

// Report is what the locks of a process were doing at one moment, as
// [Handler] serves it in JSON.
type Report struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	Program string    `json:"program"`           // the name of the executable
	Watched int       `json:"watched"`           // locks in all
	LeftOut int       `json:"left_out"`          // of them not in Locks
	Tick    uint64    `json:"tick,omitempty"`    // of a stream: counts the reports
	Dropped uint64    `json:"dropped,omitempty"` // of a stream: spans that were gone before they could be sent
	Locks   []Lock    `json:"locks"`
}

// Lock is what is known of a watched lock. All of it is of about one moment,
// which has passed.
type Lock struct {
	ID     uint64 `json:"id"` // unlike any other of the process
	Name   string `json:"name"`
	Kind   string `json:"kind"`   // the type: "RWMutex", "Keyed[string]"
	Policy string `json:"policy"` // "Balanced"

	// Clock is the time since the watch began: the moment of this report on
	// a scale on which the spans of several reports fit together.
	Clock time.Duration `json:"clock_ns"`

	State State  `json:"state"`
	Words string `json:"words"` // the state in words

	Read       Mode `json:"read"`
	Upgradable Mode `json:"upgradable"`
	Write      Mode `json:"write"`

	GaveUp     GaveUp `json:"gave_up"`
	Upgrades   uint64 `json:"upgrades"`
	Downgrades uint64 `json:"downgrades"`

	LongestHold time.Duration `json:"longest_hold_ns"` // of those inside now, 0 if none is known
	LongestWait time.Duration `json:"longest_wait_ns"` // of those waiting now

	// WaitsBySecond has how many waits ended in each of the last 60
	// seconds, oldest first.
	WaitsBySecond []uint32 `json:"waits_by_second"`

	// Holders are the holds inside that have an identity: writers,
	// upgradable readers and scoped readers, oldest first, at most
	// [MaxCalls] of them. Other readers are in PlainReaders.
	Holders      []Call       `json:"holders"`
	MoreHolders  int          `json:"more_holders"` // how many were left out
	Waiters      []Call       `json:"waiters"`      // likewise
	MoreWaiters  int          `json:"more_waiters"`
	PlainReaders PlainReaders `json:"plain_readers"`

	Keys     []Key     `json:"keys,omitempty"`     // the busiest, of a Keyed
	Snapshot *Snapshot `json:"snapshot,omitempty"` // of a Snapshot

	Spans []Span `json:"spans,omitempty"` // of one lock's own report: what is over
}

// MaxCalls is how many holders and how many waiters of a lock are listed.
const MaxCalls = 100

// State is a [drawbridge.State] with names for JSON. Of a Keyed it is the sum
// over all keys; Keys in use are in Keys.
type State struct {
	Readers        int  `json:"readers"`
	Writers        int  `json:"writers"` // more than one only for a Keyed
	Upgradables    int  `json:"upgradables"`
	WaitingReaders int  `json:"waiting_readers"`
	WaitingWriters int  `json:"waiting_writers"`
	DoorClosed     bool `json:"door_closed"` // newcomers of every mode wait
	Keys           int  `json:"keys"`        // in use, of a Keyed
}

// Mode is what has been counted in one mode. The time of a hold that was
// upgraded or downgraded is counted for each mode that it had.
type Mode struct {
	Holds uint64 `json:"holds"` // granted so far, an upgrade not counted as another

	// Wait has every wait that is over, given up or not. A call that got
	// the lock at once is not in it. It is nil before the first.
	Wait *Histogram `json:"wait"`

	// Hold has every hold that is over and has an identity. Plain readers
	// are not in it: see [PlainReaders]. It is nil before the first.
	Hold *Histogram `json:"hold"`
}

// Call is a call on a lock while it holds or waits.
type Call struct {
	ID      uint64        `json:"id"`   // a wait and the hold that comes of it have the same
	Mode    string        `json:"mode"` // "read", "read upgradably", "write"
	Upgrade bool          `json:"upgrade,omitempty"`
	Age     time.Duration `json:"age_ns"`
	InMode  time.Duration `json:"in_mode_ns"` // less than Age for a hold that was upgraded or downgraded
	Key     string        `json:"key,omitempty"`
	Labels  []Label       `json:"labels,omitempty"`
	Stack   []Frame       `json:"stack,omitempty"` // innermost first, one frame unless the watch keeps stacks
}

// PlainReaders are the readers by RLock and RLockContext. Their RUnlock does
// not say which of them leaves, so only what is true of all of them is exact.
type PlainReaders struct {
	Inside  int           `json:"inside"`
	Entered uint64        `json:"entered"`
	Mean    time.Duration `json:"mean_hold_ns"` // of all that entered, those inside as old as they are now
	AtLeast time.Duration `json:"oldest_ns"`    // how old the oldest is at least

	// Sites has where those came from that have entered since the lock was
	// last free of plain readers: those inside are among them.
	Sites []PlainSite `json:"sites,omitempty"`
	More  uint64      `json:"more,omitempty"` // entered from sites that did not fit
}

// PlainSite is a line of code that plain readers came from.
type PlainSite struct {
	Entered uint64  `json:"entered"`
	Labels  []Label `json:"labels,omitempty"`
	Stack   []Frame `json:"stack,omitempty"`
}

// Key is one of the busiest keys of a Keyed.
type Key struct {
	Key       string        `json:"key"`
	Holds     uint64        `json:"holds"`
	Overcount uint64        `json:"overcount"` // Holds is too high by this at most
	Waits     uint64        `json:"waits"`
	Waited    time.Duration `json:"waited_ns"` // by all of them
	Inside    int           `json:"inside"`
	Waiting   int           `json:"waiting"`
}

// Snapshot is a [drawbridge.SnapshotStatus].
type Snapshot struct {
	Version    uint64        `json:"version"`
	Age        time.Duration `json:"age_ns"`
	Error      string        `json:"error,omitempty"`
	Failures   int           `json:"failures"`
	Refreshing bool          `json:"refreshing"`
}

// Span is a wait or a hold that is over.
type Span struct {
	Call   uint64        `json:"call"` // the ID that the [Call] had
	Kind   string        `json:"kind"` // "waited", "gave up", "held", "readers inside"
	Mode   string        `json:"mode"`
	Began  time.Duration `json:"began_ns"` // before the report
	Ended  time.Duration `json:"ended_ns"` // before the report
	Key    string        `json:"key,omitempty"`
	Labels []Label       `json:"labels,omitempty"`
	Site   *Frame        `json:"site,omitempty"`
}

// Locks returns what all watched locks are doing, the busiest first: those
// that are waited for, then those with the most waits in the last minute, then
// the most held.
func Locks() []Lock {
	records := busiest()
	l := make([]Lock, 0, len(records))
	for _, r := range records {
		l = append(l, r.report())
	}
	return l
}

// busiest returns the records in the order of [Locks].
func busiest() []*record {
	type load struct {
		*record
		longest       time.Duration
		recent, holds uint64
	}
	var loads []load
	for _, r := range watched.all() {
		l := load{record: r}
		l.longest, l.recent, l.holds = r.load()
		loads = append(loads, l)
	}
	slices.SortFunc(loads, func(a, b load) int {
		return cmp.Or(cmp.Compare(b.longest, a.longest), cmp.Compare(b.recent, a.recent),
			cmp.Compare(b.holds, a.holds), cmp.Compare(a.id, b.id))
	})
	records := make([]*record, len(loads))
	for i, l := range loads {
		records[i] = l.record
	}
	return records
}

// load says how busy the lock is, without copying what it has counted.
func (r *record) load() (longestWait time.Duration, recent, holds uint64) {
	now := r.clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.waits.all() {
		longestWait = max(longestWait, now-w.since)
	}
	recent = r.recent.sum(now)
	for _, m := range r.modes {
		holds += m.holds
	}
	return longestWait, recent, holds
}

// seen is what a report takes out of a record under its mutex: copies, of
// which nothing is text yet.
type seen struct {
	now          time.Duration
	holds, waits []call
	keys         []keyCount
	spans        []span
	gone         uint64
	plain        plainReaders
}

// report describes the lock as it is now.
func (r *record) report() Lock {
	l, _ := r.reportAfter(nil)
	return l
}

// reportAfter is report with the spans from number *after on, which it sets to
// the number of the next span to come, and with how many of them were lost.
func (r *record) reportAfter(after *uint64) (l Lock, lost uint64) {
	state := r.state()
	now := r.clock()
	s := seen{now: now}

	r.mu.Lock()
	l = Lock{
		ID: r.id, Name: r.name, Kind: r.kind, Policy: r.policy, Clock: now,
		Read: r.mode(drawbridge.Read), Upgradable: r.mode(drawbridge.Upgradable), Write: r.mode(drawbridge.Write),
		GaveUp: r.gaveUp, Upgrades: r.upgrades, Downgrades: r.downgrades,
	}
	l.WaitsBySecond = r.recent.list(now)
	s.holds, s.waits = r.holds.copies(), r.waits.copies()
	if state == nil {
		state = r.counted()
	}
	s.plain = r.plain
	s.plain.sites = slices.Clone(r.plain.sites)
	s.keys = r.keys.all()
	if after != nil {
		s.spans, s.gone = r.spans.after(*after)
		*after = r.spans.added
	}
	r.mu.Unlock()

	s.holds, l.MoreHolders = oldest(s.holds)
	s.waits, l.MoreWaiters = oldest(s.waits)
	l.State = *state
	l.Holders, l.Waiters = s.calls(s.holds), s.calls(s.waits)
	l.PlainReaders = s.plainReaders()
	l.Keys = topKeysOf(s.keys)
	l.Spans = s.spansBefore()
	l.LongestHold = l.PlainReaders.AtLeast
	if len(l.Holders) > 0 {
		l.LongestHold = max(l.LongestHold, l.Holders[0].Age)
	}
	if len(l.Waiters) > 0 {
		l.LongestWait = l.Waiters[0].Age
	}
	if r.keyed != nil {
		l.State.Keys = r.keyed.Len()
	}
	if r.snapshot != nil {
		st := r.snapshot.Status()
		l.Snapshot = &Snapshot{Version: st.Version, Age: st.Age, Failures: st.Failures, Refreshing: st.Refreshing}
		if st.Err != nil {
			l.Snapshot.Error = firstLine(st.Err.Error())
		}
	}
	l.State.DoorClosed = l.doorClosed()
	l.Words = l.words()
	return l, s.gone
}

// mode copies the counts of a mode.
func (r *record) mode(m drawbridge.Mode) Mode {
	c := &r.modes[m]
	return Mode{Holds: c.holds, Wait: c.wait.clone(), Hold: c.hold.clone()}
}

func (h *Histogram) clone() *Histogram {
	if h == nil {
		return nil
	}
	c := *h
	return &c
}

// state asks the lock itself, which knows also of the holds before the watch.
func (r *record) state() *State {
	if r.stater == nil {
		return nil
	}
	s := r.stater.State()
	return &State{
		Readers: s.Readers, Writers: number(s.Writer), Upgradables: number(s.Upgradable),
		WaitingReaders: s.WaitingReaders, WaitingWriters: s.WaitingWriters,
	}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// counted is the state as far as it is known from events.
func (r *record) counted() *State {
	s := State{Readers: r.plain.inside}
	for h := range r.holds.all() {
		switch h.mode {
		case drawbridge.Read:
			s.Readers++
		case drawbridge.Upgradable:
			s.Upgradables++
		default:
			s.Writers++
		}
	}
	for w := range r.waits.all() {
		if w.mode == drawbridge.Write {
			s.WaitingWriters++
		} else {
			s.WaitingReaders++
		}
	}
	return &s
}

// oldest sorts calls, oldest first, and keeps MaxCalls. It says how many more
// there were.
func oldest(calls []call) (l []call, more int) {
	slices.SortFunc(calls, func(a, b call) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.lane, b.lane)) })
	n := min(len(calls), MaxCalls)
	return calls[:n], len(calls) - n
}

func (s *seen) calls(calls []call) []Call {
	l := make([]Call, 0, len(calls))
	for _, c := range calls {
		l = append(l, Call{
			ID: c.lane, Mode: c.mode.String(), Upgrade: c.upgrade, Age: max(s.now-c.since, 0), InMode: max(s.now-c.since-c.counted, 0),
			Key: keyText(c.key), Labels: c.labels.list(), Stack: c.site.frames(),
		})
	}
	return l
}

func (s *seen) plainReaders() PlainReaders {
	p := PlainReaders{
		Inside: s.plain.inside, Entered: s.plain.entered,
		Mean: s.plain.mean(s.now), AtLeast: s.plain.age(s.now), More: s.plain.more,
	}
	if p.Inside == 0 {
		p.More = 0
		return p
	}
	for _, ps := range s.plain.sites {
		p.Sites = append(p.Sites, PlainSite{ps.n, ps.labels.list(), site{pc: ps.pc}.frames()})
	}
	return p
}

func (s *seen) spansBefore() []Span {
	var l []Span
	for _, sp := range s.spans {
		j := Span{
			Call: sp.lane, Kind: sp.kind.String(), Mode: sp.mode.String(),
			Began: s.now - sp.from, Ended: max(s.now-sp.to, 0),
			Key: keyText(sp.key), Labels: sp.labels.list(),
		}
		if sp.pc != 0 {
			f := frameAt(sp.pc)
			j.Site = &f
		}
		l = append(l, j)
	}
	return l
}

// doorClosed: a writer inside keeps everybody out, and so does one that waits
// for those inside to leave, unless readers are preferred.
func (l *Lock) doorClosed() bool {
	s := l.State
	if l.keyed() {
		return false // each key has a door of its own
	}
	return s.Writers > 0 || s.WaitingWriters > 0 && s.Readers+s.Upgradables > 0 && l.Policy != drawbridge.PreferReaders.String()
}

func (l *Lock) keyed() bool { return strings.HasPrefix(l.Kind, "Keyed[") }

// words describes the state: "3 readers inside, 1 writer waiting 212 ms, door
// closed".
func (l *Lock) words() string {
	var parts []string
	add := func(n int, what, does string, d time.Duration) {
		if n == 0 {
			return
		}
		if n != 1 {
			what += "s"
		}
		part := fmt.Sprintf("%d %s %s", n, what, does)
		if d > 0 {
			part += " " + Duration(d)
		}
		parts = append(parts, part)
	}
	longest := func(calls []Call, writers bool) time.Duration {
		for _, c := range calls {
			if (c.Mode == drawbridge.Write.String()) == writers {
				return c.InMode
			}
		}
		return 0
	}
	s := l.State
	if l.Snapshot != nil {
		parts = append(parts, l.Snapshot.words())
		add(s.Writers, "update", "under way", longest(l.Holders, true))
		add(s.WaitingWriters, "update", "waiting", longest(l.Waiters, true))
		return strings.Join(parts, ", ")
	}
	if l.keyed() && s.Keys > 0 {
		add(s.Keys, "key", "in use", 0)
	}
	add(s.Writers, "writer", "inside", longest(l.Holders, true))
	add(s.Readers, "reader", "inside", 0)
	add(s.Upgradables, "upgradable reader", "inside", 0)
	add(s.WaitingReaders, "reader", "waiting", longest(l.Waiters, false))
	add(s.WaitingWriters, "writer", "waiting", longest(l.Waiters, true))
	if s.DoorClosed {
		parts = append(parts, "door closed")
	}
	if len(parts) == 0 {
		return "free"
	}
	return strings.Join(parts, ", ")
}

func (s *Snapshot) words() string {
	w := "no value yet"
	if s.Version > 0 {
		w = fmt.Sprintf("version %d, %s old", s.Version, Duration(s.Age))
	}
	if s.Failures > 0 {
		w += fmt.Sprintf(", %d failed in a row", s.Failures)
	}
	if s.Refreshing {
		w += ", refreshing"
	}
	return w
}

// Duration writes d for people: about three digits and the unit, "212 ms".
func Duration(d time.Duration) string {
	units := []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}}
	for _, u := range units {
		if d >= u.of {
			n := float64(d) / float64(u.of)
			switch {
			case n < 10:
				return fmt.Sprintf("%.2f %s", n, u.name)
			case n < 100:
				return fmt.Sprintf("%.1f %s", n, u.name)
			}
			return fmt.Sprintf("%.0f %s", n, u.name)
		}
	}
	return fmt.Sprintf("%d ns", max(d, 0))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
