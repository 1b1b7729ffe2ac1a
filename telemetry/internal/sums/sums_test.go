package sums

import (
	"fmt"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/inspect"
)

func lock(id uint64, name string, waits ...time.Duration) inspect.Lock {
	var h inspect.Histogram
	for _, w := range waits {
		h.Add(w)
	}
	return inspect.Lock{ID: id, Name: name, Write: inspect.Mode{Holds: uint64(len(waits)), Wait: &h}, State: inspect.State{Writers: 1}}
}

// TestSumsDoNotFallWhenALockGoes: a counter that falls counts as started anew,
// and would add all that is left once more.
func TestSumsDoNotFallWhenALockGoes(t *testing.T) {
	var l Locks
	l.add([]inspect.Lock{lock(1, "a", 1, 2), lock(2, "a", 3)})
	s := l.add([]inspect.Lock{lock(2, "a", 3, 4)})
	if len(s) != 1 || s[0].Modes[2].Holds != 4 || s[0].Modes[2].Wait.Sum != 10 || s[0].Instances != 1 || s[0].Holders[2] != 1 {
		t.Errorf("got %+v", s[0])
	}
	l.add(nil)
	if s = l.add(nil); len(s) != 1 || s[0].Modes[2].Holds != 4 || s[0].Instances != 0 {
		t.Errorf("when all are gone: %+v", s[0])
	}
}

func TestNamesPastTheLimitBecomeOther(t *testing.T) {
	var l Locks
	var locks []inspect.Lock
	for i := range MaxNames + 100 {
		locks = append(locks, lock(uint64(i), fmt.Sprint(i), time.Second))
	}
	l.add(locks)
	s := l.add(locks[50:]) // those that are gone keep their names
	if len(s) != MaxNames+1 {
		t.Fatalf("%d names, want %d", len(s), MaxNames+1)
	}
	for _, s := range s {
		want := uint64(1)
		if s.Name == Other {
			want = 100
		}
		if s.Modes[2].Holds != want {
			t.Errorf("%s: %d holds, want %d", s.Name, s.Modes[2].Holds, want)
		}
	}
}
