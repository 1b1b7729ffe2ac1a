package drawbridge_test

import (
	"runtime"
	"testing"

	"github.com/drawbridge-go/drawbridge"
)

// TestStripesForEveryProcessor: with too few of them readers of several
// processors share a cache line again, with too many each lock takes more memory
// than it is worth.
func TestStripesForEveryProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for procs := 1; procs <= 9; procs++ {
		runtime.GOMAXPROCS(procs)
		n := drawbridge.Stripes(hot(new(drawbridge.RWMutex)))
		if n&(n-1) != 0 || n < 4*procs || n >= 8*procs {
			t.Errorf("%d stripes for %d processors", n, procs)
		}
	}
}
