package lanes

import (
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

// The picture is laid out in units of CSS pixels.
const (
	svgWidth  = 960
	svgMargin = 20
	svgGap    = 36 // between the two columns
	svgNames  = 52 // the names beside the lanes
	svgLane   = 9  // height of a lane with the space under it
	svgBar    = 7
	svgPanel  = (svgWidth - 2*svgMargin - svgGap) / 2
)

// svgStyle has the colours for a light and for a dark page. The shapes tell
// the activities apart: a dotted line waits, a bar reads, a tall solid bar
// writes.
const svgStyle = `
.page{fill:#fff;stroke:#d0d7de}
text{fill:#1f2328;font:12px ui-sans-serif,system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
.title{font-weight:600}.quiet{fill:#59636e;font-size:10.5px}.head{font-size:14px}
.axis{stroke:#d0d7de}.ask{stroke:#bc4c00;stroke-dasharray:3 2}
.waiting{stroke:#818b98;stroke-width:2;stroke-dasharray:1.5 2.5}
.reading{fill:#54aeff}.writing{fill:#bc4c00}
@media (prefers-color-scheme:dark){
.page{fill:#0d1117;stroke:#3d444d}
text{fill:#f0f6fc}.quiet{fill:#9198a1}
.axis{stroke:#3d444d}.ask{stroke:#f0883e}
.waiting{stroke:#9198a1}.reading{fill:#1f6feb}.writing{fill:#f0883e}
}`

// SVG writes the pictures side by side in two columns, under a heading. The
// result names no font or file outside itself and follows the reader's choice
// of a light or a dark page.
func SVG(w io.Writer, heading string, pictures []Picture) error {
	lines := fold(heading, 120)
	legend := 28 + 18*len(lines)
	columns := min(2, max(1, len(pictures)))
	var body strings.Builder
	y := legend + 26
	for i := 0; i < len(pictures); i += columns {
		tallest := 0
		for column, p := range pictures[i:min(i+columns, len(pictures))] {
			tallest = max(tallest, p.svg(&body, svgMargin+column*(svgPanel+svgGap), y))
		}
		y += tallest + 24
	}

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title">`, svgWidth, y)
	fmt.Fprintf(&b, "\n<title id=\"title\">%s</title>\n<style>%s\n</style>\n", html.EscapeString(heading), svgStyle)
	fmt.Fprintf(&b, `<rect class="page" x=".5" y=".5" width="%d" height="%d" rx="8"/>`+"\n", svgWidth-1, y-1)
	for i, line := range lines {
		fmt.Fprintf(&b, `<text class="head" x="%d" y="%d">%s</text>`+"\n", svgMargin, 28+18*i, html.EscapeString(line))
	}
	svgLegend(&b, svgMargin, legend)
	b.WriteString(body.String())
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func svgLegend(b *strings.Builder, x, y int) {
	for _, a := range []Activity{Waiting, Reading, Writing} {
		svgSegment(b, a, float64(x), float64(y-8), 34)
		fmt.Fprintf(b, `<text class="quiet" x="%d" y="%d">%s</text>`+"\n", x+40, y, a)
		x += 110
	}
	fmt.Fprintf(b, `<path class="ask" d="M%d %dv12"/><text class="quiet" x="%d" y="%d">the writer asks</text>`+"\n", x, y-10, x+8, y)
}

// svg draws one panel with its upper left corner at x, y and returns its
// height.
func (p Picture) svg(b *strings.Builder, x, y int) int {
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", x, y+12, html.EscapeString(p.Title))
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", x+svgPanel, y+12, html.EscapeString(p.Outcome))

	left, first := float64(x+svgNames), y+22
	scale := float64(svgPanel-svgNames) / float64(p.Until)
	at := func(t time.Duration) float64 { return left + scale*float64(min(t, p.Until)) }
	bottom := first + svgLane*len(p.Lanes) + 2
	for t := time.Duration(0); t < p.Until; t += step(p.Until) {
		fmt.Fprintf(b, `<path class="axis" d="M%.1f %dV%d"/><text class="quiet" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			at(t), first-3, bottom+3, at(t), bottom+14, t)
	}
	if p.Mark > 0 {
		fmt.Fprintf(b, `<path class="ask" d="M%.1f %dV%d"/>`+"\n", at(p.Mark), first-3, bottom+3)
	}
	named := ""
	for i, l := range p.Lanes {
		top := float64(first + svgLane*i)
		// Lanes are too low for a name each: the first of a kind bears the
		// kind's name.
		if kind, _, many := strings.Cut(l.Name, " "); kind != named {
			named = kind
			if many {
				kind += "s"
			}
			fmt.Fprintf(b, `<text class="quiet" x="%d" y="%.0f">%s</text>`+"\n", x, top+svgBar+.5, html.EscapeString(kind))
		}
		for _, s := range l.Segments {
			if s.From < p.Until {
				svgSegment(b, s.Activity, at(s.From), top, at(s.To)-at(s.From))
			}
		}
	}
	if p.Hidden != "" {
		fmt.Fprintf(b, `<text class="quiet" x="%d" y="%d">%s</text>`+"\n", x, bottom+14, html.EscapeString(p.Hidden))
	}
	return bottom + 14 - y
}

func svgSegment(b *strings.Builder, a Activity, x, y, width float64) {
	const seam = .8 // between two holds in a row
	switch a {
	case Waiting:
		fmt.Fprintf(b, `<path class="waiting" d="M%.1f %.1fh%.1f"/>`+"\n", x, y+svgBar/2., width)
	case Reading:
		fmt.Fprintf(b, `<rect class="reading" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2"/>`+"\n", x, y, max(width-seam, .5), svgBar)
	case Writing:
		fmt.Fprintf(b, `<rect class="writing" x="%.1f" y="%.1f" width="%.1f" height="%d"/>`+"\n", x, y-1, max(width-seam, .5), svgBar+2)
	}
}

// fold breaks text into lines of at most width letters, at spaces.
func fold(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
