// Command soak runs everything that the locks can do, at once, on the real
// scheduler, with what programs do to locks: contexts that end at any time,
// panics and Goexit inside sections, observers that come, go and panic, garbage
// collections, and a number of processors that changes. It prints rates while it
// runs and ends with an audit: every lock must be free, every key gone, every
// count right, and no goroutine left.
//
//	go run ./internal/soak --for 10m
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	length := flag.Duration("for", time.Minute, "how `long` to run")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "where the random choices begin")
	goroutines := flag.Int("goroutines", 64, "how many goroutines use the locks")
	flag.Parse()
	if flag.NArg() > 0 || *length <= 0 || *goroutines <= 0 {
		fmt.Fprintln(os.Stderr, "soak: give a positive -for and -goroutines, and nothing else")
		os.Exit(2)
	}
	fmt.Printf("seed %d, %d goroutines, %d processors, for %s\n", *seed, *goroutines, runtime.GOMAXPROCS(0), *length)
	if err := soak(*length, *seed, *goroutines); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	fmt.Println("ok: every lock is free, every key is gone, every count is right, and no goroutine is left")
}

// watchdog is how long nothing may happen before that is a deadlock.
const watchdog = 30 * time.Second

func soak(length time.Duration, seed uint64, goroutines int) error {
	debug.SetGCPercent(20)
	before := runtime.NumGoroutine()
	w := newWorkload()
	ctx, stop := context.WithTimeout(context.Background(), length)
	defer stop()

	var users, others sync.WaitGroup
	for i := range goroutines {
		users.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			for ctx.Err() == nil {
				// Some sections call Goexit: each has a goroutine of its own,
				// for as long as it lives.
				done := make(chan struct{})
				go func() {
					defer close(done)
					for range 1000 {
						w.one(rnd)
					}
				}()
				<-done
			}
		})
	}
	processors := runtime.GOMAXPROCS(0)
	others.Go(func() { w.disturb(ctx, rand.New(rand.NewPCG(seed, 1<<32))) })
	ended := make(chan struct{})
	go func() { users.Wait(); close(ended) }()
	if err := w.report(ctx, ended); err != nil {
		return err
	}
	stop()
	others.Wait()
	runtime.GOMAXPROCS(processors)
	return errors.Join(w.audit(), noneLeft(before))
}

// report prints rates until everybody has ended. It fails if nothing happens
// for long.
func (w *workload) report(ctx context.Context, ended <-chan struct{}) error {
	fmt.Printf("%8s  %12s  %12s  %9s  %9s  %7s  %7s  %6s\n", "after", "calls", "calls/s", "gave up", "panics", "goexit", "events", "heap")
	began, last, lastCalls, idle := time.Now(), time.Now(), uint64(0), time.Duration(0)
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	line := func() {
		calls := w.calls.Load()
		took := time.Since(last)
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		fmt.Printf("%8s  %12d  %12.0f  %9d  %9d  %7d  %7d  %4d MB\n", time.Since(began).Round(time.Second), calls,
			float64(calls-lastCalls)/took.Seconds(), w.gaveUp.Load(), w.panics.Load(), w.exits.Load(), w.events.Load(), mem.HeapAlloc>>20)
		if idle += took; calls != lastCalls {
			idle = 0
		}
		last, lastCalls = time.Now(), calls
	}
	for {
		select {
		case <-ended:
			line()
			return nil
		case <-tick.C:
			line()
			if idle > watchdog {
				stacks := make([]byte, 1<<20)
				stacks = stacks[:runtime.Stack(stacks, true)]
				return fmt.Errorf("nothing has happened for %s\n%s", idle.Round(time.Second), stacks)
			}
		}
	}
}

// disturb makes the machine unsteady.
func (w *workload) disturb(ctx context.Context, rnd *rand.Rand) {
	most := runtime.GOMAXPROCS(0)
	for ctx.Err() == nil {
		switch rnd.IntN(4) {
		case 0:
			runtime.GC()
		case 1:
			runtime.GOMAXPROCS(1 + rnd.IntN(2*most))
		case 2:
			stop := w.rw[rnd.IntN(len(w.rw))].Observe(&moody{w: w, panics: rnd.IntN(2) == 0})
			pause(ctx, time.Duration(rnd.IntN(20))*time.Millisecond)
			stop()
		case 3:
			garbage := make([][]byte, 0, 100)
			for range 100 {
				garbage = append(garbage, make([]byte, 1<<14))
			}
			runtime.KeepAlive(garbage)
		}
		pause(ctx, time.Duration(rnd.IntN(30))*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// noneLeft waits for the goroutines to be as few as before.
func noneLeft(before int) error {
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			return fmt.Errorf("%d goroutines are left, %d more than before\n%s", runtime.NumGoroutine(), runtime.NumGoroutine()-before, stacks)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// counted is a number that only its lock keeps right.
type counted struct {
	readers atomic.Int32 // inside, to see that a writer is alone
	value   int          // changed under the write lock alone
	writes  atomic.Int64 // that were begun
	wrong   *atomic.Value
}

func (c *counted) read() {
	c.readers.Add(1)
	if v := c.value; v < 0 {
		c.wrong.CompareAndSwap(nil, "a reader is inside with a writer")
	}
	c.readers.Add(-1)
}

func (c *counted) write() {
	if c.readers.Load() != 0 {
		c.wrong.CompareAndSwap(nil, "a writer is inside with readers")
	}
	v := c.value
	c.value = -1
	c.writes.Add(1)
	if v < 0 {
		c.wrong.CompareAndSwap(nil, "two writers are inside")
	}
	c.value = v + 1
}

func (c *counted) audit(name string) error {
	if int64(c.value) != c.writes.Load() {
		return fmt.Errorf("%s: %d writes were begun and %d are there", name, c.writes.Load(), c.value)
	}
	return nil
}

// expected reports whether a panic is one that the soak itself threw.
func expected(r any) bool {
	s, ok := r.(string)
	return ok && strings.HasPrefix(s, "soak: ")
}
