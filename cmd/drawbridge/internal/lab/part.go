package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lanes"
)

// Part is what one reader or writer made of an experiment that is spread over
// processes.
type Part struct {
	Lane            lanes.Lane
	Reads           int
	LongestRead     time.Duration
	LongestReadWait time.Duration
	Writes          []Write
	Acquired        []time.Duration // how long each grant took
	Messages        int64           // sent to the engine for it
}

// Play is the part of one reader, or one writer: those are numbered after the
// readers. The experiment begins at began and ends with ctx; asked is called
// after the first attempt of a writer. An error is one of the lock itself.
func (e Experiment) Play(ctx context.Context, lock contender.Lock, began time.Time, number int, asked func()) (Part, error) {
	r := run{Experiment: e, lock: lock, began: began, asked: asked}
	if err := sleep(ctx, time.Until(began)); err != nil {
		return Part{}, err
	}
	if number < e.Readers {
		var me reader
		r.read(ctx, number, &me)
		p := Part{Lane: me.lane.Lane, Reads: me.reads, LongestRead: me.longestHold, LongestReadWait: me.longestWait, Acquired: me.acquired}
		return p, unexpected(me.err)
	}
	var me writer
	r.write(ctx, number-e.Readers, &me)
	p := Part{Lane: me.lane.Lane, Writes: me.writes}
	for _, w := range me.writes {
		if !w.GaveUp {
			p.Acquired = append(p.Acquired, w.Waited)
		}
	}
	return p, unexpected(me.err)
}

// unexpected is err, unless it only says that the time was over.
func unexpected(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// Together is the result of an experiment whose parts are given, the readers
// first.
func Together(c contender.Contender, parts []Part) Result {
	result := Result{Contender: c}
	var messages int64
	for _, p := range parts {
		result.Reads += p.Reads
		result.LongestRead = max(result.LongestRead, p.LongestRead)
		result.LongestReadWait = max(result.LongestReadWait, p.LongestReadWait)
		result.Writes = append(result.Writes, p.Writes...)
		result.Lanes = append(result.Lanes, p.Lane)
		result.Acquired = append(result.Acquired, p.Acquired...)
		messages += p.Messages
	}
	slices.Sort(result.Acquired)
	if n := len(result.Acquired); n > 0 {
		result.MessagesPerGrant = float64(messages) / float64(n)
	}
	result.PeakReaders = peak(result.Lanes)
	return result
}

// peak is the greatest number of lanes that were reading at one moment.
func peak(all []lanes.Lane) int {
	type change struct {
		at time.Duration
		by int
	}
	var changes []change
	for _, l := range all {
		for _, s := range l.Segments {
			if s.Activity == lanes.Reading {
				changes = append(changes, change{s.From, 1}, change{s.To, -1})
			}
		}
	}
	slices.SortFunc(changes, func(a, b change) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.by - b.by // who leaves goes first
	})
	inside, most := 0, 0
	for _, c := range changes {
		inside += c.by
		most = max(most, inside)
	}
	return most
}

// Exclusive returns an error if a write overlaps with another lane's hold by
// more than their clocks can differ: the lock would not be one.
func Exclusive(all []lanes.Lane) error {
	const slack = time.Millisecond
	for i, w := range all {
		for _, write := range w.Segments {
			if write.Activity != lanes.Writing {
				continue
			}
			for j, o := range all {
				for _, hold := range o.Segments {
					if i != j && (hold.Activity == lanes.Reading || hold.Activity == lanes.Writing) &&
						hold.From < write.To-slack && write.From < hold.To-slack {
						return fmt.Errorf("%s was writing from %s to %s, and %s was %s from %s to %s: the lock let both in",
							w.Name, write.From, write.To, o.Name, hold.Activity, hold.From, hold.To)
					}
				}
			}
		}
	}
	return nil
}
