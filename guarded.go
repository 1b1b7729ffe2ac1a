package drawbridge

import "context"

// Guarded is a value that can be reached only through its lock: there is no
// way to forget it, or to unlock the wrong one. The zero value guards a zero T.
//
// The functions get a pointer to the value, which must not be used after they
// return. What [RWMutex.WithRLock], [RWMutex.WithLock] and [RWMutex.WithULock]
// promise about contexts, nesting, errors and panics is true of Read, Write and
// Update.
type Guarded[T any] struct {
	// Policy says who goes first. Set it before the first use.
	Policy Policy `json:"-"`

	core  core
	value T
}

// NewGuarded returns a Guarded that guards v.
func NewGuarded[T any](v T) *Guarded[T] { return &Guarded[T]{value: v} }

func (g *Guarded[T]) call(m Mode) call {
	return call{lock: g, policy: g.Policy, mode: m}
}

// Read runs fn with the value held to read and returns its error. fn must not
// change the value.
func (g *Guarded[T]) Read(ctx context.Context, fn func(context.Context, *T) error) error {
	call := g.call(Read).with(ctx)
	return g.core.within(&call, func(ctx context.Context, _ *scope) error { return fn(ctx, &g.value) })
}

// Write runs fn with the value held to write and returns its error.
func (g *Guarded[T]) Write(ctx context.Context, fn func(context.Context, *T) error) error {
	call := g.call(Write).with(ctx)
	return g.core.within(&call, func(ctx context.Context, _ *scope) error { return fn(ctx, &g.value) })
}

// Update runs fn with the value held upgradably and returns its error: fn may
// read the value, and may change it after upgrade has returned nil.
func (g *Guarded[T]) Update(ctx context.Context, fn func(ctx context.Context, v *T, upgrade func() error) error) error {
	k := g.call(Upgradable).with(ctx)
	return g.core.within(&k, func(ctx context.Context, s *scope) error {
		return fn(ctx, &g.value, s.upgrade)
	})
}

// State returns who holds the value and who waits, at one moment.
func (g *Guarded[T]) State() State { return g.core.picture() }

// Observe sends the events of g to o until stop is called, as
// [RWMutex.Observe] does.
func (g *Guarded[T]) Observe(o Observer) (stop func()) {
	k := g.call(0)
	return g.core.observe(&k, o)
}
