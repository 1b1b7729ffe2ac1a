package replay_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/accesslog"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/replay"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/testlog"
)

const ms = time.Millisecond

var noon = time.Date(2024, 3, 12, 12, 0, 0, 0, time.UTC)

func request(at time.Duration, method string, took time.Duration) accesslog.Request {
	return accesslog.Request{At: noon.Add(at), Method: method, Took: took, Timed: took > 0}
}

func plan(t *testing.T, o replay.Options, requests ...accesslog.Request) replay.Plan {
	t.Helper()
	p, err := replay.NewPlan(accesslog.Log{Requests: requests}, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func play(t *testing.T, p replay.Plan, keys ...string) []replay.Result {
	t.Helper()
	contenders, err := contender.Select(keys)
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	results, late := p.Play(contenders, func(n int) { sent = n })
	if sent != len(p.Arrivals) {
		t.Errorf("progress ended at %d of %d", sent, len(p.Arrivals))
	}
	if late > 0 {
		t.Errorf("in fake time an arrival was %s late", late)
	}
	return results
}

// TestSpeedMovesArrivalsAndKeepsSections compares a plan with the log it is
// made from.
func TestSpeedMovesArrivalsAndKeepsSections(t *testing.T) {
	p := plan(t, replay.Options{Speed: 100, Hold: 2 * ms, Deadline: time.Second, Refresh: 30 * time.Second},
		request(0, "GET", 0), request(40*time.Second, "POST", 7*ms), request(70*time.Second, "OPTIONS", 3*ms))
	want := []replay.Arrival{
		{At: 0, Hold: 2 * ms},
		{At: 300 * ms, Write: true, Hold: 2 * ms},
		{At: 400 * ms, Write: true, Hold: 7 * ms},
		{At: 600 * ms, Write: true, Hold: 2 * ms},
		{At: 700 * ms, Hold: 3 * ms},
	}
	if len(p.Arrivals) != len(want) {
		t.Fatalf("arrivals %v, want %v", p.Arrivals, want)
	}
	for i, a := range p.Arrivals {
		if a != want[i] {
			t.Errorf("arrival %d: %v, want %v", i, a, want[i])
		}
	}
	if p.Length != 700*ms || p.Span != 70*time.Second || p.Rewrites != 2 || p.Timed != 2 || p.Exclusive != 11*ms {
		t.Errorf("length %s, span %s, %d rewrites, %d timed, exclusive %s", p.Length, p.Span, p.Rewrites, p.Timed, p.Exclusive)
	}
}

// TestDefaultSpeedTakesSeconds has logs from an instant to years.
func TestDefaultSpeedTakesSeconds(t *testing.T) {
	o := replay.Options{Hold: ms, Deadline: time.Second}
	for _, span := range []time.Duration{0, time.Second, time.Hour, 4 * 24 * time.Hour, 100 * 365 * 24 * time.Hour} {
		p := plan(t, o, request(0, "GET", 0), request(span, "GET", 0))
		if p.Length > 6*time.Second || p.Length > span {
			t.Errorf("a log of %s plays for %s at speed %g", span, p.Length, p.Speed)
		}
		if span > time.Minute && p.Length < 4*time.Second {
			t.Errorf("a log of %s is over in %s at speed %g", span, p.Length, p.Speed)
		}
	}
	// Writers that need ten seconds get twenty.
	p := plan(t, o, request(0, "POST", 10*time.Second), request(time.Hour, "GET", 0))
	if p.Length < 19*time.Second || p.Length > 21*time.Second {
		t.Errorf("with 10 s of writing it plays for %s", p.Length)
	}
}

func TestOptionsNameWhatIsWrong(t *testing.T) {
	good := replay.Options{Hold: ms, Deadline: time.Second}
	nan := 0.0
	nan /= nan
	for want, change := range map[string]func(*replay.Options){
		"":                func(*replay.Options) {},
		"--refresh=-30s":  func(o *replay.Options) { o.Refresh = -30 * time.Second },
		"--hold=0s":       func(o *replay.Options) { o.Hold = 0 },
		"--speed=-1":      func(o *replay.Options) { o.Speed = -1 },
		"--speed=NaN":     func(o *replay.Options) { o.Speed = nan },
		"--deadline=-1ms": func(o *replay.Options) { o.Deadline = -ms },
		"at most 1m":      func(o *replay.Options) { o.Deadline = time.Hour },
	} {
		o := good
		change(&o)
		switch err := o.Check(); {
		case want == "" && err != nil:
			t.Errorf("good options: %v", err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	log := accesslog.Log{Requests: []accesslog.Request{request(0, "GET", 0), request(time.Hour, "GET", 0)}}
	for want, o := range map[string]replay.Options{
		"at most 1000000 can be played": {Refresh: 1, Hold: ms, Deadline: ms},
		"centuries":                     {Speed: 1e-9, Hold: ms, Deadline: ms},
	} {
		if _, err := replay.NewPlan(log, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

// TestWaitsAreThoseOfThePolicy plays four requests in fake time: a reader, a
// writer that waits for it, a reader that comes meanwhile, and one that comes
// when all is over.
func TestWaitsAreThoseOfThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, replay.Options{Speed: 1, Hold: ms, Deadline: time.Second},
			request(0, "GET", 10*ms), request(4*ms, "PUT", 5*ms), request(6*ms, "GET", 10*ms), request(100*ms, "GET", 10*ms))
		for i, r := range play(t, p, "Balanced", "PreferReaders", "FIFO") {
			// With the door closed, the writer waits from 4 to 10 and
			// the reader from 6 to 15. With the door open, the reader
			// does not wait, and the writer waits until 16.
			want := [][2]time.Duration{{9 * ms, 6 * ms}, {0, 12 * ms}, {9 * ms, 6 * ms}}[i]
			if r.Reads.Count != 3 || r.Writes.Count != 1 || !near(r.Reads.Max, want[0]) || !near(r.Writes.Max, want[1]) || !near(r.Writes.P50, want[1]) {
				t.Errorf("%s: reads %+v, writes %+v, want longest waits %v", r.Contender.Policy, r.Reads, r.Writes, want)
			}
			if r.Reads.GaveUp+r.Writes.GaveUp != 0 || r.Busy <= 0 || r.Busy >= 1 {
				t.Errorf("%s: %d gave up, busy %.2f", r.Contender.Policy, r.Reads.GaveUp+r.Writes.GaveUp, r.Busy)
			}
		}
	})
}

// near allows for the three digits that the histogram keeps.
func near(a, b time.Duration) bool { return (a - b).Abs() <= b/500 }

// TestGivingUpIsCountedAndBounded has a request that takes ten minutes and one
// that waits for it.
func TestGivingUpIsCountedAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, replay.Options{Speed: 1, Hold: ms, Deadline: 200 * ms},
			request(0, "POST", 10*time.Minute), request(50*ms, "GET", 0))
		began := time.Now()
		r := play(t, p, "Balanced")[0]
		if r.Reads.GaveUp != 1 || !near(r.Reads.Max, 200*ms) || r.Writes.GaveUp != 0 {
			t.Errorf("reads %+v, writes %+v; want the read to give up after 200ms", r.Reads, r.Writes)
		}
		if took := time.Since(began); took != 250*ms {
			t.Errorf("playing took %s, want 250ms", took)
		}
	})
}

// TestEveryContenderGetsEveryRequest plays a made log in real time, against
// locks with and without contexts.
func TestEveryContenderGetsEveryRequest(t *testing.T) {
	requests := testlog.Requests(7, 400, testlog.CaddyJSON)
	reads := 0
	for _, r := range requests {
		if r.Reads() {
			reads++
		}
	}
	p := plan(t, replay.Options{Speed: requests[399].At.Sub(requests[0].At).Seconds() * 5, Hold: ms, Deadline: 100 * ms}, requests...)
	results, _ := p.Play(contender.All(), func(int) {})
	for _, r := range results {
		if r.Reads.Count != reads || r.Writes.Count != len(requests)-reads {
			t.Errorf("%s: %d reads and %d writes, want %d and %d", r.Contender.Key(), r.Reads.Count, r.Writes.Count, reads, len(requests)-reads)
		}
		if r.Busy <= 0 || r.Busy > 1 {
			t.Errorf("%s: busy %.2f", r.Contender.Key(), r.Busy)
		}
	}
}
