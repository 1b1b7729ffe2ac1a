package inspect

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// leave runs program while it is looked at, and returns what is found when that
// ends; program returns what lets its goroutines go on then.
func leave(t *testing.T, program func(t *testing.T) (goOn func())) (found []Misuse) {
	synctest.Test(t, func(t *testing.T) {
		stop := Detect{Func: func(m Misuse) { found = append(found, m) }}.Start()
		goOn := program(t)
		synctest.Wait()
		stop()
		goOn()
	})
	return found
}

func TestWhoIsLeftWaitingIsFound(t *testing.T) {
	found := leave(t, func(*testing.T) func() {
		var mu rw
		answer := make(chan int)
		go func() { mu.RLock(); <-answer; mu.RUnlock() }()
		synctest.Wait()
		go both(&mu, new(rw))()
		return func() { answer <- 1 }
	})
	if len(found) != 1 || found[0].Kind != LeftWaiting || !found[0].Note || len(found[0].Steps) != 3 {
		t.Fatalf("want one note of who is left waiting, got\n%v", found)
	}
	holder := found[0].Steps[1]
	if holder.For != "chan receive" || holder.Goroutine != found[0].Steps[0].Goroutine || len(holder.Stack) == 0 ||
		!strings.HasSuffix(holder.Stack[0].File, "detectend_test.go") || holder.Stack[0].Line == 0 || !strings.Contains(holder.Stack[0].Function, "TestWhoIsLeftWaiting") {
		t.Errorf("where the holder waits: %+v", holder)
	}
	if text := found[0].String(); !strings.Contains(text, "waits in chan receive\n") {
		t.Error(text)
	}
}

func TestHolderThatIsGoneAtTheEndIsFound(t *testing.T) {
	found := leave(t, func(*testing.T) func() {
		var mu drawbridge.Mutex
		caught(mu.Lock)
		go both(&mu, new(drawbridge.Mutex))()
		return mu.Unlock
	})
	if len(found) != 1 || found[0].Kind != HolderGone {
		t.Errorf("want one note of a holder that is gone, got\n%v", found)
	}
}

func TestWhoMayStillMoveIsNotLeftWaiting(t *testing.T) {
	for name, program := range map[string]func(t *testing.T) (goOn func()){
		"a holder that works for an hour": func(*testing.T) func() {
			var mu drawbridge.Mutex
			go func() { mu.Lock(); time.Sleep(time.Hour); mu.Unlock() }()
			synctest.Wait()
			go both(&mu, new(drawbridge.Mutex))()
			return func() { time.Sleep(2 * time.Hour) }
		},
		"a holder that is done when it is given a moment": func(*testing.T) func() {
			var mu drawbridge.Mutex
			go func() { mu.Lock(); <-time.After(time.Second / 2); mu.Unlock() }()
			go func() { time.Sleep(time.Second * 3 / 4) }()
			synctest.Wait()
			go both(&mu, new(drawbridge.Mutex))()
			return func() { time.Sleep(2 * time.Hour) }
		},
		"somebody else who may wake the holder": func(*testing.T) func() {
			var mu drawbridge.Mutex
			answer := make(chan int)
			go func() { mu.Lock(); <-answer; mu.Unlock() }()
			go func() { time.Sleep(time.Hour); answer <- 1 }()
			synctest.Wait()
			go both(&mu, new(drawbridge.Mutex))()
			return func() { time.Sleep(2 * time.Hour) }
		},
		"a wait that a context ends": func(t *testing.T) func() {
			var mu drawbridge.Mutex
			answer := make(chan int)
			go func() { mu.Lock(); <-answer; mu.Unlock() }()
			synctest.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			go mu.LockContext(ctx)
			return func() { cancel(); answer <- 1 }
		},
		"a lock of the caller's": func(*testing.T) func() {
			var mu drawbridge.Mutex
			mu.Lock()
			go both(&mu, new(drawbridge.Mutex))()
			return mu.Unlock
		},
		"a lock that others unlock": func(*testing.T) func() {
			var mu drawbridge.Mutex
			mu.Lock()
			caught(mu.Unlock)
			answer := make(chan int)
			go func() { mu.Lock(); <-answer; mu.Unlock() }()
			synctest.Wait()
			go both(&mu, new(drawbridge.Mutex))()
			return func() { answer <- 1 }
		},
	} {
		t.Run(name, func(t *testing.T) {
			if found := leave(t, program); len(found) != 0 {
				t.Errorf("reported:\n%v", found)
			}
		})
	}
}

func TestNobodyWaitsNothingIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := Detect{}.Start()
		go time.Sleep(time.Hour)
		begin := time.Now()
		stop()
		stop()
		if d := time.Since(begin); d != 0 {
			t.Errorf("stop took %v", d)
		}
		time.Sleep(2 * time.Hour)
	})
}
