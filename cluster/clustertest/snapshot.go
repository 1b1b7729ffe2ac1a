package clustertest

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/drawbridge-go/drawbridge/cluster"
)

func (s *suite) snapshot(e cluster.Engine, name string) *cluster.Snapshot[int] {
	s.Helper()
	n, err := cluster.NewSnapshot(s.ctx(), e, name, cluster.Codec[int]{})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { n.Close() })
	return n
}

func (s *suite) publish(n *cluster.Snapshot[int], v int) uint64 {
	s.Helper()
	version, err := n.Publish(s.ctx(), v)
	if err != nil {
		s.Fatal(err)
	}
	return version
}

func (s *suite) loads(n *cluster.Snapshot[int], v int, version uint64) {
	s.Helper()
	if got, at, ok := n.Load(); !ok || got != v || at != version {
		s.Fatalf("Load is (%d, %d, %v), want (%d, %d, true)", got, at, ok, v, version)
	}
}

func snapshotReaches(s *suite) {
	name := s.name()
	a, b := s.snapshot(s.Engine(s), name), s.snapshot(s.Engine(s), name)
	if v, version, ok := b.Load(); ok || v != 0 || version != 0 {
		s.Fatalf("Load before any value is (%d, %d, %v)", v, version, ok)
	}
	if st := b.Status(); st.Version != 0 || st.Err != nil {
		s.Errorf("status %+v before any value", st)
	}
	last := uint64(0)
	for v := range 5 {
		version := s.publish(a, v)
		if version <= last {
			s.Fatalf("version %d after %d", version, last)
		}
		s.loads(a, v, version) // one's own, at once
		got, at, err := b.Wait(s.ctx(), last)
		if err != nil || got != v || at != version {
			s.Fatalf("Wait is (%d, %d, %v), want (%d, %d, nil)", got, at, err, v, version)
		}
		last = version
	}
	version := s.publish(a, 9)
	if err := b.Sync(s.ctx()); err != nil {
		s.Fatal(err)
	}
	s.loads(b, 9, version)
	s.loads(s.snapshot(s.Engine(s), name), 9, version) // the first look
	ctx, cancel := context.WithCancel(s.ctx())
	cancel()
	_, _, err := b.Wait(ctx, version)
	s.is(err, context.Canceled)
}

func snapshotUpdates(s *suite) {
	name := s.name()
	const processes, each = 4, 10
	var wg sync.WaitGroup
	for range processes {
		n := s.snapshot(s.Engine(s), name)
		wg.Go(func() {
			for range each {
				if _, err := n.Update(s.ctx(), func(_ context.Context, v int) (int, error) { return v + 1, nil }); err != nil {
					s.Error(err)
				}
			}
		})
	}
	wg.Wait()
	n := s.snapshot(s.Engine(s), name)
	if v, _, _ := n.Load(); v != processes*each {
		s.Errorf("%d after %d updates", v, processes*each)
	}
	own := errors.New("own")
	_, err := n.Update(s.ctx(), func(context.Context, int) (int, error) { return 0, own })
	s.is(err, own)
}

func snapshotHeld(s *suite) {
	ms, name := s.machines(2), s.name()
	n := s.snapshot(ms[0].engine, name)
	h := s.lock(ms[0], name, w)
	version, err := n.PublishHeld(s.ctx(), h, 1)
	if err != nil {
		s.Fatal(err)
	}
	s.loads(n, 1, version)
	// At the engine the hold is gone; that the process has not noticed does not help it.
	if err := ms[1].engine.Remove(s.ctx(), name, h.Token()); err != nil {
		s.Fatal(err)
	}
	_, err = n.PublishHeld(s.ctx(), h, 2)
	s.is(err, cluster.ErrLost)
	next := s.lock(ms[1], name, w)
	if _, err := n.PublishHeld(s.ctx(), next, 2); err == nil {
		s.Error("a hold of another engine was taken")
	}
	s.unlock(next)
	if err := n.Sync(s.ctx()); err != nil {
		s.Fatal(err)
	}
	s.loads(n, 1, version)
	rh := s.lock(ms[0], name, r)
	if _, err := n.PublishHeld(s.ctx(), rh, 3); err == nil {
		s.Error("a read hold published")
	}
	s.unlock(rh)
}

func snapshotKeeps(s *suite) {
	name := s.name()
	a, b := s.snapshot(s.Engine(s), name), s.snapshot(s.Engine(s), name)
	version := s.publish(a, 1)
	if _, _, err := b.Wait(s.ctx(), 0); err != nil {
		s.Fatal(err)
	}
	for what, spoil := range map[string]func(){
		"a value that cannot be decoded": func() { s.CorruptValue(s, name) },
		"a deletion":                     func() { s.DeleteValue(s, name) },
	} {
		spoil()
		s.until(what+" shows in Status", func() bool { return b.Status().Err != nil })
		s.loads(b, 1, version)
		if got := b.Status().Version; got != version {
			s.Errorf("after %s the status has version %d, want that of the value, %d", what, got, version)
		}
		next := s.publish(a, 1)
		if next <= version {
			s.Errorf("version %d after %d and %s", next, version, what)
		}
		version = next
		if _, _, err := b.Wait(s.ctx(), version-1); err != nil {
			s.Fatal(err)
		}
		if err := b.Status().Err; err != nil {
			s.Errorf("the status still says %v after a good value", err)
		}
	}
}

func snapshotLimits(s *suite) {
	name := s.name()
	raw := cluster.Codec[string]{
		Encode: func(v string) ([]byte, error) { return []byte(v), nil },
		Decode: func(b []byte) (string, error) { return string(b), nil },
	}
	n, err := cluster.NewSnapshot(s.ctx(), s.Engine(s), name, raw)
	if err != nil {
		s.Fatal(err)
	}
	defer n.Close()
	for _, size := range []int{0, cluster.MaxValue} {
		if _, err := n.Publish(s.ctx(), strings.Repeat("x", size)); err != nil {
			s.Fatalf("%d bytes: %v", size, err)
		}
		if v, _, ok := n.Load(); !ok || len(v) != size {
			s.Errorf("published %d bytes, loaded %d", size, len(v))
		}
	}
	_, err = n.Publish(s.ctx(), strings.Repeat("x", cluster.MaxValue+1))
	s.is(err, cluster.ErrTooLarge)
}

func snapshotCut(s *suite) {
	name := s.name()
	far := s.Engine(s)
	a, b := s.snapshot(s.Engine(s), name), s.snapshot(far, name)
	version := s.publish(a, 1)
	if _, _, err := b.Wait(s.ctx(), 0); err != nil {
		s.Fatal(err)
	}
	s.Cut(s, far, true)
	newer := s.publish(a, 2)
	s.loads(b, 1, version)
	s.Cut(s, far, false)
	if v, at, err := b.Wait(s.ctx(), version); err != nil || v != 2 || at != newer {
		s.Errorf("after the cut Wait is (%d, %d, %v), want (2, %d, nil)", v, at, err, newer)
	}
}

func snapshotClose(s *suite) {
	n := s.snapshot(s.Engine(s), s.name())
	version := s.publish(n, 1)
	waits := make(chan error)
	go func() {
		_, _, err := n.Wait(s.ctx(), version)
		waits <- err
	}()
	n.Close()
	n.Close()
	s.is(<-waits, cluster.ErrClosed)
	s.loads(n, 1, version)
}
