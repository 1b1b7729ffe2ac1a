package inspect

import (
	"encoding/json"
	"iter"
	"math"
	"math/bits"
	"time"
)

// Histogram counts durations in buckets whose bounds are powers of 2^(1/4)
// seconds: four buckets an octave, so a bucket is about 19 % wide. The bounds
// are those of Prometheus' native histograms of schema 2 and OpenTelemetry's
// exponential histograms of scale 2, so both take the counts as they are.
//
// Bucket i counts what is longer than 2^((i-1)/4) s and at most 2^(i/4) s. The
// first is [FirstBucket], which ends just above a nanosecond, and the last
// [LastBucket], which ends after 36 hours and takes everything longer too.
// Durations of zero or less are in Zero alone.
//
// The size is fixed (1.5 KiB), and histograms of the same moment on two locks
// or machines can be added up by [Histogram.Merge]. The zero value is empty.
type Histogram struct {
	Count uint64        // of everything, Zero included
	Zero  uint64        // durations of zero or less
	Sum   time.Duration // of everything
	Max   time.Duration // the longest

	counts [LastBucket - FirstBucket + 1]uint64
	brief  bool // written without its buckets
}

// FirstBucket and LastBucket are the ends of the range of bucket numbers.
const (
	FirstBucket = -119
	LastBucket  = 68
)

// bounds has the upper bound of each bucket in whole nanoseconds, rounded
// down: no whole number of nanoseconds lies between the two.
var bounds = func() (b [LastBucket - FirstBucket + 1]time.Duration) {
	for i := range b {
		b[i] = time.Duration(BucketBound(FirstBucket+i) * 1e9)
	}
	return b
}()

// firstOf has, for each bit length, the bucket of the shortest duration that
// has it.
var firstOf = func() (f [65]uint8) {
	for n := 1; n < len(f); n++ {
		i := 0
		for i < len(bounds)-1 && uint64(bounds[i]) < uint64(1)<<(n-1) {
			i++
		}
		f[n] = uint8(i)
	}
	return f
}()

// BucketBound returns the upper bound of bucket i in seconds: 2^(i/4).
func BucketBound(i int) float64 { return math.Exp2(float64(i) / 4) }

// Add counts d.
func (h *Histogram) Add(d time.Duration) {
	h.Count++
	if d <= 0 {
		h.Zero++
		return
	}
	h.Sum += d
	h.Max = max(h.Max, d)
	i := firstOf[bits.Len64(uint64(d))]
	for int(i) < len(bounds)-1 && bounds[i] < d {
		i++
	}
	h.counts[i]++
}

// Merge adds what o has counted. A nil o has counted nothing.
func (h *Histogram) Merge(o *Histogram) {
	if o == nil {
		return
	}
	h.Count += o.Count
	h.Zero += o.Zero
	h.Sum += o.Sum
	h.Max = max(h.Max, o.Max)
	for i, n := range o.counts {
		h.counts[i] += n
	}
}

// Buckets yields the number and the count of each bucket that is not empty, in
// order. Zero is not among them. A nil h yields nothing.
func (h *Histogram) Buckets() iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		if h == nil {
			return
		}
		for i, n := range h.counts {
			if n != 0 && !yield(FirstBucket+i, n) {
				return
			}
		}
	}
}

// Quantile returns the duration that the share q of all counted is not longer
// than: the upper bound of its bucket, at most Max. It is 0 when nothing was
// counted, and 0 for a nil h.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h == nil || h.Count == 0 {
		return 0
	}
	rank := uint64(math.Ceil(min(max(q, 0), 1) * float64(h.Count)))
	seen := h.Zero
	if seen >= rank {
		return 0
	}
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			if i == len(h.counts)-1 {
				return h.Max
			}
			return min(bounds[i], h.Max)
		}
	}
	return h.Max
}

// Mean returns the mean of everything counted, or 0.
func (h *Histogram) Mean() time.Duration {
	if h == nil || h.Count == 0 {
		return 0
	}
	return h.Sum / time.Duration(h.Count)
}

// histogramJSON is how a histogram is written; see the package documentation.
type histogramJSON struct {
	Count   uint64        `json:"count"`
	Zero    uint64        `json:"zero"`
	Sum     time.Duration `json:"sum_ns"`
	Max     time.Duration `json:"max_ns"`
	P50     time.Duration `json:"p50_ns"`
	P90     time.Duration `json:"p90_ns"`
	P99     time.Duration `json:"p99_ns"`
	Buckets [][2]int64    `json:"buckets,omitempty"`
}

// MarshalJSON writes the histogram as the package documentation says.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	j := histogramJSON{
		Count: h.Count, Zero: h.Zero, Sum: h.Sum, Max: h.Max,
		P50: h.Quantile(.5), P90: h.Quantile(.9), P99: h.Quantile(.99),
	}
	if h.brief {
		return json.Marshal(j)
	}
	for i, n := range h.Buckets() {
		j.Buckets = append(j.Buckets, [2]int64{int64(i), int64(n)})
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON has written. Buckets out of the range
// of a Histogram are counted in the nearest one.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var j histogramJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*h = Histogram{Count: j.Count, Zero: j.Zero, Sum: j.Sum, Max: j.Max}
	for _, b := range j.Buckets {
		h.counts[min(max(b[0], FirstBucket), LastBucket)-FirstBucket] += uint64(b[1])
	}
	return nil
}
