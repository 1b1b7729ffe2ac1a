// Package prom shows the watched locks of a process to Prometheus.
//
//	inspect.Watch("routes", &routes)
//	prometheus.MustRegister(prom.NewCollector())
//
// Nothing runs between scrapes: the figures are those that inspect keeps. A
// dashboard for Grafana is in the folder next to this package.
package prom

import (
	"time"

	"github.com/drawbridge-go/drawbridge/inspect"
	"github.com/drawbridge-go/drawbridge/telemetry/internal/sums"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// NewCollector returns a collector of what [inspect.Watch] has made known:
//
//	drawbridge_lock_wait_seconds{lock,mode}    waits that are over
//	drawbridge_lock_hold_seconds{lock,mode}    holds that are over
//	drawbridge_lock_holds_total{lock,mode}     holds granted
//	drawbridge_lock_gave_up_total{lock,reason} waits without the lock: canceled, deadline, deadlock
//	drawbridge_lock_upgrades_total{lock}
//	drawbridge_lock_plain_reads_total{lock}    reads by RLock and RLockContext,
//	drawbridge_lock_plain_read_seconds_total{lock} and the time that they held: they are in no histogram of holds
//	drawbridge_lock_holders{lock,mode}         inside now
//	drawbridge_lock_waiters{lock,mode}         waiting now; mode is read or write
//	drawbridge_lock_instances{lock}            locks watched under the name
//
// The histograms are both native ones, of schema 2, and classic ones, whose
// bounds are powers of four from a microsecond to a minute; both are exact.
// Locks of one name are added up, and those that are gone stay in the counts.
// Names past the first 500 are counted under "other". Keys of a Keyed are never
// labels.
func NewCollector() prometheus.Collector { return &collector{since: time.Now()} }

type collector struct {
	locks sums.Locks
	since time.Time
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("drawbridge_lock_"+name, help, append([]string{"lock"}, labels...), nil)
}

var (
	waits      = desc("wait_seconds", "How long calls waited for a lock, given up or not. Calls that did not wait are not in it.", "mode")
	holds      = desc("hold_seconds", "How long a lock was held. Plain reads are not in it.", "mode")
	holdsTotal = desc("holds_total", "Holds granted.", "mode")
	gaveUp     = desc("gave_up_total", "Waits that ended without the lock.", "reason")
	upgrades   = desc("upgrades_total", "Upgradable holds that became write holds.")
	plainReads = desc("plain_reads_total", "Reads by RLock and RLockContext.")
	plainTime  = desc("plain_read_seconds_total", "Time that reads by RLock and RLockContext have held a lock.")
	holders    = desc("holders", "Holds inside now.", "mode")
	waiters    = desc("waiters", "Calls waiting now.", "mode")
	instances  = desc("instances", "Locks watched under the name.")
)

// Describe sends the descriptions of all metrics.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{waits, holds, holdsTotal, gaveUp, upgrades, plainReads, plainTime, holders, waiters, instances} {
		ch <- d
	}
}

// Collect sends what is known now.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	for _, s := range c.locks.Now() {
		for i, m := range s.Modes {
			mode := sums.Modes[i]
			gauge(holders, s.Holders[i], s.Name, mode)
			if m.Holds == 0 && m.Wait.Count == 0 {
				continue // the lock has not been used in this mode, and may not have it
			}
			counter(holdsTotal, float64(m.Holds), s.Name, mode)
			ch <- c.histogram(waits, &m.Wait, s.Name, mode)
			ch <- c.histogram(holds, &m.Hold, s.Name, mode)
		}
		gauge(waiters, s.Waiters[0], s.Name, "read")
		gauge(waiters, s.Waiters[1], s.Name, "write")
		counter(gaveUp, float64(s.GaveUp.Canceled), s.Name, "canceled")
		counter(gaveUp, float64(s.GaveUp.Deadline), s.Name, "deadline")
		counter(gaveUp, float64(s.GaveUp.Deadlock), s.Name, "deadlock")
		counter(upgrades, float64(s.Upgrades), s.Name)
		counter(plainReads, float64(s.PlainReads), s.Name)
		counter(plainTime, s.PlainReadTime.Seconds(), s.Name)
		gauge(instances, s.Instances, s.Name)
	}
}

// The classic buckets end at every eighth bound of a Histogram, which is a
// power of four: from 2^-20 s, about a microsecond, to 2^6 s.
const (
	firstClassic = -80
	lastClassic  = 24
	classicStep  = 8
)

// schema is that of buckets which are 2^(1/4) wide.
const schema = 2

// histogram is a metric that is a classic and a native histogram at once.
func (c *collector) histogram(d *prometheus.Desc, h *inspect.Histogram, labels ...string) prometheus.Metric {
	native := make(map[int]int64)
	classic := make(map[float64]uint64)
	for i := firstClassic; i <= lastClassic; i += classicStep {
		classic[inspect.BucketBound(i)] = h.Zero
	}
	for i, n := range h.Buckets() {
		native[i] = int64(n)
		for j := firstClassic; j <= lastClassic; j += classicStep {
			if i <= j {
				classic[inspect.BucketBound(j)] += n
			}
		}
	}
	sum := h.Sum.Seconds()
	return &histogram{
		Metric: prometheus.MustNewConstHistogram(d, h.Count, sum, classic, labels...),
		native: prometheus.MustNewConstNativeHistogram(d, h.Count, sum, native, nil, h.Zero, schema, 0, c.since, labels...),
	}
}

type histogram struct {
	prometheus.Metric
	native prometheus.Metric
}

// Write writes the classic histogram and the fields of the native one beside
// it.
func (h *histogram) Write(m *dto.Metric) error {
	var native dto.Metric
	if err := h.native.Write(&native); err != nil {
		return err
	}
	if err := h.Metric.Write(m); err != nil {
		return err
	}
	n, both := native.GetHistogram(), m.GetHistogram()
	both.Schema, both.ZeroThreshold, both.ZeroCount = n.Schema, n.ZeroThreshold, n.ZeroCount
	both.PositiveSpan, both.PositiveDelta = n.PositiveSpan, n.PositiveDelta
	both.CreatedTimestamp = n.CreatedTimestamp
	return nil
}
