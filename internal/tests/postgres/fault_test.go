package postgres

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/postgres"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

const ttl = 2 * time.Second

// takeover is how long after its TTL a dead holder's lock may stay taken.
const takeover = 1500 * time.Millisecond

// session is a session that has the lock or waits for it.
type session struct {
	pid     int32
	granted bool
}

// sessions lists them as the server sees them.
func sessions(t testing.TB, adm *pgxpool.Pool, name string) (all []session) {
	t.Helper()
	rows, err := adm.Query(rig.Within(t, 10*time.Second), `SELECT l.pid, l.granted FROM pg_locks l JOIN `+schema+`.backend b USING (pid)
		WHERE l.locktype = 'advisory' AND (l.classid::bigint << 32 | l.objid::bigint) = b.key AND b.name = $1 ORDER BY granted DESC`, name)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s session
		if err := rows.Scan(&s.pid, &s.granted); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestKilledHolderIsReplaced(t *testing.T) {
	url := shared(t)
	rig.KilledHolder(t, url, rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl), ttl, ttl+takeover)
}

// A killed waiter must not keep the door shut: its session looks whether its client is still there.
func TestKilledWaiterOpensTheDoor(t *testing.T) {
	const ttl = 8 * time.Second // long, so that it is not the end of its time that is seen
	url := shared(t)
	l, other := rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl), rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl)
	rig.KilledWaiter(t, url, l, other, ttl, ttl/4+takeover)
}

// A stopped waiter is busy for the server and its client is still there. Others end it when its time is over.
func TestStoppedWaiterOpensTheDoor(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	l := rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl)
	inside := rig.RLocked(t, l, name)
	c := rig.Spawn(t, "write", url, name, ttl)
	rig.Waiters(t, l, name, 1)
	stopped := time.Now()
	c.Signal(syscall.SIGSTOP)
	other := rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl)
	h := rig.RLocked(t, other, name)
	// Its row may have been renewed right before, and whoever waits looks every third of the TTL.
	rig.AtMost(t, "a reader entered past a stopped writer", stopped, ttl+ttl/3+takeover)
	rig.Unlocked(t, h)
	rig.Unlocked(t, inside)
	c.Signal(syscall.SIGCONT)
	if line, ok := <-drained(c); ok {
		t.Errorf("a waiter that was stopped past its time went on: %q", line)
	}
}

// drained returns what the child says after what it has said already, up to its end.
func drained(c *rig.Child) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for line := range c.Lines {
			if line != "ready" {
				lines <- line
			}
		}
	}()
	return lines
}

// A busy try looks for those too: nobody else may wait.
func TestTryIsNotRefusedByAStoppedWaiter(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	l, other := rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl), rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl)
	inside := rig.RLocked(t, l, name)
	c := rig.Spawn(t, "write", url, name, ttl)
	rig.Waiters(t, l, name, 1)
	c.Signal(syscall.SIGSTOP)
	for stopped := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		h, err := other.TryRLock(rig.Within(t, 10*time.Second), name)
		if err == nil {
			rig.AtMost(t, "a try was let in past a stopped writer", stopped, ttl+takeover)
			rig.Unlocked(t, h)
			break
		}
		if !errors.Is(err, cluster.ErrBusy) {
			t.Fatal(err)
		}
		if time.Since(stopped) > 20*time.Second {
			t.Fatal("refused for ever")
		}
	}
	rig.Unlocked(t, inside)
}

// The picture of the paused holder: stopped between its check and its write, it wakes up after its lease, and its write
// is refused where the data is, in the memory of a store and in a table.
func TestStoppedHolderIsFenced(t *testing.T) {
	for _, table := range []bool{false, true} {
		t.Run(fmt.Sprintf("table=%v", table), func(t *testing.T) {
			url, name := shared(t), rig.Fresh(t)
			m := machine(t, url, postgres.Options{})
			l := rig.NewLocker(t, m, ttl)
			var fence cluster.Fence // of a store in this process
			adm := admin(t, url)
			write := func(token cluster.Token) error {
				if !table {
					return fence.Write(token, func() error { return nil })
				}
				tx, err := adm.Begin(rig.Within(t, 10*time.Second))
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback(context.Background())
				if err := m.Guard(rig.Within(t, 10*time.Second), tx, name, cluster.Write, token); err != nil {
					return err
				}
				return tx.Commit(rig.Within(t, 10*time.Second))
			}
			rig.StoppedHolder(t, url, l, name, ttl, ttl+takeover, write)
		})
	}
}

// Whatever the network does, the holder is told before the server ends the session and gives the lock away.
func TestHolderIsToldBeforeTheLeaseEnds(t *testing.T) {
	url := shared(t)
	cut := rig.Direction{Cut: true}
	for what, fault := range map[string]func(m *remote){
		"requests are lost": func(m *remote) { m.link.Set(cut, rig.Direction{}) },
		"answers are lost":  func(m *remote) { m.link.Set(rig.Direction{}, cut) },
		"both are lost":     func(m *remote) { m.link.Set(cut, cut) },
		// The answers of pings that the server has carried out come late, and then none does.
		"answers are slow, then lost": func(m *remote) {
			m.link.Set(rig.Direction{}, rig.Direction{Delay: 900 * time.Millisecond})
			time.Sleep(2 * time.Second)
			m.link.Set(rig.Direction{}, cut)
		},
		"requests are slow, then lost": func(m *remote) {
			m.link.Set(rig.Direction{Delay: 400 * time.Millisecond}, rig.Direction{})
			time.Sleep(2 * time.Second)
			m.link.Set(cut, rig.Direction{})
		},
	} {
		for _, o := range []postgres.Options{{}, {Xact: true}} {
			t.Run(fmt.Sprintf("%s, Xact=%v", what, o.Xact), func(t *testing.T) {
				t.Parallel()
				adm, name := admin(t, url), rig.Fresh(t)
				m := machine(t, url, o)
				h := rig.Locked(t, rig.NewLocker(t, m, 4*time.Second), name)
				at := make(chan time.Time, 1)
				context.AfterFunc(h.Context(), func() { at <- time.Now() })
				fault(m)
				began := time.Now()
				for len(sessions(t, adm, name)) > 0 {
					time.Sleep(5 * time.Millisecond)
				}
				ended := time.Now()
				select {
				case at := <-at:
					t.Logf("told %v before the session was gone, %v after the fault", ended.Sub(at).Round(time.Millisecond), at.Sub(began).Round(time.Millisecond))
				default:
					t.Fatal("the session was gone before the holder was told")
				}
				if err := h.Held(); !errors.Is(err, cluster.ErrLost) {
					t.Error(err)
				}
				m.link.Set(rig.Direction{}, rig.Direction{})
			})
		}
	}
}

// https://github.com/smartcontractkit/chainlink/pull/5630: the server ends the holder's session, by the hand of an
// administrator. The holder is told at once, not by its TTL.
func TestHolderIsToldOfATerminatedSession(t *testing.T) {
	url := shared(t)
	for what, end := range map[string]func(m *remote, adm *pgxpool.Pool){
		"terminated": func(m *remote, adm *pgxpool.Pool) { m.drop(t, adm) },
		"reset":      func(m *remote, _ *pgxpool.Pool) { m.link.Reset() },
	} {
		t.Run(what, func(t *testing.T) {
			adm, name := admin(t, url), rig.Fresh(t)
			m := machine(t, url, postgres.Options{})
			l := rig.NewLocker(t, m, time.Minute)
			h := rig.Locked(t, l, name)
			end(m, adm)
			if took := rig.Told(t, h); took > 10*time.Second {
				t.Errorf("told after %v with a TTL of a minute", took)
			}
			rig.Unlocked(t, rig.Locked(t, l, name)) // a new session is made
		})
	}
}

func cancelBackend(t testing.TB, adm *pgxpool.Pool, pid int32) {
	t.Helper()
	if _, err := adm.Exec(rig.Within(t, 10*time.Second), "SELECT pg_cancel_backend($1)", pid); err != nil {
		t.Fatal(err)
	}
}

// pg_cancel_backend takes a waiter its place, and it never takes another by itself. It takes a holder nothing.
func TestCancelledStatements(t *testing.T) {
	for _, o := range []postgres.Options{{}, {Xact: true}} {
		t.Run(fmt.Sprintf("Xact=%v", o.Xact), func(t *testing.T) {
			url, name := shared(t), rig.Fresh(t)
			adm := admin(t, url)
			a, b := rig.NewLocker(t, machine(t, url, o), 10*time.Second), rig.NewLocker(t, machine(t, url, o), 10*time.Second)
			c := rig.NewLocker(t, machine(t, url, o), 10*time.Second)
			h := rig.RLocked(t, a, name)
			second, third := make(chan error, 1), make(chan *cluster.Hold, 1)
			go func() { _, err := b.Lock(rig.Within(t, 30*time.Second), name); second <- err }()
			rig.Waiters(t, a, name, 1)
			go func() { third <- rig.RLocked(t, c, name) }()
			rig.Waiters(t, a, name, 2)
			for _, s := range sessions(t, adm, name) {
				if s.granted {
					cancelBackend(t, adm, s.pid)
				}
			}
			var pid int32
			if err := adm.QueryRow(rig.Within(t, 10*time.Second), `SELECT l.pid FROM pg_locks l JOIN `+schema+`.backend b USING (pid)
				WHERE NOT granted AND mode = 'ExclusiveLock' AND b.name = $1`, name).Scan(&pid); err != nil {
				t.Fatal(err)
			}
			cancelBackend(t, adm, pid)
			if err := <-second; !errors.Is(err, cluster.ErrLost) {
				t.Errorf("a waiter whose statement was cancelled: %v", err)
			}
			rig.Unlocked(t, <-third) // the door is open, and the reader inside still inside
			if err := h.Held(); err != nil {
				t.Error(err)
			}
			rig.Unlocked(t, h)
			rig.Unlocked(t, rig.Locked(t, b, name))
		})
	}
}

// The grant is not heard of: the wait ends with the place, and the lock goes to the next.
func TestUnheardGrantIsGivenBack(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	m := machine(t, url, postgres.Options{})
	a, b := rig.NewLocker(t, m, ttl), rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl)
	h := rig.Locked(t, b, name)
	first := make(chan error, 1)
	go func() { _, err := a.Lock(rig.Within(t, 30*time.Second), name); first <- err }()
	rig.Waiters(t, b, name, 1)
	m.link.Set(rig.Direction{}, rig.Direction{Cut: true})
	rig.Unlocked(t, h)
	began := time.Now()
	rig.Unlocked(t, rig.Locked(t, b, name))
	rig.AtMost(t, "takeover", began, ttl+takeover)
	if err := <-first; !errors.Is(err, cluster.ErrLost) {
		t.Error(err)
	}
	m.link.Set(rig.Direction{}, rig.Direction{})
	rig.Unlocked(t, rig.Locked(t, a, name))
}

// The answer to the release is lost: the next one enters at once, and the call ends with the lease.
func TestLostAnswerToRelease(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	m := machine(t, url, postgres.Options{})
	a, b := rig.NewLocker(t, m, 4*time.Second), rig.NewLocker(t, machine(t, url, postgres.Options{}), 4*time.Second)
	h := rig.Locked(t, a, name)
	m.link.Set(rig.Direction{}, rig.Direction{Cut: true})
	began := time.Now()
	released := make(chan error, 1)
	go func() { released <- h.Unlock(rig.Within(t, 30*time.Second)) }()
	rig.Unlocked(t, rig.Locked(t, b, name))
	rig.AtMost(t, "the next one entered", began, 2*time.Second)
	if err := <-released; !errors.Is(err, cluster.ErrLost) {
		t.Errorf("nobody knows whether the release was in time: %v", err)
	}
	rig.AtMost(t, "the call ended", began, 4*time.Second+takeover)
	m.link.Set(rig.Direction{}, rig.Direction{})
	rig.Unlocked(t, rig.Locked(t, a, name))
}

// A caller gives up while its machine is cut off, at each step of the way; it is back at once.
func TestCancelReturnsWhileCutOff(t *testing.T) {
	url := shared(t)
	for _, o := range []postgres.Options{{}, {Xact: true}} {
		for _, step := range []string{"before it connects", "on the way", "in the queue"} {
			t.Run(fmt.Sprintf("%s, Xact=%v", step, o.Xact), func(t *testing.T) {
				name := rig.Fresh(t)
				m := machine(t, url, o)
				a, b := rig.NewLocker(t, m, ttl), rig.NewLocker(t, machine(t, url, o), ttl)
				h := rig.Locked(t, b, name)
				if step != "before it connects" {
					rig.Unlocked(t, rig.Locked(t, a, rig.Fresh(t)))
				}
				if step != "in the queue" {
					m.cut(true)
				}
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan error, 1)
				go func() { _, err := a.Lock(ctx, name); done <- err }()
				if step == "in the queue" {
					rig.Waiters(t, b, name, 1)
					m.cut(true)
				} else {
					time.Sleep(100 * time.Millisecond)
				}
				gave := time.Now()
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				rig.AtMost(t, "the call came back", gave, time.Second)
				rig.Unlocked(t, h)
				rig.Unlocked(t, rig.Locked(t, b, name))
				m.cut(false)
				rig.Unlocked(t, rig.Locked(t, a, name))
			})
		}
	}
}

// The server crashes and comes back: holders and waiters are told, tokens go on rising, and everything works again.
func TestServerCrashes(t *testing.T) {
	for _, o := range []postgres.Options{{}, {Xact: true}} {
		t.Run(fmt.Sprintf("Xact=%v", o.Xact), func(t *testing.T) {
			s, name := start(t), rig.Fresh(t)
			a, b := rig.NewLocker(t, machine(t, s.url(), o), 10*time.Second), rig.NewLocker(t, machine(t, s.url(), o), 10*time.Second)
			snapshot, err := cluster.NewSnapshot(rig.Within(t, 10*time.Second), machine(t, s.url(), o), name, cluster.Codec[int]{})
			if err != nil {
				t.Fatal(err)
			}
			defer snapshot.Close()
			before, err := snapshot.Publish(rig.Within(t, 10*time.Second), 1)
			if err != nil {
				t.Fatal(err)
			}
			h := rig.Locked(t, a, name)
			waiting := make(chan error, 1)
			go func() { _, err := b.RLock(rig.Within(t, 30*time.Second), name); waiting <- err }()
			rig.Waiters(t, b, name, 1)
			s.stop()
			rig.Told(t, h)
			if err := <-waiting; !errors.Is(err, cluster.ErrLost) {
				t.Error(err)
			}
			// Calls wait for the server to come back.
			next := make(chan *cluster.Hold, 1)
			go func() { next <- rig.Locked(t, b, name) }()
			time.Sleep(100 * time.Millisecond)
			s.begin(t)
			n := <-next
			if n.Token() <= h.Token() {
				t.Errorf("token %d after %d", n.Token(), h.Token())
			}
			rig.Unlocked(t, n)
			after, err := snapshot.Publish(rig.Within(t, 10*time.Second), 2)
			if err != nil || after <= before {
				t.Errorf("version %d after %d, %v", after, before, err)
			}
		})
	}
}

// A standby that had not heard of the last tokens is promoted: tokens and versions rise all the same.
func TestTokensRiseAcrossFailover(t *testing.T) {
	s, name := start(t), rig.Fresh(t)
	standby := s.backup(t)
	last := cluster.Token(0)
	var version uint64
	publish := func(s *server) uint64 {
		v, err := machine(t, s.url(), postgres.Options{}).Store(rig.Within(t, 10*time.Second), name, []byte("1"), cluster.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for range 100 { // lost with the primary
		h := rig.Locked(t, rig.NewLocker(t, machine(t, s.url(), postgres.Options{}), 10*time.Second), name)
		last, version = h.Token(), publish(s)
		rig.Unlocked(t, h)
	}
	standby.begin(t)
	// Of two hosts the one that is no standby is found; a standby alone is refused.
	l := rig.NewLocker(t, machine(t, standby.url(), postgres.Options{}), 10*time.Second)
	_, err := l.Lock(rig.Within(t, 2*time.Second), name)
	var we *cluster.WaitError
	if !errors.As(err, &we) || we.Last == nil {
		t.Errorf("a lock on a standby: %v", err)
	} else {
		t.Log(err)
	}
	s.stop()
	if _, err := admin(t, standby.url()).Exec(rig.Within(t, 30*time.Second), "SELECT pg_promote()"); err != nil {
		t.Fatal(err)
	}
	h := rig.RLocked(t, l, name)
	if h.Token() < last {
		t.Errorf("a reader's token %d after %d", h.Token(), last)
	}
	reader := h.Token()
	rig.Unlocked(t, h)
	h = rig.Locked(t, l, name)
	if h.Token() <= reader {
		t.Errorf("token %d after %d", h.Token(), reader)
	}
	rig.Unlocked(t, h)
	if v := publish(standby); v <= version {
		t.Errorf("version %d after %d", v, version)
	}
}

// A statement that is cancelled at the moment of the grant fails, and its session has the lock all the same. It must not
// keep it.
func TestCancelAtTheMomentOfTheGrantKeepsNoLock(t *testing.T) {
	for _, o := range []postgres.Options{{}, {Xact: true}} {
		t.Run(fmt.Sprintf("Xact=%v", o.Xact), func(t *testing.T) {
			url, name := shared(t), rig.Fresh(t)
			adm := admin(t, url)
			a, b := rig.NewLocker(t, machine(t, url, o), time.Minute), rig.NewLocker(t, machine(t, url, o), time.Minute)
			for i := range 100 {
				h := rig.Locked(t, a, name)
				done := make(chan struct{})
				go func() {
					defer close(done)
					h, err := b.Lock(rig.Within(t, 30*time.Second), name)
					if err == nil {
						err = h.Unlock(rig.Within(t, 30*time.Second)) // whose statement may be the one, too
					}
					if err != nil && !errors.Is(err, cluster.ErrLost) {
						t.Error(err)
					}
				}()
				rig.Waiters(t, a, name, 1)
				cancelled := make(chan struct{})
				go func() {
					defer close(cancelled)
					time.Sleep(time.Duration(i) * 10 * time.Microsecond)
					adm.Exec(rig.Within(t, 10*time.Second), `SELECT pg_cancel_backend(l.pid) FROM pg_locks l JOIN `+schema+`.backend b USING (pid)
						WHERE locktype = 'advisory' AND b.name = $1`, name)
				}()
				if err := h.Unlock(rig.Within(t, 30*time.Second)); err != nil && !errors.Is(err, cluster.ErrLost) {
					t.Error(err) // its statement may be the one that is cancelled; then nobody knows
				}
				<-done
				<-cancelled
				for began := time.Now(); len(sessions(t, adm, name)) > 0; time.Sleep(time.Millisecond) {
					if time.Since(began) > 5*time.Second {
						t.Fatalf("nobody holds or waits, and the server has %+v", sessions(t, adm, name))
					}
				}
			}
		})
	}
}
