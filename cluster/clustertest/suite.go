// Package clustertest is the suite that every engine of package cluster passes, and a storm of calls that returns their
// history for checkers.
package clustertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// Harness is what the suite needs to know of an engine.
type Harness struct {
	// Engine returns a way to the server for another machine: what is done to one leaves the others alone.
	Engine func(testing.TB) cluster.Engine

	// Drop makes the server end everything that the machine has there, at once and before its time, without a
	// word to it: a lease revoked early, a connection terminated.
	Drop func(testing.TB, cluster.Engine)

	// Cut cuts the machine off from the server, without a word to either side, and joins it again.
	Cut func(t testing.TB, e cluster.Engine, off bool)

	// DeleteValue deletes a stored value as an administrator would.
	DeleteValue func(t testing.TB, name string)

	// CorruptValue stores what no codec of the suite can decode.
	CorruptValue func(t testing.TB, name string)

	// TTL of the suite's Lockers: as short as the server and the machine allow.
	TTL time.Duration

	// Takeover is how long after the TTL a dead holder's lock may stay taken.
	Takeover time.Duration

	// Fake runs each test in a testing/synctest bubble, for engines that need no network.
	Fake bool
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		test func(*suite)
	}{
		{"GrantsInOrderOfArrival", grantsInOrder},
		{"WaitingWriterClosesDoor", writerClosesDoor},
		{"ReadersEnterTogether", readersTogether},
		{"TryLeavesNothing", tryLeavesNothing},
		{"ManyCallsOfOneProcess", manyCalls},
		{"ManyReadersOfOneProcess", manyReaders},
		{"CancelledWriterOpensDoor", cancelledWriter},
		{"CancelledBeforeCall", cancelledBefore},
		{"TimeoutSaysWhatItWaitedFor", timeoutSays},
		{"CancelStormLeavesNothing", cancelStorm},
		{"CallerGivesUpWhileCutOff", cancelWhileCut},
		{"DroppedHolderIsTold", droppedHolder},
		{"DroppedWaiterIsTold", droppedWaiter},
		{"DroppedAfterDowngrade", droppedDowngraded},
		{"CutOffHolderEndsBeforeTheNextEnters", cutHolder},
		{"LockerWorksAgainAfterLoss", reuseAfterLoss},
		{"RemovedHolderIsTold", removedHolder},
		{"UnlockTwice", unlockTwice},
		{"UnlockWithDoneContext", unlockDone},
		{"DowngradeLetsReadersInAndNoWriter", downgrade},
		{"HoldOutlivesTheCallersContext", holdOutlives},
		{"ScopeReleasesOnPanic", scopePanic},
		{"ScopeReportsLoss", scopeLoss},
		{"ScopeEndsWithCaller", scopeCaller},
		{"CarriedHolds", carriedHolds},
		{"NamesAreOpaque", namesOpaque},
		{"NestedNamesAreApart", namesNested},
		{"InvalidNames", namesInvalid},
		{"NamesInUse", namesListed},
		{"StateNamesOwners", stateOwners},
		{"TokensRise", tokensRise},
		{"CloseWhileWaiting", closeWaiting},
		{"CloseEndsHolds", closeHolds},
		{"SnapshotReachesEverybody", snapshotReaches},
		{"SnapshotUpdatesAreNotLost", snapshotUpdates},
		{"SnapshotOfHolder", snapshotHeld},
		{"SnapshotKeepsLastGood", snapshotKeeps},
		{"SnapshotLimits", snapshotLimits},
		{"SnapshotComesBackAfterCut", snapshotCut},
		{"SnapshotClose", snapshotClose},
		{"Storm", shortStorm},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(t *testing.T) { c.test(&suite{T: t, Harness: h}) }
			if h.Fake {
				synctest.Test(t, run)
			} else {
				run(t)
			}
		})
	}
}

// suite is one running test.
type suite struct {
	*testing.T
	Harness
	names atomic.Int64
}

var runs atomic.Int64

// name returns a name that no test has used, so that tests can share a server.
func (s *suite) name() string {
	return fmt.Sprintf("%s %d-%d", s.Name(), runs.Add(1), s.names.Add(1))
}

// machine is a Locker with its engine.
type machine struct {
	*cluster.Locker
	engine cluster.Engine
}

// machine returns a new one that is closed with the test.
func (s *suite) machine() machine {
	e := s.Engine(s)
	l := cluster.New(e, cluster.Options{TTL: s.TTL, Label: "suite", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	s.Cleanup(func() { l.Close() })
	return machine{l, e}
}

func (s *suite) machines(n int) []machine {
	ms := make([]machine, n)
	for i := range ms {
		ms[i] = s.machine()
	}
	return ms
}

// patience is how long anything but a lease may take on a slow machine.
const patience = 20 * time.Second

func (s *suite) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience+4*s.TTL)
	s.Cleanup(cancel)
	return ctx
}

// until waits for a condition.
func (s *suite) until(what string, cond func() bool) {
	s.Helper()
	for end := time.Now().Add(patience + 4*s.TTL); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("never: %s", what)
		}
	}
}

// call is a lock call under way.
type call struct {
	hold   *cluster.Hold
	err    error
	done   chan struct{}
	cancel context.CancelFunc
}

func (c *call) finished() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func take(ctx context.Context, l *cluster.Locker, name string, mode cluster.Mode) (*cluster.Hold, error) {
	if mode == cluster.Write {
		return l.Lock(ctx, name)
	}
	return l.RLock(ctx, name)
}

// start begins a call and returns when it is granted or stands in the queue.
func (s *suite) start(m machine, name string, mode cluster.Mode) *call {
	s.Helper()
	before := s.waiting(m, name)
	ctx, cancel := context.WithCancel(s.ctx())
	c := &call{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(c.done)
		c.hold, c.err = take(ctx, m.Locker, name, mode)
	}()
	s.until("the call has its place", func() bool { return c.finished() || s.waiting(m, name) > before })
	return c
}

// present counts what the engine and the process of m know of name.
func (s *suite) present(m machine, name string) int {
	s.Helper()
	st, err := m.State(s.ctx(), name)
	if err != nil {
		s.Fatal(err)
	}
	return len(st.Holders) + len(st.Waiters) + st.Queued
}

// waiting counts those of them that wait.
func (s *suite) waiting(m machine, name string) int {
	s.Helper()
	st, err := m.State(s.ctx(), name)
	if err != nil {
		s.Fatal(err)
	}
	return len(st.Waiters) + st.Queued
}

// granted waits for the call's lock.
func (s *suite) granted(c *call) *cluster.Hold {
	s.Helper()
	<-c.done
	if c.err != nil {
		s.Fatalf("not granted: %v", c.err)
	}
	return c.hold
}

func (s *suite) lock(m machine, name string, mode cluster.Mode) *cluster.Hold {
	s.Helper()
	h, err := take(s.ctx(), m.Locker, name, mode)
	if err != nil {
		s.Fatal(err)
	}
	return h
}

func (s *suite) unlock(hs ...*cluster.Hold) {
	s.Helper()
	for _, h := range hs {
		if err := h.Unlock(s.ctx()); err != nil {
			s.Fatal(err)
		}
	}
}

// stillWaits fails if the call is granted within a while.
func (s *suite) stillWaits(cs ...*call) {
	s.Helper()
	time.Sleep(100 * time.Millisecond)
	for _, c := range cs {
		if c.finished() {
			s.Fatalf("a call that had to wait returned (%v)", c.err)
		}
	}
}

func (s *suite) is(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("got error %v, want %v", err, want)
	}
}

// empty waits until nothing of name is left anywhere.
func (s *suite) empty(m machine, name string) {
	s.Helper()
	s.until("nothing is left of the name", func() bool { return s.present(m, name) == 0 })
}
