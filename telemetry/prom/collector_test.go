package prom

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/inspect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
)

// use makes waits, holds and one gave-up of known lengths.
func use(t *testing.T, mu *drawbridge.RWMutex) {
	mu.Lock()
	for range 3 {
		go func() { mu.RLock(); mu.RUnlock() }()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	go mu.LockContext(ctx)
	time.Sleep(100 * time.Millisecond)
	mu.Unlock()
	synctest.Wait()
}

func gather(t *testing.T, r *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string]*dto.MetricFamily)
	for _, f := range families {
		m[f.GetName()] = f
	}
	return m
}

func TestCollectorIsCleanAndComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu drawbridge.RWMutex
		defer inspect.Watch("routes", &mu)()
		use(t, &mu)
		problems, err := testutil.CollectAndLint(NewCollector())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("promlint: %s: %s", p.Metric, p.Text)
		}
		r := prometheus.NewPedanticRegistry()
		r.MustRegister(NewCollector())
		want := `
# HELP drawbridge_lock_gave_up_total Waits that ended without the lock.
# TYPE drawbridge_lock_gave_up_total counter
drawbridge_lock_gave_up_total{lock="routes",reason="canceled"} 0
drawbridge_lock_gave_up_total{lock="routes",reason="deadline"} 1
drawbridge_lock_gave_up_total{lock="routes",reason="deadlock"} 0
# HELP drawbridge_lock_holds_total Holds granted.
# TYPE drawbridge_lock_holds_total counter
drawbridge_lock_holds_total{lock="routes",mode="read"} 3
drawbridge_lock_holds_total{lock="routes",mode="write"} 1
# HELP drawbridge_lock_plain_reads_total Reads by RLock and RLockContext.
# TYPE drawbridge_lock_plain_reads_total counter
drawbridge_lock_plain_reads_total{lock="routes"} 3
`
		if err := testutil.GatherAndCompare(r, strings.NewReader(want),
			"drawbridge_lock_gave_up_total", "drawbridge_lock_holds_total", "drawbridge_lock_plain_reads_total"); err != nil {
			t.Error(err)
		}
	})
}

// TestHistogramsAreExact: classic and native buckets say what was counted.
func TestHistogramsAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu drawbridge.RWMutex
		defer inspect.Watch("routes", &mu)()
		use(t, &mu)
		r := prometheus.NewPedanticRegistry()
		r.MustRegister(NewCollector())
		var read *dto.Histogram
		for _, m := range gather(t, r)["drawbridge_lock_wait_seconds"].GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetValue() == "read" {
					read = m.GetHistogram()
				}
			}
		}
		if read.GetSampleCount() != 3 || math.Abs(read.GetSampleSum()-.3) > 1e-9 {
			t.Errorf("%d waits of %v s, want 3 of 0.3 s", read.GetSampleCount(), read.GetSampleSum())
		}
		for _, b := range read.GetBucket() {
			want := uint64(0)
			if b.GetUpperBound() >= .1 {
				want = 3
			}
			if b.GetCumulativeCount() != want {
				t.Errorf("%d at most %v s, want %d", b.GetCumulativeCount(), b.GetUpperBound(), want)
			}
		}
		// 0.1 s is in (2^(-14/4), 2^(-13/4)].
		if read.GetSchema() != 2 || len(read.GetPositiveSpan()) != 1 || read.GetPositiveSpan()[0].GetOffset() != -13 ||
			read.GetPositiveDelta()[0] != 3 || read.GetZeroCount() != 0 {
			t.Errorf("native: schema %d, spans %v, deltas %v", read.GetSchema(), read.GetPositiveSpan(), read.GetPositiveDelta())
		}
	})
}

func TestKeysAreNoLabels(t *testing.T) {
	var k drawbridge.Keyed[string]
	defer inspect.Watch("keyed", &k)()
	k.WithLock(t.Context(), "secret", func(context.Context) error { return nil })
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(NewCollector())
	for _, f := range gather(t, r) {
		if strings.Contains(f.String(), "secret") {
			t.Errorf("a key is in %s", f.GetName())
		}
	}
}
