package main

import (
	"bytes"
	"fmt"
	"html"
)

// The picture has one panel per figure, two panels side by side: a bar per contender, a whisker from quartile
// to quartile, and a line where the first contender is.
const (
	panelWidth  = 600
	labelWidth  = 250
	valueWidth  = 90
	barsWidth   = panelWidth - labelWidth - valueWidth
	lineHeight  = 20
	barHeight   = 16 // of a line that says whether a bar is reached
	panelMargin = 24
	panelTop    = 46 // title and what the panel shows
)

const svgStyle = `
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 13px }
.note { fill: #59636e; font-size: 11px }
.own { fill: #0969da } .peer { fill: #8c959f } .floor { fill: #d0d7de }
.whisker { stroke: #1f2328; stroke-width: 1.5 }
.reference { stroke: #59636e; stroke-dasharray: 3 3 }
.ground { fill: #ffffff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #9198a1 } .ground { fill: #0d1117 }
  .own { fill: #4493f8 } .peer { fill: #6e7681 } .floor { fill: #3d444d }
  .whisker { stroke: #e6edf3 } .reference { stroke: #9198a1 }
}
`

func (r report) svg() []byte {
	var panels bytes.Buffer
	var bottom [2]int
	for _, row := range r.Rows {
		if row.Rounds == 0 {
			continue
		}
		column := 0
		if bottom[1] < bottom[0] {
			column = 1
		}
		x, y := panelMargin+column*(panelWidth+panelMargin), bottom[column]+panelMargin
		fmt.Fprintf(&panels, "<g transform=\"translate(%d %d)\">\n", x, y)
		row.panel(&panels)
		fmt.Fprint(&panels, "</g>\n")
		bottom[column] = y + panelTop + len(row.Entries)*lineHeight + len(row.Bars)*barHeight
	}
	heading := append(r.heading(), "dashed: the first contender; thin: from quartile to quartile; →: longer than the panel")
	top := lineHeight * (len(heading) + 1)
	width, height := 2*panelWidth+3*panelMargin, top+max(bottom[0], bottom[1])+panelMargin

	var out bytes.Buffer
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", width, height, width, height)
	fmt.Fprintf(&out, "<title>drawbridge and its peers, side by side</title>\n<style>%s</style>\n", svgStyle)
	fmt.Fprint(&out, "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n")
	for i, line := range heading {
		fmt.Fprintf(&out, "<text x=\"%d\" y=\"%d\" class=\"note\">%s</text>\n", panelMargin, lineHeight*(i+1)+8, html.EscapeString(line))
	}
	fmt.Fprintf(&out, "<g transform=\"translate(0 %d)\">\n%s</g>\n</svg>\n", top, panels.Bytes())
	return out.Bytes()
}

func (r rowReport) panel(out *bytes.Buffer) {
	full := r.scale()
	length := func(v float64) float64 { return barsWidth * max(0, min(1, v/full)) }

	unit := r.Unit
	if r.More {
		unit += ", more is better"
	}
	fmt.Fprintf(out, "<text class=\"title\" y=\"13\">%s</text>\n", html.EscapeString(r.title()+" ("+unit+")"))
	fmt.Fprintf(out, "<text class=\"note\" y=\"30\">%s</text>\n", html.EscapeString(r.What))
	for i, e := range r.Entries {
		y := panelTop + i*lineHeight
		value := short(e.Value.Median)
		if e.Value.Median > full {
			value += " →" // the bar leaves the panel
		}
		fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", labelWidth-8, y+10, html.EscapeString(e.Name))
		fmt.Fprintf(out, "<rect class=\"%v\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"12\"/>\n", e.Role, labelWidth, y, length(e.Value.Median))
		fmt.Fprintf(out, "<path class=\"whisker\" d=\"M%.1f %dH%.1f\"/>\n", labelWidth+length(e.Value.Low), y+6, labelWidth+length(e.Value.High))
		fmt.Fprintf(out, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", labelWidth+length(max(e.Value.Median, e.Value.High))+6, y+10, value)
	}
	for i, b := range r.Bars {
		y := panelTop + len(r.Entries)*lineHeight + (i+1)*barHeight - 4
		fmt.Fprintf(out, "<text class=\"note\" x=\"%d\" y=\"%d\">%s</text>\n", labelWidth, y, html.EscapeString(b.verdict()))
	}
	at := labelWidth + length(r.Entries[0].Value.Median)
	fmt.Fprintf(out, "<path class=\"reference\" d=\"M%.1f %dV%d\"/>\n", at, panelTop-4, panelTop+len(r.Entries)*lineHeight-4)
}

// scale is the value at the full width of a panel. One contender that is many times slower than the rest
// leaves the panel, so that the rest can be told apart.
func (r rowReport) scale() float64 {
	var medians []float64
	longest := 0.0
	for _, e := range r.Entries {
		medians = append(medians, e.Value.Median)
		longest = max(longest, e.Value.Median)
	}
	if typical := median(medians); typical > 0 {
		longest = min(longest, 4*typical)
	}
	return max(longest, r.Entries[0].Value.Median, 1e-9)
}
