package lockupgrade

import (
	"context"

	"github.com/drawbridge-go/drawbridge"
)

func (x *index) lookAgain(k string) int {
	x.mu.RLock()
	n, ok := x.m[k]
	x.mu.RUnlock()
	if ok {
		return n
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if n, ok := x.m[k]; ok {
		return n
	}
	x.m[k] = 1
	return 1
}

func inPlace(mu *drawbridge.RWMutex) {
	mu.ULock()
	mu.Upgrade()
	mu.DowngradeToUpgradable()
	mu.UUnlock()
}

func scoped(ctx context.Context, mu *drawbridge.RWMutex) error {
	return mu.WithULock(ctx, func(ctx context.Context, upgrade func() error) error {
		return upgrade()
	})
}
