//go:build explore

package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
)

// Job is a program and how far its schedules are searched.
type Job struct {
	Group string // for the counts
	Name  string // a program's text, or the name of one of the Scenarios
	Bound int    // preemptions, below 0 all schedules
	First bool   // the first failure is enough, it need not be the shortest
}

// Suite returns the jobs of a suite: "ci" takes two cores less than three
// minutes, "full" goes further.
func Suite(name string) ([]Job, error) {
	var jobs []Job
	add := func(group string, bound int, programs ...Program) {
		for _, p := range programs {
			jobs = append(jobs, Job{Group: group, Name: p.String(), Bound: bound})
		}
	}
	full := false
	switch name {
	case "full":
		full = true
	case "ci":
	default:
		return nil, fmt.Errorf("there is no suite %q; there are ci and full", name)
	}
	named := 1
	if full {
		named = 2
	}
	for _, s := range Scenarios() {
		group := "scenarios"
		if s.Most == 0 {
			group = "costs"
		}
		jobs = append(jobs, Job{Group: group, Name: s.Name, Bound: min(named+1, s.Most)})
	}
	for _, text := range Named() {
		p, err := ParseProgram(text)
		if err != nil {
			return nil, err
		}
		add("named", named, p)
	}
	add("three actors, no contexts", named+2, Plain()...)
	if full {
		add("two actors", -1, Small(2)...)
		add("three actors", 2, Small(3)...)
		for _, start := range []string{"watched", "hot", "striped"} {
			add("two actors, "+start, -1, starting(start, 2)...)
			add("three actors, "+start, 1, starting(start, 3)...)
		}
	} else {
		steady := slices.DeleteFunc(Small(2), Program.cancelled)
		add("two actors, no context ends", -1, steady...)
		unsteady := slices.DeleteFunc(Small(2), func(p Program) bool { return !p.cancelled() })
		add("two actors, contexts that end", 3, unsteady...)
		add("three actors", 1, Small(3)...)
		for _, start := range []string{"watched", "hot", "striped"} {
			add("two actors, "+start, 2, starting(start, 2)...)
		}
	}
	return jobs, nil
}

// starting returns the small programs of so many actors on locks that are in
// a state at the start.
func starting(state string, actors int) []Program {
	all := Small(actors)
	all = slices.DeleteFunc(all, func(p Program) bool {
		return state != "watched" && (p.Mutex || p.Policy == drawbridge.PreferReaders) // never striped
	})
	for i := range all {
		all[i].Start = state
	}
	return all
}

// Search returns the search of a job.
func (j Job) Search() (*sched.Search, error) {
	if strings.Contains(j.Name, ":") {
		p, err := ParseProgram(j.Name)
		if err != nil {
			return nil, err
		}
		return &sched.Search{New: p.New(), Preemptions: j.Bound, Cached: true}, nil
	}
	for _, s := range Scenarios() {
		if s.Name == j.Name {
			return &sched.Search{New: s.New, Preemptions: j.Bound}, nil
		}
	}
	return nil, fmt.Errorf("there is no scenario %q, and a program has a colon after its lock", j.Name)
}

// Run searches the schedules of a job. A failure is the shortest that was
// found, with its trace.
func (j Job) Run() (sched.Result, error) {
	s, err := j.Search()
	if err != nil {
		return sched.Result{}, err
	}
	r := s.Run()
	if r.Failure != nil && !j.First {
		r.Failure = s.Shortest(r.Failure)
	}
	return r, nil
}

// Report writes a failure for a reader, with the command that shows it again.
func Report(j Job, f *sched.Failure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", f.Err)
	for i, line := range f.Trace {
		fmt.Fprintf(&b, "%4d  %s\n", i+1, line)
	}
	fmt.Fprintf(&b, "\nprogram   %s\nschedule  %s\nreplay    go run -tags explore ./internal/explore/cmd/explore -program '%s' -schedule %s\n",
		j.Name, f.Schedule, j.Name, f.Schedule)
	return b.String()
}
