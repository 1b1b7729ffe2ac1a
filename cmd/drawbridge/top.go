package main

import (
	"context"
	"os"

	"golang.org/x/term"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/top"
	"github.com/drawbridge-go/drawbridge/inspect"
)

type topCommand struct {
	URL string `arg:"" optional:"" name:"url" env:"DRAWBRIDGE_URL" help:"Where the process serves inspect.Handler, such as localhost:6060; the path is /debug/locks/ if there is none."`
}

func (topCommand) Help() string {
	return `The locks of a running process, those that are waited for first. Where the output is no terminal, it is the table of one moment.

Examples:
  drawbridge top localhost:6060
  drawbridge top https://service.internal/debug/locks/
  drawbridge top localhost:6060 | head`
}

func (c topCommand) Run(std streams) error {
	source, err := top.Open(c.URL)
	if err != nil {
		return err
	}
	in, ok := std.in.(*os.File)
	if ok && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(std.out.Fd())) {
		return top.Run(context.Background(), source)
	}
	report, err := source.Locks(context.Background())
	if err != nil {
		return err
	}
	return inspect.WriteText(std.out, report)
}
