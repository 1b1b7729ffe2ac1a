// Package outcome has paths that no test takes, because a helper ends it before.
package outcome

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"

	"outcome/require"
)

type store struct {
	mu sync.Mutex
	n  int
}

var errClosed = errors.New("closed")

// take locks the store unless it is closed.
func (s *store) take() error {
	if s.n < 0 {
		return errClosed
	}
	s.mu.Lock()
	return nil
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected: %v", err)
	}
}

func isTrue(t *testing.T, ok bool) {
	if !ok {
		t.FailNow()
	}
}

func isFalse(bad bool) {
	if bad {
		runtime.Goexit()
	}
}

func notNil(s *store) {
	if s == nil {
		panic("nil")
	}
}

func exitOn(err error) {
	if err == nil {
		return
	}
	os.Exit(2)
}

func both(t testing.TB, err error, ok bool) {
	noError(t, err)
	if !ok {
		die(t)
	}
}

func die(t testing.TB) { t.Fatal("died") }

// logs only looks at the error.
func logs(t testing.TB, err error) {
	if err != nil {
		t.Log(err)
	}
}

// sometimes ends the test only for some errors.
func sometimes(t testing.TB, err error) {
	if err != nil && err != errClosed {
		t.Fatal(err)
	}
}

func afterNoError(t *testing.T, s *store, err error) {
	s.mu.Lock()
	if err != nil {
		s.mu.Unlock()
	}
	noError(t, err)
	s.mu.Unlock()
}

func afterTrue(t *testing.T, s *store, ok bool) {
	s.mu.Lock()
	if !ok {
		s.mu.Unlock()
	}
	isTrue(t, ok)
	s.mu.Unlock()
}

func afterNotFalse(s *store, ok bool) {
	s.mu.Lock()
	if !ok {
		s.mu.Unlock()
	}
	isFalse(!ok)
	s.mu.Unlock()
}

func afterExit(s *store, err error) {
	s.mu.Lock()
	if err != nil {
		s.mu.Unlock()
	}
	exitOn(err)
	s.mu.Unlock()
}

func afterBoth(t *testing.T, s *store, ok bool) {
	s.mu.Lock()
	if !ok {
		s.mu.Unlock()
	}
	both(t, nil, ok)
	s.mu.Unlock()
}

func afterRequire(t *testing.T, s *store, err error) {
	s.mu.Lock()
	if err != nil {
		s.mu.Unlock()
	}
	require.NoError(t, err)
	s.mu.Unlock()
}

// The error comes from a function that keeps the lock only without one.
func afterResult(t *testing.T, s *store) {
	err := s.take()
	noError(t, err)
	s.n++
	s.mu.Unlock()
}

func afterInterface(t testing.TB, s *store, err error) {
	s.mu.Lock()
	if err != nil {
		s.mu.Unlock()
		t.Fatal(err)
	}
	s.mu.Unlock()
}

func afterDie(t testing.TB, s *store, err error) {
	s.mu.Lock()
	if err != nil {
		s.mu.Unlock()
		die(t)
	}
	s.mu.Unlock()
}

func afterNotNil(s *store) {
	if s == nil {
		guard.Lock()
	}
	notNil(s)
	if s == nil {
		guard.Unlock()
		guard.Unlock() // no path comes here
	}
}

var guard sync.Mutex

func afterLog(t *testing.T, s *store, err error) {
	s.mu.Lock()
	if err != nil {
		s.mu.Unlock()
	}
	logs(t, err)
	s.mu.Unlock() // want `s.mu is unlocked here a second time on some path`
}

func afterSometimes(t *testing.T, s *store, err error) {
	s.mu.Lock()
	if err != nil {
		s.mu.Unlock()
	}
	sometimes(t, err)
	s.mu.Unlock() // want `s.mu is unlocked here a second time on some path`
}

func afterPositive(s *store, n int) {
	s.mu.Lock()
	if n > 0 {
		s.mu.Unlock()
	}
	require.Positive(n)
	s.mu.Unlock() // want `s.mu is unlocked here a second time on some path`
}

// The error is of a call, and what ends the test is told of it where it is known to be one.
func afterBranch(t *testing.T, s *store) {
	s.mu.Lock()
	err := s.save()
	if err != nil {
		s.mu.Unlock()
		noError(t, err)
	}
	if err = s.save(); err != nil {
		s.mu.Unlock()
		noError(t, err)
	}
	s.mu.Unlock()
}

func (s *store) save() error {
	if s.n > 1 {
		return errClosed
	}
	return nil
}
