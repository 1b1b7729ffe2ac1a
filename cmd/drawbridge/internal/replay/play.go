package replay

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
)

// Result is how one lock fared.
type Result struct {
	Contender     contender.Contender
	Reads, Writes Waits
	Busy          float64 // share of the time in which somebody was inside
}

// Waits sums up one kind of request. The times count those who gave up too.
type Waits struct {
	Count, GaveUp int
	P50, P99, Max time.Duration
}

// Play sends the requests to a new lock of every contender, side by side: each
// arrival asks all of them at the same moment, so that whatever else this
// machine does, it does to all. It calls progress with the arrivals sent, and
// returns the results in the order of the contenders and by how much the
// latest arrival was late.
func (p Plan) Play(contenders []contender.Contender, progress func(sent int)) (results []Result, late time.Duration) {
	began := time.Now()
	var stages []*stage
	for _, c := range contenders {
		stages = append(stages, newStage(c.New(), p.Deadline))
	}
	over := make(chan struct{})
	var waits, sections sync.WaitGroup
	for i, a := range p.Arrivals {
		time.Sleep(time.Until(began.Add(a.At)))
		late = max(late, time.Since(began)-a.At)
		for _, s := range stages {
			waits.Add(1)
			sections.Go(func() { s.request(a, waits.Done, over) })
		}
		progress(i + 1)
	}
	// When nobody waits any more, those inside change no figure: a section of
	// an hour is not played to its end.
	waits.Wait()
	close(over)
	sections.Wait()
	for i, s := range stages {
		s.lock.Settle()
		results = append(results, s.result(contenders[i]))
	}
	return results, late
}

// stage is one lock and what is measured on it.
type stage struct {
	lock     contender.Lock
	deadline time.Duration
	began    time.Time

	mu            sync.Mutex
	reads, writes kind
	inside        int           // readers and writers
	opened        time.Time     // when the first of those inside came
	busy          time.Duration // with somebody inside, without those inside now
}

type kind struct {
	waits         *hdrhistogram.Histogram // in microseconds
	count, gaveUp int
}

func newStage(lock contender.Lock, deadline time.Duration) *stage {
	// Waits end at the deadline, give or take a busy machine.
	histogram := func() *hdrhistogram.Histogram {
		return hdrhistogram.New(1, time.Hour.Microseconds(), 3)
	}
	return &stage{
		lock: lock, deadline: deadline, began: time.Now(),
		reads: kind{waits: histogram()}, writes: kind{waits: histogram()},
	}
}

func (s *stage) request(a Arrival, waited func(), over <-chan struct{}) {
	acquire, release, kind := s.lock.RLock, s.lock.RUnlock, &s.reads
	if a.Write {
		acquire, release, kind = s.lock.Lock, s.lock.Unlock, &s.writes
	}
	asked := time.Now()
	bounded, cancel := context.WithTimeout(context.Background(), s.deadline)
	err := acquire(bounded)
	took := time.Since(asked)
	cancel()
	waited()

	s.mu.Lock()
	kind.count++
	// The histogram refuses what is over an hour, which no wait is.
	_ = kind.waits.RecordValue(took.Microseconds())
	if err != nil {
		kind.gaveUp++
		s.mu.Unlock()
		return
	}
	if s.inside++; s.inside == 1 {
		s.opened = time.Now()
	}
	s.mu.Unlock()

	section := time.NewTimer(a.Hold)
	select {
	case <-section.C:
	case <-over:
		section.Stop()
	}

	s.mu.Lock()
	if s.inside--; s.inside == 0 {
		s.busy += time.Since(s.opened)
	}
	s.mu.Unlock()
	release()
}

func (s *stage) result(c contender.Contender) Result {
	length := float64(time.Since(s.began))
	return Result{
		Contender: c,
		Reads:     s.reads.sum(), Writes: s.writes.sum(),
		Busy: float64(s.busy) / length,
	}
}

func (k kind) sum() Waits {
	at := func(percentile float64) time.Duration {
		return time.Duration(k.waits.ValueAtPercentile(percentile)) * time.Microsecond
	}
	return Waits{
		Count: k.count, GaveUp: k.gaveUp,
		P50: at(50), P99: at(99), Max: time.Duration(k.waits.Max()) * time.Microsecond,
	}
}
