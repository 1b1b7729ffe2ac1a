package clustertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// Outcome says how an attempt ended.
type Outcome uint8

const (
	GaveUp   Outcome = iota // never granted
	Unlocked                // granted and given back
	Lost                    // granted and lost
)

// Attempt is one call for a lock and what became of it. The times count from the start of the storm, on one monotonic
// clock.
type Attempt struct {
	Client  int
	Name    string
	Mode    cluster.Mode
	Outcome Outcome
	Token   cluster.Token
	Note    int64 // what Storm.Note said of the hold

	Asked    time.Duration // the call began
	Answered time.Duration // it returned
	Leaving  time.Duration // Unlock was called; for a lost hold the same as Asked: it may have ended before the answer came
	Left     time.Duration // Unlock returned; for a lost hold, its holder knew
}

// Access is one operation that a fence let through, in the order in which it did.
type Access struct {
	Name  string
	Mode  cluster.Mode
	Token cluster.Token
	Held  bool // Held returned nil right before
}

// History is what a storm saw.
type History struct {
	Attempts []Attempt // by Asked
	Accesses []Access
}

// Storm is a number of clients that take and give back locks at random.
type Storm struct {
	Lockers []*cluster.Locker // each has as many clients as Clients says
	Clients int
	Names   []string
	Calls   int // of all clients together
	// Cancels is the share of calls, of 1, whose context ends soon.
	Cancels float64
	// Hold is how long a hold lasts at most.
	Hold time.Duration
	// Note, if not nil, is asked about each hold right after its grant.
	Note func(*cluster.Hold) int64
}

// Run runs the storm and returns its history. It returns an error if a call fails in a way that it must not. Losses are
// not errors: whoever wants them brings them about meanwhile.
func (s Storm) Run(ctx context.Context) (History, error) {
	r := running{start: time.Now(), fences: make(map[string]*cluster.Fence)}
	for _, name := range s.Names {
		r.fences[name] = new(cluster.Fence)
	}
	calls := make(chan struct{}, s.Calls)
	for range s.Calls {
		calls <- struct{}{}
	}
	close(calls)
	var wg sync.WaitGroup
	for i, l := range s.Lockers {
		for c := range s.Clients {
			wg.Go(func() {
				for range calls {
					r.attempt(ctx, s, l, i*s.Clients+c)
				}
			})
		}
	}
	wg.Wait()
	slices.SortFunc(r.history.Attempts, func(a, b Attempt) int { return cmp.Compare(a.Asked, b.Asked) })
	return r.history, errors.Join(r.errs...)
}

type running struct {
	start  time.Time
	fences map[string]*cluster.Fence

	mu      sync.Mutex
	history History
	errs    []error
}

func (r *running) attempt(ctx context.Context, s Storm, l *cluster.Locker, client int) {
	a := Attempt{Client: client, Name: s.Names[rand.N(len(s.Names))], Mode: modes[rand.N(2)], Asked: time.Since(r.start)}
	asking := ctx
	if rand.Float64() < s.Cancels {
		soon, cancel := context.WithTimeout(ctx, rand.N(4*s.Hold+1))
		defer cancel()
		asking = soon
	}
	h, err := take(asking, l, a.Name, a.Mode)
	a.Answered = time.Since(r.start)
	switch {
	case err != nil:
		a.Leaving, a.Left = a.Answered, a.Answered
		if asking.Err() != nil && errors.Is(err, asking.Err()) && ctx.Err() == nil || errors.Is(err, cluster.ErrLost) {
			err = nil
		}
	default:
		a.Token = h.Token()
		if s.Note != nil {
			a.Note = s.Note(h)
		}
		r.use(h, a)
		time.Sleep(rand.N(s.Hold + 1))
		r.use(h, a)
		a.Leaving = time.Since(r.start)
		err = h.Unlock(ctx)
		a.Left = time.Since(r.start)
		a.Outcome = Unlocked
		if errors.Is(err, cluster.ErrLost) {
			a.Outcome, a.Leaving, err = Lost, a.Asked, nil
			r.use(h, a) // as a holder would that does not know
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Attempts = append(r.history.Attempts, a)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%+v: %w", a, err))
	}
}

// use does one operation under the fence.
func (r *running) use(h *cluster.Hold, a Attempt) {
	f, operate := r.fences[a.Name], (*cluster.Fence).Read
	if a.Mode == cluster.Write {
		operate = (*cluster.Fence).Write
	}
	held := h.Held() == nil
	err := operate(f, a.Token, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.history.Accesses = append(r.history.Accesses, Access{Name: a.Name, Mode: a.Mode, Token: a.Token, Held: held})
		return nil
	})
	if err != nil && !errors.Is(err, cluster.ErrStale) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	}
}

// Check looks for what no history may show: two holds that conflict and were both certain at a moment, a token that is
// not above that of a write hold granted before it was asked for, or an access after one with a higher token.
func (h History) Check() error {
	var errs []error
	for name, as := range h.byName() {
		errs = append(errs, overlaps(name, as), risingTokens(name, as))
	}
	highest := make(map[string]cluster.FenceState)
	for _, a := range h.Accesses {
		s := highest[a.Name]
		if a.Token < s.Write || a.Mode == cluster.Write && a.Token <= s.Read {
			errs = append(errs, fmt.Errorf("%q: %v with token %d after %+v", a.Name, a.Mode, a.Token, s))
		}
		if a.Mode == cluster.Write {
			s.Write = max(s.Write, a.Token)
		} else {
			s.Read = max(s.Read, a.Token)
		}
		highest[a.Name] = s
	}
	return errors.Join(errs...)
}

// byName has the granted attempts of each name.
func (h History) byName() map[string][]Attempt {
	m := make(map[string][]Attempt)
	for _, a := range h.Attempts {
		if a.Outcome != GaveUp {
			m[a.Name] = append(m[a.Name], a)
		}
	}
	return m
}

func overlaps(name string, as []Attempt) error {
	slices.SortFunc(as, func(a, b Attempt) int { return cmp.Compare(a.Answered, b.Answered) })
	var writer, any Attempt // of those before, the ones that leave last
	for _, a := range as {
		if a.Outcome == Lost {
			continue // never certain
		}
		if last := writer; a.Answered < last.Leaving {
			return fmt.Errorf("%q was held twice: %+v and %+v", name, last, a)
		}
		if last := any; a.Mode == cluster.Write && a.Answered < last.Leaving {
			return fmt.Errorf("%q was held twice: %+v and %+v", name, last, a)
		}
		if a.Leaving > any.Leaving {
			any = a
		}
		if a.Mode == cluster.Write && a.Leaving > writer.Leaving {
			writer = a
		}
	}
	return nil
}

func risingTokens(name string, as []Attempt) error {
	answered := slices.Clone(as)
	slices.SortFunc(answered, func(a, b Attempt) int { return cmp.Compare(a.Answered, b.Answered) })
	slices.SortFunc(as, func(a, b Attempt) int { return cmp.Compare(a.Asked, b.Asked) })
	var before Attempt // the write hold with the highest token that was granted before a was asked for
	for _, a := range as {
		for len(answered) > 0 && answered[0].Answered < a.Asked {
			if b := answered[0]; b.Mode == cluster.Write && b.Token > before.Token {
				before = b
			}
			answered = answered[1:]
		}
		if a.Token < before.Token || a.Mode == cluster.Write && a.Token == before.Token {
			return fmt.Errorf("%q: token of %+v is not above that of %+v", name, a, before)
		}
	}
	return nil
}

// shortStorm is the suite's: with drops, and nothing left after it.
func shortStorm(s *suite) {
	ms := s.machines(3)
	storm := Storm{Clients: 4, Names: []string{s.name(), s.name()}, Calls: 400, Cancels: 0.1, Hold: 2 * time.Millisecond}
	for _, m := range ms {
		storm.Lockers = append(storm.Lockers, m.Locker)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				s.Drop(s, ms[0].engine)
			}
		}
	}()
	h, err := storm.Run(s.ctx())
	close(stop)
	<-stopped
	if err != nil {
		s.Error(err)
	}
	if err := h.Check(); err != nil {
		s.Error(err)
	}
	count := make(map[Outcome]int)
	for _, a := range h.Attempts {
		count[a.Outcome]++
	}
	s.Logf("%d gave up, %d unlocked, %d lost", count[GaveUp], count[Unlocked], count[Lost])
	if count[Unlocked] == 0 {
		s.Error("nobody was granted anything")
	}
	for _, name := range storm.Names {
		s.empty(ms[0], name)
	}
}
