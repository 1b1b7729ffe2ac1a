package sched

import (
	"errors"
	"fmt"
	"strings"
)

// World is one execution of a program: its objects, made anew each time, and
// what is known about them.
type World interface {
	// Actors returns the actors, in an order that is always the same.
	Actors() []Body

	// Shared adds everything that the actors share to h. An object that is
	// left out of it makes the search unsound.
	Shared(h *Hash)

	// Ghosts adds what Check and End depend on beyond that.
	Ghosts(h *Hash)

	// Look is called before each decision.
	Look()

	// Check is called before each decision that no execution has taken
	// before. An error is a violation.
	Check() error

	// Event is called when the code under exploration tells something.
	Event(e Event, actor int)

	// End is called when all actors have finished.
	End() error
}

// Body is what an actor does.
type Body struct {
	Name string
	Run  func()
}

// Search goes through the schedules of a program.
type Search struct {
	New func() World

	// Preemptions is how often an actor that could go on may be stopped for
	// another; below 0 there is no bound.
	Preemptions int

	// Cached: schedules that lead to a state that was seen are left off
	// there. World.Shared must be complete.
	Cached bool

	// Executions limits the search; 0 does not.
	Executions int

	Result Result

	caching bool
	nodes   []node
	seen    map[uint64]mark
	longest int // executions with more steps than this are left off; 0 does not
	follow  []Choice
	choices []Choice
}

// Result is what a search has found.
type Result struct {
	Executions int // schedules that were run, those that were left off included
	Ends       int // that came to the end
	States     int // different ones, 0 without Cached
	Steps      int
	Depth      int  // steps of the longest
	Cut        bool // there were more than Search.Executions
	Failure    *Failure
}

// Failure is a schedule that violates something.
type Failure struct {
	Err      error
	Schedule Schedule
	Trace    []string
}

// node is a decision of the execution that can be taken in another way.
type node struct {
	choices []Choice
	taken   int
	at      int // step
}

// mark is how a state was reached.
type mark struct{ stops, steps uint16 }

// Schedule is the sequence of decisions of one execution.
type Schedule []Choice

// String writes a letter for each step, small for the second of two ways, and
// a count after those that repeat.
func (s Schedule) String() string {
	var b strings.Builder
	for i := 0; i < len(s); {
		n := 1
		for i+n < len(s) && s[i+n] == s[i] {
			n++
		}
		letter := 'A' + rune(s[i].Actor)
		if s[i].Way == 1 {
			letter += 'a' - 'A'
		}
		b.WriteRune(letter)
		if n > 1 {
			fmt.Fprint(&b, n)
		}
		i += n
	}
	return b.String()
}

// ParseSchedule reads what [Schedule.String] has written.
func ParseSchedule(text string) (Schedule, error) {
	var s Schedule
	for i := 0; i < len(text); {
		var c Choice
		switch b := text[i]; {
		case b >= 'A' && b <= 'Z':
			c.Actor = b - 'A'
		case b >= 'a' && b <= 'z':
			c = Choice{Actor: b - 'a', Way: 1}
		default:
			return nil, fmt.Errorf("a schedule has letters with counts after them, not %q", text[i:])
		}
		n := 0
		for i++; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
			n = n*10 + int(text[i]-'0')
			if n > 1e6 {
				return nil, errors.New("a count in the schedule is too large")
			}
		}
		for range max(n, 1) {
			s = append(s, c)
		}
	}
	return s, nil
}

// Run searches until a violation is found or there is nothing left.
func (s *Search) Run() Result {
	s.caching = s.Cached
	s.nodes = s.nodes[:0]
	s.seen = make(map[uint64]mark)
	for {
		e := s.execute(false)
		s.Result.Executions++
		s.Result.Steps += len(e.steps)
		s.Result.Depth = max(s.Result.Depth, len(e.steps))
		if e.failure != nil {
			s.Result.Failure = &Failure{Err: e.failure, Schedule: e.steps}
			break
		}
		if !s.backtrack() {
			break
		}
		if s.Executions > 0 && s.Result.Executions >= s.Executions {
			s.Result.Cut = true
			break
		}
	}
	s.Result.States = len(s.seen)
	return s.Result
}

// Shortest looks for a schedule that fails with the fewest preemptions and,
// among those, the fewest steps, where f is one that fails. It gives up after
// some time and returns the best one then.
func (s *Search) Shortest(f *Failure) *Failure {
	best := *f
	for bound := 0; bound <= 3; bound++ {
		t := Search{New: s.New, Preemptions: bound, Cached: s.Cached, Executions: 200_000, longest: len(best.Schedule)}
		found := false
		for {
			r := t.Run()
			if r.Failure == nil {
				break
			}
			found = true
			best = *r.Failure
			t = Search{New: s.New, Preemptions: bound, Cached: s.Cached, Executions: 200_000, longest: len(best.Schedule) - 1}
			if t.longest == 0 {
				break
			}
		}
		if found {
			break
		}
	}
	if again := s.Replay(best.Schedule); again != nil {
		return again
	}
	return &best
}

// Replay runs one schedule and returns how it fails, with what happened step by
// step, or nil if it does not fail. Where the schedule ends early, the actor
// that runs goes on as long as it can.
func (s *Search) Replay(schedule Schedule) *Failure {
	t := Search{New: s.New, Preemptions: -1, follow: schedule}
	e := t.execute(true)
	f := &Failure{Err: e.failure, Schedule: e.steps, Trace: e.trace}
	if e.failure == nil {
		return nil
	}
	return f
}

// Trace is Replay for a schedule that need not fail.
func (s *Search) Trace(schedule Schedule) (lines []string, failure error) {
	t := Search{New: s.New, Preemptions: -1, follow: schedule}
	e := t.execute(true)
	return e.trace, e.failure
}

func (s *Search) execute(tracing bool) *execution {
	e := &execution{search: s, tracing: tracing}
	x = e
	generation++
	defer func() { x = nil }()
	e.world = s.New()
	for _, b := range e.world.Actors() {
		e.add(b.Name, b.Run)
	}
	e.run()
	return e
}

// backtrack changes the last decision that can be taken in another way.
func (s *Search) backtrack() bool {
	for len(s.nodes) > 0 {
		n := &s.nodes[len(s.nodes)-1]
		if n.taken++; n.taken < len(n.choices) {
			return true
		}
		s.nodes = s.nodes[:len(s.nodes)-1]
	}
	return false
}

// choose decides which actor takes the next step; last took the one before, or
// is about to wait, or has finished.
func (x *execution) choose(last *Actor) (Choice, bool) {
	s := x.search
	x.world.Look()
	if n := len(s.nodes); n == 0 || len(x.steps) > s.nodes[n-1].at {
		// Up to there, this is the execution before.
		a := running
		running = nil
		err := x.world.Check()
		running = a
		if err != nil {
			x.fail(err)
		}
	}
	if x.stopped {
		return Choice{}, false
	}

	// The actor that runs comes first: going on costs nothing.
	choices := s.choices[:0]
	unfinished := false
	add := func(a *Actor) {
		if a.finished {
			return
		}
		unfinished = true
		ways := 1
		if a.blocked != nil {
			ways = a.blocked.Ready()
		}
		for way := range ways {
			choices = append(choices, Choice{uint8(a.Index), uint8(way)})
		}
	}
	if last != nil {
		add(last)
	}
	goesOn := len(choices) // from here on it is a preemption
	for _, a := range x.actors {
		if a != last {
			add(a)
		}
	}
	s.choices = choices

	if len(choices) == 0 {
		x.stopped = true
		if unfinished {
			x.fail(errors.New("deadlock: nobody can go on\n" + x.sleepers()))
		} else {
			s.Result.Ends++
			if err := x.world.End(); err != nil {
				x.fail(err)
			}
		}
		return Choice{}, false
	}

	at := len(x.steps)
	var c Choice
	switch {
	case s.follow != nil:
		c = choices[0]
		if at < len(s.follow) {
			c = s.follow[at]
			if !contains(choices, c) {
				x.fail(fmt.Errorf("step %d of the schedule cannot be taken: %s", at+1, Schedule{c}))
				return Choice{}, false
			}
		}
	default:
		if goesOn > 0 && s.Preemptions >= 0 && x.stops >= s.Preemptions {
			choices = choices[:goesOn]
		}
		if len(choices) == 1 {
			c = choices[0]
			break
		}
		i := x.node(at, last, goesOn, choices)
		if i < 0 {
			x.stopped = true
			return Choice{}, false
		}
		n := &s.nodes[i]
		if n.taken >= len(n.choices) || !contains(choices, n.choices[n.taken]) {
			x.fail(fmt.Errorf("the program is not deterministic: step %d", at))
			return Choice{}, false
		}
		c = n.choices[n.taken]
	}
	if goesOn > 0 && c.Actor != choices[0].Actor {
		x.stops++
	}
	x.steps = append(x.steps, c)
	if len(x.steps) > 20_000 {
		x.fail(errors.New("livelock: 20,000 steps and no end"))
		return Choice{}, false
	}
	if s.longest > 0 && len(x.steps) > s.longest {
		x.stopped = true
		return Choice{}, false
	}
	return c, true
}

// node returns the index of the decision at a step: one that is to be taken as
// before, or a new one. It returns -1 if the state was seen before.
func (x *execution) node(at int, last *Actor, goesOn int, choices []Choice) int {
	s := x.search
	if i := x.visited(at); i < len(s.nodes) && s.nodes[i].at == at {
		return i
	}
	if s.caching {
		key := x.key()
		if s.Preemptions >= 0 && goesOn > 0 {
			key = mix(key, uint64(last.Index)+1)
		}
		now := mark{steps: uint16(min(at, 1<<16-1))}
		if s.Preemptions >= 0 {
			now.stops = uint16(x.stops)
		}
		if old, ok := s.seen[key]; ok && old.stops <= now.stops && (s.longest == 0 || old.steps <= now.steps) {
			return -1
		}
		s.seen[key] = now
	}
	s.nodes = append(s.nodes, node{choices: append([]Choice(nil), choices...), at: at})
	return len(s.nodes) - 1
}

// visited returns the index of the first decision at or after step at.
func (x *execution) visited(at int) int {
	nodes := x.search.nodes
	low, high := 0, len(nodes)
	for low < high {
		if mid := (low + high) / 2; nodes[mid].at < at {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// key is the state: what is shared, what is checked, and where each actor is.
func (x *execution) key() uint64 {
	a := running
	running = nil
	var h Hash
	h.Add(uint64(x.time))
	x.world.Shared(&h)
	x.world.Ghosts(&h)
	running = a
	for _, a := range x.actors {
		if a.finished {
			h.Add(1)
		} else {
			h.Add(a.history + uint64(a.turns))
		}
	}
	return h.Sum()
}

func contains(choices []Choice, c Choice) bool {
	for _, d := range choices {
		if d == c {
			return true
		}
	}
	return false
}

func (x *execution) sleepers() string {
	var b strings.Builder
	for _, a := range x.actors {
		if !a.finished {
			fmt.Fprintf(&b, "\t%s sleeps\n", a.Name)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
