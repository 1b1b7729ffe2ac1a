package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

const style = `
.page{fill:#fff;stroke:#d0d7de}
text{fill:#1f2328;font:12px ui-sans-serif,system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
.title{font-weight:600}.quiet{fill:#59636e;font-size:10.5px}.head{font-size:14px}
.axis{stroke:#d0d7de}.answers{fill:#54aeff}.refresh{fill:#bc4c00}
@media (prefers-color-scheme:dark){
.page{fill:#0d1117;stroke:#3d444d}
text{fill:#f0f6fc}.quiet{fill:#9198a1}
.axis{stroke:#3d444d}.answers{fill:#1f6feb}.refresh{fill:#f0883e}
}`

const (
	width, margin = 960, 20
	left          = 70
	panel         = 90 // height of a plot
	bucket        = 20 * time.Millisecond
)

// picture draws the answers of each guard over the first seconds of the
// measurement, all on one scale, with the refreshes under them.
func picture(o options, results []result) string {
	over := min(3*time.Second, o.For)
	counts := make([][]int, len(results))
	top := 1
	for i, r := range results {
		counts[i] = make([]int, over/bucket)
		for _, s := range r.samples {
			if b := int(s.at / bucket); s.code == http.StatusOK && b < len(counts[i]) {
				counts[i][b]++
				top = max(top, counts[i][b])
			}
		}
	}
	scale := float64(width-left-margin) / float64(over)
	height := 62 + len(results)*(panel+56)

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title">`+"\n", width, height)
	heading := fmt.Sprintf("%d clients; answers in each %s over %v, by what guards the routing table.", o.Clients, short(bucket), over)
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<style>%s\n</style>\n", heading, style)
	fmt.Fprintf(&b, `<rect class="page" x=".5" y=".5" width="%d" height="%d" rx="8"/>`+"\n", width-1, height-1)
	fmt.Fprintf(&b, `<text class="head" x="%d" y="28">%s</text>`+"\n", margin, heading)
	fmt.Fprintf(&b, `<rect class="refresh" x="%d" y="40" width="20" height="5"/><text class="quiet" x="%d" y="46">a refresh, from its first wait to its last</text>`+"\n", margin, margin+26)
	for i, r := range results {
		y := 70 + i*(panel+56)
		base := y + 14 + panel
		fmt.Fprintf(&b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", margin, y+6, r.guard)
		f := r.figures()
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%.0f requests/s, longest stall %s</text>`+"\n", width-margin, y+6, f.rate, short(f.stall))
		fmt.Fprintf(&b, `<text class="quiet" x="%d" y="%d" text-anchor="end">%d</text><text class="quiet" x="%d" y="%d" text-anchor="end">0</text>`+"\n",
			left-6, y+22, top, left-6, base)
		fmt.Fprintf(&b, `<path class="axis" d="M%d %dH%d"/>`+"\n", left, base, width-margin)
		for n, count := range counts[i] {
			if count > 0 {
				tall := float64(panel) * float64(count) / float64(top)
				fmt.Fprintf(&b, `<rect class="answers" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n",
					left+scale*float64(time.Duration(n)*bucket), float64(base)-tall, scale*float64(bucket)-.6, tall)
			}
		}
		for _, s := range r.refreshes {
			if s.from < over {
				fmt.Fprintf(&b, `<rect class="refresh" x="%.1f" y="%d" width="%.1f" height="5"/>`+"\n",
					left+scale*float64(s.from), base+3, scale*float64(min(s.to, over)-s.from))
			}
		}
		for t := time.Duration(0); t <= over; t += 500 * time.Millisecond {
			fmt.Fprintf(&b, `<text class="quiet" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", left+scale*float64(t), base+20, t)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}
