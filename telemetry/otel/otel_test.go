package otel

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/inspect"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestProducerExportsBucketsAsTheyAre(t *testing.T) {
	var mu drawbridge.RWMutex
	var waited []time.Duration
	synctest.Test(t, func(t *testing.T) {
		defer inspect.Watch("routes", &mu)()
		reader := metric.NewManualReader(metric.WithProducer(NewProducer()))
		provider := metric.NewMeterProvider(metric.WithReader(reader))
		for _, d := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond, 30 * time.Second} {
			mu.Lock()
			go func() { mu.RLock(); mu.RUnlock() }()
			synctest.Wait()
			time.Sleep(d)
			mu.Unlock()
			synctest.Wait()
			waited = append(waited, d)
		}
		var got metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &got); err != nil {
			t.Fatal(err)
		}
		var read *metricdata.ExponentialHistogramDataPoint[float64]
		names := map[string]bool{}
		for _, s := range got.ScopeMetrics {
			for _, m := range s.Metrics {
				names[m.Name] = true
				if h, ok := m.Data.(metricdata.ExponentialHistogram[float64]); ok && m.Name == "drawbridge.lock.wait" {
					for i, p := range h.DataPoints {
						if mode, _ := p.Attributes.Value("mode"); mode.AsString() == "read" {
							read = &h.DataPoints[i]
						}
					}
				}
			}
		}
		if len(names) != 8 || read == nil {
			t.Fatalf("metrics %v", names)
		}
		if read.Count != 4 || math.Abs(read.Sum-30.201) > 1e-9 {
			t.Errorf("%d waits of %v s", read.Count, read.Sum)
		}
		// Each wait is in the bucket that the definition of the format says.
		want := map[int]uint64{}
		for _, d := range waited {
			i := int(math.Ceil(math.Log2(d.Seconds())*4)) - 1
			want[i]++
		}
		for i, n := range read.PositiveBucket.Counts {
			if at := int(read.PositiveBucket.Offset) + i; n != want[at] {
				t.Errorf("bucket %d has %d, want %d", at, n, want[at])
			}
		}
		_ = provider.Shutdown(context.Background())
	})
}

func TestSlowWaitIsAnEventOfItsSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := tracetest.NewSpanRecorder()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
		var mu drawbridge.RWMutex
		defer mu.Observe(SpanEvents("routes", 10*time.Millisecond))()
		wait := func(d time.Duration) {
			ctx, span := tracer.Start(t.Context(), "request")
			defer span.End()
			mu.Lock()
			go func() { time.Sleep(d); mu.Unlock() }()
			synctest.Wait()
			mu.WithRLock(ctx, func(context.Context) error { return nil })
		}
		wait(9 * time.Millisecond)
		wait(50 * time.Millisecond)
		mu.RLock() // without a span
		mu.RUnlock()
		spans := recorder.Ended()
		if len(spans) != 2 || len(spans[0].Events()) != 0 || len(spans[1].Events()) != 1 {
			t.Fatalf("events of %d spans: %+v", len(spans), spans)
		}
		e := spans[1].Events()[0]
		set := attribute.NewSet(e.Attributes...)
		if v, _ := set.Value("drawbridge.waited_seconds"); e.Name != "drawbridge.wait" || v.AsFloat64() != .05 {
			t.Errorf("event %s with %v", e.Name, e.Attributes)
		}
		if v, _ := set.Value("drawbridge.lock"); v.AsString() != "routes" {
			t.Errorf("the lock is %v", v.AsString())
		}
	})
}
