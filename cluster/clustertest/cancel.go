package clustertest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
)

func cancelledWriter(s *suite) {
	ms, name := s.machines(3), s.name()
	inside := s.lock(ms[0], name, r)
	writer := s.start(ms[1], name, w)
	reader := s.start(ms[2], name, r)
	writer.cancel()
	h := s.granted(reader) // beside the one inside
	<-writer.done
	s.is(writer.err, context.Canceled)
	s.unlock(h, inside)
	s.empty(ms[0], name)
}

func cancelledBefore(s *suite) {
	m, name := s.machine(), s.name()
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	_, err := m.Lock(ctx, name)
	s.is(err, context.Canceled)
	s.is(err, why)
	_, err = m.TryRLock(ctx, name)
	s.is(err, context.Canceled)
	s.empty(m, name)
}

func timeoutSays(s *suite) {
	ms, name := s.machines(2), s.name()
	h := s.lock(ms[0], name, w)
	ctx, cancel := context.WithTimeout(s.ctx(), 50*time.Millisecond)
	defer cancel()
	_, err := ms[1].RLock(ctx, name)
	s.is(err, context.DeadlineExceeded)
	var we *cluster.WaitError
	if !errors.As(err, &we) || we.Name != name || we.Mode != r || we.Waited < 50*time.Millisecond {
		s.Errorf("error %#v", err)
	}
	s.unlock(h)
	s.empty(ms[0], name)
}

// cancelStorm gives up at every step: on the way to the engine, in the queue, at the moment of the grant.
func cancelStorm(s *suite) {
	ms, name := s.machines(3), s.name()
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for range 12 {
				ctx, cancel := context.WithTimeout(s.ctx(), rand.N(8*time.Millisecond))
				h, err := take(ctx, ms[i%3].Locker, name, modes[rand.N(2)])
				if err == nil {
					err = h.Unlock(s.ctx())
				} else if errors.Is(err, context.DeadlineExceeded) {
					err = nil
				}
				if err != nil {
					s.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	s.empty(ms[0], name)
	s.unlock(s.lock(ms[0], name, w))
}

// cancelWhileCut: the caller is back at once although the engine cannot be told, and the engine is told later.
func cancelWhileCut(s *suite) {
	ms, name := s.machines(3), s.name()
	inside := s.lock(ms[0], name, r)
	writer := s.start(ms[1], name, w)
	s.Cut(s, ms[1].engine, true)
	began := time.Now()
	writer.cancel()
	<-writer.done
	if took := time.Since(began); took > time.Second {
		s.Errorf("a call that gave up came back after %v", took)
	}
	// Cut off, it loses its place by the end of its lease.
	reader := s.start(ms[2], name, r)
	s.unlock(s.granted(reader), inside)
	s.Cut(s, ms[1].engine, false)
	s.empty(ms[0], name)
	s.unlock(s.lock(ms[1], name, w))
}

func unlockTwice(s *suite) {
	ms, name := s.machines(2), s.name()
	h := s.lock(ms[0], name, w)
	s.unlock(h)
	next := s.lock(ms[0], name, w) // the same process, the same name
	s.unlock(h)
	if err := next.Held(); err != nil {
		s.Fatalf("a second Unlock touched the next hold: %v", err)
	}
	if n := s.present(ms[1], name); n != 1 {
		s.Fatalf("%d entries, want the next hold's", n)
	}
	s.is(h.Held(), cluster.ErrUnlocked)
	s.is(context.Cause(h.Context()), cluster.ErrUnlocked)
	s.unlock(next)
}

func unlockDone(s *suite) {
	ms, name := s.machines(2), s.name()
	h := s.lock(ms[0], name, w)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Unlock(done); err != nil {
		s.is(err, context.Canceled)
	}
	s.unlock(s.lock(ms[1], name, w)) // released in the background
	s.unlock(h)
}

func closeWaiting(s *suite) {
	ms, name := s.machines(2), s.name()
	h := s.lock(ms[0], name, w)
	waiting := s.start(ms[1], name, r)
	behind := s.start(ms[1], name, w)
	if err := ms[1].Close(); err != nil {
		s.Fatal(err)
	}
	<-waiting.done
	<-behind.done
	s.is(waiting.err, cluster.ErrClosed)
	s.is(behind.err, cluster.ErrClosed)
	_, err := ms[1].Lock(s.ctx(), name)
	s.is(err, cluster.ErrClosed)
	s.unlock(h)
	s.empty(ms[0], name)
}

func closeHolds(s *suite) {
	ms, name := s.machines(2), s.name()
	h := s.lock(ms[0], name, w)
	if err := ms[0].Close(); err != nil {
		s.Fatal(err)
	}
	s.is(context.Cause(h.Context()), cluster.ErrLost)
	s.is(h.Unlock(s.ctx()), cluster.ErrLost)
	s.unlock(s.lock(ms[1], name, w))
}
