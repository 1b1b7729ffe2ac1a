package inspect

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// stalls is what an alarm has told.
type stalls struct {
	mu sync.Mutex
	l  []Stall
}

func (s *stalls) add(stall Stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.l = append(s.l, stall)
}

func (s *stalls) all() []Stall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.l)
}

// pass lets time go by, and what follows from that happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// logged sends slog to a buffer for the test.
func logged(t *testing.T) *bytes.Buffer {
	var b bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&b, nil)))
	t.Cleanup(func() { slog.SetDefault(old) })
	return &b
}

func TestAlarmTellsOnceWhileTheStallGoesOnAndOnceAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu drawbridge.RWMutex
		defer Watch("stalled", &mu)()
		var told stalls
		defer Alarm{HeldFor: time.Second, Func: told.add}.Start()()

		mu.LockContext(pprof.WithLabels(t.Context(), pprof.Labels("job", "reload")))
		pass(900 * time.Millisecond)
		go mu.RLock()
		synctest.Wait()
		pass(50 * time.Millisecond)
		go mu.RLock()
		synctest.Wait()
		if calls := told.all(); len(calls) != 0 {
			t.Fatalf("an alarm after 950 ms: %+v", calls)
		}
		pass(300 * time.Millisecond)
		calls := told.all()
		if len(calls) != 1 {
			t.Fatalf("%d calls while the stall goes on, want 1", len(calls))
		}
		s := calls[0]
		if s.Ended || !s.Held || s.Waiting || s.Waiters != 2 || s.Oldest == nil || s.For < time.Second || s.For > 1250*time.Millisecond {
			t.Errorf("got %+v", s)
		}
		if h := s.Lock.Holders; len(h) != 1 || h[0].Labels[0] != (Label{"job", "reload"}) {
			t.Errorf("holders %+v", h)
		}
		pass(time.Minute)
		if calls = told.all(); len(calls) != 1 {
			t.Errorf("%d calls for one stall", len(calls))
		}
		mu.Unlock()
		pass(time.Second / 2)
		if calls = told.all(); len(calls) != 2 || !calls[1].Ended || calls[1].For < time.Minute || calls[1].Waiters != 0 {
			t.Errorf("at the end: %+v", calls[1:])
		}
		mu.RUnlock()
		mu.RUnlock()
	})
}

func TestAlarmOfAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks drawbridge.Keyed[string]
		defer Watch("waited", &locks)()
		var told stalls
		defer Alarm{WaitingFor: time.Second, Func: told.add}.Start()()
		unlock, _ := locks.LockContext(t.Context(), "k")
		pass(time.Hour) // a hold alone is no stall for it
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		locks.WithRLock(ctx, "k", nil)
		pass(time.Second)
		if calls := told.all(); len(calls) != 2 || !calls[0].Waiting || calls[0].Oldest.Key != "k" || !calls[1].Ended {
			t.Errorf("got %+v", calls)
		}
		unlock()
	})
}

func TestAlarmSurvivesItsFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logged(t)
		locks := make([]drawbridge.Mutex, alarmPending+20)
		for i := range locks {
			defer Watch("panics", &locks[i])()
			locks[i].Lock()
		}
		n, missed, running := 0, uint64(0), 0
		defer Alarm{HeldFor: time.Second, Func: func(s Stall) {
			if running++; running != 1 {
				t.Error("two calls at once")
			}
			defer func() { running-- }()
			n++
			missed += s.Missed
			if n == 1 {
				<-time.After(5 * time.Minute)
			}
			panic("\x1b[31mout of order")
		}}.Start()()
		pass(10 * time.Minute)
		locks[0].Unlock()
		pass(time.Second)
		if n+int(missed) != len(locks)+1 || missed == 0 {
			t.Errorf("%d calls and %d missed, of %d", n, missed, len(locks)+1)
		}
		if out := log.String(); !strings.Contains(out, "out of order") || strings.Contains(out, "\x1b") {
			t.Errorf("logged %.300q", out)
		}
		runtime.KeepAlive(locks) // or their watches end, and with them the stalls
	})
}

func TestAlarmLogsByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logged(t)
		var mu drawbridge.RWMutex
		defer Watch("logged", &mu)()
		stop := Alarm{HeldFor: time.Second}.Start()
		mu.Lock()
		go mu.Lock()
		pass(2 * time.Second)
		mu.Unlock()
		pass(2 * time.Second)
		mu.Unlock()
		pass(time.Second)
		stop()
		out := log.String()
		for _, want := range []string{"a lock is stuck", "a lock goes on", "lock=logged", "waiters=1", "alarm_test.go"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	})
}

func TestStoppedAlarmIsSilentAndLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
		var mu drawbridge.Mutex
		defer Watch("stopped", &mu)()
		stop := Alarm{HeldFor: time.Second, Func: func(Stall) { t.Error("called after stop") }}.Start()
		mu.Lock()
		pass(900 * time.Millisecond)
		stop()
		stop()
		pass(time.Minute)
	})
}

func TestAlarmWithoutLimitsPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Alarm{}.Start()
}

func TestAlarmWritesTheFlightRecorder(t *testing.T) {
	dir := t.TempDir()
	fr := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := fr.Start(); err != nil {
		t.Fatal(err)
	}
	defer fr.Stop()
	var mu, other drawbridge.Mutex
	defer Watch("../../evil name", &mu)()
	defer Watch("other", &other)()
	stalls := make(chan Stall, 10)
	defer Alarm{HeldFor: 20 * time.Millisecond, FlightRecorder: fr, Dir: dir, Func: func(s Stall) { stalls <- s }}.Start()()
	mu.Lock()
	s := <-stalls
	other.Lock()
	<-stalls
	mu.Unlock()
	other.Unlock()
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 || s.Trace != files[0] {
		t.Fatalf("stall says %q, there are %q; want one file, the second stall came within a minute", s.Trace, files)
	}
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("%v, %v", info, err)
	}
	f, _ := os.Open(files[0])
	defer f.Close()
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err != nil || !strings.HasPrefix(string(head), "go 1.") {
		t.Errorf("not a trace: %q %v", head, err)
	}
}
