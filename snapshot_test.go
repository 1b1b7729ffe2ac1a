package drawbridge_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

func pointer[T any](v T) *T { return &v }

// wantStatus compares a status as a whole, times as ages.
func wantStatus(t *testing.T, s *drawbridge.Snapshot[int], want drawbridge.SnapshotStatus) {
	t.Helper()
	got := s.Status()
	if got.Version > 0 && time.Since(got.Published) != got.Age {
		t.Errorf("published %v ago, but the age is %v", time.Since(got.Published), got.Age)
	}
	if (got.Failures > 0) == got.Failed.IsZero() {
		t.Errorf("%d failures, the last at %v", got.Failures, got.Failed)
	}
	got.Published, got.Failed = time.Time{}, time.Time{}
	if got != want {
		t.Errorf("got status %+v, want %+v", got, want)
	}
}

func TestSnapshotZeroValueIsEmpty(t *testing.T) {
	var s drawbridge.Snapshot[int]
	if s.Load() != nil {
		t.Error("a value from nowhere")
	}
	wantStatus(t, &s, drawbridge.SnapshotStatus{})
}

func TestSnapshotPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[int]
		for version := uint64(1); version <= 3; version++ {
			v := pointer(int(version))
			if got := s.Publish(v); got != version {
				t.Errorf("got version %d, want %d", got, version)
			}
			if s.Load() != v {
				t.Error("Load returns another value")
			}
		}
		time.Sleep(time.Minute)
		wantStatus(t, &s, drawbridge.SnapshotStatus{Version: 3, Age: time.Minute})
		if got := panicsWith(func() { s.Publish(nil) }); got != "drawbridge: Publish of a nil value" {
			t.Errorf("panic %q", got)
		}
	})
}

// TestSnapshotReaderKeepsItsTable: a handler that spans a refresh sees one
// whole table, and the next one sees the new one.
func TestSnapshotReaderKeepsItsTable(t *testing.T) {
	var s drawbridge.Snapshot[map[string]int]
	s.Publish(&map[string]int{"a": 1, "b": 1})
	before := s.Load()
	s.Publish(&map[string]int{"a": 2, "b": 2})
	after := s.Load()
	if fmt.Sprint(*before, *after) != "map[a:1 b:1] map[a:2 b:2]" {
		t.Errorf("got %v and %v", *before, *after)
	}
}

func TestSnapshotUpdatesAreNotLost(t *testing.T) {
	var s drawbridge.Snapshot[int]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				err := s.Update(t.Context(), func(_ context.Context, old *int) (*int, error) {
					if old == nil {
						return pointer(1), nil
					}
					return pointer(*old + 1), nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := *s.Load(); got != 800 {
		t.Errorf("got %d, want 800", got)
	}
	if got := s.Status().Version; got != 800 {
		t.Errorf("got version %d", got)
	}
}

func TestSnapshotUpdateThatChangesNothing(t *testing.T) {
	var s drawbridge.Snapshot[int]
	v := pointer(1)
	s.Publish(v)
	oops := errors.New("oops")
	if err := s.Update(t.Context(), func(context.Context, *int) (*int, error) { return nil, nil }); err != nil {
		t.Error(err)
	}
	if err := s.Update(t.Context(), func(context.Context, *int) (*int, error) { return pointer(2), oops }); err != oops {
		t.Errorf("got error %v", err)
	}
	if s.Load() != v || s.Status().Version != 1 {
		t.Error("the value has changed")
	}
	_ = panicsWith(func() {
		_ = s.Update(t.Context(), func(context.Context, *int) (*int, error) { panic("oh no") })
	})
	if err := s.Update(t.Context(), func(context.Context, *int) (*int, error) { return pointer(3), nil }); err != nil || *s.Load() != 3 {
		t.Errorf("after a panic: error %v", err)
	}
}

// TestSnapshotPublishOvertakesAnUpdate: the update is run again on the new
// value, so neither is lost.
func TestSnapshotPublishOvertakesAnUpdate(t *testing.T) {
	var s drawbridge.Snapshot[int]
	var saw []int
	s.Publish(pointer(1))
	err := s.Update(t.Context(), func(_ context.Context, old *int) (*int, error) {
		saw = append(saw, *old)
		if len(saw) == 1 {
			s.Publish(pointer(10)) // does not wait for the update
		}
		return pointer(*old + 1), nil
	})
	if err != nil || !slices.Equal(saw, []int{1, 10}) || *s.Load() != 11 || s.Status().Version != 3 {
		t.Errorf("error %v, saw %v, value %d", err, saw, *s.Load())
	}
}

func TestSnapshotUpdateThatIsOvertakenForEver(t *testing.T) {
	var s drawbridge.Snapshot[int]
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := s.Update(ctx, func(context.Context, *int) (*int, error) {
		if n++; n == 5 {
			cancel()
		}
		s.Publish(pointer(n))
		return pointer(-1), nil
	})
	if !errors.Is(err, context.Canceled) || n != 5 || *s.Load() != 5 {
		t.Errorf("error %v after %d runs, value %d", err, n, *s.Load())
	}
}

func TestSnapshotUpdatesWaitAndGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[int]
		go func() {
			_ = s.Update(t.Context(), func(context.Context, *int) (*int, error) {
				time.Sleep(time.Minute)
				return pointer(1), nil
			})
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := s.Update(ctx, func(context.Context, *int) (*int, error) { t.Error("called"); return nil, nil })
		if w := waitError(t, err); w.Waited != time.Second || w.Lock != any(&s) {
			t.Errorf("got %#v", w)
		}
		time.Sleep(time.Minute)
	})
}

// TestSnapshotCallsInsideAnUpdate would wait for themselves.
func TestSnapshotCallsInsideAnUpdate(t *testing.T) {
	var s drawbridge.Snapshot[int]
	build := func(context.Context) (*int, error) { t.Error("called"); return nil, nil }
	err := s.Update(t.Context(), func(ctx context.Context, _ *int) (*int, error) {
		if err := s.Update(ctx, func(context.Context, *int) (*int, error) { return build(ctx) }); err != drawbridge.ErrReentrant {
			t.Errorf("Update: error %v", err)
		}
		if err := s.Refresh(ctx, build); err != drawbridge.ErrReentrant {
			t.Errorf("Refresh: error %v", err)
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSnapshotRefreshIsShared by the calls that come while it runs.
func TestSnapshotRefreshIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[int]
		builds := 0
		build := func(context.Context) (*int, error) {
			builds++
			time.Sleep(time.Second)
			return pointer(builds), nil
		}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if err := s.Refresh(t.Context(), build); err != nil {
					t.Error(err)
				}
				if s.Load() == nil {
					t.Error("returned before the value was published")
				}
			})
		}
		synctest.Wait()
		wantStatus(t, &s, drawbridge.SnapshotStatus{Refreshing: true})
		wg.Wait()
		if builds != 1 {
			t.Errorf("%d builds", builds)
		}
		wantStatus(t, &s, drawbridge.SnapshotStatus{Version: 1})
		if err := s.Refresh(t.Context(), build); err != nil || *s.Load() != 2 {
			t.Errorf("the next one: error %v, value %d", err, *s.Load())
		}
	})
}

// TestSnapshotBuildEndsWithItsLastCaller and no sooner.
func TestSnapshotBuildEndsWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type ctxKey struct{}
		var s drawbridge.Snapshot[int]
		var ended time.Duration
		began := time.Now()
		build := func(ctx context.Context) (*int, error) {
			if ctx.Value(ctxKey{}) != "first" {
				t.Error("the build has not the values of the first caller")
			}
			<-ctx.Done()
			ended = time.Since(began)
			return nil, ctx.Err()
		}
		var wg sync.WaitGroup
		for i, limit := range []time.Duration{time.Second, 3 * time.Second, 2 * time.Second} {
			ctx := t.Context()
			if i == 0 {
				ctx = context.WithValue(ctx, ctxKey{}, "first")
			}
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, limit)
				defer cancel()
				if err := s.Refresh(ctx, build); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got error %v", err)
				}
				if took := time.Since(began); took != limit {
					t.Errorf("took %v, want %v", took, limit)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		synctest.Wait()
		if ended != 3*time.Second {
			t.Errorf("the build was ended after %v", ended)
		}
		wantStatus(t, &s, drawbridge.SnapshotStatus{}) // called off is not failed
		if err := s.Refresh(t.Context(), func(context.Context) (*int, error) { return pointer(1), nil }); err != nil {
			t.Error(err)
		}
	})
}

// TestSnapshotFailedBuildKeepsTheValue and says so.
func TestSnapshotFailedBuildKeepsTheValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[int]
		v := pointer(1)
		s.Publish(v)
		oops := errors.New("oops")
		for n := 1; n <= 3; n++ {
			if err := s.Refresh(t.Context(), func(context.Context) (*int, error) { return nil, oops }); !errors.Is(err, oops) {
				t.Errorf("got error %v", err)
			}
			if s.Load() != v {
				t.Error("the value has changed")
			}
			wantStatus(t, &s, drawbridge.SnapshotStatus{Version: 1, Err: oops, Failures: n})
		}
		if err := s.Refresh(t.Context(), func(context.Context) (*int, error) { return pointer(2), nil }); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		got := s.Status()
		if got.Err != nil || got.Failures != 0 || got.Version != 2 || got.Refreshing {
			t.Errorf("after a success: %+v", got)
		}
	})
}

// TestSnapshotBuildThatDoesNotReturn: a panic, a Goexit and no value are errors
// of all callers, and none of the process.
func TestSnapshotBuildThatDoesNotReturn(t *testing.T) {
	for want, build := range map[string]func(context.Context) (*int, error){
		"drawbridge: the build of a snapshot panicked: oh no":                func(context.Context) (*int, error) { panic("oh no") },
		"drawbridge: the build of a snapshot called runtime.Goexit":          func(context.Context) (*int, error) { runtime.Goexit(); return nil, nil },
		"drawbridge: the build of a snapshot returned no value and no error": func(context.Context) (*int, error) { return nil, nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			var s drawbridge.Snapshot[int]
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					err := s.Refresh(t.Context(), func(ctx context.Context) (*int, error) {
						time.Sleep(time.Second)
						return build(ctx)
					})
					if err == nil || !strings.HasPrefix(err.Error(), want) {
						t.Errorf("got error %v, want %s", err, want)
					}
				})
			}
			wg.Wait()
			if err := s.Refresh(t.Context(), func(context.Context) (*int, error) { return pointer(1), nil }); err != nil {
				t.Errorf("the next build: %v", err)
			}
		})
	}
}

// TestSnapshotPublishOvertakesABuild: it is run again.
func TestSnapshotPublishOvertakesABuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[int]
		builds := 0
		go func() {
			time.Sleep(500 * time.Millisecond)
			s.Publish(pointer(-1))
		}()
		err := s.Refresh(t.Context(), func(context.Context) (*int, error) {
			builds++
			time.Sleep(time.Second)
			return pointer(builds), nil
		})
		if err != nil || builds != 2 || *s.Load() != 2 || s.Status().Version != 2 {
			t.Errorf("error %v, %d builds, value %d", err, builds, *s.Load())
		}
	})
}

// TestSnapshotUpdateWaitsForABuild: a build that began before the update must
// not undo it.
func TestSnapshotUpdateWaitsForABuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[[]string]
		var wg sync.WaitGroup
		wg.Go(func() {
			err := s.Refresh(t.Context(), func(context.Context) (*[]string, error) {
				time.Sleep(time.Second)
				return &[]string{"built"}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		err := s.Update(t.Context(), func(_ context.Context, old *[]string) (*[]string, error) {
			return pointer(append(slices.Clone(*old), "updated")), nil
		})
		wg.Wait()
		if err != nil || fmt.Sprint(*s.Load()) != "[built updated]" {
			t.Errorf("error %v, value %v", err, *s.Load())
		}
	})
}

func TestSnapshotRefreshWithADoneContext(t *testing.T) {
	var s drawbridge.Snapshot[int]
	err := s.Refresh(done, func(context.Context) (*int, error) { t.Error("called"); return nil, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
}

// TestSnapshotRefreshEvery: at once, then on an interval that varies by a tenth.
func TestSnapshotRefreshEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[int]
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var at []time.Duration
		var err error
		go func() {
			err = s.RefreshEvery(ctx, time.Minute, func(context.Context) (*int, error) {
				at = append(at, time.Since(began))
				return pointer(len(at)), nil
			})
		}()
		time.Sleep(time.Hour)
		cancel()
		synctest.Wait()
		if err != context.Canceled {
			t.Errorf("got error %v", err)
		}
		if len(at) < 54 || len(at) > 67 || at[0] != 0 {
			t.Fatalf("%d builds in an hour, at %v", len(at), at)
		}
		varied := false
		for i := range len(at) - 1 {
			interval := at[i+1] - at[i]
			if interval < 54*time.Second || interval > 66*time.Second {
				t.Errorf("an interval of %v", interval)
			}
			varied = varied || interval != time.Minute
		}
		if !varied {
			t.Error("the interval does not vary")
		}
	})
}

// TestSnapshotRefreshEveryBacksOff after failures, and returns to the interval.
func TestSnapshotRefreshEveryBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[int]
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var at []time.Time
		go func() {
			_ = s.RefreshEvery(ctx, time.Minute, func(context.Context) (*int, error) {
				at = append(at, time.Now())
				if len(at) <= 8 {
					return nil, errors.New("not yet")
				}
				return pointer(1), nil
			})
		}()
		time.Sleep(4 * time.Hour)
		cancel()
		synctest.Wait()
		for i, minutes := range []time.Duration{2, 4, 8, 16, 16, 16, 16, 16, 1, 1} {
			want := minutes * time.Minute
			if got := at[i+1].Sub(at[i]); got < want-want/10 || got > want+want/10 {
				t.Errorf("interval %d is %v, want about %v", i, got, want)
			}
		}
	})
}

// TestSnapshotRefreshEveryEndsLongBuilds.
func TestSnapshotRefreshEveryEndsLongBuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[int]
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_ = s.RefreshEvery(ctx, time.Minute, func(ctx context.Context) (*int, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
		}()
		time.Sleep(time.Minute + time.Second)
		st := s.Status()
		if st.Failures != 1 || !errors.Is(st.Err, context.DeadlineExceeded) ||
			!strings.Contains(st.Err.Error(), "drawbridge: the build of a snapshot took longer than its interval of 1m0s") {
			t.Errorf("got %+v", st)
		}
		cancel()
		synctest.Wait()
	})
	var s drawbridge.Snapshot[int]
	if got := panicsWith(func() { _ = s.RefreshEvery(t.Context(), 0, nil) }); got != "drawbridge: RefreshEvery needs a positive interval" {
		t.Errorf("panic %q", got)
	}
}

// TestSnapshotWait: a slow caller misses versions but never the last one.
func TestSnapshotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s drawbridge.Snapshot[int]
		var saw []int
		go func() {
			var version uint64
			for len(saw) == 0 || saw[len(saw)-1] != 5 {
				v, next, err := s.Wait(t.Context(), version)
				if err != nil || next <= version {
					t.Errorf("version %d after %d, error %v", next, version, err)
					return
				}
				saw, version = append(saw, *v), next
				time.Sleep(10 * time.Millisecond)
			}
		}()
		synctest.Wait()
		s.Publish(pointer(1))
		time.Sleep(5 * time.Millisecond)
		for i := 2; i <= 4; i++ {
			s.Publish(pointer(i))
		}
		time.Sleep(20 * time.Millisecond)
		s.Publish(pointer(5))
		synctest.Wait()
		if !slices.Equal(saw, []int{1, 4, 5}) {
			t.Errorf("saw %v", saw)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := s.Wait(ctx, 5); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v", err)
		}
		if _, _, err := s.Wait(done, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("a done context: error %v", err)
		}
	})
}
