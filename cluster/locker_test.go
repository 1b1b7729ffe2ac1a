package cluster_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/mem"
)

func locker(t *testing.T, e cluster.Engine) *cluster.Locker {
	l := cluster.New(e, cluster.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	t.Cleanup(func() { l.Close() })
	return l
}

func must(t *testing.T) func(h *cluster.Hold, err error) *cluster.Hold {
	return func(h *cluster.Hold, err error) *cluster.Hold {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
}

var deaf, mute = mem.Link{DropReplies: true}, mem.Link{DropRequests: true}

// A request that was carried out and whose answer was lost is found again, with its place.
func TestLostAnswerKeepsThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		here := mem.New()
		there := here.Peer()
		a, b := locker(t, here), locker(t, there)
		must(t)(a.RLock(ctx, "warm")).Unlock(ctx)
		here.SetLink(deaf)
		var h *cluster.Hold
		var wg sync.WaitGroup
		wg.Go(func() { h = must(t)(a.Lock(ctx, "n")) })
		synctest.Wait()
		wg.Go(func() {
			next := must(t)(b.Lock(ctx, "n"))
			if h == nil || next.Token() <= h.Token() {
				t.Error("the later call came first")
			}
			next.Unlock(ctx)
		})
		synctest.Wait()
		here.SetLink(mem.Link{})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if h == nil {
			t.Fatal("not granted after the link came back")
		}
		h.Unlock(ctx)
		wg.Wait()
	})
}

// A release whose answer was lost is sent again and is no loss.
func TestReleaseIsSentUntilItIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		here := mem.New()
		a, b := locker(t, here), locker(t, here.Peer())
		h := must(t)(a.Lock(ctx, "n"))
		here.SetLink(mute)
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := h.Unlock(soon); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cluster.ErrLost) {
			t.Errorf("Unlock that was not confirmed in time: %v", err)
		}
		if err := h.Held(); !errors.Is(err, cluster.ErrUnlocked) {
			t.Errorf("Held while the release is on its way: %v", err)
		}
		here.SetLink(mem.Link{})
		next := must(t)(b.Lock(ctx, "n"))
		if err := h.Unlock(ctx); err != nil {
			t.Errorf("the same release, confirmed: %v", err)
		}
		next.Unlock(ctx)
	})
}

// With Limits.Shared, readers whose claim had vanished must not be counted on a newer one as if nothing had been.
func TestReadersOfAVanishedClaimAreToldByTheNextToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		here := mem.New()
		here.Limits = cluster.Limits{Shared: true}
		there := here.Peer()
		a, b := locker(t, here), locker(t, there)
		old := must(t)(a.RLock(ctx, "n"))
		here.SetLink(mem.Link{ReplyDelay: time.Hour}) // the news of the removal will be slow
		synctest.Wait()
		if err := there.Remove(ctx, "n", old.Token()); err != nil {
			t.Fatal(err)
		}
		must(t)(b.Lock(ctx, "n")).Unlock(ctx)
		synctest.Wait()
		here.SetLink(mem.Link{})
		if err := old.Held(); err != nil {
			t.Fatalf("told too early for this test: %v", err)
		}
		newer := must(t)(a.RLock(ctx, "n"))
		if err := old.Held(); !errors.Is(err, cluster.ErrLost) {
			t.Errorf("the old reader's Held is %v although a writer was there", err)
		}
		if err := newer.Held(); err != nil {
			t.Error(err)
		}
		newer.Unlock(ctx)
	})
}

// An engine on which an entry is dear gets no more of them than it says, and every call is served.
func TestClaimsStayWithinTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		here := mem.New()
		here.Limits = cluster.Limits{Shared: true, Claims: 3}
		a := locker(t, here)
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				name := string(rune('a' + i%6))
				take := a.RLock
				if i%4 == 0 {
					take = a.Lock
				}
				h := must(t)(take(ctx, name))
				time.Sleep(time.Millisecond)
				h.Unlock(ctx)
			})
		}
		wg.Go(func() {
			for range 200 {
				total := 0
				for i := range 6 {
					entries, err := here.Entries(ctx, string(rune('a'+i)))
					if err != nil {
						t.Error(err)
					}
					total += len(entries)
				}
				if total > 3 {
					t.Errorf("%d entries at once, the limit is 3", total)
				}
				time.Sleep(100 * time.Microsecond)
			}
		})
		wg.Wait()
	})
}

// Readers of one process that wait together cost one grant.
func TestWaitingReadersOfAProcessShareAGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		here := mem.New()
		here.Limits = cluster.Limits{Shared: true}
		a, b := locker(t, here), locker(t, here.Peer())
		writer := must(t)(b.Lock(ctx, "n"))
		var wg sync.WaitGroup
		hold := make(chan struct{})
		for range 100 {
			wg.Go(func() {
				h := must(t)(a.RLock(ctx, "n"))
				<-hold
				h.Unlock(ctx)
			})
		}
		synctest.Wait()
		st, err := a.State(ctx, "n")
		if err != nil || len(st.Waiters) != 1 || st.Queued != 99 {
			t.Fatalf("state %+v, %v; want one waiter and 99 behind it", st, err)
		}
		before := here.Traffic().Requests
		writer.Unlock(ctx)
		synctest.Wait()
		if st, _ := a.State(ctx, "n"); len(st.Holders) != 1 || st.Queued != 0 {
			t.Errorf("state %+v, want one holder", st)
		}
		close(hold)
		wg.Wait()
		if n := here.Traffic().Requests - before; n > 4 {
			t.Errorf("100 readers cost %d requests", n)
		}
	})
}

// The next of the same mode takes over a claim whose caller gave up, and with it the place among the machines.
func TestPlaceIsInheritedWithinTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		here := mem.New()
		here.Limits = cluster.Limits{Shared: true}
		a, b := locker(t, here), locker(t, here.Peer())
		holder := must(t)(b.Lock(ctx, "n"))
		impatient, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := a.Lock(impatient, "n"); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		var order []string
		wg.Go(func() { h := must(t)(a.Lock(ctx, "n")); order = append(order, "heir"); h.Unlock(ctx) })
		synctest.Wait()
		wg.Go(func() { h := must(t)(b.Lock(ctx, "n")); order = append(order, "later"); h.Unlock(ctx) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		holder.Unlock(ctx)
		wg.Wait()
		if len(order) != 2 || order[0] != "heir" {
			t.Errorf("order %v", order)
		}
	})
}

func TestWaitErrorSaysWhatTheEngineSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here := mem.New()
		a := locker(t, here)
		here.SetLink(mute)
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		_, err := a.Lock(ctx, "n")
		var we *cluster.WaitError
		if !errors.As(err, &we) || we.Last == nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestCloseReturnsWhileCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here := mem.New()
		a := locker(t, here)
		h := must(t)(a.Lock(t.Context(), "n"))
		here.SetLink(mute)
		began := time.Now()
		a.Close()
		if took := time.Since(began); took > 25*time.Second {
			t.Errorf("Close took %v", took)
		}
		if err := h.Held(); !errors.Is(err, cluster.ErrLost) {
			t.Error(err)
		}
	})
}

// Work for somebody else, started inside a hold, neither joins the hold nor is refused because of it.
func TestWithoutHoldsACallWaitsLikeAnybodyElse(t *testing.T) {
	a := locker(t, mem.New())
	for _, hold := range []*cluster.Hold{must(t)(a.Lock(t.Context(), "written")), must(t)(a.RLock(t.Context(), "read"))} {
		ctx := drawbridge.WithoutHolds(hold.Context())
		if _, err := a.TryLock(ctx, hold.Name()); !errors.Is(err, cluster.ErrBusy) {
			t.Errorf("a writer beside the hold of %q: %v", hold.Name(), err)
		}
		// What it takes itself it carries.
		inner := must(t)(a.Lock(ctx, hold.Name()+" inside"))
		if _, err := a.Lock(inner.Context(), inner.Name()); !errors.Is(err, drawbridge.ErrReentrant) {
			t.Error(err)
		}
		outer, cancel := context.WithTimeout(drawbridge.WithoutHolds(inner.Context()), time.Millisecond)
		defer cancel()
		if _, err := a.Lock(outer, hold.Name()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a hold further out is still carried: %v", err)
		}
	}
}
