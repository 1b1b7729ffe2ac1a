package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// A row is one thing that is measured.
type row struct {
	name, title string
	measure     func(context.Context, measureCommand, system) (*table, error)
}

var rows = []row{
	{"uncontended", "Take a lock that is free and give it back", uncontended},
	{"contended", "Eight processes in turn on one lock: from one grant to the next", contended},
	{"queue", "A queue of writers on one lock, drained: what a hand-over costs", queue},
	{"takeover", "The holder's process is killed: until the next one has the lock", takeover},
	{"fan-out", "A snapshot of 1 KiB, from Publish to Load in 100 subscribers", fanOut},
}

// uncontended is one process after the other, each for a while, and again.
func uncontended(ctx context.Context, c measureCommand, s system) (*table, error) {
	processes, err := s.join(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer leave(processes)
	took := make([][]time.Duration, len(processes))
	ops := make([]int, len(processes))
	cost := make([]counts, len(processes))
	for range c.Rounds {
		for i, of := range processes {
			p, name := of[0], fresh()
			if err := p.use(ctx, name); err != nil { // it is connected and has its lease
				return nil, err
			}
			before := p.sent.now()
			for end := time.Now().Add(c.Time); time.Now().Before(end); ops[i]++ {
				began := time.Now()
				if err := p.use(ctx, name); err != nil {
					return nil, err
				}
				took[i] = append(took[i], time.Since(began))
			}
			cost[i].add(p.sent, before)
		}
	}
	t := s.heading("median", "99th percentile")
	for i, c := range s.contenders {
		t.add(s.line(c.name, cost[i], ops[i], human(percentile(took[i], 50)), human(percentile(took[i], 99)))...)
	}
	return t, nil
}

// contended is all processes of one contender together for a while, then those of the next.
func contended(ctx context.Context, c measureCommand, s system) (*table, error) {
	const together = 8
	processes, err := s.join(ctx, together)
	if err != nil {
		return nil, err
	}
	defer leave(processes)
	took := make([][]time.Duration, len(processes)) // a round's time by its number of grants
	ops := make([]int, len(processes))
	cost := make([]counts, len(processes))
	for range c.Rounds {
		for i, of := range processes {
			n, round, err := turns(ctx, of, c.Time, &cost[i])
			if err != nil {
				return nil, err
			}
			ops[i] += n
			took[i] = append(took[i], round)
		}
	}
	t := s.heading("from grant to grant")
	for i, c := range s.contenders {
		t.add(s.line(c.name, cost[i], ops[i], human(percentile(took[i], 50)))...)
	}
	return t, nil
}

// turns has the processes use one lock for a while.
func turns(ctx context.Context, of []member, d time.Duration, cost *counts) (ops int, each time.Duration, err error) {
	name := fresh()
	before := make([]counts, len(of))
	for i, p := range of {
		if err := p.use(ctx, name); err != nil {
			return 0, 0, err
		}
		before[i] = p.sent.now()
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	began := time.Now()
	for _, p := range of {
		wg.Go(func() {
			for time.Since(began) < d {
				used := p.use(ctx, name)
				mu.Lock()
				ops++
				err = errors.Join(err, used)
				mu.Unlock()
				if used != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	each = time.Since(began) / time.Duration(max(1, ops))
	for i, p := range of {
		cost.add(p.sent, before[i])
	}
	return ops, each, err
}

// queue lets n writers come to a lock that is held, then lets it go, and counts until all have had it. In one process they
// share its session; apart each has its own. Requests are those from the release on; each call's wait had its watch before.
func queue(ctx context.Context, _ measureCommand, s system) (*table, error) {
	t := s.heading("from grant to grant", "until all are in the queue")
	for _, n := range []int{10, 100, 1000} {
		line, err := queueOf(ctx, s, fmt.Sprintf("%d calls of one process", n), n, 1)
		if err != nil {
			return nil, err
		}
		t.add(line...)
	}
	for _, n := range []int{10, 100, s.apart} {
		line, err := queueOf(ctx, s, fmt.Sprintf("%d processes, a call each", n), n, n)
		if err != nil {
			return nil, err
		}
		t.add(line...)
	}
	return t, nil
}

func queueOf(ctx context.Context, s system, what string, calls, processes int) ([]string, error) {
	e, sent, end, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	callers := make([]*cluster.Locker, calls)
	for i := range callers {
		if i < processes {
			callers[i] = locker(e, 2*ttl)
			defer callers[i].Close()
		} else {
			callers[i] = callers[i%processes]
		}
	}
	return drain(ctx, s, what, sent, callers)
}

// drain returns what the queue cost.
func drain(ctx context.Context, s system, what string, sent *sent, callers []*cluster.Locker) ([]string, error) {
	n := len(callers)
	holder, _, end, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	first := locker(holder, 2*ttl)
	defer first.Close()
	name := fresh()
	h, err := first.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	began, empty := time.Now(), sent.now()
	failed := make(chan error, n)
	for _, l := range callers {
		go func() {
			h, err := l.Lock(ctx, name)
			if err == nil {
				err = h.Unlock(ctx)
			}
			failed <- err
		}()
	}
	if err := queued(ctx, callers[0], name, n); err != nil {
		return nil, err
	}
	entered := time.Since(began)
	// What they ask on entering is not the hand-over's: those that came late are still being answered.
	for before := sent.now(); ; {
		time.Sleep(300 * time.Millisecond)
		now := sent.now()
		if now == before {
			break
		}
		before = now
	}
	before := sent.now()
	began = time.Now()
	if err := h.Unlock(ctx); err != nil {
		return nil, err
	}
	for range n {
		if err := <-failed; err != nil {
			return nil, err
		}
	}
	left := time.Since(began)
	var cost counts
	cost.add(sent, counts{before.requests, empty.watches}) // a watch begins with the wait
	return s.line(what, cost, n, human(left/time.Duration(n)), human(entered)), nil
}

// queued waits until n calls wait.
func queued(ctx context.Context, l *cluster.Locker, name string, n int) error {
	for {
		st, err := l.State(ctx, name)
		if err != nil {
			return err
		}
		if len(st.Waiters)+st.Queued == n {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// takeover kills processes that hold a lock.
func takeover(ctx context.Context, c measureCommand, s system) (*table, error) {
	t := &table{columns: []string{"", "median", "longest"}}
	for _, ttl := range []time.Duration{2 * time.Second, 10 * time.Second} {
		e, _, end, err := s.open(ctx)
		if err != nil {
			return nil, err
		}
		l := locker(e, ttl)
		var took []time.Duration
		for range c.Kills {
			name := fresh()
			kill, err := hold(ctx, s.url, name, ttl)
			if err != nil {
				return nil, err
			}
			next := make(chan error, 1)
			go func() {
				h, err := l.Lock(ctx, name)
				if err == nil {
					err = h.Unlock(ctx)
				}
				next <- err
			}()
			if err := queued(ctx, l, name, 1); err != nil {
				return nil, err
			}
			began := time.Now()
			kill()
			if err := <-next; err != nil {
				return nil, err
			}
			took = append(took, time.Since(began))
		}
		l.Close()
		end()
		t.add(fmt.Sprintf("TTL %s", ttl), human(percentile(took, 50)), human(percentile(took, 100)))
	}
	return t, nil
}

// fanOut publishes again and again, and each subscriber says when it has what was published.
func fanOut(ctx context.Context, c measureCommand, s system) (*table, error) {
	const subscribers = 100
	name := fresh()
	follow := func() (*cluster.Snapshot[[]byte], func(), error) {
		e, _, end, err := s.open(ctx)
		if err != nil {
			return nil, nil, err
		}
		n, err := cluster.NewSnapshot(ctx, e, name, cluster.Codec[[]byte]{})
		if err != nil {
			end()
			return nil, nil, err
		}
		return n, func() { n.Close(); end() }, nil
	}
	publisher, end, err := follow()
	if err != nil {
		return nil, err
	}
	defer end()
	var all []*cluster.Snapshot[[]byte]
	for range subscribers {
		n, end, err := follow()
		if err != nil {
			return nil, err
		}
		defer end()
		all = append(all, n)
	}
	var mu sync.Mutex
	var took []time.Duration
	value := make([]byte, 768) // 1 KiB in JSON
	last, err := publisher.Publish(ctx, value)
	for end := time.Now().Add(time.Duration(c.Rounds) * c.Time); err == nil && time.Now().Before(end); {
		var wg sync.WaitGroup
		began, failed := time.Now(), error(nil)
		for _, n := range all {
			wg.Go(func() {
				_, _, err := n.Wait(ctx, last)
				d := time.Since(began)
				mu.Lock()
				defer mu.Unlock()
				took = append(took, d)
				failed = errors.Join(failed, err)
			})
		}
		var next uint64
		next, err = publisher.Publish(ctx, value)
		wg.Wait()
		err = errors.Join(err, failed)
		last = next
	}
	if err != nil {
		return nil, err
	}
	t := &table{columns: []string{"", "median", "99th percentile", "longest", "publishes"}}
	t.add("drawbridge", human(percentile(took, 50)), human(percentile(took, 99)), human(percentile(took, 100)), fmt.Sprint(len(took)/subscribers))
	return t, nil
}

// fresh is a name that nobody has used.
func fresh() string { return "bench-" + rand.Text() }
