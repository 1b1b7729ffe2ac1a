package ctxlost

import (
	"context"

	"github.com/drawbridge-go/drawbridge"
)

func start(mu *drawbridge.RWMutex) error {
	if err := mu.LockContext(context.Background()); err != nil {
		return err
	}
	mu.Unlock()
	return nil
}

func cleanUp(ctx context.Context, mu *drawbridge.RWMutex) {
	defer func() {
		if err := mu.LockContext(context.Background()); err == nil {
			mu.Unlock()
		}
	}()
}

func background(ctx context.Context, mu *drawbridge.RWMutex) {
	go func() {
		if err := mu.LockContext(context.Background()); err == nil {
			mu.Unlock()
		}
	}()
}
