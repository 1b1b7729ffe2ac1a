package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// writeText prints the report for a terminal.
func (r report) writeText(w io.Writer) {
	for _, line := range r.heading() {
		fmt.Fprintln(w, line)
	}
	for _, row := range r.Rows {
		fmt.Fprintf(w, "\n%s\n  %s\n", row.title(), row.note())
		if row.Rounds == 0 {
			continue
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, line := range row.lines() {
			fmt.Fprintf(t, "  %s\t\n", strings.Join(line, "\t"))
		}
		t.Flush()
		for _, b := range row.Bars {
			fmt.Fprintf(w, "  %s\n", b.verdict())
		}
	}
	fmt.Fprintf(w, "\n%s\n", r.summary())
}

// writeMarkdown prints the report for a document.
func (r report) writeMarkdown(w io.Writer) {
	for _, line := range r.heading() {
		fmt.Fprintf(w, "- %s\n", line)
	}
	for _, row := range r.Rows {
		fmt.Fprintf(w, "\n### %s\n\n%s\n", row.title(), row.note())
		if row.Rounds == 0 {
			continue
		}
		for i, line := range row.lines() {
			if i == 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | "))
			if i == 0 {
				fmt.Fprintf(w, "|:--%s|\n", strings.Repeat("|--:", len(line)-1))
			}
		}
		for i, b := range row.Bars {
			if i == 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "- %s\n", b.verdict())
		}
	}
	fmt.Fprintf(w, "\n%s\n", r.summary())
}

func (r report) heading() []string {
	m := r.Machine
	lines := []string{
		fmt.Sprintf("%s, %d cores, GOMAXPROCS %d", m.CPU, m.Cores, m.Procs),
		fmt.Sprintf("%s on %s", m.Go, m.System),
	}
	if len(m.Modules) > 0 {
		lines = append(lines, strings.Join(m.Modules, ", "))
	}
	if m.Load != "" {
		lines = append(lines, "load before the run (1, 5, 15 minutes): "+m.Load)
	}
	return append(lines,
		fmt.Sprintf("medians of up to %d interleaved rounds; ratios are medians of the ratios within each round", r.Rounds),
		fmt.Sprintf("multi-core rounds count when two spinning goroutines get at least %s times as much done as one", short(r.Gain)))
}

func (r rowReport) title() string {
	if r.Figure == "" {
		return r.Row
	}
	return r.Row + ": " + r.Figure
}

// note says what the row measures, how many rounds there were and how steady they were.
func (r rowReport) note() string {
	unit := r.Unit
	if r.More {
		unit += ", more is better"
	}
	s := fmt.Sprintf("%s (%s).", r.What, unit)
	switch {
	case r.Rounds == 0:
		s += " Not measured: the machine was never quiet enough."
	case r.Noise != nil:
		s += fmt.Sprintf(" %d rounds; %s against itself: %s (quartiles %s to %s).",
			r.Rounds, r.Entries[0].Name, short(r.Noise.Median), short(r.Noise.Low), short(r.Noise.High))
	}
	if r.Discarded > 0 {
		s += fmt.Sprintf(" %d rounds discarded.", r.Discarded)
	}
	return s
}

// lines is the table of a row, with its heading.
func (r rowReport) lines() [][]string {
	lines := [][]string{{"", "median", "quartiles", "× best peer", "× " + r.Entries[0].Name}}
	for _, e := range r.Entries {
		quartiles := short(e.Value.Low) + " to " + short(e.Value.High)
		lines = append(lines, []string{e.Name, short(e.Value.Median), quartiles, ratioText(e.ToBest), ratioText(e.ToFirst)})
	}
	return lines
}

func ratioText(ratio *float64) string {
	if ratio == nil {
		return "-"
	}
	return short(*ratio)
}

func (b barReport) verdict() string {
	switch {
	case b.Missing != "":
		return fmt.Sprintf("not judged: %s (%s)", b.Bar, b.Missing)
	case b.Reached:
		return fmt.Sprintf("reached: %s, is %s", b.Bar, short(b.Value))
	default:
		return fmt.Sprintf("MISSED: %s, is %s", b.Bar, short(b.Value))
	}
}

func (r report) summary() string {
	var reached, missed, open int
	for _, row := range r.Rows {
		for _, b := range row.Bars {
			switch {
			case b.Missing != "":
				open++
			case b.Reached:
				reached++
			default:
				missed++
			}
		}
	}
	return fmt.Sprintf("%d bars reached, %d missed, %d not judged.", reached, missed, open)
}
