package drawbridge_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// What every lock promises, whatever its type, policy and way in.

// TestWhoMayEnter goes through the grid of who is inside, who waits and who
// asks.
func TestWhoMayEnter(t *testing.T) {
	for _, c := range []struct {
		inside []drawbridge.Mode
		waits  []drawbridge.Mode
		enter  []drawbridge.Mode // those who need not wait
	}{
		{inside: nil, enter: allModes},
		{inside: []drawbridge.Mode{Read}, enter: []drawbridge.Mode{Read, Upgradable}},
		{inside: []drawbridge.Mode{Read, Read}, enter: []drawbridge.Mode{Read, Upgradable}},
		{inside: []drawbridge.Mode{Upgradable}, enter: []drawbridge.Mode{Read}},
		{inside: []drawbridge.Mode{Read, Upgradable}, enter: []drawbridge.Mode{Read}},
		{inside: []drawbridge.Mode{Write}, enter: nil},
		{inside: []drawbridge.Mode{Upgradable}, waits: []drawbridge.Mode{Upgradable}, enter: []drawbridge.Mode{Read}},
		{inside: []drawbridge.Mode{Read, Upgradable}, waits: []drawbridge.Mode{Upgradable}, enter: []drawbridge.Mode{Read}},
		// A waiting writer closes the door, but under PreferReaders.
		{inside: []drawbridge.Mode{Read}, waits: onlyWrite, enter: nil},
		{inside: []drawbridge.Mode{Upgradable}, waits: onlyWrite, enter: nil},
		{inside: []drawbridge.Mode{Write}, waits: onlyWrite, enter: nil},
		{inside: []drawbridge.Mode{Write}, waits: []drawbridge.Mode{Read}, enter: nil},
	} {
		for _, asks := range allModes {
			t.Run(fmt.Sprintf("%v inside/%v waiting/%v asks", c.inside, c.waits, asks), func(t *testing.T) {
				play(t, needs{modes: append(append(c.inside, c.waits...), asks)}, func(s *scene) {
					for i, m := range c.inside {
						if a := s.asks(fmt.Sprint("inside ", i), m); a.waits() {
							s.Fatalf("%s", s)
						}
					}
					for i, m := range c.waits {
						if a := s.asks(fmt.Sprint("waiter ", i), m); !a.waits() {
							s.Fatalf("%s", s)
						}
					}
					want := false
					for _, m := range c.enter {
						want = want || m == asks
					}
					if s.policy == PreferReaders && len(c.waits) > 0 && c.waits[0] == Write && c.inside[0] != Write {
						want = asks == Read || asks == Upgradable && c.inside[0] != Upgradable
					}
					// A Try call enters exactly when the blocking one need not wait,
					// and leaves nothing behind when it does not.
					before := s.lock.state()
					if s.lock.try != nil {
						release, ok := s.lock.try(asks)
						if ok != want {
							s.Fatalf("Try entered: %t, want %t, with %s", ok, want, s)
						}
						if ok {
							release()
						}
					}
					if after := s.lock.state(); after != before {
						s.Fatalf("Try changed the state from %q to %q", before, after)
					}
					if a := s.asks("newcomer", asks); a.waits() == want {
						s.Fatalf("want to enter: %t, but %s", want, s)
					}
					s.check()
				})
			})
		}
	}
}

func TestReadersOverlap(t *testing.T) {
	play(t, needs{modes: readWrite}, func(s *scene) {
		for i := range 10 {
			s.reads(fmt.Sprint("R", i))
		}
		if got, want := s.lock.state(), (drawbridge.State{Readers: 10}); got != want {
			s.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestWritersEnterInOrderOfArrival(t *testing.T) {
	play(t, needs{}, func(s *scene) {
		w := s.writes("holder")
		var waiting []*actor
		for i := range 10 {
			waiting = append(waiting, s.writes(fmt.Sprint("W", i)))
		}
		for i, next := range waiting {
			w.leaves()
			if next.waits() {
				s.Fatalf("W%d is not next: %s", i, s)
			}
			s.check()
			w = next
		}
	})
}

// waitError returns the WaitError in err, or ends the test.
func waitError(t testing.TB, err error) *drawbridge.WaitError {
	t.Helper()
	var wait *drawbridge.WaitError
	if !errors.As(err, &wait) {
		t.Fatalf("got error %v, want a *WaitError", err)
	}
	return wait
}

// TestDoneContextNeverAcquires fails if a context that is done before the call
// gets the lock, even if nobody else wants it.
func TestDoneContextNeverAcquires(t *testing.T) {
	play(t, needs{contexts: true}, func(s *scene) {
		cause := errors.New("the cause")
		ctx, cancel := context.WithCancelCause(s.Context())
		cancel(cause)
		err := s.lock.hold(ctx, Write, func(context.Context, *grip) { s.Error("entered") })
		if w := waitError(s, err); w.Waited != 0 || w.Mode != Write || !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
			s.Errorf("got %#v", w)
		}
	})
	play(t, needs{contexts: true, modes: readWrite}, func(s *scene) {
		s.reads("A") // the call could join it
		err := s.lock.hold(done, Read, func(context.Context, *grip) { s.Error("entered") })
		if w := waitError(s, err); w.Waited != 0 || w.Mode != Read || w.State != (drawbridge.State{Readers: 1}) {
			s.Errorf("got %#v", w)
		}
		s.want("A reads")
	})
	play(t, needs{contexts: true, modes: allModes}, func(s *scene) {
		err := s.lock.hold(done, Upgradable, func(context.Context, *grip) { s.Error("entered") })
		if w := waitError(s, err); w.Waited != 0 || w.Mode != Upgradable || w.State != (drawbridge.State{}) {
			s.Errorf("got %#v", w)
		}
	})
}

// TestCancelOfEveryKindOfWait fails if a wait that ends with its context leaves
// something behind, or forgets how long it was.
func TestCancelOfEveryKindOfWait(t *testing.T) {
	for _, m := range allModes {
		t.Run(m.String(), func(t *testing.T) {
			play(t, needs{contexts: true, modes: []drawbridge.Mode{m}}, func(s *scene) {
				s.writes("A")
				b := s.asks("B", m)
				time.Sleep(300 * time.Millisecond)
				b.givesUp()
				w := waitError(s, b.err)
				if w.Waited != 300*time.Millisecond || w.Mode != m || w.State != (drawbridge.State{Writer: true}) {
					s.Errorf("got %#v", w)
				}
				s.want("A writes, B gave up")
			})
		})
	}
}

func TestDeadlineOfAWait(t *testing.T) {
	play(t, needs{contexts: true}, func(s *scene) {
		s.writes("A")
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := s.lock.hold(ctx, Write, func(context.Context, *grip) { s.Error("entered") })
		if !errors.Is(err, context.DeadlineExceeded) {
			s.Errorf("got error %v", err)
		}
		if took := time.Since(began); took != time.Second {
			s.Errorf("took %v", took)
		}
		s.want("A writes")
	})
}

// TestCancelOfAHoldChangesNothing fails if a context that ends after the grant
// ends the hold.
func TestCancelOfAHoldChangesNothing(t *testing.T) {
	play(t, needs{contexts: true}, func(s *scene) {
		a := s.writes("A")
		b := s.writes("B")
		a.givesUp()
		s.want("A writes, B waits to write")
		a.leaves()
		s.want("B writes")
		b.givesUp()
		s.want("B writes")
	})
}

// TestGrantOrCancel lets a release and a cancel race: whichever wins, the lock
// has exactly one owner and the next in line is not forgotten.
func TestGrantOrCancel(t *testing.T) {
	for range 20 {
		play(t, needs{contexts: true}, func(s *scene) {
			a, b := s.writes("A"), s.writes("B")
			s.writes("C")
			go b.cancel()
			close(a.commands)
			synctest.Wait()
			if got := s.String(); got != "B writes, C waits to write" && got != "B gave up, C writes" {
				s.Fatal(got)
			}
		})
	}
}

// TestScopedHoldEndsHoweverItsFunctionDoes is about errors, panics and Goexit.
func TestScopedHoldEndsHoweverItsFunctionDoes(t *testing.T) {
	for _, f := range forms {
		if !f.scoped {
			continue
		}
		for _, m := range f.modes {
			t.Run(f.name+"/"+m.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := f.make(Balanced)
					inside := func(end func()) {
						_ = l.hold(t.Context(), m, func(_ context.Context, g *grip) {
							if got := l.state(); got == (drawbridge.State{}) {
								t.Error("not held")
							}
							end()
						})
					}
					func() {
						defer func() {
							if r := recover(); r != "oh no" {
								t.Errorf("recovered %v", r)
							}
						}()
						inside(func() { panic("oh no") })
					}()
					if got := l.state(); got != (drawbridge.State{}) {
						t.Errorf("after a panic: %s", got)
					}
					go inside(runtime.Goexit)
					synctest.Wait()
					if got := l.state(); got != (drawbridge.State{}) {
						t.Errorf("after Goexit: %s", got)
					}
				})
			})
		}
	}
}

func TestUpgradeWaitsForReadersAlone(t *testing.T) {
	play(t, needs{modes: allModes}, func(s *scene) {
		a := s.upgradably("A")
		a.upgrades()
		s.want("A writes")
		a.leaves()

		a = s.upgradably("A")
		b, c := s.reads("B"), s.reads("C")
		a.upgrades()
		s.want("A waits to upgrade, B reads, C reads")
		s.reads("D")
		s.want("A waits to upgrade, B reads, C reads, D waits to read")
		b.leaves()
		s.want("A waits to upgrade, C reads, D waits to read")
		c.leaves()
		s.want("A writes, D waits to read")
	})
}

func TestDowngradeHasNoGap(t *testing.T) {
	play(t, needs{changes: true}, func(s *scene) {
		a := s.writes("A")
		s.writes("B")
		a.downgrades()
		s.want("A reads, B waits to write")
		a.leaves()
		s.want("B writes")
	})
	play(t, needs{changes: true}, func(s *scene) {
		a := s.writes("A")
		s.writes("B")
		a.downgradesToUpgradable()
		s.want("A reads upgradably, B waits to write")
		a.upgrades()
		s.want("A writes, B waits to write")
		a.leaves()
		s.want("B writes")
	})
}

// TestDowngradeToUpgradableKeepsUpgradableReadersOut fails if a downgrade lets
// a second upgradable reader in.
func TestDowngradeToUpgradableKeepsUpgradableReadersOut(t *testing.T) {
	play(t, needs{changes: true}, func(s *scene) {
		a := s.writes("A")
		s.upgradably("B")
		s.reads("C")
		a.downgradesToUpgradable()
		s.want("A reads upgradably, B waits to read upgradably, C reads")
		a.leaves()
		s.want("B reads upgradably, C reads")
	})
}

// TestWhatATryLeaves fails if a Try call that fails closes the door, if only
// for the next one.
func TestWhatATryLeaves(t *testing.T) {
	play(t, needs{plain: true, modes: readWrite}, func(s *scene) {
		if s.lock.try == nil {
			return
		}
		s.reads("A")
		for range 3 {
			if _, ok := s.lock.try(Write); ok {
				s.Fatal("entered to write beside a reader")
			}
			if release, ok := s.lock.try(Read); !ok {
				s.Fatal("a reader is kept out by a Try that failed")
			} else {
				release()
			}
		}
		s.want("A reads")
	})
}

// TestStateInWords compares the description of every kind of state.
func TestStateInWords(t *testing.T) {
	for _, c := range []struct {
		state drawbridge.State
		want  string
	}{
		{drawbridge.State{}, "free"},
		{drawbridge.State{Readers: 1}, "1 reader inside"},
		{drawbridge.State{Readers: 3, WaitingWriters: 2}, "3 readers inside, 2 writers waiting"},
		{drawbridge.State{Writer: true, WaitingReaders: 1}, "1 writer inside, 1 reader waiting"},
		{drawbridge.State{Upgradable: true, Readers: 2, WaitingReaders: 4, WaitingWriters: 1},
			"2 readers inside, 1 upgradable reader inside, 4 readers waiting, 1 writer waiting"},
	} {
		if got := c.state.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestNamesOfModesKindsAndPolicies(t *testing.T) {
	var got []string
	for m := range drawbridge.Write + 2 {
		got = append(got, m.String())
	}
	for k := range drawbridge.Downgraded + 2 {
		got = append(got, k.String())
	}
	for p := range FIFO + 2 {
		got = append(got, p.String())
	}
	want := "unknown mode; read; read upgradably; write; unknown mode; " +
		"unknown event; waiting; granted; gave up; released; upgraded; downgraded; unknown event; " +
		"Balanced; PreferWriters; PreferReaders; FIFO; Policy(4)"
	if got := strings.Join(got, "; "); got != want {
		t.Errorf("\n got: %s\nwant: %s", got, want)
	}
}
