package inspect

import (
	"context"
	"runtime/trace"

	"github.com/drawbridge-go/drawbridge"
)

// traced is what a wait or a hold has begun in a runtime/trace that runs. A
// region must end on its goroutine and inside the regions around it, or the
// trace cannot be read: waits and scoped holds do that, other holds are told
// by log events.
type traced struct {
	region *trace.Region
	on     uint64 // the goroutine
}

const traceCategory = "drawbridge"

func traceWait(ctx context.Context, name string, m drawbridge.Mode) traced {
	if !trace.IsEnabled() {
		return traced{}
	}
	return traced{trace.StartRegion(ctx, "wait to "+m.String()+": "+name), goroutine()}
}

func traceHold(ctx context.Context, name string, m drawbridge.Mode, scoped bool) traced {
	if !trace.IsEnabled() {
		return traced{}
	}
	if scoped {
		return traced{trace.StartRegion(ctx, m.String()+": "+name), goroutine()}
	}
	traceLog(ctx, name, m, "entered")
	return traced{}
}

func traceLog(ctx context.Context, name string, m drawbridge.Mode, what string) {
	if trace.IsEnabled() {
		trace.Log(ctx, traceCategory, what+" to "+m.String()+": "+name)
	}
}

// end ends the region, and reports whether there was one. A scoped read that
// other goroutines have joined may end on one of those; its region then stays
// open until the first one ends.
func (t traced) end() bool {
	if t.region != nil && t.on == goroutine() {
		t.region.End()
	}
	return t.region != nil
}
