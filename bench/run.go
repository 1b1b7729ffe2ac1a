package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"time"
)

// A plan is how the rows are measured.
type plan struct {
	rounds   int
	time     time.Duration // of one measurement of one contender
	retries  int           // discarded rounds that a row may have
	enough   float64       // gain from which a multi-core round counts
	gain     func() float64
	progress io.Writer
}

// A table of samples: by entry, then figure, then round.
type samples [][][]float64

// A measured row has the samples of the rounds that counted. The last entry is a control: the row's first
// entry once more, as if it were another contender. What differs between the two is the noise.
type measured struct {
	row
	samples   samples
	discarded int
}

const countedRounds = 3

// run measures one row in rounds: every contender once, then every contender again. When ctx ends, it returns
// the rounds it has.
func (p plan) run(ctx context.Context, r row) measured {
	m := measured{row: r}
	rounds := countedRounds
	if !r.counted {
		rounds = p.rounds
		control := r.entries[0]
		control.name += " again"
		m.entries = append(append([]entry{}, r.entries...), control)
	}
	m.samples = make(samples, len(m.entries))
	for e := range m.entries {
		m.samples[e] = make([][]float64, len(r.figures))
	}

	operations := make([]int, len(m.entries))
	for e, entry := range m.entries {
		if ctx.Err() != nil {
			return m
		}
		operations[e] = r.operations
		if entry.loop != nil && r.operations == 0 {
			p.say("%s: calibrating %s", r.name, entry.name)
			operations[e] = calibrate(entry.loop, p.time)
		}
	}
	for round := 0; round < rounds; {
		p.say("%s: round %d of %d", r.name, round+1, rounds)
		if r.multicore && !p.waitForProcessors(ctx, &m) {
			break
		}
		figures := make([][]float64, len(m.entries))
		for e, entry := range m.entries {
			if ctx.Err() != nil {
				return m
			}
			runtime.GC()
			if entry.loop != nil {
				n := float64(operations[e])
				switched := switches()
				figures[e] = []float64{float64(entry.loop(operations[e])) / n}
				if r.switching {
					figures[e] = append(figures[e], (switches()-switched)/n)
				}
			} else {
				figures[e] = entry.measure()
			}
		}
		if r.multicore && p.gain() < p.enough {
			m.discarded++ // the machine got busy during the round
			continue
		}
		for e := range figures {
			for f, v := range figures[e] {
				m.samples[e][f] = append(m.samples[e][f], v)
			}
		}
		round++
	}
	return m
}

// waitForProcessors discards rounds until two goroutines can run side by side, or reports that the row has no
// retries left or ctx has ended.
func (p plan) waitForProcessors(ctx context.Context, m *measured) bool {
	for m.discarded <= p.retries && ctx.Err() == nil {
		if p.gain() >= p.enough {
			return true
		}
		m.discarded++
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// calibrate finds how many operations take about the wanted time.
func calibrate(loop func(n int) time.Duration, want time.Duration) int {
	for n := 100; ; n *= 4 {
		took := loop(n)
		if took >= want/8 {
			return max(n/8, int(float64(n)*float64(want)/float64(took)))
		}
	}
}

func (p plan) say(format string, args ...any) {
	fmt.Fprintf(p.progress, "\r\x1b[K"+format, args...)
}

// switches returns about how often a goroutine has been switched to since the program began. The runtime
// measures how long goroutines wait to run, for one of eight.
func switches() float64 {
	metrics.Read(schedulingLatencies)
	var n uint64
	for _, count := range schedulingLatencies[0].Value.Float64Histogram().Counts {
		n += count
	}
	return 8 * float64(n)
}

var schedulingLatencies = []metrics.Sample{{Name: "/sched/latencies:seconds"}}
