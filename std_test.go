package drawbridge_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// What sync.RWMutex and sync.Mutex do, these do.

// TestStandardLibrarysOwnTests compiles and runs the tests that the Go
// distribution has for sync.RWMutex, against RWMutex.
func TestStandardLibrarysOwnTests(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test binary")
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(goroot)), "src/sync/rwmutex_test.go"))
	if os.IsNotExist(err) {
		t.Skip("this Go distribution comes without the tests of sync:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	test := strings.Replace(string(source), "\t. \"sync\"\n", "\t. \"locks\"\n", 1)
	if test == string(source) {
		t.Fatal("rwmutex_test.go does not import sync in the way that was expected")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rwmutex_test.go": test,
		"locks.go": "package sync\n\nimport (\n\tstd \"sync\"\n\n\t\"github.com/drawbridge-go/drawbridge\"\n)\n\n" +
			"type (\n\tRWMutex = drawbridge.RWMutex\n\tLocker = std.Locker\n)\n",
		"go.mod": "module locks\n\ngo 1.25.0\n\nrequire github.com/drawbridge-go/drawbridge v0.1.0\n\n" +
			"replace github.com/drawbridge-go/drawbridge => " + here + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-count=1", "-v", "-bench=.", "-benchtime=100x", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"TestParallelReaders", "TestRWMutex", "TestRLocker"} {
		if !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%s did not run:\n%s", name, out)
		}
	}
}

// TestHammer lets readers and writers run into one another and counts those
// inside, a writer as 10000.
func TestHammer(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(-1))
	rounds := 500
	if testing.Short() {
		rounds = 20
	}
	for _, policy := range everyPolicy {
		for _, procs := range []int{1, 2, 4} {
			for _, readers := range []int{1, 3, 10} {
				runtime.GOMAXPROCS(procs)
				t.Run(fmt.Sprintf("%v/%d procs/%d readers", policy, procs, readers), func(t *testing.T) {
					hammer(t, &drawbridge.RWMutex{Policy: policy}, readers, rounds)
				})
			}
		}
	}
}

func hammer(t *testing.T, rw *drawbridge.RWMutex, readers, rounds int) {
	var activity atomic.Int32
	read := func(lock, unlock func()) {
		for range rounds {
			lock()
			if n := activity.Add(1); n < 1 || n >= 10000 {
				t.Errorf("a reader is inside with %d", n-1)
			}
			for range 100 {
			}
			activity.Add(-1)
			unlock()
		}
	}
	write := func(lock func()) {
		for range rounds {
			lock()
			if n := activity.Add(10000); n != 10000 {
				t.Errorf("a writer is inside with %d", n-10000)
			}
			for range 100 {
			}
			activity.Add(-10000)
			rw.Unlock()
		}
	}
	spin := func(try func() bool) func() {
		return func() {
			for !try() {
				runtime.Gosched()
			}
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { write(rw.Lock) })
	wg.Go(func() { write(spin(rw.TryLock)) })
	for i := range readers {
		switch i % 3 {
		case 0:
			wg.Go(func() { read(rw.RLock, rw.RUnlock) })
		case 1:
			wg.Go(func() { read(rw.RLocker().Lock, rw.RLocker().Unlock) })
		default:
			wg.Go(func() { read(spin(rw.TryRLock), rw.RUnlock) })
		}
	}
	wg.Wait()
	if got := rw.State(); got != (drawbridge.State{}) {
		t.Errorf("left behind: %s", got)
	}
}

func TestHammerMutex(t *testing.T) {
	for _, policy := range []drawbridge.Policy{Balanced, FIFO} {
		t.Run(policy.String(), func(t *testing.T) {
			mu := drawbridge.Mutex{Policy: policy}
			n := 0
			var wg sync.WaitGroup
			for g := range 10 {
				wg.Go(func() {
					for i := range 1000 {
						if (i+g)%3 == 0 {
							for !mu.TryLock() {
								runtime.Gosched()
							}
						} else {
							mu.Lock()
						}
						n++
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if n != 10*1000 {
				t.Errorf("counted %d, want %d", n, 10*1000)
			}
		})
	}
}

// TestParallelReaders fails by a timeout if a reader waits for another.
func TestParallelReaders(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, policy := range everyPolicy {
		for _, readers := range []int{1, 3, 4, 10} {
			rw := drawbridge.RWMutex{Policy: policy}
			var wg sync.WaitGroup
			var inside sync.WaitGroup
			inside.Add(readers)
			for range readers {
				wg.Go(func() {
					rw.RLock()
					inside.Done()
					inside.Wait()
					rw.RUnlock()
				})
			}
			wg.Wait()
		}
	}
}

// TestRLocker: the Locker of the readers' side locks that, and the plain
// methods of the same lock see it.
func TestRLocker(t *testing.T) {
	for _, policy := range everyPolicy {
		rw := drawbridge.RWMutex{Policy: policy}
		var l sync.Locker = rw.RLocker()
		for range 10 {
			l.Lock()
			l.Lock() // legal where no writer waits
			if got, want := rw.State(), (drawbridge.State{Readers: 2}); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
			if rw.TryLock() {
				t.Fatal("entered to write beside readers")
			}
			l.Unlock()
			l.Unlock()
			rw.Lock()
			go rw.Unlock() // a hold belongs to no goroutine
			rw.Lock()
			rw.Unlock()
		}
	}
}

// TestMutexFairness fails if a goroutine that sleeps between short sections is
// starved by one that holds for most of the time: https://go.dev/issue/13086
func TestMutexFairness(t *testing.T) {
	for _, policy := range []drawbridge.Policy{Balanced, FIFO} {
		mu := drawbridge.Mutex{Policy: policy}
		var stop atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			for !stop.Load() {
				mu.Lock()
				for began := time.Now(); time.Since(began) < 100*time.Microsecond; {
				}
				mu.Unlock()
			}
		})
		done := make(chan struct{})
		wg.Go(func() {
			for range 10 {
				time.Sleep(100 * time.Microsecond)
				mu.Lock()
				mu.Unlock()
			}
			close(done)
		})
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Errorf("%v: starved for 20 s", policy)
		}
		stop.Store(true)
		wg.Wait()
	}
}

// TestCond uses both sides of a lock as the Locker of a sync.Cond.
func TestCond(t *testing.T) {
	var rw drawbridge.RWMutex
	for name, l := range map[string]sync.Locker{"Lock": &rw, "RLock": rw.RLocker(), "Mutex": &drawbridge.Mutex{}} {
		t.Run(name, func(t *testing.T) {
			cond := sync.NewCond(l)
			var ready atomic.Bool
			woken := make(chan struct{})
			for range 3 {
				go func() {
					l.Lock()
					for !ready.Load() {
						cond.Wait()
					}
					l.Unlock()
					woken <- struct{}{}
				}()
			}
			l.Lock()
			ready.Store(true)
			cond.Broadcast()
			l.Unlock()
			for range 3 {
				<-woken
			}
		})
	}
}

// TestVetSeesCopies runs go vet over a copy of each type.
func TestVetSeesCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go vet")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"copies.go": `package copies

import "github.com/drawbridge-go/drawbridge"

var (
	rw drawbridge.RWMutex
	mu drawbridge.Mutex
	g  drawbridge.Guarded[int]
	s  drawbridge.Snapshot[int]
	k  drawbridge.Keyed[int]
)

func copies() {
	a := rw
	b := mu
	c := g
	d := s
	e := k
	_, _, _, _, _ = &a, &b, &c, &d, &e
}
`,
		"go.mod": "module copies\n\ngo 1.25.0\n\nrequire github.com/drawbridge-go/drawbridge v0.1.0\n\n" +
			"replace github.com/drawbridge-go/drawbridge => " + here + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "vet", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatal("go vet found nothing")
	}
	for line, variable := range map[string]string{"14": "a", "15": "b", "16": "c", "17": "d", "18": "e"} {
		if !strings.Contains(string(out), "copies.go:"+line+":") || !strings.Contains(string(out), "assignment copies lock value to "+variable) {
			t.Errorf("the copy in line %s was not found:\n%s", line, out)
		}
	}
}
