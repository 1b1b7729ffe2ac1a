// Package operator is what a person does to locks from the outside: list them, look at one, take one away from a holder
// that does not come back, and clear up. It is the logic of "drawbridge locks" for any engine.
//
// All text that comes from an engine is quoted before it is written: names and labels were chosen by somebody else.
package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// ErrNotConfirmed is returned by Release when it was not told to go on.
var ErrNotConfirmed = errors.New("nothing was released; say --yes to release it")

// List writes a table of the locks whose names begin with prefix and that are held or waited for.
func List(ctx context.Context, w io.Writer, e cluster.Engine, prefix string) error {
	var names []string
	for name, err := range e.Names(ctx, prefix) {
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		_, err := fmt.Fprintln(w, "no lock is held or waited for")
		return err
	}
	slices.Sort(names)
	t := table(w)
	fmt.Fprintln(t, "NAME\tHELD TO\tHOLDERS\tWAITING\tLONGEST\tFIRST HOLDER")
	now := time.Now()
	for _, name := range names {
		entries, err := e.Entries(ctx, name)
		if err != nil {
			return err
		}
		s := cluster.NewState(name, entries)
		if len(entries) == 0 {
			continue // gone meanwhile
		}
		held, holder := "-", "-"
		if len(s.Holders) > 0 {
			held, holder = s.Holders[0].Mode.String(), owner(s.Holders[0].Owner)
		}
		longest := "-"
		if len(s.Waiters) > 0 {
			longest = age(now, s.Waiters[0].Since)
		}
		fmt.Fprintf(t, "%q\t%s\t%d\t%d\t%s\t%s\n", name, held, len(s.Holders), len(s.Waiters), longest, holder)
	}
	return t.Flush()
}

// Show writes who holds a lock and who waits for it, in order.
func Show(ctx context.Context, w io.Writer, e cluster.Engine, name string) error {
	if err := cluster.ValidName(name); err != nil {
		return err
	}
	entries, err := e.Entries(ctx, name)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintf(w, "%q is free\n", name)
		return err
	}
	s := cluster.NewState(name, entries)
	t := table(w)
	fmt.Fprintln(t, "\tMODE\tTOKEN\tCAME\tHOST\tPID\tLABEL")
	now := time.Now()
	row := func(what string, x cluster.Entry) {
		token := "-"
		if x.Token != 0 {
			token = strconv.FormatInt(int64(x.Token), 10)
		}
		fmt.Fprintf(t, "%s\t%v\t%s\t%s ago\t%q\t%d\t%q\n", what, x.Mode, token, age(now, x.Since), x.Host, x.PID, x.Label)
	}
	for _, x := range s.Holders {
		row("holds", x)
	}
	for i, x := range s.Waiters {
		row(fmt.Sprintf("waits %d", i+1), x)
	}
	return t.Flush()
}

// Release ends the hold of name that has this token, and no other. It writes first what that means. Without yes it stops
// there with ErrNotConfirmed. If there is no such hold, perhaps because it ended meanwhile, the error matches
// cluster.ErrLost.
func Release(ctx context.Context, w io.Writer, e cluster.Engine, name string, token cluster.Token, yes bool) error {
	if err := cluster.ValidName(name); err != nil {
		return err
	}
	entries, err := e.Entries(ctx, name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(entries, func(x cluster.Entry) bool { return x.Granted && x.Token == token })
	if i < 0 {
		return fmt.Errorf("%w: no hold of %q has token %d; look again with: drawbridge locks show", cluster.ErrLost, name, token)
	}
	x := entries[i]
	_, err = fmt.Fprintf(w, `%s holds %q to %v with token %d.
It may still be working, and goes on until it notices, which a paused or cut off process does late. Others get the lock at
once. Only data that checks tokens is safe from both working at the same time.
`, owner(x.Owner), name, x.Mode, token)
	if err != nil {
		return err
	}
	if !yes {
		return ErrNotConfirmed
	}
	if err := e.Remove(ctx, name, token); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, "released")
	return err
}

// Prune removes what locks that are not in use have left at the engine. Tokens go on rising afterwards.
func Prune(ctx context.Context, w io.Writer, e cluster.Engine) error {
	n, err := e.Prune(ctx)
	if err != nil {
		return err
	}
	switch n {
	case 0:
		_, err = fmt.Fprintln(w, "nothing to remove")
	case 1:
		_, err = fmt.Fprintln(w, "removed the remains of 1 lock")
	default:
		_, err = fmt.Fprintf(w, "removed the remains of %d locks\n", n)
	}
	return err
}

func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

func owner(o cluster.Owner) string {
	s := fmt.Sprintf("%q pid %d", o.Host, o.PID)
	if o.Label != "" {
		s += fmt.Sprintf(" %q", o.Label)
	}
	return s
}

// age is how long ago something was by the clock of the machine that said so, which may be ahead of this one.
func age(now, then time.Time) string {
	d := max(now.Sub(then), 0)
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
