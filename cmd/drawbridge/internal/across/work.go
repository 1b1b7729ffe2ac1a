package across

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/engine"
)

// Work is the part of a worker.
func Work(e cluster.Engine, sent *engine.Sent, in io.Reader, out io.Writer) error {
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	var o order
	if err := orders.Decode(&o); err != nil {
		return fmt.Errorf("this command is for drawbridge lab --engine, not for people: %w", err)
	}
	locks := cluster.New(e, cluster.Options{Label: "drawbridge lab", Logger: slog.New(slog.DiscardHandler)})
	defer locks.Close()

	// A lock of its own first, so that the experiment finds it connected.
	if err := warm(locks, fmt.Sprintf("%s-%d", o.Lock, o.Number)); err != nil {
		return err
	}
	if err := answers.Encode(answer{Ready: true}); err != nil {
		return err
	}
	var s start
	if err := orders.Decode(&s); err != nil {
		return fmt.Errorf("the lab ended: %w", err)
	}
	began := time.Now().Add(time.Until(s.Began)) // by the clock that does not jump
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go func() { // ends with the process at the latest
		io.Copy(io.Discard, in)
		end()
	}()
	l := &lock{locks: locks, name: o.Lock}
	before := sent.Load()
	part, err := o.Experiment.Play(ctx, l, began, o.Number, func() { answers.Encode(answer{Asked: true}) })
	if err := errors.Join(err, l.err); err != nil {
		return err
	}
	part.Messages = sent.Load() - before
	return answers.Encode(answer{Part: &part})
}

// Fail tells the lab why a worker could not work.
func Fail(out io.Writer, err error) { json.NewEncoder(out).Encode(answer{Error: err.Error()}) }

func warm(locks *cluster.Locker, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	hold, err := locks.Lock(ctx, name)
	if err != nil {
		return err
	}
	return hold.Unlock(ctx)
}

// lock is the lock of one lane.
type lock struct {
	locks *cluster.Locker
	name  string
	hold  *cluster.Hold
	err   error // of what cannot return it
}

func (l *lock) Lock(ctx context.Context) (err error) {
	l.hold, err = l.locks.Lock(ctx, l.name)
	return err
}

func (l *lock) RLock(ctx context.Context) (err error) {
	l.hold, err = l.locks.RLock(ctx, l.name)
	return err
}

func (l *lock) Unlock() {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	l.err = errors.Join(l.err, l.hold.Unlock(ctx))
}

func (l *lock) RUnlock() { l.Unlock() }
func (l *lock) Settle()  {}
