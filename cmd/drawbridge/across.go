package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/across"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/engine"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lab"
	"github.com/drawbridge-go/drawbridge/internal/throwaway"
)

// runAcross does the experiment with the lock of package cluster on the engine
// that the flag names.
func (c labCommand) runAcross(e lab.Experiment, std streams) error {
	if len(c.Policy) > 0 {
		return errors.New("--policy is for locks in one process; with --engine there is one lock, in order of arrival")
	}
	if n := e.Readers + e.Writers; n > across.Most {
		return fmt.Errorf("with --engine every reader and writer is a process; there can be %d, not %d", across.Most, n)
	}
	e.Asking = e.Hold * 22 / 5 // as many sections after the beginning as in one process
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	url, end, err := throwaway.Start(ctx, c.Engine)
	if err != nil {
		return err
	}
	defer end()
	if err := reached(ctx, url, url != c.Engine); err != nil {
		return err
	}
	on := "PostgreSQL"
	if strings.HasPrefix(url, "etcd") {
		on = "etcd"
	}
	run := func(contender contender.Contender) (lab.Result, error) { return across.Run(ctx, e, contender, url) }
	return c.compare(e, []contender.Contender{{Name: "cluster.Locker on " + on, Policy: "order of arrival"}}, on, run, std)
}

// reached looks at the engine once, so that a URL that leads nowhere is said at
// once, and by one process. On a server that is new it makes the tables first.
func reached(ctx context.Context, url string, isNew bool) error {
	const patience = 10 * time.Second
	e, err := engine.Open(url, patience, new(engine.Sent))
	if err != nil {
		return err
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if isNew {
		if _, err := engine.Migrate(ctx, e); err != nil {
			return err
		}
	}
	_, err = e.Entries(ctx, "drawbridge-lab")
	return err
}

// labWorkerCommand is one reader or writer of the experiment across processes.
// The lab starts it.
type labWorkerCommand struct {
	Engine string `env:"DRAWBRIDGE_LAB_ENGINE" help:"As for drawbridge lab."`
}

func (c labWorkerCommand) Run(std streams) error {
	sent := new(engine.Sent)
	e, err := engine.Open(c.Engine, across.Patience, sent)
	if err == nil {
		defer e.Close()
		err = across.Work(e, sent, std.in, std.out)
	}
	if err != nil {
		across.Fail(std.out, err)
		return reported(exitUsage)
	}
	return nil
}
