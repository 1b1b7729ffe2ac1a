package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/operator"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/engine"
)

type locksCommand struct {
	Engine  string        `placeholder:"URL" env:"DRAWBRIDGE_ENGINE" help:"Where the locks are: etcd://HOST:PORT,HOST:PORT or postgres://HOST/DATABASE. A URL with a password is better kept in the variable."`
	Timeout time.Duration `default:"10s" placeholder:"TIME" help:"Give up when the engine has not answered after this time (default ${default})."`

	Ls      locksLs      `cmd:"" help:"List the locks that are held or waited for."`
	Show    locksShow    `cmd:"" help:"Show who holds a lock and who waits for it, in order."`
	Release locksRelease `cmd:"" help:"Take a lock away from one holder that does not come back."`
	Prune   locksPrune   `cmd:"" help:"Remove what locks that are not in use have left at the engine."`
	Migrate locksMigrate `cmd:"" help:"Make the tables that locks on PostgreSQL need, once."`
}

func (locksCommand) Help() string {
	return `The locks that processes on many machines share through etcd or PostgreSQL, for the person who runs them.

Examples:
  drawbridge locks ls --engine etcd://etcd-1:2379,etcd-2:2379
  export DRAWBRIDGE_ENGINE='postgres://ops:PASSWORD@db/app?sslmode=verify-full'
  drawbridge locks ls reports/
  drawbridge locks show reports/daily
  drawbridge locks release reports/daily --token 1048613
  drawbridge locks prune
  drawbridge locks migrate`
}

type locksLs struct {
	Prefix string `arg:"" optional:"" help:"Only locks whose names begin with this."`
}

func (locksLs) Help() string {
	return `Names and labels are quoted, since others chose them.

Examples:
  drawbridge locks ls --engine etcd://localhost:2379
  drawbridge locks ls reports/`
}

func (c locksLs) Run(locks *locksCommand, std streams) error {
	return locks.with(func(ctx context.Context, e engine.Engine) error {
		return operator.List(ctx, std.out, e, c.Prefix)
	})
}

type locksShow struct {
	Name string `arg:"" help:"The lock."`
}

func (locksShow) Help() string {
	return `Example:
  drawbridge locks show reports/daily --engine etcd://localhost:2379`
}

func (c locksShow) Run(locks *locksCommand, std streams) error {
	return locks.with(func(ctx context.Context, e engine.Engine) error {
		return operator.Show(ctx, std.out, e, c.Name)
	})
}

type locksRelease struct {
	Name  string        `arg:"" help:"The lock."`
	Token cluster.Token `required:"" placeholder:"T" help:"The token of the hold, as drawbridge locks show prints it."`
	Yes   bool          `help:"Release it. Without, the command says what that means and stops."`
}

func (locksRelease) Help() string {
	return `Only the hold with this token ends, and nothing else of its process: on etcd its key goes, on PostgreSQL its session ends, which readers of one process share. The holder may still be working until it notices, and only data that checks tokens is safe from it.

Examples:
  drawbridge locks show reports/daily
  drawbridge locks release reports/daily --token 1048613
  drawbridge locks release reports/daily --token 1048613 --yes`
}

func (c locksRelease) Run(locks *locksCommand, std streams) error {
	if c.Token < 1 {
		return fmt.Errorf("a token is a number from 1 on, not %d; drawbridge locks show prints it", c.Token)
	}
	return locks.with(func(ctx context.Context, e engine.Engine) error {
		return operator.Release(ctx, std.out, e, c.Name, c.Token, c.Yes)
	})
}

type locksPrune struct{}

func (locksPrune) Help() string {
	return `Locks go on working meanwhile, and tokens go on rising afterwards. On etcd there is nothing to remove.

Example:
  drawbridge locks prune --engine postgres://db/app`
}

func (locksPrune) Run(locks *locksCommand, std streams) error {
	return locks.with(func(ctx context.Context, e engine.Engine) error {
		return operator.Prune(ctx, std.out, e)
	})
}

type locksMigrate struct {
	SQL bool `name:"sql" help:"Print the SQL instead of running it."`
}

func (locksMigrate) Help() string {
	return `Tables that are there stay as they are, so it may be run again, and twice at once. The role needs the right to create a schema; what roles that only use locks need is in docs/cluster.md. On etcd there is nothing to make.

Examples:
  drawbridge locks migrate --engine postgres://admin@db/app
  drawbridge locks migrate --sql --engine postgres://db/app | psql service=app`
}

func (c locksMigrate) Run(locks *locksCommand, std streams) error {
	if c.SQL {
		sql, err := engine.SQL(locks.Engine)
		if err == nil {
			_, err = io.WriteString(std.out, sql)
		}
		return err
	}
	return locks.with(func(ctx context.Context, e engine.Engine) error {
		made, err := engine.Migrate(ctx, e)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(std.out, made)
		return err
	})
}

// with opens the engine for f, which is to be through before the timeout.
func (c *locksCommand) with(f func(context.Context, engine.Engine) error) error {
	if c.Timeout <= 0 {
		return fmt.Errorf("the timeout must be more than 0s, not %s", c.Timeout)
	}
	e, err := engine.Open(c.Engine, c.Timeout, new(engine.Sent))
	if errors.Is(err, context.DeadlineExceeded) {
		return c.noAnswer(err)
	}
	if err != nil {
		return err
	}
	defer e.Close()
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(interrupted, c.Timeout)
	defer cancel()
	err = f(ctx, e)
	switch {
	case err == nil:
		return nil
	case interrupted.Err() != nil:
		return errors.New("interrupted")
	case ctx.Err() != nil:
		return c.noAnswer(err)
	}
	return err
}

func (c *locksCommand) noAnswer(err error) error {
	return fmt.Errorf("no answer from the engine within %s: is it there, and is this the way to it? (%w)", c.Timeout, err)
}
