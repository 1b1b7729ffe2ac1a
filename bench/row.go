package main

import (
	"fmt"
	"strings"
	"time"
)

// A row is one comparison: something that every contender does, in one or more figures.
type row struct {
	name    string
	what    string // one sentence: what is measured
	figures []figure
	entries []entry
	bars    []bar

	// multicore rows say something only when the processors are free; their rounds are discarded otherwise.
	multicore bool
	// counted rows give counts, not times: they need neither many rounds nor a quiet machine.
	counted bool

	// switching rows also count how often a goroutine was switched to, per operation, as their second figure:
	// a lock that puts its callers to sleep for each operation shows it there on any machine, quiet or not.
	switching bool

	operations int // of one measurement; 0: as many as fill the wanted time
}

// A figure is one thing that a row measures.
type figure struct {
	name string // empty where the row has only one
	unit string
	more bool // more is better
}

var (
	perOperation      = []figure{{unit: "ns/op"}}
	timesAndSwitching = []figure{{name: "time", unit: "ns/op"}, {name: "switches", unit: "switches/op"}}
)

// An entry is one contender in one row. It has a loop or, where the row is not about time per operation, a
// measure that gives all figures of the row.
type entry struct {
	name    string
	role    role
	loop    func(n int) time.Duration // do n operations, return what they took
	measure func() []float64
}

// A bar is what a row must reach: of ≤ limit × times, or of ≤ limit where times names nothing.
type bar struct {
	of    term
	limit float64
	times term
}

// A term is the median of an entry in this row or in another one.
type term struct {
	entry  string
	row    string // this row where empty
	figure int
	above  string // entry of the same row that is subtracted: a floor
}

// under is the commonest bar: an entry of this row against another one.
func under(entry string, limit float64, reference string) bar {
	return bar{of: term{entry: entry}, limit: limit, times: term{entry: reference}}
}

func (b bar) String() string {
	if b.times.entry == "" {
		return fmt.Sprintf("%v ≤ %s", b.of, short(b.limit))
	}
	return fmt.Sprintf("%v ≤ %s × %v", b.of, short(b.limit), b.times)
}

func (t term) String() string {
	s := t.entry
	if t.above != "" {
		s = "(" + s + " − " + t.above + ")"
	}
	if t.row != "" {
		s += " in " + t.row
	}
	return s
}

// short writes a figure with about three digits that mean something.
func short(v float64) string {
	switch a := max(v, -v); {
	case a == 0:
		return "0"
	case a < 0.1:
		return fmt.Sprintf("%.3f", v)
	case a < 100:
		s := fmt.Sprintf("%.2f", v)
		if a >= 10 {
			s = fmt.Sprintf("%.1f", v)
		}
		return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	default:
		return thousands(fmt.Sprintf("%.0f", v))
	}
}

// thousands puts commas into a whole number.
func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
