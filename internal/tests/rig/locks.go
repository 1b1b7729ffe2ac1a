package rig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/clustertest"
)

// Within is a context that ends after d, and with the test.
func Within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// Quiet is for Lockers that are meant to lose holds.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// NewLocker returns a Locker that is closed with the test.
func NewLocker(t testing.TB, e cluster.Engine, ttl time.Duration) *cluster.Locker {
	l := cluster.New(e, cluster.Options{TTL: ttl, Logger: Quiet()})
	t.Cleanup(func() { l.Close() })
	return l
}

var names atomic.Int64

// Fresh is a name that nobody has used.
func Fresh(t testing.TB) string {
	return fmt.Sprintf("%s %d %d", t.Name(), names.Add(1), time.Now().UnixNano())
}

// patience is how long a step of a test may take that is not itself in question.
const patience = 30 * time.Second

// Locked takes the write lock.
func Locked(t testing.TB, l *cluster.Locker, name string) *cluster.Hold {
	t.Helper()
	h, err := l.Lock(Within(t, patience), name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// RLocked takes a read lock.
func RLocked(t testing.TB, l *cluster.Locker, name string) *cluster.Hold {
	t.Helper()
	h, err := l.RLock(Within(t, patience), name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Unlocked gives a hold back that was not lost.
func Unlocked(t testing.TB, h *cluster.Hold) {
	t.Helper()
	if err := h.Unlock(Within(t, patience)); err != nil {
		t.Fatal(err)
	}
}

// Waiters waits until n entries of name wait at the engine.
func Waiters(t testing.TB, l *cluster.Locker, name string, n int) {
	t.Helper()
	for ctx := Within(t, patience); ; time.Sleep(5 * time.Millisecond) {
		st, err := l.State(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Waiters) == n {
			return
		}
	}
}

// Told waits until the hold knows that it was lost, and returns how long that took.
func Told(t testing.TB, h *cluster.Hold) time.Duration {
	t.Helper()
	began := time.Now()
	select {
	case <-h.Context().Done():
	case <-time.After(patience):
		t.Fatal("the holder was never told")
	}
	took := time.Since(began)
	if err := h.Held(); !errors.Is(err, cluster.ErrLost) {
		t.Error(err)
	}
	if err := h.Unlock(Within(t, 10*time.Second)); !errors.Is(err, cluster.ErrLost) {
		t.Error(err)
	}
	return took
}

// AtMost holds what has just happened to its bound.
func AtMost(t testing.TB, what string, since time.Time, most time.Duration) {
	t.Helper()
	took := time.Since(since)
	t.Logf("%s after %v", what, took.Round(time.Millisecond))
	if took > most {
		t.Errorf("%s after %v, want at most %v", what, took, most)
	}
}

// Every does something again and again until the returned function is called.
func Every(d time.Duration, do func()) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-time.After(d):
				do()
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// UseAndClose uses an engine for all that it has, with half of the calls given up, and closes everything.
func UseAndClose(t testing.TB, e interface {
	cluster.Engine
	Close() error
}, calls int) {
	t.Helper()
	l := cluster.New(e, cluster.Options{TTL: 2 * time.Second, Logger: Quiet()})
	storm := clustertest.Storm{Lockers: []*cluster.Locker{l}, Clients: 8, Calls: calls, Cancels: 0.5, Hold: time.Millisecond, Names: []string{"leaks"}}
	if _, err := storm.Run(Within(t, time.Minute)); err != nil {
		t.Error(err)
	}
	s, err := cluster.NewSnapshot(Within(t, time.Minute), e, "leaks", cluster.Codec[int]{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Publish(Within(t, time.Minute), 1); err != nil {
		t.Error(err)
	}
	for _, close := range []func() error{s.Close, l.Close, e.Close} {
		if err := close(); err != nil {
			t.Error(err)
		}
	}
}
