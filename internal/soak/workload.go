package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// workload is all kinds of locks with what they protect.
type workload struct {
	rw       [8]drawbridge.RWMutex // two of each policy
	hot      drawbridge.RWMutex    // read so much that it is striped
	mutex    [2]drawbridge.Mutex
	guarded  drawbridge.Guarded[counted]
	keyed    drawbridge.Keyed[int]
	snapshot drawbridge.Snapshot[int64]
	built    drawbridge.Snapshot[int64] // published and refreshed, not updated

	behind      [8]counted
	behindHot   counted
	behindMutex [2]counted
	behindKey   [16]counted
	updates     atomic.Int64 // of the snapshot, that returned nil

	calls, gaveUp, panics, exits, events atomic.Uint64
	wrong                                atomic.Value
}

func newWorkload() *workload {
	w := new(workload)
	for i := range w.rw {
		w.rw[i].Policy = drawbridge.Policy(i % 4)
		w.behind[i].wrong = &w.wrong
	}
	for i := range w.behindMutex {
		w.behindMutex[i].wrong = &w.wrong
	}
	w.behindHot.wrong = &w.wrong
	w.mutex[1].Policy = drawbridge.FIFO
	for i := range w.behindKey {
		w.behindKey[i].wrong = &w.wrong
	}
	w.guarded.Write(context.Background(), func(_ context.Context, c *counted) error { c.wrong = &w.wrong; return nil })
	return w
}

// one makes a call and all that follows from it.
func (w *workload) one(rnd *rand.Rand) {
	defer func() {
		if r := recover(); r != nil {
			if !expected(r) {
				panic(r)
			}
			w.panics.Add(1)
		}
	}()
	w.calls.Add(1)
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if rnd.IntN(10) < 3 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rnd.IntN(51))*time.Microsecond)
	}
	defer cancel()
	var err error
	switch rnd.IntN(12) {
	case 0, 1, 2:
		err = w.plain(ctx, rnd)
	case 3, 4:
		err = w.scoped(ctx, rnd)
	case 5:
		err = w.useMutex(ctx, rnd)
	case 6:
		err = w.guarded.Update(ctx, func(ctx context.Context, c *counted, upgrade func() error) error {
			c.read()
			w.mishap(rnd)
			if err := upgrade(); err != nil {
				return err
			}
			c.write()
			return nil
		})
	case 7, 8:
		err = w.useKeyed(ctx, rnd)
	case 9:
		err = w.useSnapshot(ctx, rnd)
	case 10:
		err = w.useHot(ctx, rnd)
	case 11:
		err = w.build(ctx, rnd)
	}
	switch {
	case err == nil:
	case ctx.Err() == nil && !errors.Is(err, drawbridge.ErrDeadlock):
		w.wrong.CompareAndSwap(nil, fmt.Sprintf("an error without a reason: %v", err))
	default:
		w.gaveUp.Add(1)
	}
}

// mishap is what sometimes happens inside a section.
func (w *workload) mishap(rnd *rand.Rand) {
	switch n := rnd.IntN(2000); {
	case n == 0:
		panic("soak: inside a section")
	case n == 1:
		w.exits.Add(1)
		runtime.Goexit()
	case n < 100:
		runtime.Gosched()
	}
}

// plain uses the methods of an RWMutex. The holds must be ended on a panic too,
// as in any program.
func (w *workload) plain(ctx context.Context, rnd *rand.Rand) error {
	i := rnd.IntN(len(w.rw))
	rw, c := &w.rw[i], &w.behind[i]
	switch rnd.IntN(8) {
	case 0, 1, 2:
		if err := rw.RLockContext(ctx); err != nil {
			return err
		}
		defer rw.RUnlock()
		c.read()
		w.mishap(rnd)
	case 3:
		rw.RLock()
		defer rw.RUnlock()
		c.read()
	case 4:
		if err := rw.LockContext(ctx); err != nil {
			return err
		}
		end := rw.Unlock
		defer func() { end() }()
		c.write()
		w.mishap(rnd)
		if rnd.IntN(2) == 0 {
			rw.Downgrade()
			end = rw.RUnlock
			c.read()
		}
	case 5:
		if rw.TryRLock() {
			defer rw.RUnlock()
			c.read()
		}
	case 6:
		if rw.TryLock() {
			defer rw.Unlock()
			c.write()
		}
	case 7:
		if err := rw.ULockContext(ctx); err != nil {
			return err
		}
		end := rw.UUnlock
		defer func() { end() }()
		c.read()
		w.mishap(rnd)
		if err := rw.UpgradeContext(ctx); err != nil {
			return err
		}
		end = rw.Unlock
		c.write()
		if rnd.IntN(2) == 0 {
			rw.DowngradeToUpgradable()
			end = rw.UUnlock
			c.read()
		}
	}
	return nil
}

// scoped uses two locks, one in the other, in either order.
func (w *workload) scoped(ctx context.Context, rnd *rand.Rand) error {
	i, j := rnd.IntN(len(w.rw)), rnd.IntN(len(w.rw))
	return w.rw[i].WithRLock(ctx, func(ctx context.Context) error {
		w.behind[i].read()
		w.mishap(rnd)
		if i == j {
			return w.rw[j].WithRLock(ctx, func(context.Context) error { w.behind[j].read(); return nil })
		}
		return w.rw[j].WithLock(ctx, func(context.Context) error {
			w.behind[j].write()
			w.mishap(rnd)
			return nil
		})
	})
}

func (w *workload) useMutex(ctx context.Context, rnd *rand.Rand) error {
	i := rnd.IntN(len(w.mutex))
	m, c := &w.mutex[i], &w.behindMutex[i]
	if rnd.IntN(4) == 0 {
		if m.TryLock() {
			defer m.Unlock()
			c.write()
		}
		return nil
	}
	return m.WithLock(ctx, func(context.Context) error {
		c.write()
		w.mishap(rnd)
		return nil
	})
}

func (w *workload) useKeyed(ctx context.Context, rnd *rand.Rand) error {
	key := rnd.IntN(len(w.behindKey))
	switch rnd.IntN(4) {
	case 0:
		return w.keyed.WithRLock(ctx, key, func(context.Context) error {
			w.behindKey[key].read()
			w.mishap(rnd)
			return nil
		})
	case 1:
		other := rnd.IntN(len(w.behindKey))
		return w.keyed.WithLocks(ctx, []int{key, other}, func(context.Context) error {
			w.behindKey[key].write()
			if other != key {
				w.behindKey[other].write()
			}
			w.mishap(rnd)
			return nil
		})
	case 2:
		unlock, err := w.keyed.LockContext(ctx, key)
		if err != nil {
			return err
		}
		defer unlock()
		w.behindKey[key].write()
		w.mishap(rnd)
		return nil
	}
	return w.keyed.WithLock(ctx, key, func(context.Context) error {
		w.behindKey[key].write()
		w.mishap(rnd)
		return nil
	})
}

func (w *workload) useSnapshot(ctx context.Context, rnd *rand.Rand) error {
	switch rnd.IntN(6) {
	case 0:
		// The value is the number of updates: whatever is published must
		// not take any back.
		err := w.snapshot.Update(ctx, func(_ context.Context, old *int64) (*int64, error) {
			w.mishap(rnd)
			next := int64(1)
			if old != nil {
				next += *old
			}
			return &next, nil
		})
		if err == nil {
			w.updates.Add(1)
		}
		return err
	case 1:
		waiting, cancel := context.WithTimeout(ctx, 50*time.Microsecond)
		defer cancel()
		w.snapshot.Wait(waiting, w.snapshot.Status().Version)
	default:
		returned := w.updates.Load()
		if v := w.snapshot.Load(); v == nil && returned > 0 || v != nil && *v < returned {
			w.wrong.CompareAndSwap(nil, "an update has returned and is not there")
		}
	}
	return nil
}

// useHot reads many times for each write.
func (w *workload) useHot(ctx context.Context, rnd *rand.Rand) error {
	if rnd.IntN(50) == 0 {
		return w.hot.WithLock(ctx, func(context.Context) error { w.behindHot.write(); return nil })
	}
	for range 20 {
		if err := w.hot.RLockContext(ctx); err != nil {
			return err
		}
		w.behindHot.read()
		if rnd.IntN(20) == 0 {
			runtime.Gosched() // so that another reader finds this one inside
		}
		w.hot.RUnlock()
	}
	return nil
}

var errBuild = errors.New("soak: the build failed")

// build publishes a value or lets one be built, which may fail in every way.
func (w *workload) build(ctx context.Context, rnd *rand.Rand) error {
	if rnd.IntN(4) == 0 {
		w.built.Publish(new(int64))
		return nil
	}
	mishap := rnd.IntN(500)
	err := w.built.Refresh(ctx, func(context.Context) (*int64, error) {
		switch mishap {
		case 0:
			panic(errBuild)
		case 1:
			runtime.Goexit()
		case 2:
			return nil, errBuild
		}
		return new(int64), nil
	})
	switch {
	case err == nil && w.built.Load() == nil:
		w.wrong.CompareAndSwap(nil, "a refresh has returned and no value is there")
	case err != nil && ctx.Err() == nil && (errors.Is(err, errBuild) || strings.Contains(err.Error(), "panicked: "+errBuild.Error()) ||
		strings.Contains(err.Error(), "called runtime.Goexit")):
		return nil // the build may have been that of another caller
	}
	return err
}

// moody is an observer that sometimes panics.
type moody struct {
	w      *workload
	panics bool
	n      atomic.Uint32
}

func (m *moody) Observe(_ context.Context, e drawbridge.Event) {
	m.w.events.Add(1)
	// A panic of Downgraded would keep from the workload what it holds.
	if m.panics && e.Kind != drawbridge.Downgraded && m.n.Add(1)%64 == 0 {
		panic("soak: an observer")
	}
}

// audit looks at what is left when all calls have returned.
func (w *workload) audit() error {
	var errs []error
	if s := w.wrong.Load(); s != nil {
		errs = append(errs, errors.New(s.(string)))
	}
	for i := range w.rw {
		if s := w.rw[i].State(); s != (drawbridge.State{}) {
			errs = append(errs, fmt.Errorf("RWMutex %d (%s) is not free: %s", i, w.rw[i].Policy, s))
		}
		errs = append(errs, w.behind[i].audit(fmt.Sprintf("RWMutex %d", i)))
	}
	if s := w.hot.State(); s != (drawbridge.State{}) {
		errs = append(errs, fmt.Errorf("the read-hot RWMutex is not free: %s", s))
	}
	errs = append(errs, w.behindHot.audit("the read-hot RWMutex"))
	for i := range w.mutex {
		if s := w.mutex[i].State(); s != (drawbridge.State{}) {
			errs = append(errs, fmt.Errorf("the Mutex %d is not free: %s", i, s))
		}
		errs = append(errs, w.behindMutex[i].audit(fmt.Sprintf("Mutex %d", i)))
	}
	if s := w.guarded.State(); s != (drawbridge.State{}) {
		errs = append(errs, fmt.Errorf("the Guarded is not free: %s", s))
	} else {
		w.guarded.Read(context.Background(), func(_ context.Context, c *counted) error {
			errs = append(errs, c.audit("Guarded"))
			return nil
		})
	}
	if n := w.keyed.Len(); n != 0 {
		errs = append(errs, fmt.Errorf("%d keys are left", n))
	}
	for i := range w.behindKey {
		errs = append(errs, w.behindKey[i].audit(fmt.Sprintf("key %d", i)))
	}
	st := w.snapshot.Status()
	v := w.snapshot.Load()
	if v != nil && (int64(st.Version) != w.updates.Load() || *v != w.updates.Load()) || v == nil && w.updates.Load() != 0 {
		errs = append(errs, fmt.Errorf("%d updates of the snapshot returned, and its version is %d", w.updates.Load(), st.Version))
	}
	if st := w.built.Status(); st.Refreshing {
		errs = append(errs, errors.New("all refreshes have returned and one is under way"))
	}
	return errors.Join(errs...)
}
