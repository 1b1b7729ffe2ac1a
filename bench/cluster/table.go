package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// table is what one row of the benchmark prints: its title, its columns, and a line for each contender.
type table struct {
	title   string
	columns []string
	lines   [][]string
}

func (t *table) add(cells ...string) { t.lines = append(t.lines, cells) }

func (t *table) write(w io.Writer, markdown bool) error {
	fmt.Fprintf(w, "\n%s\n\n", t.title)
	if markdown {
		fmt.Fprintf(w, "| %s |\n|:--%s|\n", strings.Join(t.columns, " | "), strings.Repeat("|--:", len(t.columns)-1))
		for _, line := range t.lines {
			if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | ")); err != nil {
				return err
			}
		}
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{t.columns}, t.lines...) {
		fmt.Fprintf(tw, "  %s\n", strings.Join(line, "\t"))
	}
	return tw.Flush()
}

// percentile of durations, which it sorts.
func percentile(of []time.Duration, p int) time.Duration {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[min(len(of)-1, len(of)*p/100)]
}

// human is a duration to three digits.
func human(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 100*time.Millisecond:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
}

// per is n for each of ops.
func per(n int64, ops int) string { return fmt.Sprintf("%.2f", float64(n)/float64(max(1, ops))) }
