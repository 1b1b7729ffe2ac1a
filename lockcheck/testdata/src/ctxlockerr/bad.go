package ctxlockerr

import (
	"context"
	"log"

	"github.com/drawbridge-go/drawbridge"
)

type table struct {
	mu   drawbridge.RWMutex
	rows map[string]int
}

func (t *table) dropped(ctx context.Context) {
	t.mu.LockContext(ctx) // want `the error of this call on t.mu is dropped`
	defer t.mu.Unlock()
	t.rows["a"]++
}

func (t *table) blank(ctx context.Context) int {
	_ = t.mu.RLockContext(ctx) // want `the error of this call on t.mu is dropped`
	n := len(t.rows)
	t.mu.RUnlock()
	return n
}

func (t *table) deferredTooEarly(ctx context.Context) error {
	err := t.mu.LockContext(ctx)
	defer t.mu.Unlock() // want `t.mu is unlocked where the call at bad.go:29 has failed`
	if err != nil {
		return err
	}
	t.rows["a"]++
	return nil
}

func (t *table) logged(ctx context.Context) {
	if err := t.mu.LockContext(ctx); err != nil {
		log.Print(err)
	}
	t.rows["a"]++
	t.mu.Unlock() // want `t.mu is unlocked where the call at bad.go:39 has failed`
}

func (t *table) forgotten(ctx context.Context, k string) (int, error) {
	if err := t.mu.RLockContext(ctx); err != nil {
		return 0, err
	}
	n, ok := t.rows[k]
	if !ok {
		return 0, nil // want `t.mu, read-locked at bad.go:47, is still held at this return`
	}
	t.mu.RUnlock()
	return n, nil
}

func (t *table) upgradeFailed(ctx context.Context, k string) error {
	if err := t.mu.ULockContext(ctx); err != nil {
		return err
	}
	if err := t.mu.UpgradeContext(ctx); err != nil {
		t.mu.Unlock() // want `t.mu is unlocked where the call at bad.go:62 has failed`
		return err
	}
	t.rows[k]++
	t.mu.Unlock()
	return nil
}

type session struct{ mu drawbridge.Mutex }

func (s *session) never(ctx context.Context) error {
	if err := s.mu.LockContext(ctx); err != nil {
		return err
	}
	return nil // want `s.mu, locked at bad.go:74, is never unlocked`
}
