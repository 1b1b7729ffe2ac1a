package inspect

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Alarm tells of locks that are stuck while they still are: held for longer
// than HeldFor or waited for longer than WaitingFor.
//
//	alarm := inspect.Alarm{HeldFor: time.Second, WaitingFor: 500 * time.Millisecond}
//	defer alarm.Start()()
//
// It looks at all watched locks four times within the shorter of the two
// limits, at most a hundred times a second, so a stall is told of at most a
// quarter late. Readers by RLock are as old as is certain; see [PlainReaders].
type Alarm struct {
	HeldFor    time.Duration // 0 for no limit
	WaitingFor time.Duration // 0 for no limit

	// Func is called once for each stall while it goes on, and once when it
	// has ended. Calls come one at a time, on a goroutine of the alarm. A
	// panic in it is recovered and logged. Nil logs by [log/slog].
	Func func(Stall)

	// FlightRecorder, if it is not nil, is written to a file in Dir when a
	// stall begins, before Func is called: the execution trace of the
	// seconds before, as many as it holds. It is the program's own, which
	// starts and stops it. Files are readable by their owner alone. There
	// is at most one a minute, and the alarm keeps the last 8 that it wrote;
	// how long one is, is limited by the recorder's MaxBytes.
	FlightRecorder *trace.FlightRecorder
	Dir            string // the working directory if empty
}

// Stall is what an [Alarm] tells of a lock.
type Stall struct {
	Lock  Lock          // as it was when the alarm looked
	Begin time.Time     // when the alarm saw the stall first
	For   time.Duration // how long the oldest hold or wait over its limit has lasted

	Held    bool  // a hold is over its limit
	Waiting bool  // a wait is over its limit
	Waiters int   // how many wait
	Oldest  *Call // the oldest of them, or nil

	Ended  bool   // the stall is over; Lock is as it is now
	Missed uint64 // calls since the last one that were left out, because Func was still running
	Trace  string // the file that has the flight recorder's trace, or ""
}

const (
	alarmPending = 64          // calls that wait for Func
	traceEvery   = time.Minute // at most
	tracesKept   = 8
)

// Start starts the alarm and returns what stops it. After stop has returned, no
// call of Func begins, though one may still run. Start panics if there is
// nothing to look for.
func (a Alarm) Start() (stop func()) {
	if a.HeldFor <= 0 && a.WaitingFor <= 0 {
		panic("inspect: an Alarm needs HeldFor or WaitingFor")
	}
	if a.Func == nil {
		a.Func = logStall
	}
	r := &running{Alarm: a, stalls: make(map[uint64]Stall), calls: make(chan Stall, alarmPending), stopped: make(chan struct{})}
	every := max(a.shorter()/4, 10*time.Millisecond)
	go r.look(every)
	go r.tell()
	return sync.OnceFunc(func() { close(r.stopped) })
}

func (a *Alarm) shorter() time.Duration {
	switch {
	case a.HeldFor <= 0:
		return a.WaitingFor
	case a.WaitingFor <= 0:
		return a.HeldFor
	}
	return min(a.HeldFor, a.WaitingFor)
}

// running is an alarm that was started.
type running struct {
	Alarm
	stalls  map[uint64]Stall // that go on, by lock; of look alone
	calls   chan Stall
	missed  atomic.Uint64
	stopped chan struct{}

	traced time.Time // when the last trace was written; of tell alone
	traces []string
}

func (r *running) look(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.lookOnce()
		case <-r.stopped:
			return
		}
	}
}

func (r *running) lookOnce() {
	seen := make(map[uint64]bool)
	for _, rec := range watched.all() {
		held, waiting := rec.ages()
		s := Stall{
			Held:    r.HeldFor > 0 && held >= r.HeldFor,
			Waiting: r.WaitingFor > 0 && waiting >= r.WaitingFor,
		}
		if !s.Held && !s.Waiting {
			continue
		}
		seen[rec.id] = true
		if _, known := r.stalls[rec.id]; known {
			continue
		}
		if s.Held {
			s.For = held
		}
		if s.Waiting {
			s.For = max(s.For, waiting)
		}
		s.Begin = time.Now()
		s.describe(rec.report())
		r.stalls[rec.id] = s
		r.call(s)
	}
	for id, s := range r.stalls {
		if seen[id] {
			continue
		}
		delete(r.stalls, id)
		s.Ended = true
		s.For += time.Since(s.Begin)
		if rec := watched.get(id); rec != nil {
			s.describe(rec.report())
		}
		r.call(s)
	}
}

// describe fills in what a report says.
func (s *Stall) describe(l Lock) {
	s.Lock = l
	s.Waiters = len(l.Waiters) + l.MoreWaiters
	s.Oldest = nil
	if len(l.Waiters) > 0 {
		s.Oldest = &l.Waiters[0]
	}
}

// ages returns the age of the oldest hold and of the oldest wait.
func (r *record) ages() (held, waiting time.Duration) {
	now := r.clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	held = r.plain.age(now)
	for h := range r.holds.all() {
		held = max(held, now-h.since)
	}
	for w := range r.waits.all() {
		waiting = max(waiting, now-w.since)
	}
	return held, waiting
}

func (r *running) call(s Stall) {
	select {
	case r.calls <- s:
	default:
		r.missed.Add(1)
	}
}

// tell calls Func, one call after the other.
func (r *running) tell() {
	for {
		select {
		case <-r.stopped:
			return
		case s := <-r.calls:
			select {
			case <-r.stopped:
				return
			default:
			}
			s.Missed = r.missed.Swap(0)
			if !s.Ended {
				s.Trace = r.writeTrace(s)
			}
			r.protect(s)
		}
	}
}

func (r *running) protect(s Stall) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("drawbridge: the Func of an inspect.Alarm panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	r.Func(s)
}

// logStall is the Func of an alarm that has none.
func logStall(s Stall) {
	l := s.Lock
	attrs := []slog.Attr{
		slog.String("lock", l.Name), slog.Uint64("id", l.ID), slog.String("state", l.Words), slog.Duration("for", s.For),
	}
	level, message := slog.LevelWarn, "drawbridge: a lock is stuck"
	if s.Ended {
		level, message = slog.LevelInfo, "drawbridge: a lock goes on"
	} else {
		for i, h := range l.Holders[:min(len(l.Holders), 3)] {
			attrs = append(attrs, slog.String(fmt.Sprintf("holder%d", i+1), describeCall(h)))
		}
		if s.Oldest != nil {
			attrs = append(attrs, slog.String("waiter", describeCall(*s.Oldest)))
		}
		attrs = append(attrs, slog.Int("waiters", s.Waiters))
		if s.Trace != "" {
			attrs = append(attrs, slog.String("trace", s.Trace))
		}
	}
	if s.Missed > 0 {
		attrs = append(attrs, slog.Uint64("missed", s.Missed))
	}
	slog.LogAttrs(context.Background(), level, message, attrs...)
}

func describeCall(c Call) string {
	where := ""
	if len(c.Stack) > 0 {
		where = fmt.Sprintf(" at %s:%d", c.Stack[0].File, c.Stack[0].Line)
	}
	return fmt.Sprintf("%s for %s%s%s", c.Mode, Duration(c.Age), who(c.Key, c.Labels), where)
}

// writeTrace writes what the flight recorder has, if there is one and the last
// time is long enough ago, and returns the name of the file.
func (r *running) writeTrace(s Stall) string {
	if r.FlightRecorder == nil || !r.FlightRecorder.Enabled() || !r.traced.IsZero() && time.Since(r.traced) < traceEvery {
		return ""
	}
	r.traced = time.Now()
	name, err := r.writeTraceFile(s)
	if err != nil {
		slog.Error("drawbridge: the flight recorder's trace of a stall could not be written", "lock", s.Lock.Name, "err", err)
		return ""
	}
	r.traces = append(r.traces, name)
	if n := len(r.traces) - tracesKept; n > 0 {
		os.Remove(r.traces[0])
		r.traces = slices.Delete(r.traces, 0, n)
	}
	return name
}

func (r *running) writeTraceFile(s Stall) (name string, err error) {
	// CreateTemp makes files of mode 0600, and never opens one that is
	// there already, nor follows a link.
	pattern := fmt.Sprintf("stall-%s-%s-*.trace", r.traced.UTC().Format("20060102T150405"), fileName(s.Lock.Name))
	f, err := os.CreateTemp(cmp.Or(r.Dir, "."), pattern)
	if err != nil {
		return "", err
	}
	_, err = r.FlightRecorder.WriteTo(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return filepath.Clean(f.Name()), nil
}

// fileName keeps of a name what may be in the name of a file everywhere.
func fileName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	return clean[:min(len(clean), 40)]
}
