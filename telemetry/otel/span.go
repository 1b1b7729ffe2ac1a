package otel

import (
	"context"
	"fmt"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// SpanEvents returns an observer that adds an event named drawbridge.wait to
// the span of a call's context when the call has waited for at least threshold,
// whether it got the lock or not. Use it with one lock:
//
//	stop := routes.Observe(otel.SpanEvents("routes", 10*time.Millisecond))
//
// or with [drawbridge.ObserveAll] and an empty name, where the type of the lock
// is all that is told of it.
func SpanEvents(name string, threshold time.Duration) drawbridge.Observer {
	return &spanEvents{name, threshold}
}

type spanEvents struct {
	name      string
	threshold time.Duration
}

// Observe adds the event for a wait that is over.
func (s *spanEvents) Observe(ctx context.Context, e drawbridge.Event) {
	switch e.Kind {
	case drawbridge.Granted, drawbridge.Upgraded, drawbridge.GaveUp:
	default:
		return
	}
	if e.Waited == 0 || e.Waited < s.threshold {
		return
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	attributes := []attribute.KeyValue{
		attribute.String("drawbridge.lock.type", fmt.Sprintf("%T", e.Lock)),
		attribute.String("drawbridge.mode", e.Mode.String()),
		attribute.String("drawbridge.outcome", e.Kind.String()),
		attribute.Float64("drawbridge.waited_seconds", e.Waited.Seconds()),
	}
	if s.name != "" {
		attributes = append(attributes, attribute.String("drawbridge.lock", s.name))
	}
	span.AddEvent("drawbridge.wait", trace.WithAttributes(attributes...))
}
