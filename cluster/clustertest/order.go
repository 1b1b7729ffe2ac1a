package clustertest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/drawbridge-go/drawbridge/cluster"
)

const (
	r = cluster.Read
	w = cluster.Write
)

var modes = []cluster.Mode{r, w}

func grantsInOrder(s *suite) {
	modes := []cluster.Mode{w, r, r, w, w, r, w, r, r, r}
	ms, name := s.machines(len(modes)), s.name()
	calls := make([]*call, len(modes))
	for i, mode := range modes {
		calls[i] = s.start(ms[i], name, mode)
	}
	last := cluster.Token(0)
	for i := 0; i < len(modes); {
		// The next batch: one writer, or the readers up to the next writer.
		end := i + 1
		for modes[i] == r && end < len(modes) && modes[end] == r {
			end++
		}
		for _, c := range calls[i:end] {
			h := s.granted(c)
			if h.Token() < last || modes[i] == w && h.Token() == last && i > 0 {
				s.Errorf("call %d has token %d after %d", i, h.Token(), last)
			}
		}
		for j, c := range calls[end:] {
			if c.finished() {
				s.Fatalf("call %d overtook call %d", end+j, i)
			}
		}
		for _, c := range calls[i:end] {
			last = max(last, c.hold.Token())
			s.unlock(c.hold)
		}
		i = end
	}
	s.empty(ms[0], name)
}

func writerClosesDoor(s *suite) {
	ms, name := s.machines(3), s.name()
	inside := s.lock(ms[0], name, r)
	writer := s.start(ms[1], name, w)
	late := s.start(ms[2], name, r)
	// Also a reader of the process that is inside.
	again := s.start(ms[0], name, r)
	s.stillWaits(writer, late, again)
	s.unlock(inside)
	h := s.granted(writer)
	s.stillWaits(late, again)
	s.unlock(h)
	s.unlock(s.granted(late), s.granted(again))
}

func readersTogether(s *suite) {
	ms, name := s.machines(4), s.name()
	h := s.lock(ms[0], name, w)
	var calls []*call
	for _, m := range ms[1:] {
		calls = append(calls, s.start(m, name, r))
	}
	s.unlock(h)
	for _, c := range calls { // all granted while none has left
		s.granted(c)
	}
	for _, c := range calls {
		s.unlock(c.hold)
	}
}

func tryLeavesNothing(s *suite) {
	ms, name := s.machines(3), s.name()
	h, err := ms[0].TryLock(s.ctx(), name)
	if err != nil {
		s.Fatal(err)
	}
	_, err = ms[1].TryLock(s.ctx(), name)
	s.is(err, cluster.ErrBusy)
	_, err = ms[1].TryRLock(s.ctx(), name)
	s.is(err, cluster.ErrBusy)
	_, err = ms[0].TryLock(s.ctx(), name)
	s.is(err, cluster.ErrBusy)
	if n := s.present(ms[0], name); n != 1 {
		s.Fatalf("%d entries after tries that failed, want the holder's", n)
	}
	s.unlock(h)
	a, err := ms[0].TryRLock(s.ctx(), name)
	if err != nil {
		s.Fatal(err)
	}
	b, err := ms[1].TryRLock(s.ctx(), name)
	if err != nil {
		s.Fatal(err)
	}
	writer := s.start(ms[2], name, w)
	_, err = ms[1].TryRLock(s.ctx(), name)
	s.is(err, cluster.ErrBusy)
	s.unlock(a, b)
	s.unlock(s.granted(writer))
	s.empty(ms[0], name)
}

// manyCalls lets goroutines of two processes hammer one lock and counts who is inside.
func manyCalls(s *suite) {
	ms, name := s.machines(2), s.name()
	var readers, writers atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 4 {
				mode := modes[(i+n)%2]
				h, err := take(s.ctx(), ms[i%2].Locker, name, mode)
				if err != nil {
					s.Error(err)
					return
				}
				inside := &readers
				if mode == w {
					inside = &writers
				}
				inside.Add(1)
				if wr, rd := writers.Load(), readers.Load(); wr > 1 || wr == 1 && rd > 0 {
					s.Errorf("%d writers and %d readers inside", wr, rd)
				}
				inside.Add(-1)
				if err := h.Unlock(s.ctx()); err != nil {
					s.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.empty(ms[0], name)
}

// manyReaders: calls of one process beyond what the engine may have at once still enter together, also late ones.
func manyReaders(s *suite) {
	ms, name := s.machines(2), s.name()
	var inside []*cluster.Hold
	for range 40 {
		inside = append(inside, s.lock(ms[0], name, r))
	}
	writer := s.start(ms[1], name, w)
	for i, h := range inside {
		if err := h.Held(); err != nil {
			s.Fatalf("reader %d: %v", i, err)
		}
		s.unlock(h)
		if i < len(inside)-1 && writer.finished() {
			s.Fatalf("a writer entered beside %d readers (%v)", len(inside)-1-i, writer.err)
		}
	}
	s.unlock(s.granted(writer))
}

func tokensRise(s *suite) {
	ms, name := s.machines(2), s.name()
	last := cluster.Token(0)
	for i := range 6 {
		h := s.lock(ms[i%2], name, w)
		if h.Token() <= last {
			s.Fatalf("write token %d after %d", h.Token(), last)
		}
		last = h.Token()
		s.unlock(h)
		h = s.lock(ms[i%2], name, r)
		if h.Token() < last {
			s.Fatalf("read token %d after write token %d", h.Token(), last)
		}
		s.unlock(h)
		if i == 3 {
			if _, err := ms[0].engine.Prune(s.ctx()); err != nil {
				s.Fatal(err)
			}
		}
	}
}

func stateOwners(s *suite) {
	ms, name := s.machines(2), s.name()
	h := s.lock(ms[0], name, w)
	c := s.start(ms[1], name, r)
	st, err := ms[1].State(s.ctx(), name)
	if err != nil {
		s.Fatal(err)
	}
	if len(st.Holders) != 1 || len(st.Waiters) != 1 {
		s.Fatalf("state %+v, want one holder and one waiter", st)
	}
	got := st.Holders[0]
	if got.Mode != w || got.Token != h.Token() || got.Host == "" || got.PID == 0 || got.Label != "suite" || got.Since.IsZero() {
		s.Errorf("holder %+v", got)
	}
	if got := st.Waiters[0]; got.Mode != r || got.Label != "suite" || got.Since.IsZero() {
		s.Errorf("waiter %+v", got)
	}
	s.unlock(h)
	s.unlock(s.granted(c))
}

func namesListed(s *suite) {
	m, prefix := s.machine(), s.name()
	var holds []*cluster.Hold
	for i := range 3 {
		name := fmt.Sprintf("%s/%d", prefix, i)
		holds = append(holds, s.lock(m, name, r))
		if i == 1 {
			holds = append(holds, s.lock(m, name, r)) // twice held, once listed
		}
	}
	list := func() (names []string) {
		for name, err := range m.Names(s.ctx(), prefix+"/") {
			if err != nil {
				s.Fatal(err)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	want := fmt.Sprint([]string{prefix + "/0", prefix + "/1", prefix + "/2"})
	if got := fmt.Sprint(list()); got != want {
		s.Errorf("names %s, want %s", got, want)
	}
	s.unlock(holds...)
	s.until("no name is left", func() bool { return len(list()) == 0 })
}
