//go:build explore

package explore

import (
	"errors"
	"testing"

	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
)

// check searches the schedules of a job and fails with the shortest bad one.
func check(t *testing.T, j Job) {
	t.Helper()
	r, err := j.Run()
	if err != nil {
		t.Fatal(err)
	}
	if r.Failure != nil {
		t.Error(Report(j, r.Failure))
	}
}

func TestScenarios(t *testing.T) {
	bound := 2
	if testing.Short() {
		bound = 1
	}
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) { check(t, Job{Name: s.Name, Bound: min(bound, s.Most)}) })
	}
}

func TestEveryScheduleOfTwoActors(t *testing.T) {
	for i, p := range Small(2) {
		if testing.Short() && i%10 != 0 {
			continue
		}
		check(t, Job{Name: p.String(), Bound: -1})
	}
}

// TestPruningLosesNoState compares a search that leaves off schedules from
// states it has seen with one that does not: they must come to the same states.
func TestPruningLosesNoState(t *testing.T) {
	unpruned, pruned := 0, 0
	for _, text := range []string{
		"Balanced: RLock Release | Lock Release",
		"FIFO: ULockContext UpgradeContext! Release | RLock Release",
		"Balanced start=hot: RLock Release | Lock Release",
		"PreferWriters start=watched: RLock Release | LockContext Downgrade Release",
		"Mutex Balanced: Lock Release | TryLock Release",
	} {
		p, err := ParseProgram(text)
		if err != nil {
			t.Fatal(err)
		}
		ends := func(cached bool) (map[uint64]bool, int) {
			found := make(map[uint64]bool)
			s := sched.Search{Preemptions: 4, Cached: cached, New: func() sched.World {
				return &ending{newWorld(p), found}
			}}
			r := s.Run()
			if r.Failure != nil {
				t.Fatal(r.Failure.Err)
			}
			return found, r.Executions
		}
		all, many := ends(false)
		some, few := ends(true)
		if len(all) != len(some) {
			t.Errorf("%s: %d schedules come to %d states, and %d that are left after pruning to %d", text, many, len(all), few, len(some))
		}
		unpruned, pruned = unpruned+many, pruned+few
	}
	if pruned >= unpruned {
		t.Errorf("%d of %d schedules are left after pruning", pruned, unpruned)
	}
}

// ending takes down the states in which a program ends and those in which
// everybody who calls is asleep.
type ending struct {
	*world
	found map[uint64]bool
}

func (e *ending) note() {
	var h sched.Hash
	e.Shared(&h)
	e.Ghosts(&h)
	e.found[h.Sum()] = true
}

func (e *ending) End() error {
	e.note()
	return e.world.End()
}

func (e *ending) Check() error {
	e.note()
	return e.world.Check()
}

func TestScheduleText(t *testing.T) {
	for _, text := range []string{"A", "A3BaC12", "B2b2"} {
		s, err := sched.ParseSchedule(text)
		if err != nil || s.String() != text {
			t.Errorf("%q is read as %q, %v", text, s, err)
		}
	}
	for _, text := range []string{"3A", "A-", "A9999999"} {
		if s, err := sched.ParseSchedule(text); err == nil {
			t.Errorf("%q is read as %q", text, s)
		}
	}
}

func TestProgramText(t *testing.T) {
	for _, p := range append(Small(2)[:40], Program{Start: "hot", Clock: 2, Scripts: Small(1)[3].Scripts}) {
		q, err := ParseProgram(p.String())
		if err != nil || q.String() != p.String() {
			t.Errorf("%q is read as %q, %v", p, q, err)
		}
	}
	for _, text := range []string{"", "Balanced RLock", "Fair: RLock", "FIFO: Grab", "FIFO clock=x: RLock"} {
		if p, err := ParseProgram(text); err == nil {
			t.Errorf("%q is read as %q", text, p)
		}
	}
}

var errLost = errors.New("an update is lost")

// The steps of a violation come to the same one again.
func TestReplay(t *testing.T) {
	broken := func() sched.World {
		s := new(scene)
		n := 0
		for range 2 {
			s.actor(func() {
				sched.Step(nil)
				v := n
				sched.Note("loads %d", v)
				sched.Step(nil)
				n = v + 1
				sched.Note("stores %d", n)
			})
		}
		s.end = func() error {
			if n != 2 {
				return errLost
			}
			return nil
		}
		return s
	}
	s := sched.Search{New: broken, Preemptions: -1}
	r := s.Run()
	if r.Failure == nil {
		t.Fatal("a lost update was not found")
	}
	f := s.Shortest(r.Failure)
	if f.Err != errLost || len(f.Trace) != 4 || len(f.Schedule) != 6 {
		t.Errorf("the shortest schedule is %s with %q: %v", f.Schedule, f.Trace, f.Err)
	}
	if again := s.Replay(f.Schedule); again == nil || again.Err != errLost {
		t.Errorf("replayed, it ends with %v", again)
	}
}
