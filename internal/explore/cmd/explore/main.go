//go:build explore

// Command explore runs programs on the locks in every order that a machine
// could, and shows the shortest one that breaks a promise.
//
//	explore                                  the suite that CI runs
//	explore -suite full                      everything
//	explore -program 'FIFO: Lock Release | LockContext! Release' -bound -1
//	explore -program … -schedule A3B2        one schedule, step by step
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge/internal/explore"
	"github.com/drawbridge-go/drawbridge/internal/explore/sched"
	"github.com/drawbridge-go/drawbridge/internal/record"
)

func main() {
	suite := flag.String("suite", "ci", "the `suite` to run: ci or full")
	match := flag.String("match", "", "run only the programs of the suite that match the `regexp`")
	program := flag.String("program", "", "search the schedules of one `program`")
	bound := flag.Int("bound", 2, "with -program: how many `preemptions` a schedule has at most, -1 for any number")
	schedule := flag.String("schedule", "", "with -program: run this `schedule` alone and show its steps")
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "how many `processes` search")
	record := flag.String("record", "", "write the counts into this `file`, between its markers for the suite")
	first := flag.Bool("first", false, "stop at the first program that breaks a promise, and take the programs in any order")
	limit := flag.Duration("limit", 5*time.Minute, "how `long` one program may take; none of a suite takes a tenth of this on a machine of its own")
	list := flag.Bool("list", false, "list the programs of the suite")
	worker := flag.Bool("worker", false, "search the jobs that come on standard input (used by the command itself)")
	flag.Parse()

	var err error
	switch {
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q; programs go behind -program", flag.Arg(0))
	case *worker:
		err = work(os.Stdin, os.Stdout)
	case *program != "" && *schedule != "":
		err = replay(*program, *schedule)
	case *program != "":
		err = search(*program, *bound)
	default:
		err = run(*suite, *match, *workers, *record, *list, *first, *limit)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "explore:", err)
		os.Exit(1)
	}
}

func replay(program, text string) error {
	schedule, err := sched.ParseSchedule(text)
	if err != nil {
		return err
	}
	s, err := explore.Job{Name: program}.Search()
	if err != nil {
		return err
	}
	lines, failure := s.Trace(schedule)
	for i, line := range lines {
		fmt.Printf("%4d  %s\n", i+1, line)
	}
	fmt.Println()
	if failure == nil {
		fmt.Println("ok: this schedule keeps every promise")
	}
	return failure
}

func search(program string, bound int) error {
	j := explore.Job{Name: program, Bound: bound}
	began := time.Now()
	r, err := j.Run()
	if err != nil {
		return err
	}
	fmt.Printf("%d schedules, %d states, %d steps, the longest has %d; %s\n",
		r.Executions, r.States, r.Steps, r.Depth, time.Since(began).Round(time.Millisecond))
	if r.Failure != nil {
		return errors.New(explore.Report(j, r.Failure))
	}
	return nil
}

// answer is what a worker finds out about a job.
type answer struct {
	Job     explore.Job
	Result  sched.Result
	Failure string
	Err     string
}

func work(in io.Reader, out io.Writer) error {
	enc := json.NewEncoder(out)
	for dec := json.NewDecoder(in); ; {
		var j explore.Job
		if err := dec.Decode(&j); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		a := answer{Job: j}
		r, err := j.Run()
		if err != nil {
			a.Err = err.Error()
		} else if r.Failure != nil {
			a.Failure = explore.Report(j, r.Failure)
			r.Failure = nil
		}
		a.Result = r
		if err := enc.Encode(a); err != nil {
			return err
		}
	}
}

// count is the sum of the results of one group.
type count struct {
	group                             string
	programs, schedules, ends, states int
	steps, depth                      int
	bound, most                       int // the least and the most of its programs
}

func run(suite, match string, workers int, file string, list, first bool, limit time.Duration) error {
	jobs, err := explore.Suite(suite)
	if err != nil {
		return err
	}
	if file != "" && (match != "" || first) {
		return errors.New("-record is for a whole suite: leave -match and -first out")
	}
	re, err := regexp.Compile(match)
	if err != nil {
		return err
	}
	jobs = slices.DeleteFunc(jobs, func(j explore.Job) bool { return !re.MatchString(j.Group + " / " + j.Name) })
	if list {
		for _, j := range jobs {
			fmt.Printf("%-14s  %2d  %s\n", j.Group, j.Bound, j.Name)
		}
		return nil
	}

	if first {
		// Some programs of every kind soon meet what all of one kind would
		// look for; those that take longest come last.
		shuffle := rand.New(rand.NewPCG(1, 2))
		shuffle.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
		cost := func(j explore.Job) int {
			switch {
			case j.Group == "costs", j.Group == "named":
				return 0
			case j.Bound < 0:
				return 2
			}
			return 1
		}
		slices.SortStableFunc(jobs, func(a, b explore.Job) int { return cost(a) - cost(b) })
		for i := range jobs {
			jobs[i].First = true
		}
	}

	began := time.Now()
	answers, err := share(jobs, workers, limit)
	if err != nil {
		return err
	}
	var counts []*count
	failed := 0
	for _, a := range answers {
		i := slices.IndexFunc(counts, func(c *count) bool { return c.group == a.Job.Group })
		if i < 0 {
			i = len(counts)
			counts = append(counts, &count{group: a.Job.Group, bound: a.Job.Bound, most: a.Job.Bound})
		}
		c := counts[i]
		c.bound, c.most = min(c.bound, a.Job.Bound), max(c.most, a.Job.Bound)
		c.programs++
		c.schedules += a.Result.Executions
		c.ends += a.Result.Ends
		c.states += a.Result.States
		c.steps += a.Result.Steps
		c.depth = max(c.depth, a.Result.Depth)
		if a.Failure != "" || a.Err != "" {
			if failed++; failed <= 3 {
				fmt.Printf("%s\nfound: %s%s\n", a.Job.Name, a.Failure, a.Err)
			}
		}
	}
	table := format(counts, time.Since(began), workers)
	fmt.Print(table)
	if failed > 0 {
		return fmt.Errorf("%d of %d programs break a promise", failed, len(jobs))
	}
	if file != "" {
		return record.Write(file, "explore "+suite, table)
	}
	return nil
}

// share gives the jobs to worker processes: there is one scheduler a process. A
// job that takes longer than limit ends with its process.
func share(jobs []explore.Job, workers int, limit time.Duration) ([]answer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	queue := make(chan explore.Job)
	ctx, stop := context.WithCancel(context.Background()) // when it is enough
	defer stop()
	go func() {
		defer close(queue)
		for _, j := range jobs {
			select {
			case queue <- j:
			case <-ctx.Done():
				return
			}
		}
	}()
	var (
		mu      sync.Mutex
		answers []answer
		failure error
		said    = time.Now() // how far it is
		all     sync.WaitGroup
	)
	for range workers {
		all.Go(func() {
			cmd := exec.CommandContext(ctx, self, "-worker")
			cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
			cmd.Stderr = os.Stderr
			in, _ := cmd.StdinPipe()
			out, _ := cmd.StdoutPipe()
			err := cmd.Start()
			enc, dec := json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
			for j := range queue {
				var a answer
				if err == nil {
					late := time.AfterFunc(limit, func() { cmd.Process.Kill() })
					if err = enc.Encode(j); err == nil {
						err = dec.Decode(&a)
					}
					if !late.Stop() && err != nil {
						err = fmt.Errorf("it did not end in %s", limit)
					}
				}
				if err != nil {
					a = answer{Job: j, Err: fmt.Sprintf("its process ended: %v", err)}
				}
				mu.Lock()
				if ctx.Err() != nil {
					mu.Unlock()
					break
				}
				answers = append(answers, a)
				if time.Since(said) >= 10*time.Second {
					said = time.Now()
					fmt.Fprintf(os.Stderr, "%s of %s programs, in %q\n", thousands(len(answers)), thousands(len(jobs)), j.Group)
				}
				mu.Unlock()
				if j.First && (a.Failure != "" || a.Err != "") {
					stop()
				}
			}
			in.Close()
			if e := cmd.Wait(); e != nil && ctx.Err() == nil {
				mu.Lock()
				failure = e
				mu.Unlock()
			}
		})
	}
	all.Wait()
	// In the order of the suite, whoever was first.
	at := make(map[explore.Job]int, len(jobs))
	for i, j := range jobs {
		at[j] = i
	}
	slices.SortFunc(answers, func(a, b answer) int { return at[a.Job] - at[b.Job] })
	return answers, failure
}

func format(counts []*count, took time.Duration, workers int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| programs | number | preemptions | schedules | of them to the end | states | steps | longest |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	sum := count{group: "all"}
	for _, c := range counts {
		bound := "any"
		if c.bound >= 0 {
			bound = fmt.Sprint("≤ ", c.bound)
		}
		if c.most > c.bound {
			bound += fmt.Sprint(" or ", c.most)
		}
		states := "-"
		if c.states > 0 {
			states = thousands(c.states)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %d |\n", c.group, thousands(c.programs), bound,
			thousands(c.schedules), thousands(c.ends), states, thousands(c.steps), c.depth)
		sum.programs += c.programs
		sum.schedules += c.schedules
		sum.ends += c.ends
		sum.states += c.states
		sum.steps += c.steps
		sum.depth = max(sum.depth, c.depth)
	}
	fmt.Fprintf(&b, "| all | %s | | %s | %s | %s | %s | %d |\n\n", thousands(sum.programs), thousands(sum.schedules),
		thousands(sum.ends), thousands(sum.states), thousands(sum.steps), sum.depth)
	fmt.Fprintf(&b, "In %s with %d processes, %s.\n", took.Round(time.Second), workers, runtime.Version())
	return b.String()
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
