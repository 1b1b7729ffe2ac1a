// Package otel shows the watched locks of a process to OpenTelemetry.
//
//	inspect.Watch("routes", &routes)
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(otel.NewProducer()))
//	provider := metric.NewMeterProvider(metric.WithReader(reader))
//
// Nothing runs between the collections of the reader: the figures are those
// that inspect keeps. [SpanEvents], besides, puts long waits into traces.
package otel

import (
	"context"
	"time"

	"github.com/drawbridge-go/drawbridge/inspect"
	"github.com/drawbridge-go/drawbridge/telemetry/internal/sums"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Scope is the name of the instrumentation scope of everything here.
const Scope = "github.com/drawbridge-go/drawbridge/telemetry/otel"

// NewProducer returns a producer of what [inspect.Watch] has made known, for
// the option [metric.WithProducer] of a reader:
//
//	drawbridge.lock.wait       {lock, mode}    exponential histogram of waits that are over, in seconds
//	drawbridge.lock.hold       {lock, mode}    of holds that are over; plain reads are not in it
//	drawbridge.lock.holds      {lock, mode}    holds granted
//	drawbridge.lock.gave_up    {lock, reason}  waits without the lock: canceled, deadline, deadlock
//	drawbridge.lock.upgrades   {lock}
//	drawbridge.lock.holders    {lock, mode}    inside now
//	drawbridge.lock.waiters    {lock, mode}    waiting now; mode is read or write
//	drawbridge.lock.instances  {lock}          locks watched under the name
//
// The histograms have scale 2 and are exact. Everything is cumulative since the
// producer was made or the watch began. Locks of one name are added up, and
// those that are gone stay in the counts. Names past the first 500 are counted
// under "other". Keys of a Keyed are never attributes.
func NewProducer() metric.Producer { return &producer{since: time.Now()} }

type producer struct {
	locks sums.Locks
	since time.Time
}

// Produce returns what is known now.
func (p *producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	now := time.Now()
	var wait, hold []metricdata.ExponentialHistogramDataPoint[float64]
	var holds, gaveUp, upgrades, holders, waiters, instances []metricdata.DataPoint[int64]
	for _, s := range p.locks.Now() {
		attributes := func(extra ...attribute.KeyValue) attribute.Set {
			return attribute.NewSet(append(extra, attribute.String("lock", s.Name))...)
		}
		number := func(n int64, extra ...attribute.KeyValue) metricdata.DataPoint[int64] {
			return metricdata.DataPoint[int64]{Attributes: attributes(extra...), StartTime: p.since, Time: now, Value: n}
		}
		for i, m := range s.Modes {
			mode := attribute.String("mode", sums.Modes[i])
			holders = append(holders, number(int64(s.Holders[i]), mode))
			if m.Holds == 0 && m.Wait.Count == 0 {
				continue // the lock has not been used in this mode, and may not have it
			}
			holds = append(holds, number(int64(m.Holds), mode))
			wait = append(wait, p.histogram(&m.Wait, attributes(mode), now))
			hold = append(hold, p.histogram(&m.Hold, attributes(mode), now))
		}
		waiters = append(waiters,
			number(int64(s.Waiters[0]), attribute.String("mode", "read")),
			number(int64(s.Waiters[1]), attribute.String("mode", "write")))
		reason := func(r string) attribute.KeyValue { return attribute.String("reason", r) }
		gaveUp = append(gaveUp,
			number(int64(s.GaveUp.Canceled), reason("canceled")),
			number(int64(s.GaveUp.Deadline), reason("deadline")),
			number(int64(s.GaveUp.Deadlock), reason("deadlock")))
		upgrades = append(upgrades, number(int64(s.Upgrades)))
		instances = append(instances, number(int64(s.Instances)))
	}
	counted := func(name, unit, description string, points []metricdata.DataPoint[int64]) metricdata.Metrics {
		return metricdata.Metrics{Name: "drawbridge.lock." + name, Unit: unit, Description: description,
			Data: metricdata.Sum[int64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}}
	}
	current := func(name, unit, description string, points []metricdata.DataPoint[int64]) metricdata.Metrics {
		return metricdata.Metrics{Name: "drawbridge.lock." + name, Unit: unit, Description: description,
			Data: metricdata.Gauge[int64]{DataPoints: points}}
	}
	lengths := func(name, description string, points []metricdata.ExponentialHistogramDataPoint[float64]) metricdata.Metrics {
		return metricdata.Metrics{Name: "drawbridge.lock." + name, Unit: "s", Description: description,
			Data: metricdata.ExponentialHistogram[float64]{DataPoints: points, Temporality: metricdata.CumulativeTemporality}}
	}
	return []metricdata.ScopeMetrics{{
		Scope: instrumentation.Scope{Name: Scope},
		Metrics: []metricdata.Metrics{
			lengths("wait", "How long calls waited for a lock, given up or not.", wait),
			lengths("hold", "How long a lock was held, plain reads left out.", hold),
			counted("holds", "{hold}", "Holds granted.", holds),
			counted("gave_up", "{wait}", "Waits that ended without the lock.", gaveUp),
			counted("upgrades", "{upgrade}", "Upgradable holds that became write holds.", upgrades),
			current("holders", "{hold}", "Holds inside now.", holders),
			current("waiters", "{wait}", "Calls waiting now.", waiters),
			current("instances", "{lock}", "Locks watched under the name.", instances),
		},
	}}, nil
}

// scale is that of buckets which are 2^(1/4) wide.
const scale = 2

// histogram exports the buckets as they are. What is bucket i here, which ends
// at 2^(i/4), is bucket i-1 there, which begins at 2^((i-1)/4).
func (p *producer) histogram(h *inspect.Histogram, attributes attribute.Set, now time.Time) metricdata.ExponentialHistogramDataPoint[float64] {
	point := metricdata.ExponentialHistogramDataPoint[float64]{
		Attributes: attributes, StartTime: p.since, Time: now,
		Count: h.Count, Sum: h.Sum.Seconds(), ZeroCount: h.Zero, Scale: scale,
	}
	if h.Count > 0 {
		point.Max = metricdata.NewExtrema(h.Max.Seconds())
	}
	b := &point.PositiveBucket
	for i, n := range h.Buckets() {
		if len(b.Counts) == 0 {
			b.Offset = int32(i - 1)
		}
		for int(b.Offset)+len(b.Counts) < i-1 {
			b.Counts = append(b.Counts, 0)
		}
		b.Counts = append(b.Counts, n)
	}
	return point
}
