package main

import (
	"fmt"
	"io"
	"runtime"
	"time"
)

// enoughGain is how much more two spinning goroutines must get done than one for a multi-core round to count.
const enoughGain = 1.7

// A plan is how the rows are measured.
type plan struct {
	rounds   int
	time     time.Duration // of one measurement of one contender
	retries  int           // discarded rounds that a row may have
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

// run measures one row in rounds: every contender once, then every contender again.
func (p plan) run(r row) measured {
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
		operations[e] = r.operations
		if entry.loop != nil && r.operations == 0 {
			p.say("%s: calibrating %s", r.name, entry.name)
			operations[e] = calibrate(entry.loop, p.time)
		}
	}
	for round := 0; round < rounds; {
		p.say("%s: round %d of %d", r.name, round+1, rounds)
		if r.multicore && !p.waitForProcessors(&m) {
			break
		}
		figures := make([][]float64, len(m.entries))
		for e, entry := range m.entries {
			runtime.GC()
			if entry.loop != nil {
				figures[e] = []float64{float64(entry.loop(operations[e])) / float64(operations[e])}
			} else {
				figures[e] = entry.measure()
			}
		}
		if r.multicore && p.gain() < enoughGain {
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
// retries left.
func (p plan) waitForProcessors(m *measured) bool {
	for m.discarded <= p.retries {
		if p.gain() >= enoughGain {
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
