// Package lab runs the starvation experiment: readers whose sections overlap
// without end, and a writer that wants to get in.
package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lanes"
)

// Ask is when the writers of an experiment first ask that does not say: late
// enough for every reader to be inside, and in the middle of their sections.
const Ask = 22 * time.Millisecond

// Experiment is what is done to every lock.
type Experiment struct {
	Readers  int
	Hold     time.Duration // of one read or write
	Writers  int
	Every    time.Duration // a writer asks again this long after it asked; 0 for once
	Deadline time.Duration // a writer gives up after this wait
	Asking   time.Duration // when the writers first ask; 0 for Ask
}

// Ask is when the writers first ask.
func (e Experiment) Ask() time.Duration {
	if e.Asking == 0 {
		return Ask
	}
	return e.Asking
}

// Length is how long the experiment takes. It is the same for every lock,
// however soon its writer gets in, so that the reads done can be compared.
func (e Experiment) Length() time.Duration { return e.Ask() + e.Deadline + 4*e.Hold }

// Check says what is wrong with the experiment.
func (e Experiment) Check() error {
	const most = 10_000
	switch {
	case e.Readers < 1 || e.Readers > most:
		return fmt.Errorf("there must be 1 to %d readers, not %d", most, e.Readers)
	case e.Writers < 0 || e.Writers > most:
		return fmt.Errorf("there must be 0 to %d writers, not %d", most, e.Writers)
	case e.Hold <= 0 || e.Hold > time.Minute:
		return fmt.Errorf("a section must take more than 0s and at most 1m, not %s", e.Hold)
	case e.Every < 0:
		return fmt.Errorf("a writer cannot ask every %s; give a positive time, or 0s to ask once", e.Every)
	case e.Deadline <= 0 || e.Deadline > time.Minute:
		return fmt.Errorf("a writer must wait for more than 0s and at most 1m, not %s", e.Deadline)
	}
	return nil
}

// Result is what one lock made of the experiment.
type Result struct {
	Contender       contender.Contender
	PeakReaders     int // inside at once
	Reads           int // done
	LongestRead     time.Duration
	LongestReadWait time.Duration
	Writes          []Write
	Lanes           []lanes.Lane // the readers, then the writers

	// What only locks between processes are asked for.
	Acquired         []time.Duration // how long each grant took, to read or write, in order of length
	MessagesPerGrant float64         // to the engine
}

// Write is one attempt to write.
type Write struct {
	Asked  time.Duration // since the beginning
	Waited time.Duration
	GaveUp bool // starved until the deadline
}

// Run does the experiment with a new lock and leaves no goroutine behind.
func (e Experiment) Run(c contender.Contender) Result {
	var first sync.WaitGroup // the first attempts of the writers
	first.Add(e.Writers)
	r := run{Experiment: e, lock: c.New(), began: time.Now(), asked: first.Done}
	ctx, end := context.WithCancel(context.Background())
	defer end()

	readers := make([]reader, e.Readers)
	writers := make([]writer, e.Writers)
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() { r.read(ctx, i, &readers[i]) })
	}
	for i := range writers {
		all.Go(func() { r.write(ctx, i, &writers[i]) })
	}
	// On a busy machine a writer may ask so late that its deadline is after
	// the end. The readers keep it company until then.
	time.Sleep(e.Length())
	first.Wait()
	end()
	all.Wait()
	r.lock.Settle()

	result := Result{Contender: c, PeakReaders: int(r.peak.Load())}
	for i := range readers {
		result.Reads += readers[i].reads
		result.LongestRead = max(result.LongestRead, readers[i].longestHold)
		result.LongestReadWait = max(result.LongestReadWait, readers[i].longestWait)
		result.Lanes = append(result.Lanes, readers[i].lane.Lane)
	}
	for i := range writers {
		result.Writes = append(result.Writes, writers[i].writes...)
		result.Lanes = append(result.Lanes, writers[i].lane.Lane)
	}
	return result
}

type run struct {
	Experiment
	lock         contender.Lock
	began        time.Time
	asked        func()       // after the first attempt of a writer
	inside, peak atomic.Int64 // readers
}

type reader struct {
	lane                     recorder
	reads                    int
	longestHold, longestWait time.Duration
	acquired                 []time.Duration
	err                      error // that ended it, in the end that of its context
}

type writer struct {
	lane   recorder
	writes []Write
	err    error // of the last attempt
}

// recorder writes the lane of one goroutine, on that goroutine.
type recorder struct{ lanes.Lane }

func (l *recorder) wait(asked, got time.Duration) {
	const callCost = 50 * time.Microsecond // a wait that is shorter was none
	if got-asked > callCost {
		l.hold(lanes.Waiting, asked, got)
	}
}

func (l *recorder) hold(a lanes.Activity, from, to time.Duration) {
	l.Segments = append(l.Segments, lanes.Segment{Activity: a, From: from, To: to})
}

func (r *run) now() time.Duration { return time.Since(r.began) }

// read reads over and over. The readers begin one after another within the
// first section, so that some are always inside: the door, not chance, decides
// whether the writer meets an empty lock.
func (r *run) read(ctx context.Context, i int, me *reader) {
	me.lane.Name = fmt.Sprintf("reader %d", i+1)
	time.Sleep(r.Hold * time.Duration(i) / time.Duration(r.Readers))
	for ctx.Err() == nil {
		asked := r.now()
		err := r.lock.RLock(ctx)
		got := r.now()
		me.longestWait = max(me.longestWait, got-asked)
		me.lane.wait(asked, got)
		if err != nil {
			me.err = err
			return
		}
		me.acquired = append(me.acquired, got-asked)
		n := r.inside.Add(1)
		for old := r.peak.Load(); n > old && !r.peak.CompareAndSwap(old, n); old = r.peak.Load() {
		}
		time.Sleep(r.Hold)
		r.inside.Add(-1)
		left := r.now()
		r.lock.RUnlock()
		me.reads++
		me.longestHold = max(me.longestHold, left-got)
		me.lane.hold(lanes.Reading, got, left)
	}
}

func (r *run) write(ctx context.Context, i int, me *writer) {
	me.lane.Name = "writer"
	if r.Writers > 1 {
		me.lane.Name = fmt.Sprintf("writer %d", i+1)
	}
	within := context.Background() // for the first attempt, which outlives the experiment if it must
	for next := r.Ask(); sleep(ctx, next-r.now()) == nil; {
		asked := r.now()
		bounded, cancel := context.WithTimeout(within, r.Deadline)
		err := r.lock.Lock(bounded)
		cancel()
		got := r.now()
		me.lane.wait(asked, got)
		me.err = err
		if within != ctx {
			within = ctx
			r.asked()
		}
		// An attempt that the end of the experiment cut short says
		// nothing about the lock.
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			me.writes = append(me.writes, Write{Asked: asked, Waited: got - asked, GaveUp: err != nil})
		}
		if err == nil {
			time.Sleep(r.Hold)
			left := r.now()
			r.lock.Unlock()
			me.lane.hold(lanes.Writing, got, left)
		}
		if r.Every == 0 {
			return
		}
		next = max(asked+r.Every, r.now())
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
