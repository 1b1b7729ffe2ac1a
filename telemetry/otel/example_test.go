package otel_test

import (
	"context"
	"fmt"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/inspect"
	"github.com/drawbridge-go/drawbridge/telemetry/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func ExampleNewProducer() {
	var routes drawbridge.RWMutex
	defer inspect.Watch("routes", &routes)()
	// In a service, a PeriodicReader with an exporter.
	reader := metric.NewManualReader(metric.WithProducer(otel.NewProducer()))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	ctx := context.Background()
	defer provider.Shutdown(ctx)

	routes.Lock()
	routes.Unlock()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if m.Name == "drawbridge.lock.hold" {
			fmt.Println(m.Name, "in", m.Unit)
		}
	}
	// Output: drawbridge.lock.hold in s
}

func ExampleSpanEvents() {
	var routes drawbridge.RWMutex
	stop := routes.Observe(otel.SpanEvents("routes", 10*time.Millisecond))
	defer stop()
}
