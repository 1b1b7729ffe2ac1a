package inspect

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// TestRecordIsRightAfterAStorm: whatever comes and gives up at once, when all
// have left nobody is inside or waiting, and every hold was counted once.
func TestRecordIsRightAfterAStorm(t *testing.T) {
	for _, policy := range []drawbridge.Policy{drawbridge.Balanced, drawbridge.PreferWriters, drawbridge.PreferReaders, drawbridge.FIFO} {
		t.Run(policy.String(), func(t *testing.T) {
			mu := drawbridge.RWMutex{Policy: policy}
			r := newRecord("storm", &mu, Sites)
			stop := mu.Observe(r)
			var plain, reads, upgradables, writes, gaveUp, upgrades, downgrades atomic.Uint64
			got := func(err error, n *atomic.Uint64) bool {
				if err != nil {
					gaveUp.Add(1)
					return false
				}
				n.Add(1)
				return true
			}
			var wg sync.WaitGroup
			for seed := range uint64(16) {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(seed, 1))
					pause := func() {
						if rng.IntN(4) == 0 {
							time.Sleep(time.Duration(rng.IntN(50)) * time.Microsecond)
						}
					}
					for range 300 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(2000))*time.Microsecond)
						switch rng.IntN(7) {
						case 0:
							mu.RLock()
							plain.Add(1)
							pause()
							mu.RUnlock()
						case 1:
							if got(mu.RLockContext(ctx), &plain) {
								pause()
								mu.RUnlock()
							}
						case 2:
							got(mu.WithRLock(ctx, func(context.Context) error { pause(); return nil }), &reads)
						case 3:
							if got(mu.LockContext(ctx), &writes) {
								pause()
								mu.Unlock()
							}
						case 4:
							mu.Lock()
							writes.Add(1)
							mu.Downgrade()
							downgrades.Add(1)
							pause()
							mu.RUnlock()
						case 5:
							if got(mu.ULockContext(ctx), &upgradables) {
								if got(mu.UpgradeContext(ctx), &upgrades) {
									pause()
									mu.DowngradeToUpgradable()
									downgrades.Add(1)
								}
								mu.UUnlock()
							}
						case 6:
							got(mu.WithLock(ctx, func(context.Context) error { pause(); return nil }), &writes)
						}
						cancel()
					}
				})
			}
			wg.Wait()
			stop()

			l := r.report()
			if len(l.Holders)+len(l.Waiters)+l.PlainReaders.Inside != 0 || l.Words != "free" {
				t.Errorf("left behind: %+v, %+v, %d plain readers, %s", l.Holders, l.Waiters, l.PlainReaders.Inside, l.Words)
			}
			same := func(what string, got, want uint64) {
				t.Helper()
				if got != want {
					t.Errorf("%s: %d counted, %d done", what, got, want)
				}
			}
			held := func(m Mode) uint64 {
				if m.Hold == nil {
					return 0
				}
				return m.Hold.Count
			}
			same("reads", l.Read.Holds, plain.Load()+reads.Load())
			same("lengths of reads", held(l.Read), reads.Load())
			same("plain reads", l.PlainReaders.Entered, plain.Load()+downgrades.Load()-upgrades.Load())
			same("upgradable reads", l.Upgradable.Holds, upgradables.Load())
			same("lengths of upgradable reads", held(l.Upgradable), upgradables.Load()+upgrades.Load())
			same("writes", l.Write.Holds, writes.Load())
			same("lengths of writes", held(l.Write), writes.Load()+upgrades.Load())
			same("upgrades", l.Upgrades, upgrades.Load())
			same("downgrades", l.Downgrades, downgrades.Load())
			if n := l.GaveUp.Deadline + l.GaveUp.Canceled; n > gaveUp.Load() {
				t.Errorf("%d gave up waiting, of %d that failed", n, gaveUp.Load())
			}
		})
	}
}
