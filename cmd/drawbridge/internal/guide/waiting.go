package guide

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lab"
)

// readersOverlap: ten readers, each of which stays until all ten are inside.
func (g Guide) readersOverlap() (string, error) {
	const readers = 10
	least := readers // of the readers inside at once, by policy
	for _, p := range policies {
		rw := g.NewRWMutex(p)
		ctx, cancel := bounded()
		defer cancel()
		var inside, all sync.WaitGroup
		inside.Add(readers)
		leave := make(chan struct{})
		failed := make([]error, readers)
		for i := range readers {
			all.Go(func() {
				err := rw.RLockContext(ctx)
				inside.Done()
				if failed[i] = err; err == nil {
					<-leave
					rw.RUnlock()
				}
			})
		}
		inside.Wait()
		least = min(least, rw.State().Readers)
		close(leave)
		all.Wait()
		if err := errors.Join(failed...); err != nil {
			return "", fmt.Errorf("%v: not all of %d readers came in: %w", p, readers, err)
		}
	}
	if least < readers {
		return "", fmt.Errorf("the lock counts %d of %d readers inside", least, readers)
	}
	return fmt.Sprintf("%d of %d readers inside at once, with each policy", least, readers), nil
}

// whoMayEnter tries every cell of the grid, and a reader behind a waiting
// writer, where the policies differ.
func (g Guide) whoMayEnter() (string, error) {
	cells := 0
	for _, p := range policies {
		rw := g.NewRWMutex(p)
		enters := func(acquire func(context.Context) error) error { return try(acquire).enters() }
		keptOut := func(acquire func(context.Context) error, then drawbridge.State) error {
			newcomer := try(acquire)
			return errors.Join(newcomer.waits(rw, then), newcomer.giveUp())
		}
		behindWriter := func() error {
			writer := try(rw.LockContext)
			err := writer.waits(rw, drawbridge.State{Readers: 2, WaitingWriters: 1})
			if p == drawbridge.PreferReaders {
				err = errors.Join(err, enters(rw.RLockContext))
			} else {
				err = errors.Join(err, keptOut(rw.RLockContext, drawbridge.State{Readers: 2, WaitingWriters: 1, WaitingReaders: 1}))
			}
			return errors.Join(err, writer.giveUp())
		}
		for _, step := range []struct {
			cell string
			try  func() error
		}{
			{"nobody inside: a reader enters", func() error { return enters(rw.RLockContext) }},
			{"a reader inside: a reader enters", func() error { return enters(rw.RLockContext) }},
			{"readers inside: a writer waits", func() error {
				return keptOut(rw.LockContext, drawbridge.State{Readers: 2, WaitingWriters: 1})
			}},
			{"readers inside, a writer waiting: a reader", behindWriter},
			{"nobody inside: a writer enters", func() error {
				for range rw.State().Readers {
					rw.RUnlock()
				}
				return enters(rw.LockContext)
			}},
			{"a writer inside: a reader waits", func() error {
				return keptOut(rw.RLockContext, drawbridge.State{Writer: true, WaitingReaders: 1})
			}},
			{"a writer inside: a writer waits", func() error {
				return keptOut(rw.LockContext, drawbridge.State{Writer: true, WaitingWriters: 1})
			}},
		} {
			if err := step.try(); err != nil {
				return "", fmt.Errorf("%v: %s: %w", p, step.cell, err)
			}
			cells++
		}
		rw.Unlock()
	}
	return fmt.Sprintf("%d cells as they should be: the grid and a reader behind a waiting writer, %d policies", cells, len(policies)), nil
}

// starvation is the experiment of the lab with sections so long that the
// readers overlap on a busy machine too.
var starvation = lab.Experiment{
	Readers: 10, Hold: 20 * time.Millisecond, Writers: 1, Deadline: 500 * time.Millisecond,
}

func (g Guide) starve(p drawbridge.Policy) (lab.Result, lab.Write, error) {
	r := starvation.Run(contender.Contender{Name: "checked", New: func() contender.Lock {
		return contender.Bridge(g.NewRWMutex(p))
	}})
	if len(r.Writes) != 1 {
		return r, lab.Write{}, fmt.Errorf("%v: the writer's wait ended %d times, not once", p, len(r.Writes))
	}
	return r, r.Writes[0], nil
}

func (g Guide) readerPreferenceStarves() (string, error) {
	r, write, err := g.starve(drawbridge.PreferReaders)
	if err != nil {
		return "", err
	}
	if !write.GaveUp {
		return "", fmt.Errorf("the writer got in after %s", round(write.Waited))
	}
	return fmt.Sprintf("the writer got nothing for %s, while %d reads were done", round(write.Waited), r.Reads), nil
}

func (g Guide) writerClosesTheDoor() (string, error) {
	var measured []string
	overlap := starvation.Readers
	for _, p := range closingPolicies {
		r, write, err := g.starve(p)
		switch {
		case err != nil:
			return "", err
		case write.GaveUp:
			return "", fmt.Errorf("%v: the writer starved for %s", p, round(write.Waited))
		case write.Waited > r.LongestRead+slack:
			return "", fmt.Errorf("%v: the writer waited %s; the longest read took %s", p, round(write.Waited), round(r.LongestRead))
		case r.PeakReaders < starvation.Readers:
			return "", fmt.Errorf("%v: at most %d of %d readers were inside at once", p, r.PeakReaders, starvation.Readers)
		}
		overlap = min(overlap, r.PeakReaders)
		measured = append(measured, fmt.Sprintf("%v %s", p, round(write.Waited)))
	}
	return fmt.Sprintf("the writer waited: %s; a read takes %s, %d overlap", strings.Join(measured, ", "), starvation.Hold, overlap), nil
}

// writerGivesUp: a reader is inside, a writer waits, and a reader waits behind
// it. When the writer leaves, nothing keeps that reader out any more.
func (g Guide) writerGivesUp() (string, error) {
	var after drawbridge.State
	for _, p := range closingPolicies {
		rw := g.NewRWMutex(p)
		if err := try(rw.RLockContext).enters(); err != nil {
			return "", err
		}
		writer := try(rw.LockContext)
		if err := writer.waits(rw, drawbridge.State{Readers: 1, WaitingWriters: 1}); err != nil {
			return "", fmt.Errorf("%v: a writer: %w", p, err)
		}
		reader := try(rw.RLockContext)
		if err := reader.waits(rw, drawbridge.State{Readers: 1, WaitingWriters: 1, WaitingReaders: 1}); err != nil {
			return "", fmt.Errorf("%v: a reader behind it: %w", p, err)
		}
		err := errors.Join(writer.giveUp(), reader.enters(), becomes(rw, drawbridge.State{Readers: 2}))
		if err != nil {
			return "", fmt.Errorf("%v: after the writer gave up: %w; the lock says %s", p, err, rw.State())
		}
		if !rw.TryRLock() {
			return "", fmt.Errorf("%v: a new reader has to wait: %s", p, rw.State())
		}
		after = rw.State()
		for range 3 {
			rw.RUnlock()
		}
	}
	return fmt.Sprintf("%d writers waiting after it; the reader behind it and a new one entered: %s", after.WaitingWriters, after), nil
}

// holderCancelledTwice: a reader and a writer are cancelled inside, and once
// more before they have left.
func (g Guide) holderCancelledTwice() (string, error) {
	for _, p := range policies {
		rw := g.NewRWMutex(p)
		for _, scoped := range []func(context.Context, func(context.Context) error) error{rw.WithRLock, rw.WithLock} {
			if err := cancelTwiceInside(scoped); !errors.Is(err, context.Canceled) {
				return "", fmt.Errorf("%v: the holder's error became %v", p, err)
			}
			if s := rw.State(); s != (drawbridge.State{}) {
				return "", fmt.Errorf("%v: after it the lock says %s", p, s)
			}
		}
	}
	textbook := contender.NewTextbook(true)
	_ = cancelTwiceInside(textbook.WithRLock)
	return fmt.Sprintf("0 readers inside after it (the textbook lock: %d)", textbook.State().Readers), nil
}

func cancelTwiceInside(scoped func(context.Context, func(context.Context) error) error) error {
	outer, cancelOuter := bounded()
	defer cancelOuter()
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	return scoped(ctx, func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		defer cancelOuter()
		return ctx.Err()
	})
}

// boundedWait: a holder is stuck, and a lookup has 50 ms.
func (g Guide) boundedWait() (string, error) {
	const limit = 50 * time.Millisecond
	rw := g.NewRWMutex(drawbridge.Balanced)
	if err := try(rw.LockContext).enters(); err != nil {
		return "", err
	}
	defer rw.Unlock()
	began := time.Now() // before the limit begins to run
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := rw.RLockContext(ctx)
	waited := time.Since(began)
	var wait *drawbridge.WaitError
	switch {
	case !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &wait):
		return "", fmt.Errorf("the lookup returned %v", err)
	case waited < limit || waited > limit+slack:
		return "", fmt.Errorf("the lookup took %s", round(waited))
	}
	return fmt.Sprintf("an error after %s: %v", round(waited), err), nil
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
