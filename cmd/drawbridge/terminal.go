package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"
)

// colored returns f as a writer that keeps colours only where f is a terminal
// that shows them and NO_COLOR is not set.
func colored(f *os.File) io.Writer {
	w := colorprofile.NewWriter(f, os.Environ())
	if w.Profile == colorprofile.ASCII { // no colours, but resets where they would end
		w.Profile = colorprofile.NoTTY
	}
	return w
}

// width returns how many cells a line of f has: those of the terminal, those
// that COLUMNS names, or 100 where the output goes elsewhere.
func width(f *os.File) int {
	const narrowest, widest, piped = 40, 200, 100
	if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
		return min(max(n, narrowest), widest)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(max(n, narrowest), widest)
	}
	return piped
}

// aligned returns a table whose first columns hold words and stand to the
// left, and whose other columns hold figures and stand to the right.
func aligned(words int, headers ...string) *table.Table {
	body := lipgloss.NewStyle()
	header := body.Bold(true)
	return table.New().
		Headers(headers...).
		Border(lipgloss.NormalBorder()).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderColumn(false).BorderHeader(true).
		StyleFunc(func(row, column int) lipgloss.Style {
			style := body
			if row == table.HeaderRow {
				style = header
			}
			if column > 0 {
				style = style.PaddingLeft(2)
			}
			if column >= words {
				style = style.Align(lipgloss.Right)
			}
			return style
		})
}

// short writes a duration with the digits that a person reads: 35 µs, 4.1 ms,
// 512 ms, 5.1 s, 1h20m0s.
func short(d time.Duration) string {
	trimmed := func(d, unit time.Duration) string {
		tenths := float64(d.Round(unit/10)) / float64(unit)
		return strconv.FormatFloat(tenths, 'f', -1, 64)
	}
	switch {
	case d < time.Microsecond:
		return "0"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 100*time.Millisecond:
		return trimmed(d, time.Millisecond) + " ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 100*time.Second:
		return trimmed(d, time.Second) + " s"
	}
	return d.Round(time.Second).String()
}
