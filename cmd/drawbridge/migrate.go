package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/drawbridge-go/drawbridge/lockcheck/migrate"
)

type migrateCommand struct{ migrate.Options }

func (migrateCommand) Help() string {
	return `Every sync.Mutex and sync.RWMutex of the module, in its tests too, becomes drawbridge's if all that is done with it can follow: not one that another module is given as *sync.Mutex. The result is compiled before anything is written, and a lock that does not compile stays as it was; the output says which and why.

The difference is printed, and what stays goes to standard error. Nothing is written without --write. The exit status is 0, or 2 if the module could not be changed.

Examples:
  drawbridge migrate ./...
  drawbridge migrate --context ./... | less
  drawbridge migrate --write ./... && go test ./...`
}

func (c migrateCommand) Run(std streams) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return exited(migrate.Run(ctx, c.Options, std.out, std.err))
}
