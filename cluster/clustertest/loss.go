package clustertest

import (
	"context"
	"errors"
	"time"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/cluster"
)

// lost waits until the hold knows that it was lost.
func (s *suite) lost(h *cluster.Hold) {
	s.Helper()
	select {
	case <-h.Context().Done():
	case <-time.After(patience + s.TTL):
		s.Fatal("the holder was never told of its loss")
	}
	s.is(context.Cause(h.Context()), cluster.ErrLost)
	s.is(h.Held(), cluster.ErrLost)
	s.is(h.Unlock(s.ctx()), cluster.ErrLost)
	s.is(h.Unlock(s.ctx()), cluster.ErrLost)
}

func droppedHolder(s *suite) {
	ms, name := s.machines(2), s.name()
	var fence cluster.Fence
	h := s.lock(ms[0], name, w)
	next := s.start(ms[1], name, w)
	s.Drop(s, ms[0].engine)
	n := s.granted(next)
	if n.Token() <= h.Token() {
		s.Errorf("the next token is %d after %d", n.Token(), h.Token())
	}
	ok := func() error { return nil }
	if err := fence.Write(n.Token(), ok); err != nil {
		s.Error(err)
	}
	s.is(fence.Write(h.Token(), ok), cluster.ErrStale)
	s.lost(h)
	s.unlock(n)
	s.empty(ms[1], name)
}

func droppedWaiter(s *suite) {
	ms, name := s.machines(3), s.name()
	h := s.lock(ms[0], name, w)
	second := s.start(ms[1], name, w)
	third := s.start(ms[2], name, w)
	s.Drop(s, ms[1].engine)
	<-second.done // it does not wait for the holder to leave
	s.is(second.err, cluster.ErrLost)
	s.stillWaits(third)
	s.unlock(h)
	s.unlock(s.granted(third))
	s.empty(ms[0], name)
}

func cutHolder(s *suite) {
	ms, name := s.machines(2), s.name()
	h := s.lock(ms[0], name, w)
	next := s.start(ms[1], name, w)
	began := time.Now()
	s.Cut(s, ms[0].engine, true)
	told := make(chan time.Time, 1)
	go func() {
		<-h.Context().Done()
		told <- time.Now()
	}()
	n := s.granted(next)
	entered := time.Now()
	if took, most := entered.Sub(began), s.TTL+s.Takeover; took > most {
		s.Errorf("the next holder entered after %v, want at most %v", took, most)
	}
	select {
	case at := <-told:
		s.Logf("told %v before the next entered", entered.Sub(at))
	default:
		s.Error("the next holder entered before the last one was told")
	}
	s.is(h.Held(), cluster.ErrLost)
	s.Cut(s, ms[0].engine, false)
	s.lost(h)
	s.unlock(n)
	s.empty(ms[1], name)
}

func reuseAfterLoss(s *suite) {
	ms, name := s.machines(2), s.name()
	for range 3 {
		h := s.lock(ms[0], name, w)
		s.Drop(s, ms[0].engine)
		s.lost(h)
		s.unlock(s.lock(ms[1], name, r))
	}
	s.unlock(s.lock(ms[0], name, w))
	s.empty(ms[0], name)
}

func removedHolder(s *suite) {
	ms, name := s.machines(3), s.name()
	other := s.lock(ms[0], name+" other", w)
	h := s.lock(ms[0], name, w)
	next := s.start(ms[1], name, w)
	s.is(ms[2].engine.Remove(s.ctx(), name, h.Token()+1000), cluster.ErrLost)
	s.stillWaits(next)
	if err := ms[2].engine.Remove(s.ctx(), name, h.Token()); err != nil {
		s.Fatal(err)
	}
	n := s.granted(next)
	s.lost(h)
	if err := other.Held(); err != nil {
		s.Errorf("another hold of the process went too: %v", err)
	}
	s.is(ms[2].engine.Remove(s.ctx(), name, h.Token()), cluster.ErrLost)
	s.unlock(n, other)
}

func downgrade(s *suite) {
	ms, name := s.machines(4), s.name()
	h := s.lock(ms[0], name, w)
	token := h.Token()
	reader := s.start(ms[1], name, r)
	writer := s.start(ms[2], name, w)
	late := s.start(ms[3], name, r)
	for range 2 { // the second does nothing
		if err := h.Downgrade(s.ctx()); err != nil {
			s.Fatal(err)
		}
	}
	s.unlock(s.granted(reader))
	s.stillWaits(writer, late)
	if h.Token() != token || h.Mode() != r {
		s.Errorf("token %d, mode %v after the downgrade of %d", h.Token(), h.Mode(), token)
	}
	s.unlock(h)
	s.unlock(s.granted(writer))
	// Without a queue too: a reader may enter or try beside a downgraded hold, a writer may not.
	s.unlock(s.granted(late))
	h = s.lock(ms[0], name, w)
	if err := h.Downgrade(s.ctx()); err != nil {
		s.Fatal(err)
	}
	a := s.lock(ms[1], name, r)
	b, err := ms[2].TryRLock(s.ctx(), name)
	if err != nil {
		s.Fatal(err)
	}
	_, err = ms[3].TryLock(s.ctx(), name)
	s.is(err, cluster.ErrBusy)
	s.unlock(a, b, h)
	s.is(h.Downgrade(s.ctx()), cluster.ErrUnlocked)
}

// droppedDowngraded: what a downgrade wrote must go with its holder too.
func droppedDowngraded(s *suite) {
	ms, name := s.machines(2), s.name()
	h := s.lock(ms[0], name, w)
	if err := h.Downgrade(s.ctx()); err != nil {
		s.Fatal(err)
	}
	next := s.start(ms[1], name, w)
	s.Drop(s, ms[0].engine)
	s.unlock(s.granted(next))
	s.lost(h)
	s.empty(ms[1], name)
}

type key struct{}

func holdOutlives(s *suite) {
	m, name := s.machine(), s.name()
	ctx, cancel := context.WithCancel(context.WithValue(s.ctx(), key{}, "value"))
	h, err := m.Lock(ctx, name)
	if err != nil {
		s.Fatal(err)
	}
	cancel()
	time.Sleep(s.TTL + s.TTL/2) // keepalives go on
	if err := h.Held(); err != nil || h.Context().Err() != nil {
		s.Fatalf("the hold ended with the caller's context: %v", err)
	}
	if h.Context().Value(key{}) != "value" {
		s.Error("the hold's context has lost the caller's values")
	}
	s.unlock(h)
}

func scopePanic(s *suite) {
	m, name := s.machine(), s.name()
	func() {
		defer func() {
			if recover() != "out" {
				s.Error("the panic did not go on")
			}
		}()
		m.WithLock(s.ctx(), name, func(context.Context, *cluster.Hold) error { panic("out") })
	}()
	s.empty(m, name)
}

func scopeLoss(s *suite) {
	m, name := s.machine(), s.name()
	own := errors.New("own")
	for _, want := range []error{nil, own} {
		err := m.WithLock(s.ctx(), name, func(ctx context.Context, h *cluster.Hold) error {
			s.Drop(s, m.engine)
			<-ctx.Done()
			s.is(context.Cause(ctx), cluster.ErrLost)
			return want
		})
		s.is(err, cluster.ErrLost)
		if want != nil {
			s.is(err, want)
		}
	}
	s.empty(m, name)
}

func scopeCaller(s *suite) {
	m, name := s.machine(), s.name()
	ctx, cancel := context.WithCancel(s.ctx())
	err := m.WithRLock(ctx, name, func(ctx context.Context, h *cluster.Hold) error {
		cancel()
		<-ctx.Done()
		if err := h.Held(); err != nil {
			s.Error(err)
		}
		return nil
	})
	if err != nil {
		s.Errorf("a scope whose function returned nil: %v", err)
	}
	s.empty(m, name)
}

func carriedHolds(s *suite) {
	m, other, name := s.machine(), s.machine(), s.name()
	second := cluster.New(m.engine, cluster.Options{TTL: s.TTL})
	defer second.Close()
	rh := s.lock(m, name, r)
	writer := s.start(other, name, w)
	ctx := rh.Context()
	_, err := m.Lock(ctx, name)
	s.is(err, drawbridge.ErrUpgrade)
	_, err = second.TryLock(ctx, name)
	s.is(err, drawbridge.ErrUpgrade)
	joined, err := second.RLock(ctx, name) // past the writer that waits
	if err != nil {
		s.Fatal(err)
	}
	if joined.Token() != rh.Token() {
		s.Errorf("joined with token %d, want %d", joined.Token(), rh.Token())
	}
	s.unlock(rh)
	s.stillWaits(writer) // the joined one still holds
	s.unlock(joined)
	s.unlock(s.granted(writer))
	// A context that outlived its hold carries nothing.
	s.unlock(s.lock2(m, context.WithoutCancel(ctx), name))

	wh := s.lock(m, name, w)
	_, err = m.Lock(wh.Context(), name)
	s.is(err, drawbridge.ErrReentrant)
	_, err = m.RLock(wh.Context(), name)
	s.is(err, drawbridge.ErrReentrant)
	s.unlock(s.lock2(m, wh.Context(), name+" another"))
	s.unlock(wh)
}

func (s *suite) lock2(m machine, ctx context.Context, name string) *cluster.Hold {
	s.Helper()
	h, err := m.Lock(ctx, name)
	if err != nil {
		s.Fatal(err)
	}
	return h
}
