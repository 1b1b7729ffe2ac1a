package lab_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lab"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lanes"
)

var standard = lab.Experiment{
	Readers: 10, Hold: 5 * time.Millisecond, Writers: 1, Deadline: 500 * time.Millisecond,
}

func run(t *testing.T, e lab.Experiment, key string) lab.Result {
	t.Helper()
	chosen, err := contender.Select([]string{key})
	if err != nil {
		t.Fatal(err)
	}
	return e.Run(chosen[0])
}

// TestDoorDecidesWhetherTheWriterStarves runs the experiment in fake time,
// where its figures are exact.
func TestDoorDecidesWhetherTheWriterStarves(t *testing.T) {
	for key, starves := range map[string]bool{
		"Balanced": false, "PreferWriters": false, "FIFO": false, "x/sync/semaphore": false, "textbook": false,
		"PreferReaders": true,
	} {
		t.Run(key, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := run(t, standard, key)
				if len(r.Writes) != 1 || r.PeakReaders != 10 || r.LongestRead != standard.Hold {
					t.Fatalf("%d writes, %d readers at the peak, longest read %s", len(r.Writes), r.PeakReaders, r.LongestRead)
				}
				w := r.Writes[0]
				if w.Asked != lab.Ask || w.GaveUp != starves {
					t.Errorf("asked at %s, starved: %t, want %s and %t", w.Asked, w.GaveUp, lab.Ask, starves)
				}
				if starves && (w.Waited != standard.Deadline || r.LongestReadWait != 0) {
					t.Errorf("gave up after %s, want %s; a read waited %s, want 0", w.Waited, standard.Deadline, r.LongestReadWait)
				}
				if !starves && w.Waited > standard.Hold {
					t.Errorf("waited %s, longer than the longest read of %s", w.Waited, standard.Hold)
				}
			})
		})
	}
}

// TestLanesTellWhatHappened checks that the segments of a lane are in order,
// that they never overlap, and that no write overlaps a hold of another lane.
func TestLanesTellWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := standard
		e.Writers, e.Every = 3, 20*time.Millisecond
		r := run(t, e, "Balanced")
		if len(r.Lanes) != e.Readers+e.Writers {
			t.Fatalf("%d lanes for %d goroutines", len(r.Lanes), e.Readers+e.Writers)
		}
		writes := 0
		for i, l := range r.Lanes {
			var end time.Duration
			for _, s := range l.Segments {
				if s.From < end || s.To < s.From {
					t.Fatalf("%s: the segment %v begins before %s", l.Name, s, end)
				}
				end = s.To
				if s.Activity != lanes.Writing {
					continue
				}
				writes++
				for j, other := range r.Lanes {
					for _, o := range other.Segments {
						if i != j && o.Activity != lanes.Waiting && o.From < s.To && s.From < o.To {
							t.Fatalf("%s writes at %v while %s is inside at %v", l.Name, s, other.Name, o)
						}
					}
				}
			}
		}
		if writes != len(r.Writes) || writes < 3*len(r.Lanes[e.Readers:]) {
			t.Errorf("%d writes in the lanes, %d counted", writes, len(r.Writes))
		}
	})
}

// TestContenderWithoutContextLeavesNoGoroutine starves writers of locks whose
// waits cannot be given up.
func TestContenderWithoutContextLeavesNoGoroutine(t *testing.T) {
	e := lab.Experiment{Readers: 4, Hold: 20 * time.Millisecond, Writers: 4, Deadline: 2 * time.Millisecond}
	for _, key := range []string{"sync.RWMutex", "sync.Mutex"} {
		before := runtime.NumGoroutine()
		r := run(t, e, key)
		gaveUp := 0
		for _, w := range r.Writes {
			if w.GaveUp {
				gaveUp++
			}
		}
		if gaveUp == 0 {
			t.Errorf("%s: no writer gave up", key)
		}
		for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d goroutines are left, %d were there before", key, runtime.NumGoroutine(), before)
			}
		}
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	for want, change := range map[string]func(*lab.Experiment){
		"":                             func(*lab.Experiment) {},
		"readers, not 0":               func(e *lab.Experiment) { e.Readers = 0 },
		"readers, not 1000000000":      func(e *lab.Experiment) { e.Readers = 1e9 },
		"writers, not -1":              func(e *lab.Experiment) { e.Writers = -1 },
		"at most 1m, not -5ms":         func(e *lab.Experiment) { e.Hold = -5 * time.Millisecond },
		"at most 1m, not 2562047h":     func(e *lab.Experiment) { e.Hold = 1<<63 - 1 },
		"cannot ask every -1s":         func(e *lab.Experiment) { e.Every = -time.Second },
		"wait for more than 0s":        func(e *lab.Experiment) { e.Deadline = 0 },
		"at most 1m, not 1h0m0s":       func(e *lab.Experiment) { e.Deadline = time.Hour },
		"must be 0 to 10000 writers, ": func(e *lab.Experiment) { e.Writers = 10_001 },
	} {
		e := standard
		change(&e)
		switch err := e.Check(); {
		case want == "" && err != nil:
			t.Errorf("the standard experiment: %v", err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%+v: %v, want %q", e, err, want)
		}
	}
}
