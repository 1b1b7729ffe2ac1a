package lockrecursive

import (
	"context"

	"github.com/drawbridge-go/drawbridge"
)

func (s *store) twice() string {
	s.mu.RLock()
	n := s.name
	s.mu.RUnlock()
	return n + s.label()
}

func twoStores(a, b *store) string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return b.label()
}

type ours struct{ mu drawbridge.RWMutex }

func (o *ours) outer(ctx context.Context) error {
	return o.mu.WithRLock(ctx, func(ctx context.Context) error { return o.inner(ctx) })
}

func (o *ours) inner(ctx context.Context) error {
	return o.mu.WithRLock(ctx, func(context.Context) error { return nil })
}

func (o *ours) set(ctx context.Context) error {
	return o.mu.WithLock(ctx, func(context.Context) error { return nil })
}
