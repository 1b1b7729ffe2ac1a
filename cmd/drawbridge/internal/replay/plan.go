// Package replay plays the requests of an access log against locks and
// measures how long they wait.
package replay

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/accesslog"
)

// Options is how a log is played.
type Options struct {
	Refresh  time.Duration // of the log's time, between rewrites of everything; 0 for none
	Hold     time.Duration // of a section whose length the log does not say
	Speed    float64       // seconds of the log in a second; 0 for one that suits the log
	Deadline time.Duration // a request gives up after this wait
}

// Check says what is wrong with the options.
func (o Options) Check() error {
	switch {
	case o.Refresh < 0:
		return fmt.Errorf("--refresh=%s must not be negative", o.Refresh)
	case o.Hold <= 0 || o.Hold > time.Minute:
		return fmt.Errorf("--hold=%s must be more than 0s and at most 1m", o.Hold)
	case o.Speed < 0 || math.IsNaN(o.Speed) || math.IsInf(o.Speed, 0):
		return fmt.Errorf("--speed=%g must be a positive number, or 0 to have one chosen", o.Speed)
	case o.Deadline <= 0 || o.Deadline > time.Minute:
		return fmt.Errorf("--deadline=%s must be more than 0s and at most 1m", o.Deadline)
	}
	return nil
}

// Plan is a log made ready to be played.
type Plan struct {
	Arrivals  []Arrival     // in order
	Length    time.Duration // until the last arrival
	Span      time.Duration // the same in the log's time
	Speed     float64
	Rewrites  int           // how many of the arrivals Options.Refresh added
	Timed     int           // how many sections are as long as the log says
	Exclusive time.Duration // the sections of all writers, end to end
	Deadline  time.Duration
}

// Arrival is a request that wants the lock.
type Arrival struct {
	At    time.Duration // since the beginning
	Write bool
	Hold  time.Duration
}

// NewPlan presses the log together. The speed moves the arrivals closer, as if
// more users sent them; a section stays as long as it is. A log must have a
// request.
func NewPlan(log accesslog.Log, o Options) (Plan, error) {
	first := log.Requests[0].At
	p := Plan{Deadline: o.Deadline, Span: log.Requests[len(log.Requests)-1].At.Sub(first)}
	for _, r := range log.Requests {
		a := Arrival{At: r.At.Sub(first), Write: !r.Reads(), Hold: o.Hold}
		if r.Timed {
			a.Hold = r.Took
			p.Timed++
		}
		p.Arrivals = append(p.Arrivals, a)
	}
	if o.Refresh > 0 {
		const most = 1_000_000
		if p.Span/o.Refresh > most {
			return Plan{}, fmt.Errorf("--refresh=%s makes %d rewrites in the log's %s; at most %d can be played", o.Refresh, p.Span/o.Refresh, p.Span, most)
		}
		for at := o.Refresh; at <= p.Span; at += o.Refresh {
			p.Arrivals = append(p.Arrivals, Arrival{At: at, Write: true, Hold: o.Hold})
			p.Rewrites++
		}
		slices.SortStableFunc(p.Arrivals, func(a, b Arrival) int { return int(a.At - b.At) })
	}
	for _, a := range p.Arrivals {
		if a.Write {
			p.Exclusive += a.Hold
		}
	}
	p.Speed = o.Speed
	if p.Speed == 0 {
		p.Speed = p.suitableSpeed()
	}
	length := float64(p.Span) / p.Speed
	if length >= math.MaxInt64 {
		return Plan{}, fmt.Errorf("--speed=%g would take centuries", p.Speed)
	}
	p.Length = time.Duration(length)
	for i := range p.Arrivals {
		p.Arrivals[i].At = time.Duration(float64(p.Arrivals[i].At) / p.Speed)
	}
	return p, nil
}

// suitableSpeed is one at which the log takes some seconds, its writers fill
// at most half of the time unless that takes too long, and this machine can
// send the requests in time.
func (p Plan) suitableSpeed() float64 {
	const (
		short, long = 5 * time.Second, 30 * time.Second
		perSecond   = 4000
	)
	length := min(max(short, 2*p.Exclusive), long)
	length = max(length, time.Duration(len(p.Arrivals))*time.Second/perSecond)
	speed := float64(p.Span) / float64(length)
	if speed <= 1 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(speed))-1) // two digits are enough
	return max(1, math.Floor(speed/unit)*unit)
}
