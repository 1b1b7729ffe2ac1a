package inspect

import (
	"bytes"
	"context"
	"runtime/trace"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// TestRuntimeTraceHasWaitsAndHolds looks for the names in the trace, whose
// strings stand in it as they are.
func TestRuntimeTraceHasWaitsAndHolds(t *testing.T) {
	var mu drawbridge.RWMutex
	defer Watch("traced lock", &mu)()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	mu.Lock()
	wg.Go(func() { mu.WithRLock(t.Context(), func(context.Context) error { return nil }) })
	for mu.State().WaitingReaders == 0 {
		time.Sleep(time.Millisecond)
	}
	mu.Unlock()
	wg.Wait()
	mu.WithLock(t.Context(), func(context.Context) error { return nil })
	mu.RLock()
	mu.RUnlock()
	trace.Stop()
	for _, want := range []string{
		"wait to read: traced lock", "read: traced lock", "write: traced lock", // regions
		"entered to write: traced lock", "left to write: traced lock", // the plain write hold
		"entered to read: traced lock", "left to read: traced lock", // the plain read
	} {
		if !bytes.Contains(buf.Bytes(), []byte(want)) {
			t.Errorf("no %q in the trace", want)
		}
	}
}

// TestRegionEndsOnItsGoroutineAlone: the end of a region on another goroutine
// would break the nesting of that one's.
func TestRegionEndsOnItsGoroutineAlone(t *testing.T) {
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	defer trace.Stop()
	var mu drawbridge.RWMutex
	r := newRecord("joined", &mu, Sites)
	defer mu.Observe(r)()
	outer, inner := make(chan struct{}), make(chan struct{})
	mu.WithRLock(t.Context(), func(ctx context.Context) error {
		joined := make(chan struct{})
		go func() {
			defer close(inner)
			mu.WithRLock(ctx, func(context.Context) error {
				close(joined)
				<-outer
				return nil
			})
		}()
		<-joined
		return nil
	})
	close(outer)
	<-inner
	if n := r.report().Read.Hold.Count; n != 1 {
		t.Errorf("%d holds, want the one that both shared", n)
	}
}
