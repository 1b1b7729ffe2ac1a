package main

import (
	"fmt"

	"charm.land/lipgloss/v2"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/guide"
)

type verifyCommand struct{}

func (verifyCommand) Help() string {
	return `Each line is one promise, tried out on the real locks of the library: what was measured, and whether that keeps the promise. Bounds of time leave room for a busy machine. The exit status is 1 when a promise is broken.

Examples:
  drawbridge verify
  drawbridge verify | grep FAIL`
}

func (verifyCommand) Run(std streams) error {
	out := colored(std.out)
	checks := guide.Library.Checks()
	name := 0
	for _, c := range checks {
		name = max(name, len(c.Name))
	}
	pass := lipgloss.NewStyle().Foreground(lipgloss.Green).Render("PASS")
	fail := lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true).Render("FAIL")
	broken := 0
	for _, c := range checks {
		measured, err := c.Run()
		verdict := pass
		if err != nil {
			broken++
			verdict, measured = fail, printable(err.Error())
		}
		fmt.Fprintf(out, "%s  %-*s  %s\n", verdict, name, c.Name, measured)
	}
	if broken > 0 {
		fmt.Fprintf(out, "\n%d of %d promises are broken.\n", broken, len(checks))
		return errFailed
	}
	fmt.Fprintf(out, "\nAll %d promises hold.\n", len(checks))
	return nil
}
