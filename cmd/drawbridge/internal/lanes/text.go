package lanes

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
)

// glyphs has a cell of each activity, and its first cell where two in a row
// must be told apart.
var glyphs = [...]struct {
	first, cell string
	style       lipgloss.Style
}{
	Idle:    {" ", " ", lipgloss.NewStyle()},
	Waiting: {"·", "·", lipgloss.NewStyle().Foreground(lipgloss.BrightBlack)},
	Reading: {"┝", "━", lipgloss.NewStyle().Foreground(lipgloss.Cyan)},
	Writing: {"▐", "█", lipgloss.NewStyle().Foreground(lipgloss.Yellow)},
}

var bold = lipgloss.NewStyle().Bold(true)

// Legend names the glyphs of [Picture.Text].
func Legend() string {
	var words []string
	for _, a := range []Activity{Waiting, Reading, Writing} {
		g := glyphs[a]
		words = append(words, g.style.Render(g.first+strings.Repeat(g.cell, 4))+" "+a.String())
	}
	return strings.Join(words, "    ")
}

// Text draws the lanes in lines of at most width cells.
func (p Picture) Text(w io.Writer, width int) error {
	name := 0
	for _, l := range p.Lanes {
		name = max(name, utf8.RuneCountInString(l.Name))
	}
	cells := max(width-name-2, 10)

	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", bold.Render(p.Title), p.Outcome)
	fmt.Fprintf(&b, "%*s  %s\n", name, "", p.axis(cells))
	for _, l := range p.Lanes {
		fmt.Fprintf(&b, "%-*s  %s\n", name, l.Name, l.text(p.Until, cells))
	}
	if p.Hidden != "" {
		fmt.Fprintf(&b, "%*s  %s\n", name, "", p.Hidden)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// axis writes the times, with a triangle where the writer asks, each at its
// cell and only where there is room for it.
func (p Picture) axis(cells int) string {
	line := slices.Repeat([]rune{' '}, cells)
	write := func(at time.Duration, s string) {
		text, from := []rune(s), int(int64(cells)*int64(at)/int64(p.Until))
		to := from + len(text)
		if to > cells || strings.TrimSpace(string(line[max(from-1, 0):min(to+1, cells)])) != "" {
			return
		}
		copy(line[from:], text)
	}
	if p.Mark > 0 {
		write(p.Mark, "▼ asks")
	}
	for at := time.Duration(0); at < p.Until; at += step(p.Until) {
		write(at, "╷"+at.String())
	}
	return strings.TrimRight(string(line), " ")
}

// text draws one lane. A cell shows what filled most of it, and the first cell
// of a hold shows that a hold began there, however short it was.
func (l Lane) text(until time.Duration, cells int) string {
	var line strings.Builder
	run, style := "", Idle
	flush := func() {
		line.WriteString(glyphs[style].style.Render(run))
		run = ""
	}
	segments := l.Segments
	for i := range cells {
		from := until * time.Duration(i) / time.Duration(cells)
		to := until * time.Duration(i+1) / time.Duration(cells)
		for len(segments) > 0 && segments[0].To <= from {
			segments = segments[1:]
		}
		activity, glyph, most := Idle, glyphs[Idle].cell, time.Duration(0)
		began := false
		for _, s := range segments {
			if s.From >= to {
				break
			}
			starts := s.From >= from && s.Activity != Waiting
			covers := min(s.To, to) - max(s.From, from)
			if began || covers <= most && !starts {
				continue
			}
			activity, glyph, most, began = s.Activity, glyphs[s.Activity].cell, covers, starts
			if starts {
				glyph = glyphs[s.Activity].first
			}
		}
		if activity != style {
			flush()
			style = activity
		}
		run += glyph
	}
	if style != Idle {
		flush()
	}
	return line.String()
}
