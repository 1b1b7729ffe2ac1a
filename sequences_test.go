package drawbridge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// Sequences of steps that other locks got wrong, as their users reported them,
// each with how it fails there. R, W and U ask to read, to write and upgradably.

// cancellation

// TestReaderEntersWhenQueuedWriterGivesUp: B sleeps until A leaves, or for ever.
//
// https://github.com/microsoft/vs-threading/issues/252
// https://github.com/StephenCleary/AsyncEx/issues/134
// https://github.com/dotnet/corefx/issues/3364
// https://github.com/golang/go/issues/37852
func TestReaderEntersWhenQueuedWriterGivesUp(t *testing.T) {
	play(t, needs{modes: readWrite, policies: doorPolicies, contexts: true}, func(s *scene) {
		s.reads("A")
		w := s.writes("W")
		s.reads("B")
		s.want("A reads, W waits to write, B waits to read")
		w.givesUp()
		s.want("A reads, W gave up, B reads")
		s.reads("C")
		s.want("A reads, B reads, C reads")
	})
}

// TestUpgradableReaderEntersWhenQueuedWriterGivesUp is the same for a reader
// of the other kind.
func TestUpgradableReaderEntersWhenQueuedWriterGivesUp(t *testing.T) {
	play(t, needs{modes: allModes, policies: doorPolicies, contexts: true}, func(s *scene) {
		s.reads("A")
		w := s.writes("W")
		s.upgradably("U")
		s.reads("B")
		w.givesUp()
		s.want("A reads, W gave up, U reads upgradably, B reads")
	})
}

// TestNextWriterTakesTheRoleOfOneThatGivesUp: B enters though W2 waits, or W2
// is forgotten.
//
// https://github.com/microsoft/vs-threading/pull/259
func TestNextWriterTakesTheRoleOfOneThatGivesUp(t *testing.T) {
	play(t, needs{modes: readWrite, policies: doorPolicies, contexts: true}, func(s *scene) {
		a := s.reads("A")
		w1 := s.writes("W1")
		s.writes("W2")
		s.reads("B")
		w1.givesUp()
		s.want("A reads, W1 gave up, W2 waits to write, B waits to read")
		a.leaves()
		s.want("W2 writes, B waits to read")
	})
}

// TestReaderBetweenTwoWritersWhenTheFirstGivesUp: who came before W2 need not
// wait for it under FIFO; elsewhere W2 takes the role and the door stays shut.
func TestReaderBetweenTwoWritersWhenTheFirstGivesUp(t *testing.T) {
	play(t, needs{modes: readWrite, policies: doorPolicies, contexts: true}, func(s *scene) {
		a := s.reads("A")
		w1 := s.writes("W1")
		b := s.reads("B")
		s.writes("W2")
		w1.givesUp()
		if s.policy == FIFO {
			s.want("A reads, W1 gave up, B reads, W2 waits to write")
			a.leaves()
			s.want("B reads, W2 waits to write")
			b.leaves()
			s.want("W2 writes")
		} else {
			s.want("A reads, W1 gave up, B waits to read, W2 waits to write")
			a.leaves()
			s.want("B waits to read, W2 writes")
		}
	})
}

// TestCancelInTheMomentOfTheGrant: the lock is owned by somebody who gave up,
// or by nobody while others wait.
//
// https://github.com/python/cpython/pull/1031
// https://github.com/Joshuaalbert/FairAsyncRLock/issues/14
// https://github.com/agronholm/anyio/issues/387
func TestCancelInTheMomentOfTheGrant(t *testing.T) {
	for _, m := range allModes {
		play(t, needs{modes: []drawbridge.Mode{m}, contexts: true}, func(s *scene) {
			a, b := s.writes("A"), s.asks("B", m)
			s.writes("C")
			close(a.commands)
			b.cancel()
			synctest.Wait()
			first := fmt.Sprintf("B %s, C waits to write", doing[m])
			if got := s.String(); got != first && got != "B gave up, C writes" {
				s.Fatal(got)
			}
		})
	}
}

// TestCancelBeforeTheGrantNeverGrants: the context was done before the
// release, so B must not get the lock, and C must not be forgotten.
//
// https://github.com/golang/go/issues/63615
// https://github.com/agronholm/anyio/pull/1145
func TestCancelBeforeTheGrantNeverGrants(t *testing.T) {
	for _, m := range allModes {
		play(t, needs{modes: []drawbridge.Mode{m}, contexts: true}, func(s *scene) {
			a, b := s.writes("A"), s.asks("B", m)
			s.writes("C")
			b.cancel()
			close(a.commands) // B has not run since
			synctest.Wait()
			s.want("B gave up, C writes")
		})
	}
}

// TestLateGrantsOfManyReaders: a batch of readers is granted and given up at
// once; the writer behind them is forgotten.
func TestLateGrantsOfManyReaders(t *testing.T) {
	play(t, needs{modes: readWrite, contexts: true}, func(s *scene) {
		a := s.writes("A")
		ctx, cancel := context.WithCancel(s.Context())
		for i := range 10 {
			s.send(ctx, fmt.Sprint("R", i), Read)
		}
		synctest.Wait()
		w := s.writes("W")
		cancel()
		close(a.commands)
		synctest.Wait()
		if w.waits() {
			s.Fatal(s)
		}
		if s.lock.state() != (drawbridge.State{Writer: true}) {
			s.Fatal(s.lock.state())
		}
	})
}

// cancelInDone is cancelled by the call that asks for its Done channel, which
// a call does after it has looked at the context and before it waits.
type cancelInDone struct {
	context.Context
	cancel context.CancelFunc
}

func (c cancelInDone) Done() <-chan struct{} {
	c.cancel()
	return c.Context.Done()
}

// TestCancelBetweenTheLookAndTheQueue: the wait never ends, since the cancel
// came when nobody listened.
//
// https://github.com/microsoft/vs-threading/pull/203
// https://github.com/e2b-dev/infra/pull/3629
func TestCancelBetweenTheLookAndTheQueue(t *testing.T) {
	for _, m := range allModes {
		play(t, needs{modes: []drawbridge.Mode{m}, contexts: true}, func(s *scene) {
			s.writes("A")
			ctx, cancel := context.WithCancel(s.Context())
			err := s.lock.hold(cancelInDone{ctx, cancel}, m, func(context.Context, *grip) { s.Error("entered") })
			if !errors.Is(err, context.Canceled) {
				s.Errorf("got error %v", err)
			}
			s.want("A writes")
		})
	}
}

// TestAbandonedWaiterDoesNotWedgeTheLock: C never gets it.
//
// https://github.com/meziantou/Meziantou.Framework/pull/2877
// https://github.com/asomers/futures-locks/issues/1
// https://github.com/mco-gh/gcslock/issues/15
func TestAbandonedWaiterDoesNotWedgeTheLock(t *testing.T) {
	for _, m := range allModes {
		play(t, needs{modes: []drawbridge.Mode{m}, contexts: true}, func(s *scene) {
			a := s.writes("A")
			s.asks("B", m).givesUp()
			s.want("A writes, B gave up")
			a.leaves()
			s.want("nobody")
			s.writes("C")
			s.want("C writes")
		})
	}
}

// TestWriterThatGaveUpIsNotCountedAsWaiting: readers wait for a writer that is
// gone.
//
// https://github.com/rustfs/rustfs/issues/2795
// https://github.com/microsoft/RTVS/pull/2591
func TestWriterThatGaveUpIsNotCountedAsWaiting(t *testing.T) {
	play(t, needs{modes: readWrite, contexts: true}, func(s *scene) {
		a := s.writes("A")
		s.writes("B").givesUp()
		s.want("A writes, B gave up")
		a.leaves()
		c := s.reads("C")
		s.want("C reads")
		c.leaves()
		s.writes("D")
		s.want("D writes")
	})
}

// TestOrderIsKeptOverCancellations: those behind somebody who gave up lose
// their place.
//
// https://github.com/typelevel/cats-effect/pull/3562
func TestOrderIsKeptOverCancellations(t *testing.T) {
	play(t, needs{contexts: true}, func(s *scene) {
		holder := s.writes("F1")
		var queue []*actor
		for i := 2; i <= 10; i++ {
			queue = append(queue, s.writes(fmt.Sprint("F", i)))
		}
		queue[0].givesUp()
		queue[1].givesUp()
		if !queue[2].waits() {
			s.Fatalf("F4 overtook F1: %s", s)
		}
		queue[5].givesUp() // F7, in the middle
		for _, next := range slices.Delete(queue[2:], 3, 4) {
			holder.leaves()
			if next.waits() {
				s.Fatalf("%s is not next: %s", next.name, s)
			}
			holder = next
		}
	})
}

// TestFailedCallLeavesTheHolderAlone: the clean-up of a call that failed ends
// the hold of somebody else.
//
// https://github.com/Kotlin/kotlinx.coroutines/issues/2683
// https://github.com/python/cpython/issues/86766
func TestFailedCallLeavesTheHolderAlone(t *testing.T) {
	play(t, needs{modes: readWrite, contexts: true}, func(s *scene) {
		s.writes("A")
		s.reads("B").givesUp()
		s.writes("C").givesUp()
		s.want("A writes, B gave up, C gave up")
		s.reads("D")
		s.want("A writes, D waits to read")
	})
}

// ownership

// TestNobodyEntersBetweenGrantAndWake: B is chosen and D enters before B has
// run, so there are two owners.
//
// https://github.com/aio-libs/aiorwlock/issues/235
// https://github.com/Joshuaalbert/FairAsyncRLock/issues/17
// https://github.com/python/cpython/pull/5466
func TestNobodyEntersBetweenGrantAndWake(t *testing.T) {
	play(t, needs{modes: readWrite}, func(s *scene) {
		a := s.reads("A")
		s.writes("B")
		close(a.commands)
		s.send(s.Context(), "D", Write)
		s.send(s.Context(), "E", Read)
		synctest.Wait()
		got := s.String()
		s.check()
		if s.policy == PreferReaders && got == "B waits to write, D waits to write, E reads" {
			return // E was there before A left
		}
		if got != "B writes, D waits to write, E waits to read" {
			s.Fatal(got)
		}
	})
}

// TestReleaseByAnotherGoroutine: ownership is tied to the goroutine, so a
// helper that acquires on behalf of another cannot work.
//
// https://github.com/aio-libs/aiorwlock/issues/409
func TestReleaseByAnotherGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rw drawbridge.RWMutex
		acquired := make(chan error)
		for _, c := range []struct {
			lock   func(context.Context) error
			unlock func()
		}{
			{rw.LockContext, rw.Unlock},
			{rw.RLockContext, rw.RUnlock},
			{rw.ULockContext, rw.UUnlock},
		} {
			go func() { acquired <- c.lock(t.Context()) }()
			if err := <-acquired; err != nil {
				t.Fatal(err)
			}
			c.unlock()
			if got := rw.State(); got != (drawbridge.State{}) {
				t.Fatalf("got %s", got)
			}
		}
	})
}

// TestReleaseIsNotCancelled: a hold whose context has ended cannot be ended.
//
// https://github.com/redis/redis-py/issues/3847
// https://github.com/Joshuaalbert/FairAsyncRLock/issues/7
func TestReleaseIsNotCancelled(t *testing.T) {
	for _, m := range allModes {
		play(t, needs{modes: []drawbridge.Mode{m}, contexts: true}, func(s *scene) {
			a := s.asks("A", m)
			s.writes("B")
			a.cancel()
			a.leaves()
			s.want("B writes")
		})
	}
}

// wakes

// TestWriterThenReaderAfterLastReader: the wrong kind of waiter is woken, or
// none.
//
// https://github.com/lalinsky/zio/pull/395
// https://github.com/lhmouse/mcfgthread/pull/329
// https://github.com/tinygo-org/tinygo/issues/5692
func TestWriterThenReaderAfterLastReader(t *testing.T) {
	play(t, needs{modes: readWrite, policies: doorPolicies}, func(s *scene) {
		a, b := s.reads("A"), s.reads("B")
		w := s.writes("W")
		s.reads("C")
		a.leaves()
		s.want("B reads, W waits to write, C waits to read")
		b.leaves()
		s.want("W writes, C waits to read")
		w.leaves()
		s.want("C reads")
	})
}

// TestWriterLetsAllWaitingReadersIn: one reader is woken, or none.
//
// https://github.com/shd101wyy/Yo/pull/280
// https://github.com/tinygo-org/tinygo/issues/2407
func TestWriterLetsAllWaitingReadersIn(t *testing.T) {
	play(t, needs{modes: readWrite}, func(s *scene) {
		w := s.writes("W")
		s.reads("A")
		s.reads("B")
		s.reads("C")
		w.leaves()
		s.want("A reads, B reads, C reads")
	})
}

// TestReadersThatWaitedOverlap: they enter one after the other, so a barrier
// inside never opens.
//
// https://github.com/rust-lang/rust/issues/121949
// https://github.com/microsoft/STL/issues/4448
func TestReadersThatWaitedOverlap(t *testing.T) {
	play(t, needs{modes: readWrite}, func(s *scene) {
		w := s.writes("W")
		var readers []*actor
		for i := range 5 {
			readers = append(readers, s.reads(fmt.Sprint("R", i)))
		}
		w.leaves()
		for _, r := range readers {
			if r.waits() {
				s.Fatal(s)
			}
		}
		s.check()
	})
}

// TestWaiterOfAnEarlierHoldIsNotForgotten: A unlocks and locks again while B
// goes to sleep; the wake for B goes to C, and B sleeps on.
//
// http://demsky.eecs.uci.edu/git/?p=folly.git;a=commitdiff;h=b927c0557670eee673ca64a782d58d23bd1dab5b
func TestWaiterOfAnEarlierHoldIsNotForgotten(t *testing.T) {
	play(t, needs{}, func(s *scene) {
		for range 5 {
			a := s.writes("A")
			s.send(s.Context(), "B", Write)
			close(a.commands)
			s.send(s.Context(), "A again", Write)
			s.send(s.Context(), "C", Write)
			synctest.Wait()
			s.end() // fails if everybody waits
		}
	})
}

// TestDowngradeAndTheQueue: a writer gets in between, or the readers behind it
// enter though the door is closed, or the readers before it sleep on a lock
// that is open to them.
//
// https://github.com/smol-rs/async-lock/issues/100
// https://github.com/tokio-rs/tokio/pull/2733
func TestDowngradeAndTheQueue(t *testing.T) {
	play(t, needs{changes: true}, func(s *scene) {
		w1 := s.writes("W1")
		s.writes("W2")
		s.reads("A")
		w1.downgrades()
		switch s.policy {
		case FIFO, PreferWriters:
			s.want("W1 reads, W2 waits to write, A waits to read")
		default:
			s.want("W1 reads, W2 waits to write, A reads")
		}
		if s.policy != PreferReaders {
			if _, ok := s.lock.try(Read); ok {
				s.Fatal("a reader entered past a waiting writer")
			}
		}
	})
	play(t, needs{changes: true}, func(s *scene) {
		w1 := s.writes("W1")
		s.reads("A")
		s.writes("W2")
		s.reads("B")
		w1.downgrades()
		switch s.policy {
		case FIFO:
			s.want("W1 reads, A reads, W2 waits to write, B waits to read")
		case PreferWriters:
			s.want("W1 reads, A waits to read, W2 waits to write, B waits to read")
		default:
			s.want("W1 reads, A reads, W2 waits to write, B reads")
		}
	})
}

// TestDowngradeToUpgradableAndTheQueue: the readers that may enter beside an
// upgradable reader sleep until it leaves.
func TestDowngradeToUpgradableAndTheQueue(t *testing.T) {
	play(t, needs{changes: true}, func(s *scene) {
		w1 := s.writes("W1")
		s.reads("A")
		s.upgradably("U")
		s.writes("W2")
		s.reads("B")
		w1.downgradesToUpgradable()
		const u = "U waits to read upgradably"
		switch s.policy {
		case FIFO:
			s.want("W1 reads upgradably, A reads, " + u + ", W2 waits to write, B waits to read")
		case PreferWriters:
			s.want("W1 reads upgradably, A waits to read, " + u + ", W2 waits to write, B waits to read")
		default:
			s.want("W1 reads upgradably, A reads, " + u + ", W2 waits to write, B reads")
		}
	})
}

// TestUpgradableReadersBehindAWriter: those behind the first one are not woken,
// or readers wait for it.
//
// https://github.com/Amanieu/parking_lot/blob/master/CHANGELOG.md
func TestUpgradableReadersBehindAWriter(t *testing.T) {
	play(t, needs{modes: allModes}, func(s *scene) {
		w := s.writes("W")
		u1 := s.upgradably("U1")
		s.reads("A")
		s.upgradably("U2")
		w.leaves()
		s.want("U1 reads upgradably, A reads, U2 waits to read upgradably")
		u1.leaves()
		s.want("A reads, U2 reads upgradably")
	})
}

// fairness

// TestWriterIsNotStarvedByReaders: it gets nothing as long as readers overlap.
//
// https://github.com/async-rs/async-std/issues/705
// https://github.com/asomers/futures-locks/issues/34
// https://github.com/netdata/netdata/pull/22550
// https://github.com/minio/minio/issues/2629
func TestWriterIsNotStarvedByReaders(t *testing.T) {
	play(t, needs{modes: readWrite, policies: doorPolicies}, func(s *scene) {
		a, b := s.reads("A"), s.reads("B")
		s.writes("W")
		s.reads("C")
		s.want("A reads, B reads, W waits to write, C waits to read")
		a.leaves()
		s.reads("D")
		b.leaves()
		s.want("W writes, C waits to read, D waits to read")
	})
}

// TestReaderIsNotStarvedByWriters: two writers take turns, and the reader waits
// for both, again and again.
//
// https://github.com/StarRocks/starrocks/pull/44662
func TestReaderIsNotStarvedByWriters(t *testing.T) {
	play(t, needs{modes: readWrite, policies: []drawbridge.Policy{Balanced, FIFO, PreferReaders}}, func(s *scene) {
		w1 := s.writes("W1")
		r := s.reads("R")
		s.writes("W2")
		w1.leaves()
		s.writes("W1 again")
		s.want("R reads, W2 waits to write, W1 again waits to write")
		r.leaves()
		s.want("W2 writes, W1 again waits to write")
	})
	play(t, needs{modes: readWrite, policies: []drawbridge.Policy{Balanced}}, func(s *scene) {
		w1 := s.writes("W1")
		s.writes("W2")
		s.reads("R") // after W2, and yet for at most one writer
		w1.leaves()
		s.want("W2 waits to write, R reads")
	})
}

// TestReleaseAndRetakeDoesNotJumpTheQueue: A unlocks and locks in a loop and B
// never gets the lock.
//
// https://github.com/golang/go/issues/13086
// https://github.com/python/cpython/issues/90155
// https://github.com/vectorize-io/hindsight/pull/4157
func TestReleaseAndRetakeDoesNotJumpTheQueue(t *testing.T) {
	play(t, needs{policies: []drawbridge.Policy{FIFO}}, func(s *scene) {
		a := s.writes("A")
		s.writes("B")
		close(a.commands)
		s.send(s.Context(), "A again", Write)
		synctest.Wait()
		s.want("B writes, A again waits to write")
	})
	// Under Balanced it may, until B has waited for 1 ms.
	play(t, needs{policies: []drawbridge.Policy{Balanced}}, func(s *scene) {
		a := s.writes("A")
		s.writes("B")
		time.Sleep(time.Millisecond + 1)
		close(a.commands)
		s.send(s.Context(), "A again", Write)
		synctest.Wait()
		s.want("B writes, A again waits to write")
	})
}

// TestReadersDoNotStarveAWriterAcrossPhases: W2 waits for readers that came
// after it, again and again.
//
// https://github.com/golang/go/issues/76808
// https://github.com/python/cpython/pull/112859
func TestReadersDoNotStarveAWriterAcrossPhases(t *testing.T) {
	play(t, needs{modes: readWrite, policies: doorPolicies}, func(s *scene) {
		w1 := s.writes("W1")
		a := s.reads("A")
		w2 := s.writes("W2")
		b := s.reads("B")
		w1.leaves()
		s.reads("C")
		const c = "C waits to read"
		switch s.policy {
		case Balanced:
			s.want("A reads, W2 waits to write, B reads, " + c)
			a.leaves()
			b.leaves()
			s.want("W2 writes, " + c)
		case FIFO:
			s.want("A reads, W2 waits to write, B waits to read, " + c)
			a.leaves()
			s.want("W2 writes, B waits to read, " + c)
		case PreferWriters:
			s.want("A waits to read, W2 writes, B waits to read, " + c)
			w2.leaves()
			s.want("A reads, B reads, C reads")
		}
	})
}

// TestWritersQueuedBehindAWriterKeepReadersOut: only the first of them closes
// the door, and the others wait for as long as readers come.
//
// https://github.com/golang/go/issues/76808
func TestWritersQueuedBehindAWriterKeepReadersOut(t *testing.T) {
	play(t, needs{modes: readWrite, policies: doorPolicies}, func(s *scene) {
		a := s.reads("A")
		w1 := s.writes("W1")
		s.writes("W2")
		a.leaves()
		w1.leaves()
		s.reads("B")
		s.want("W2 writes, B waits to read")
	})
}

// TestWaitingWriterCanBeSeen: nobody can tell why all readers stall.
//
// https://github.com/influxdata/influxdb/issues/27451
// https://github.com/grafana/mimir-prometheus/issues/757
func TestWaitingWriterCanBeSeen(t *testing.T) {
	play(t, needs{modes: readWrite, policies: doorPolicies}, func(s *scene) {
		s.reads("slow")
		s.writes("W")
		s.reads("fast")
		if got, want := s.lock.state(), (drawbridge.State{Readers: 1, WaitingReaders: 1, WaitingWriters: 1}); got != want {
			s.Errorf("got %q, want %q", got, want)
		}
	})
	// And there is a policy under which they do not stall.
	play(t, needs{modes: readWrite, policies: []drawbridge.Policy{PreferReaders}}, func(s *scene) {
		s.reads("slow")
		s.writes("W")
		s.reads("fast")
		s.want("slow reads, W waits to write, fast reads")
	})
}

// upgrades

// TestSecondUpgradableReaderWaits: two holders want to write and each waits
// for the other to leave. Only one of them can hold upgradably.
//
// https://github.com/Amanieu/parking_lot/issues/21
// https://github.com/Amanieu/parking_lot/issues/200
// https://github.com/dotnet/dotNext/issues/275
func TestSecondUpgradableReaderWaits(t *testing.T) {
	play(t, needs{modes: allModes}, func(s *scene) {
		a := s.upgradably("A")
		b := s.upgradably("B")
		a.upgrades()
		s.want("A writes, B waits to read upgradably")
		a.leaves()
		b.upgrades()
		s.want("B writes")
	})
}

// TestUpgradePassesWaitingWriters: a writer enters between the look and the
// change, so what was looked at is stale.
//
// https://github.com/awslabs/shuttle/pull/351
// https://github.com/asterinas/asterinas/issues/440
// https://github.com/golang/go/issues/44049
func TestUpgradePassesWaitingWriters(t *testing.T) {
	play(t, needs{modes: allModes}, func(s *scene) {
		a := s.upgradably("A")
		r := s.reads("R")
		s.writes("W1")
		s.writes("W2")
		a.upgrades()
		s.want("A waits to upgrade, R reads, W1 waits to write, W2 waits to write")
		r.leaves()
		s.want("A writes, W1 waits to write, W2 waits to write")
		a.leaves()
		s.want("W1 writes, W2 waits to write")
	})
	play(t, needs{modes: allModes}, func(s *scene) {
		a := s.upgradably("A")
		s.writes("W")
		a.upgrades() // alone inside: at once
		s.want("A writes, W waits to write")
		a.leaves()
		s.want("W writes")
	})
}

// TestUpgradeThatGivesUpKeepsItsHold: the upgradable hold is lost, or the
// reader that waited for the upgrade is.
//
// https://github.com/smol-rs/async-lock/issues/100
// https://github.com/microsoft/vs-threading/issues/252
func TestUpgradeThatGivesUpKeepsItsHold(t *testing.T) {
	play(t, needs{modes: allModes, contexts: true}, func(s *scene) {
		a := s.upgradably("A")
		s.reads("B")
		a.upgrades()
		s.reads("C")
		s.upgradably("U")
		const u = "U waits to read upgradably"
		s.want("A waits to upgrade, B reads, C waits to read, " + u)
		a.givesUp()
		s.want("A reads upgradably, B reads, C reads, " + u)
		if w := waitError(s, a.upgradeErr); w.Mode != Write || w.State != (drawbridge.State{Readers: 2, Upgradable: true, WaitingReaders: 1}) {
			s.Errorf("got %#v", w)
		}
		a.leaves()
		s.want("B reads, C reads, U reads upgradably")
	})
}

// TestUpgradeThatGivesUpReturnsTheRoleOfAWriter: the writer that it passed
// waits no more at the door, and readers enter, or nobody ever wakes it.
func TestUpgradeThatGivesUpReturnsTheRoleOfAWriter(t *testing.T) {
	play(t, needs{modes: allModes, contexts: true}, func(s *scene) {
		a := s.upgradably("A")
		b := s.reads("B")
		s.writes("W")
		a.upgrades()
		s.reads("C")
		a.givesUp()
		if s.policy == PreferReaders {
			s.want("A reads upgradably, B reads, W waits to write, C reads")
			return
		}
		s.want("A reads upgradably, B reads, W waits to write, C waits to read")
		b.leaves()
		a.leaves()
		s.want("W writes, C waits to read")
	})
}

// TestUpgradeThatComesTooLateIsTakenBack: the readers left in the moment in
// which the upgrade was cancelled; it holds to write and nobody knows.
func TestUpgradeThatComesTooLateIsTakenBack(t *testing.T) {
	play(t, needs{modes: allModes, contexts: true}, func(s *scene) {
		a := s.upgradably("A")
		b := s.reads("B")
		a.upgrades()
		s.reads("C")
		a.cancel()
		close(b.commands) // A has not run since
		synctest.Wait()
		s.want("A reads upgradably, C reads")
	})
}

// TestUpgradeWithADoneContextKeepsItsHold: it returns before it has looked at
// the hold, and by the documented pattern the hold leaks.
//
// https://github.com/dotnet/dotNext/issues/275
func TestUpgradeWithADoneContextKeepsItsHold(t *testing.T) {
	play(t, needs{modes: allModes, contexts: true}, func(s *scene) {
		a := s.upgradably("A")
		a.cancel()
		a.upgrades()
		s.want("A reads upgradably")
		if w := waitError(s, a.upgradeErr); w.Waited != 0 || w.Mode != Write {
			s.Errorf("got %#v", w)
		}
		a.leaves()
		s.want("nobody")
	})
}

// TestUpgradableReaderKeepsNoReaderOut: a plain reader waits behind one that
// waits only for another upgradable reader.
//
// https://github.com/Amanieu/parking_lot/issues/101
func TestUpgradableReaderKeepsNoReaderOut(t *testing.T) {
	play(t, needs{modes: allModes}, func(s *scene) {
		a := s.upgradably("A")
		s.upgradably("B")
		c := s.reads("C")
		s.want("A reads upgradably, B waits to read upgradably, C reads")
		a.leaves()
		s.want("B reads upgradably, C reads")
		c.leaves()
	})
}

// TestUpgradeTakesNobodysPlaceUnderFIFO: who came after an upgrade came after
// everybody who was there before it.
func TestUpgradeTakesNobodysPlaceUnderFIFO(t *testing.T) {
	play(t, needs{modes: allModes, policies: []drawbridge.Policy{FIFO}}, func(s *scene) {
		r := s.reads("R")
		a := s.upgradably("A")
		w1 := s.writes("W1")
		s.reads("B")
		a.upgrades()
		s.writes("W2")
		r.leaves()
		a.leaves()
		s.want("W1 writes, B waits to read, W2 waits to write")
		w1.leaves()
		s.want("B reads, W2 waits to write")
	})
}

// TestUpgradableReaderKeepsItsPlaceUnderFIFO: a writer that came after it
// enters first, because it waited for another upgradable reader and not at the
// door.
func TestUpgradableReaderKeepsItsPlaceUnderFIFO(t *testing.T) {
	play(t, needs{modes: allModes, policies: []drawbridge.Policy{FIFO}}, func(s *scene) {
		a := s.upgradably("A")
		b := s.upgradably("B")
		s.writes("W")
		s.upgradably("C")
		const c = "C waits to read upgradably"
		s.want("A reads upgradably, B waits to read upgradably, W waits to write, " + c)
		a.leaves()
		s.want("B reads upgradably, W waits to write, " + c)
		b.leaves()
		s.want("W writes, " + c)
	})
}

// reads inside reads

// TestPlainReadInsideAReadEndsWithItsContext: a read inside a read waits behind
// a writer that waits for the first read, for ever, as it does with
// sync.RWMutex; here the context ends it, and the writer goes on.
//
// https://github.com/golang/go/issues/15418
// https://github.com/tokio-rs/tokio/issues/2849
// https://github.com/Amanieu/parking_lot/issues/212
// https://github.com/nats-io/nats-server/pull/2803
func TestPlainReadInsideAReadEndsWithItsContext(t *testing.T) {
	play(t, needs{modes: readWrite, policies: doorPolicies, contexts: true, plain: true}, func(s *scene) {
		a := s.reads("A")
		s.writes("W")
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		err := s.lock.hold(ctx, Read, func(context.Context, *grip) { s.Error("entered") })
		if !errors.Is(err, context.DeadlineExceeded) {
			s.Errorf("got error %v", err)
		}
		a.leaves()
		s.want("W writes")
	})
}

// TestScopedReadInsideAReadEnters is the cure.
func TestScopedReadInsideAReadEnters(t *testing.T) {
	for _, f := range forms {
		if !f.scoped || !f.has(Read) {
			continue
		}
		for _, p := range f.policies {
			t.Run(f.name+"/"+p.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &scene{T: t, lock: f.make(p), policy: p}
					err := s.lock.hold(t.Context(), Read, func(ctx context.Context, _ *grip) {
						s.writes("W")
						if err := s.lock.hold(ctx, Read, func(context.Context, *grip) {}); err != nil {
							t.Error(err)
						}
					})
					if err != nil {
						t.Error(err)
					}
					synctest.Wait()
					s.want("W writes")
					s.end()
				})
			})
		}
	}
}

// TestDeadlineOfAWriterFreesThoseBehindIt: a holder waits for a goroutine that
// is kept out by a writer that waits for the holder. No lock can see that; the
// writer's deadline ends it.
//
// https://github.com/microsoft/vs-threading/issues/710
func TestDeadlineOfAWriterFreesThoseBehindIt(t *testing.T) {
	play(t, needs{modes: readWrite, policies: doorPolicies, contexts: true}, func(s *scene) {
		a := s.reads("A")
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		w := s.send(ctx, "W", Write)
		synctest.Wait()
		c := s.reads("C")
		entered := make(chan struct{})
		a.does(func(*grip) { <-entered }) // A joins C
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !errors.Is(w.err, context.DeadlineExceeded) {
			s.Fatalf("W: error %v; %s", w.err, s)
		}
		c.does(func(*grip) { close(entered) })
		a.leaves()
	})
}
