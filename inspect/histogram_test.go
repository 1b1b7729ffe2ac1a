package inspect

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// bucketOf says by the definition alone where d belongs.
func bucketOf(d time.Duration) int {
	i := int(math.Ceil(4 * math.Log2(float64(d)*1e-9)))
	for float64(d)*1e-9 > BucketBound(i) {
		i++
	}
	for float64(d)*1e-9 <= BucketBound(i-1) {
		i--
	}
	return min(max(i, FirstBucket), LastBucket)
}

func TestHistogramCountsInTheBucketOfTheDefinition(t *testing.T) {
	durations := []time.Duration{1, 2, 3, 999, 1000, time.Microsecond, time.Millisecond, time.Second, 2 * time.Second,
		time.Minute, time.Hour, 36 * time.Hour, 1000 * time.Hour, math.MaxInt64}
	for _, b := range bounds { // each bound and its neighbours
		durations = append(durations, max(b-1, 1), b, b+1)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		durations = append(durations, time.Duration(rng.Int64N(int64(1)<<rng.IntN(48)+1)+1))
	}
	for _, d := range durations {
		var h Histogram
		h.Add(d)
		for i, n := range h.Buckets() {
			if want := bucketOf(d); i != want || n != 1 {
				t.Fatalf("%v is counted %d times in bucket %d, want once in %d", d, n, i, want)
			}
		}
		if h.Count != 1 || h.Sum != d || h.Max != d {
			t.Fatalf("%v: count %d, sum %v, max %v", d, h.Count, h.Sum, h.Max)
		}
	}
}

func TestHistogramZeroIsInNoBucket(t *testing.T) {
	var h Histogram
	h.Add(0)
	h.Add(-time.Second)
	for i := range h.Buckets() {
		t.Errorf("bucket %d is not empty", i)
	}
	if h.Count != 2 || h.Zero != 2 || h.Sum != 0 || h.Quantile(1) != 0 {
		t.Errorf("got %d counted, %d zero, sum %v, max quantile %v", h.Count, h.Zero, h.Sum, h.Quantile(1))
	}
}

func TestHistogramsMergeAsIfCountedTogether(t *testing.T) {
	var a, b, both Histogram
	for d := time.Duration(1); d < 100*time.Hour; d = d*3/2 + 1 {
		if d%2 == 0 {
			a.Add(d)
		} else {
			b.Add(d)
		}
		both.Add(d)
	}
	a.Merge(&b)
	a.Merge(nil)
	if a != both {
		t.Errorf("merged %+v, counted together %+v", a, both)
	}
}

func TestQuantileIsNeverBelowAndAtMostABucketAbove(t *testing.T) {
	var h Histogram
	for i := 1; i <= 1000; i++ {
		h.Add(time.Duration(i) * time.Millisecond)
	}
	for _, q := range []float64{.01, .5, .9, .99, 1} {
		exact := time.Duration(q*1000) * time.Millisecond
		if got := h.Quantile(q); got < exact || float64(got) > float64(exact)*1.19 {
			t.Errorf("quantile %v is %v, want %v to %v", q, got, exact, time.Duration(float64(exact)*1.19))
		}
	}
	if got := (*Histogram)(nil).Quantile(.5); got != 0 {
		t.Errorf("quantile of nothing is %v", got)
	}
}

func TestHistogramSurvivesJSON(t *testing.T) {
	var h, back Histogram
	for d := time.Duration(0); d < time.Hour; d = d*2 + 1 {
		h.Add(d)
	}
	data, err := json.Marshal(&h)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if back != h {
		t.Errorf("%+v came back as %+v", h, back)
	}
}

func BenchmarkHistogramAdd(b *testing.B) {
	var h Histogram
	for i := 0; b.Loop(); i++ {
		h.Add(time.Duration(i))
	}
}
