package clustertest

import (
	"strings"

	"github.com/drawbridge-go/drawbridge/cluster"
)

func namesOpaque(s *suite) {
	m := s.machine()
	base := s.name()
	names := []string{
		base + "/", base + "//", base + "/w/", base + "/r/x", base + " ", base + "\t\n", base + "%2F", base + `\/`, base + "'; --",
		base + "\u00fc\u4e16\U0001f309", base + "\x7f\x01", base + "*?[]", base + "%", base + "%00",
	}
	for _, last := range []string{"x", "y"} { // two that differ at the end of 1,024 bytes
		names = append(names, base+strings.Repeat("n", 1023-len(base))+last)
	}
	var holds []*cluster.Hold
	for _, name := range names {
		holds = append(holds, s.lock(m, name, w)) // each beside all others
		_, err := m.TryLock(s.ctx(), name)
		s.is(err, cluster.ErrBusy)
		if len(holds) > 4 { // an engine may have a limit
			s.unlock(holds[0])
			holds = holds[1:]
		}
		found := false
		for n, err := range m.Names(s.ctx(), name) {
			if err != nil {
				s.Fatal(err)
			}
			found = found || n == name
		}
		if !found {
			s.Errorf("%q is held and not listed", name)
		}
	}
	s.unlock(holds...)
}

func namesNested(s *suite) {
	m, name := s.machine(), s.name()
	outer := s.lock(m, name, w)
	inner := s.lock(m, name+"/inner", w)
	st, err := m.State(s.ctx(), name)
	if err != nil {
		s.Fatal(err)
	}
	if len(st.Holders) != 1 || len(st.Waiters) != 0 {
		s.Errorf("state of the outer name: %+v", st)
	}
	s.unlock(outer)
	s.unlock(s.lock(m, name, w))
	s.unlock(inner)
}

func namesInvalid(s *suite) {
	m := s.machine()
	for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("n", 1025)} {
		_, err := m.Lock(s.ctx(), name)
		s.is(err, cluster.ErrName)
		_, err = m.TryRLock(s.ctx(), name)
		s.is(err, cluster.ErrName)
		_, err = m.State(s.ctx(), name)
		s.is(err, cluster.ErrName)
		_, err = cluster.NewSnapshot(s.ctx(), m.engine, name, cluster.Codec[int]{})
		s.is(err, cluster.ErrName)
	}
}
