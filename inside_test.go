package drawbridge_test

import (
	"context"
	"testing"

	"github.com/drawbridge-go/drawbridge"
)

// TestPanicAtAReadInsideLeavesTheUpdateOpen: an observer that panics when the
// read is granted takes the read with it, and not the upgrade.
func TestPanicAtAReadInsideLeavesTheUpdateOpen(t *testing.T) {
	rw := new(drawbridge.RWMutex)
	err := rw.WithULock(t.Context(), func(ctx context.Context, upgrade func() error) error {
		stop := rw.Observe(observerFunc(func(context.Context, drawbridge.Event) { panic("oh no") }))
		got := panicsWith(func() {
			_ = rw.WithRLock(ctx, func(context.Context) error { t.Error("entered"); return nil })
		})
		if got != "oh no" {
			t.Errorf("panic %q", got)
		}
		stop()
		return upgrade()
	})
	if err != nil {
		t.Errorf("error %v", err)
	}
	if got := rw.State(); got != (drawbridge.State{}) {
		t.Errorf("left %s", got)
	}
}
