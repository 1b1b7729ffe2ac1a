package drawbridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

// Snapshot is a value that readers load and writers replace (copy-on-write).
// [Snapshot.Load] is one atomic load, and what it returns stays as it is for
// as long as the caller likes: no lock, no wait, nothing to release. Use it
// where the value can be rebuilt; use [RWMutex] where it must be changed in
// place. The zero value holds no value. A Snapshot must not be copied after its
// first use.
//
// A published value must not be changed any more, by anybody: writers make a
// new one.
//
// [Snapshot.Update] and [Snapshot.Refresh] wait for one another.
// [Snapshot.Publish] does not wait, and an update or build that began before it
// is discarded and run again, so no change is ever lost. The call that
// publishes a value synchronizes before every Load that returns it.
type Snapshot[T any] struct {
	value   pointer[T]
	writing core // one Update or build at a time

	mu      section // guards what follows; value changes only under it
	version uint64
	since   time.Time
	changed chan struct{} // closed by the next Publish, nil while nobody waits
	refresh *build        // the build under way, which others may join
	err     error         // of the last build, nil if it succeeded
	failed  time.Time
	fails   int
}

// SnapshotStatus says how a [Snapshot] is doing.
type SnapshotStatus struct {
	Version   uint64        // of the value, 0 before the first one; rises by one with each
	Published time.Time     // when the value was published
	Age       time.Duration // since then, 0 before the first value

	Err        error     // of the last build, nil if it succeeded or none has ended
	Failed     time.Time // when the last failed build ended
	Failures   int       // builds that failed since one succeeded
	Refreshing bool      // a build is under way
}

// Load returns the value, or nil before the first one.
func (s *Snapshot[T]) Load() *T { return s.value.Load() }

// Publish makes v the value and returns its version. It does not wait for
// updates and builds. It panics if v is nil.
func (s *Snapshot[T]) Publish(v *T) (version uint64) {
	if v == nil {
		panic("drawbridge: Publish of a nil value")
	}
	s.mu.lock()
	defer s.mu.unlock()
	s.publish(v)
	return s.version
}

// publish is Publish with mu.
func (s *Snapshot[T]) publish(v *T) {
	s.version++
	s.since = now()
	s.value.Store(v)
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// replace publishes v if the version is still base.
func (s *Snapshot[T]) replace(base uint64, v *T) bool {
	s.mu.lock()
	defer s.mu.unlock()
	if s.version != base {
		return false
	}
	s.publish(v)
	return true
}

func (s *Snapshot[T]) load() (*T, uint64) {
	s.mu.lock()
	defer s.mu.unlock()
	return s.value.Load(), s.version
}

// Update replaces the value by what fn makes of it. fn gets the value, nil
// before the first one, and returns a new one; it must not change the one that
// it got. It is run again if a Publish came in between. If fn returns nil and no
// error, the value stays; if it returns an error, Update returns that and the
// value stays.
//
// Update waits for other updates and builds as long as ctx, and returns the
// errors of [RWMutex.LockContext]. An Update inside an Update of the same
// Snapshot returns [ErrReentrant].
func (s *Snapshot[T]) Update(ctx context.Context, fn func(context.Context, *T) (*T, error)) error {
	return s.write(ctx, func(ctx context.Context) error {
		for {
			old, version := s.load()
			v, err := fn(ctx, old)
			if err != nil || v == nil {
				return err
			}
			if s.replace(version, v) {
				return nil
			}
			if ctx.Err() != nil {
				return fmt.Errorf("drawbridge: gave up an update that others overtook: %w", contextError(ctx))
			}
		}
	})
}

// write runs fn while no other update or build does, in order of arrival.
func (s *Snapshot[T]) write(ctx context.Context, fn func(context.Context) error) error {
	k := call{ctx: ctx, lock: s, policy: FIFO, mode: Write}
	return s.writing.within(&k, func(ctx context.Context, _ *scope) error { return fn(ctx) })
}

// Observe sends the events of updates and builds to o until stop is called:
// they wait for one another and hold in mode [Write]. Load and Publish hold
// nothing and have no events.
func (s *Snapshot[T]) Observe(o Observer) (stop func()) {
	k := call{lock: s, policy: FIFO}
	return s.writing.observe(&k, o)
}

// build is a refresh that is under way.
type build struct {
	callers int // who still wait for it
	cancel  context.CancelFunc
	done    chan struct{}
	err     error // once done is closed
}

// Refresh replaces the value by a new one that build makes, and returns when it
// is published. Calls that come while a build is under way share it: they do
// not call their own.
//
// build runs on a goroutine of its own, with a context that has the values of
// the first caller's, carries no holds, and ends when every caller has given up.
// If a Publish comes in between, it is run again. If it fails, the last good
// value stays, and all callers get the error, which [Snapshot.Status] shows
// too. A panic in it is such an error. A caller whose ctx ends returns without
// waiting for the others.
func (s *Snapshot[T]) Refresh(ctx context.Context, build func(context.Context) (*T, error)) error {
	mustContext(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("drawbridge: did not wait for a refresh: %w", contextError(ctx))
	}
	if carried(ctx).on(&s.writing) != nil {
		return ErrReentrant // it would wait for the Update that it is in
	}
	b := s.join(ctx, build)
	if either(b.done, ctx.Done()) {
		return b.err
	}
	s.abandon(b)
	return fmt.Errorf("drawbridge: gave up waiting for a refresh: %w", contextError(ctx))
}

// join returns the build that is under way, or begins one.
func (s *Snapshot[T]) join(ctx context.Context, f func(context.Context) (*T, error)) *build {
	s.mu.lock()
	defer s.mu.unlock()
	if b := s.refresh; b != nil {
		b.callers++
		return b
	}
	ctx, cancel := context.WithCancel(WithoutHolds(context.WithoutCancel(ctx)))
	b := &build{callers: 1, cancel: cancel, done: make(chan struct{})}
	s.refresh = b
	spawn(func() { s.run(ctx, b, f) })
	return b
}

// abandon is called by a caller that does not wait any more. The last one ends
// the build, and whoever comes after that begins a new one.
func (s *Snapshot[T]) abandon(b *build) {
	s.mu.lock()
	defer s.mu.unlock()
	if b.callers--; b.callers > 0 {
		return
	}
	b.cancel()
	if s.refresh == b {
		s.refresh = nil
	}
}

func (s *Snapshot[T]) run(ctx context.Context, b *build, f func(context.Context) (*T, error)) {
	err := errors.New("drawbridge: the build of a snapshot called runtime.Goexit")
	defer func() { s.finish(b, err) }()
	err = s.write(ctx, func(ctx context.Context) error {
		for {
			_, version := s.load()
			v, err := protect(ctx, f)
			if err != nil {
				return err
			}
			if s.replace(version, v) {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	})
}

// finish ends a build for those who wait for it.
func (s *Snapshot[T]) finish(b *build, err error) {
	s.mu.lock()
	defer s.mu.unlock()
	b.cancel()
	if s.refresh == b {
		s.refresh = nil
	}
	switch {
	case b.callers == 0:
		// Nobody waits for it any more: it did not fail, it was called off.
	case err == nil:
		s.err, s.fails = nil, 0
	default:
		s.err, s.failed = err, now()
		s.fails++
	}
	b.err = err
	close(b.done)
}

// protect runs f and makes an error of a panic and of no value.
func protect[T any](ctx context.Context, f func(context.Context) (*T, error)) (v *T, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("drawbridge: the build of a snapshot panicked: %v\n\n%s", r, debug.Stack())
		}
	}()
	v, err = f(ctx)
	if v == nil && err == nil {
		err = errors.New("drawbridge: the build of a snapshot returned no value and no error")
	}
	return v, err
}

// RefreshEvery calls [Snapshot.Refresh] at once and then on an interval, until
// ctx is done, and returns ctx's error. The interval varies by up to a tenth,
// so that many processes do not refresh together. A build that takes longer
// than every is ended. After a failure the interval doubles, up to 16 times
// every, until a build succeeds. RefreshEvery panics if every is not positive.
func (s *Snapshot[T]) RefreshEvery(ctx context.Context, every time.Duration, build func(context.Context) (*T, error)) error {
	mustContext(ctx)
	if every <= 0 {
		panic("drawbridge: RefreshEvery needs a positive interval")
	}
	limited := func(ctx context.Context) (*T, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, every,
			fmt.Errorf("drawbridge: the build of a snapshot took longer than its interval of %s", every))
		defer cancel()
		v, err := build(ctx)
		if err != nil && context.Cause(ctx) != ctx.Err() {
			err = fmt.Errorf("%w (%w)", context.Cause(ctx), err)
		}
		return v, err
	}
	for wait := every; ; {
		if err := s.Refresh(ctx, limited); err == nil {
			wait = every
		} else {
			wait = min(2*wait, 16*every)
		}
		jitter := time.Duration((rand.Float64() - 0.5) / 5 * float64(wait))
		timer := time.NewTimer(wait + jitter)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// Wait returns the value and its version as soon as that is newer than after,
// or ctx's error. With 0 it waits for the first value; with the version that it
// returned before, for the next change. A slow caller misses versions but never
// the last one.
func (s *Snapshot[T]) Wait(ctx context.Context, after uint64) (*T, uint64, error) {
	mustContext(ctx)
	for {
		if ctx.Err() != nil {
			return nil, 0, fmt.Errorf("drawbridge: gave up waiting for a snapshot newer than version %d: %w", after, contextError(ctx))
		}
		s.mu.lock()
		if s.version > after {
			v, version := s.value.Load(), s.version
			s.mu.unlock()
			return v, version, nil
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.unlock()
		either(changed, ctx.Done())
	}
}

// Status says how the snapshot is doing.
func (s *Snapshot[T]) Status() SnapshotStatus {
	s.mu.lock()
	defer s.mu.unlock()
	st := SnapshotStatus{
		Version: s.version, Published: s.since,
		Err: s.err, Failed: s.failed, Failures: s.fails, Refreshing: s.refresh != nil,
	}
	if s.version != 0 {
		st.Age = now().Sub(s.since)
	}
	return st
}
