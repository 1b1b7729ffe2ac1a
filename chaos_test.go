package drawbridge_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// occupants counts those inside of a lock and fails if they may not be there
// together.
type occupants struct {
	t                            testing.TB
	readers, upgradable, writers atomic.Int32
}

func (o *occupants) change(readers, upgradable, writers int32) {
	r, u, w := o.readers.Add(readers), o.upgradable.Add(upgradable), o.writers.Add(writers)
	if w > 1 || u > 1 || w == 1 && (r > 0 || u > 0) || r < 0 || u < 0 || w < 0 {
		o.t.Errorf("inside: %d readers, %d upgradable readers, %d writers", r, u, w)
	}
}

// chaos has many goroutines make every call of rw, with contexts that end at
// random moments.
func chaos(t *testing.T, rw *drawbridge.RWMutex, rounds int) {
	inside := &occupants{t: t}
	var wg sync.WaitGroup
	for g := range 12 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for range rounds {
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if random.IntN(2) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(60))*time.Microsecond)
				}
				inside.visit(ctx, rw, random)
				cancel()
			}
		})
	}
	wg.Wait()
	if got := rw.State(); got != (drawbridge.State{}) {
		t.Errorf("left behind: %s", got)
	}
}

// visit makes one random call and uses what it got. A hold is counted only
// while it is certain, so a change of mode is counted by the weaker of the two.
func (o *occupants) visit(ctx context.Context, rw *drawbridge.RWMutex, random *rand.Rand) {
	read := func() { o.change(1, 0, 0); o.change(-1, 0, 0) }
	write := func() { o.change(0, 0, 1); o.change(0, 0, -1) }
	upgradable := func() { o.change(0, 1, 0); o.change(0, -1, 0) }
	switch random.IntN(12) {
	case 0:
		rw.Lock()
		write()
		rw.Unlock()
	case 1:
		rw.RLock()
		read()
		rw.RUnlock()
	case 2, 3:
		if rw.LockContext(ctx) == nil {
			write()
			rw.Unlock()
		}
	case 4, 5:
		if rw.RLockContext(ctx) == nil {
			read()
			rw.RUnlock()
		}
	case 6:
		if rw.ULockContext(ctx) != nil {
			return
		}
		upgradable()
		if rw.UpgradeContext(ctx) != nil {
			upgradable()
			rw.UUnlock()
			return
		}
		write()
		if random.IntN(2) == 0 {
			rw.Unlock()
			return
		}
		rw.DowngradeToUpgradable()
		upgradable()
		rw.UUnlock()
	case 7:
		rw.Lock()
		write()
		rw.Downgrade()
		read()
		rw.RUnlock()
	case 8:
		if rw.TryLock() {
			write()
			rw.Unlock()
		}
	case 9:
		if rw.TryRLock() {
			read()
			rw.RUnlock()
		}
	case 10:
		_ = rw.WithULock(ctx, func(ctx context.Context, upgrade func() error) error {
			upgradable()
			_ = rw.WithRLock(ctx, func(context.Context) error {
				read()
				if err := upgrade(); !errors.Is(err, drawbridge.ErrUpgrade) {
					o.t.Errorf("upgrade beside a read: error %v", err)
				}
				return nil
			})
			if upgrade() == nil {
				write()
			} else {
				upgradable()
			}
			return nil
		})
	case 11:
		_ = rw.WithRLock(ctx, func(ctx context.Context) error {
			o.change(1, 0, 0)
			defer o.change(-1, 0, 0)
			if err := rw.WithRLock(ctx, func(context.Context) error { return nil }); err != nil && ctx.Err() == nil {
				o.t.Errorf("a read inside a read: error %v", err)
			}
			return nil
		})
	}
}
