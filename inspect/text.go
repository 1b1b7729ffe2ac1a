package inspect

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// noLocks is what there is to say when a process watches no lock.
const noLocks = "No lock is watched. The program makes one known by inspect.Watch; " +
	"locks of a cluster engine are not among them, \"drawbridge locks\" lists those."

// WriteText writes report as a table for people, and what each lock that is
// held or waited for has inside. Names and labels are quoted where they have
// anything but plain printable text, so that they cannot drive a terminal.
func WriteText(w io.Writer, report *Report) error {
	b := bufio.NewWriter(w)
	locks := "locks"
	if report.Watched == 1 {
		locks = "lock"
	}
	fmt.Fprintf(b, "%s: %d %s watched, %s\n", plain(report.Program), report.Watched, locks, report.Time.Format(time.RFC3339))
	if report.Watched == 0 {
		b.WriteString("\n" + noLocks + "\n")
		return b.Flush()
	}
	if report.LeftOut > 0 {
		fmt.Fprintf(b, "the busiest %d of them:\n", len(report.Locks))
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tNAME\tKIND\tSTATE\tHOLDS\tWAITS\tWAIT P99\tHOLD P99\tGAVE UP")
	for i := range report.Locks {
		l := &report.Locks[i]
		wait, hold := l.Total()
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%d\n", l.ID, plain(l.Name), plain(l.Kind), plain(l.Words),
			l.Read.Holds+l.Upgradable.Holds+l.Write.Holds, wait.Count, dash(wait), dash(hold),
			l.GaveUp.Canceled+l.GaveUp.Deadline+l.GaveUp.Deadlock)
	}
	t.Flush()
	for i := range report.Locks {
		writeCalls(b, &report.Locks[i])
	}
	return b.Flush()
}

// Total returns the waits and the holds of all modes together.
func (l *Lock) Total() (wait, hold Histogram) {
	for _, m := range []*Mode{&l.Read, &l.Upgradable, &l.Write} {
		wait.Merge(m.Wait)
		hold.Merge(m.Hold)
	}
	return wait, hold
}

func dash(h Histogram) string {
	if h.Count == 0 {
		return "-"
	}
	return Duration(h.Quantile(.99))
}

// writeCalls lists who is inside l and who waits.
func writeCalls(w io.Writer, l *Lock) {
	if len(l.Holders)+len(l.Waiters)+l.PlainReaders.Inside == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s (%d): %s\n", plain(l.Name), l.ID, plain(l.Words))
	calls := func(does string, calls []Call, more int) {
		for _, c := range calls {
			mode := c.Mode
			if c.Upgrade {
				mode = "upgrade"
			}
			fmt.Fprintf(w, "  %s to %s for %s%s%s\n", does, mode, Duration(c.Age), who(c.Key, c.Labels), at(c.Stack))
		}
		if more > 0 {
			fmt.Fprintf(w, "  and %d more\n", more)
		}
	}
	calls("holds", l.Holders, l.MoreHolders)
	if p := l.PlainReaders; p.Inside > 0 {
		fmt.Fprintf(w, "  %d plain readers inside, the oldest for at least %s; entered since there was none:\n", p.Inside, Duration(p.AtLeast))
		for _, s := range p.Sites {
			fmt.Fprintf(w, "    %d%s%s\n", s.Entered, who("", s.Labels), at(s.Stack))
		}
		if p.More > 0 {
			fmt.Fprintf(w, "    %d from elsewhere\n", p.More)
		}
	}
	calls("waits", l.Waiters, l.MoreWaiters)
}

func who(key string, labels []Label) string {
	var b strings.Builder
	if key != "" {
		fmt.Fprintf(&b, ", key %s", plain(key))
	}
	for _, l := range labels {
		fmt.Fprintf(&b, ", %s=%s", plain(l.Key), plain(l.Value))
	}
	return b.String()
}

func at(stack []Frame) string {
	var b strings.Builder
	for i, f := range stack {
		if i == 0 {
			b.WriteString(", at ")
		} else {
			b.WriteString("\n      from ")
		}
		b.WriteString(plain(fmt.Sprintf("%s (%s:%d)", f.Function, f.File, f.Line)))
	}
	return b.String()
}

// plain returns s, quoted if it has anything that is not printable.
func plain(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}
