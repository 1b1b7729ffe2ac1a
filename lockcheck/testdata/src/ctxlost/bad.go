package ctxlost

import (
	"context"
	"net/http"

	"github.com/drawbridge-go/drawbridge"
)

func get(ctx context.Context, mu *drawbridge.RWMutex) error {
	if err := mu.RLockContext(context.Background()); err != nil { // want `RLockContext with context.Background never gives up although ctx is at hand. Use ctx`
		return err
	}
	defer mu.RUnlock()
	return nil
}

func handle(mu *drawbridge.RWMutex, r *http.Request) error {
	return mu.WithLock(context.TODO(), func(ctx context.Context) error { // want `WithLock with context.TODO never gives up although r.Context\(\) is at hand`
		return nil
	})
}
