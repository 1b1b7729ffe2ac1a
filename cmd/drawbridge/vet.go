package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"

	"github.com/drawbridge-go/drawbridge/lockcheck/vet"
)

type vetCommand struct{ vet.Options }

func (vetCommand) Help() string {
	return `Locks that are taken twice, upgraded, not given back, taken in two orders, or held while something else is waited for: in sync.Mutex, sync.RWMutex, drawbridge's types, and whatever has their methods. It runs go vet with itself as the tool, so it knows the packages, build tags and cache that you build with.

The exit status is 0 if no finding is an error (with --strict: none is a warning either), 1 if one is, and 2 if the packages could not be looked at. A comment //drawbridge:ignore NAME reason takes back a finding of its line.

Examples:
  drawbridge vet ./...
  drawbridge vet --strict --only lockorder,lockblock ./...
  drawbridge vet --json ./... | jq -r '.findings[] | .message'
  drawbridge vet --sarif ./... > locks.sarif
  drawbridge vet --baseline locks.json --write-baseline ./...
  drawbridge vet --baseline locks.json ./...
  drawbridge vet --fix --only ctxlock ./...
  go vet -vettool=$(which drawbridge) ./...`
}

func (c vetCommand) Run(std streams) error {
	switch {
	case c.JSON && c.SARIF:
		return errors.New("--json and --sarif are two forms of one output: use one of them")
	case c.WriteBaseline && c.Baseline == "":
		return errors.New("say with --baseline FILE where --write-baseline is to write")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return exited(vet.Run(ctx, c.Options, std.out, std.err))
}

// exited is what a command returns whose work has ended with an exit status.
func exited(status int) error {
	if status == 0 {
		return nil
	}
	return reported(status)
}

// calledByGoVet reports whether go vet, which runs this program as its tool, is
// who called it: with flags, if with any, before the file that says what to do.
// An argument of one of the commands may end in .cfg, too.
func calledByGoVet(args []string) bool {
	return vet.IsTool(args) && (len(args) == 2 || strings.HasPrefix(args[1], "-"))
}
