package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/postgres"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

// Eight processes make the tables at once, some by the function and some by the printed SQL.
func TestMigrateTwiceAtOnce(t *testing.T) {
	url := shared(t)
	o := postgres.Options{Schema: fmt.Sprintf("user_%d", time.Now().UnixNano())}
	adm := admin(t, url)
	t.Cleanup(func() { adm.Exec(rig.Within(t, 10*time.Second), "DROP SCHEMA "+o.Schema+" CASCADE") })
	e, err := postgres.Open(url, o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = rig.NewLocker(t, e, ttl).Lock(rig.Within(t, 10*time.Second), "name")
	if err == nil || !strings.Contains(err.Error(), "postgres.Migrate") {
		t.Errorf("a lock without tables: %v", err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if i%2 == 0 {
				if err := postgres.Migrate(rig.Within(t, time.Minute), e); err != nil {
					t.Error(err)
				}
				return
			}
			c, err := pgx.Connect(rig.Within(t, time.Minute), url)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close(context.Background())
			if _, err := c.PgConn().Exec(rig.Within(t, time.Minute), postgres.SQL(o)).ReadAll(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	h := rig.Locked(t, rig.NewLocker(t, e, ttl), "name")
	if err := postgres.Migrate(rig.Within(t, time.Minute), e); err != nil { // under a hold
		t.Error(err)
	}
	rig.Unlocked(t, h)
	// Another schema is another world.
	rig.Unlocked(t, rig.Locked(t, rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl), "name"))
}

// An older server is refused, by what it says of itself and by what it does not know.
func TestOlderServerIsRefused(t *testing.T) {
	for what, answer := range map[string]func(*pgproto3.Backend){
		"its version": func(b *pgproto3.Backend) {
			b.Send(&pgproto3.AuthenticationOk{})
			b.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{1, 2, 3, 4}})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			b.Flush()
			for {
				m, err := b.Receive()
				if err != nil {
					return
				}
				if _, ok := m.(*pgproto3.Sync); !ok {
					continue
				}
				column := func(name string, oid uint32) pgproto3.FieldDescription {
					return pgproto3.FieldDescription{Name: []byte(name), DataTypeOID: oid, DataTypeSize: -1, TypeModifier: -1}
				}
				b.Send(&pgproto3.ParseComplete{})
				b.Send(&pgproto3.BindComplete{})
				b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{column("v", 23), column("e", 25), column("i", 25), column("t", 16)}})
				b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("130014"), []byte("UTF8"), []byte("read committed"), []byte("t")}})
				b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
				b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
				b.Flush()
			}
		},
		"a setting": func(b *pgproto3.Backend) {
			b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "42704", Message: `unrecognized configuration parameter "idle_session_timeout"`})
			b.Flush()
		},
	} {
		t.Run(what, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var done sync.WaitGroup
			t.Cleanup(done.Wait)
			t.Cleanup(func() { l.Close() })
			done.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					done.Go(func() {
						defer c.Close()
						b := pgproto3.NewBackend(c, c)
						if _, err := b.ReceiveStartupMessage(); err == nil {
							answer(b)
						}
					})
				}
			})
			e, err := postgres.Open(fmt.Sprintf("postgres://u@%s/d?sslmode=disable", l.Addr()), postgres.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			_, err = rig.NewLocker(t, e, ttl).Lock(rig.Within(t, 10*time.Second), "name")
			if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "14 or later is needed") {
				t.Errorf("an older server: %v", err)
			}
			t.Log(err)
		})
	}
}

func TestPasswordsAreNotRepeated(t *testing.T) {
	const secret = "s3cr3t"
	for _, url := range []string{
		"postgres://u:" + secret + "@127.0.0.1:1/d",
		"postgres://u:" + secret + "@127.0.0.1:x/d",
		"postgres://u:" + secret + "%zz@127.0.0.1:1/d",
		"postgres://u:" + secret + "@127.0.0.1:1/d?xact=perhaps",
		"host=127.0.0.1 port=1 user=u password=" + secret,
		"host=127.0.0.1 port=x user=u password=" + secret,
		secret + "=" + secret,
	} {
		e, err := postgres.Open(url, postgres.Options{})
		if err == nil {
			_, err = rig.NewLocker(t, e, ttl).Lock(rig.Within(t, 300*time.Millisecond), "name")
			e.Close()
		}
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("the error for a bad URL is %v", err)
		}
	}
}

// The options in a URL, as commands take it.
func TestOptionsInURL(t *testing.T) {
	e, err := postgres.Open(shared(t)+"&xact=true&schema="+schema, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	adm, name := admin(t, shared(t)), rig.Fresh(t)
	h := rig.Locked(t, rig.NewLocker(t, e, ttl), name)
	var open bool
	if err := adm.QueryRow(rig.Within(t, 10*time.Second), `SELECT xact_start IS NOT NULL FROM pg_stat_activity WHERE pid = $1`, sessions(t, adm, name)[0].pid).Scan(&open); err != nil || !open {
		t.Errorf("no transaction is open: %v", err)
	}
	rig.Unlocked(t, h)
}

// A transaction that keeps a lock open must not keep the rest of the database from being vacuumed.
func TestOpenTransactionHoldsNothingElse(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	adm := admin(t, url)
	h := rig.Locked(t, rig.NewLocker(t, machine(t, url, postgres.Options{Xact: true}), ttl), name)
	var xid, xmin *string
	if err := adm.QueryRow(rig.Within(t, 10*time.Second), `SELECT backend_xid::text, backend_xmin::text FROM pg_stat_activity WHERE pid = $1 AND xact_start IS NOT NULL`,
		sessions(t, adm, name)[0].pid).Scan(&xid, &xmin); err != nil || xid != nil || xmin != nil {
		t.Errorf("the open transaction has a number or a snapshot: %v, %v, %v", xid, xmin, err)
	}
	rig.Unlocked(t, h)
}

// Of a process, however many of its calls wait for one name, one session waits, and they are granted in order.
func TestOneSessionWaitsForAName(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	adm := admin(t, url)
	a, b := rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl), rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl)
	h := rig.Locked(t, a, name)
	order := make(chan int, 10)
	var calls sync.WaitGroup
	for i := range 10 {
		calls.Go(func() {
			h := rig.Locked(t, b, name)
			order <- i
			rig.Unlocked(t, h)
		})
		for {
			st, err := b.State(rig.Within(t, 10*time.Second), name)
			if err != nil {
				t.Fatal(err)
			}
			if len(st.Waiters)+st.Queued == i+1 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	if all := sessions(t, adm, name); len(all) != 2 {
		t.Errorf("sessions %+v, want the holder's and one that waits", all)
	}
	rig.Unlocked(t, h)
	calls.Wait()
	for i := range 10 {
		if got := <-order; got != i {
			t.Errorf("call %d was granted as number %d", got, i)
		}
	}
}

// Readers that wait in one process enter on one session. A later one asks by a new session, and then the old one goes.
func TestReadersShareASession(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	adm := admin(t, url)
	a, b := rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl), rig.NewLocker(t, machine(t, url, postgres.Options{}), ttl)
	w := rig.Locked(t, a, name)
	inside := make(chan *cluster.Hold, 10)
	for range 10 {
		go func() { inside <- rig.RLocked(t, b, name) }()
	}
	for {
		st, err := b.State(rig.Within(t, 10*time.Second), name)
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Waiters)+st.Queued == 10 {
			break
		}
	}
	rig.Unlocked(t, w)
	var holds []*cluster.Hold
	for range 10 {
		holds = append(holds, <-inside)
	}
	before := sessions(t, adm, name)
	if len(before) != 1 || !before[0].granted {
		t.Errorf("sessions %+v, want one", before)
	}
	holds = append(holds, rig.RLocked(t, b, name))
	for len(sessions(t, adm, name)) != 1 {
		time.Sleep(time.Millisecond)
	}
	if after := sessions(t, adm, name); after[0] == before[0] {
		t.Error("the later reader did not ask by a session of its own")
	}
	for _, h := range holds {
		if err := h.Held(); err != nil {
			t.Error(err)
		}
		rig.Unlocked(t, h)
	}
	if all := sessions(t, adm, name); len(all) != 0 {
		t.Errorf("sessions %+v are left", all)
	}
}

// With all connections in use further calls wait in the process; when one is free, they go on.
func TestConnectionsAreCapped(t *testing.T) {
	url := shared(t)
	adm := admin(t, url)
	m := machine(t, url, postgres.Options{Connections: 3})
	l := rig.NewLocker(t, m, ttl)
	var holds []*cluster.Hold
	for range 3 {
		holds = append(holds, rig.Locked(t, l, rig.Fresh(t)))
	}
	next := make(chan *cluster.Hold, 20)
	for range 20 {
		go func() { next <- rig.Locked(t, l, rig.Fresh(t)) }()
	}
	time.Sleep(100 * time.Millisecond)
	var n int
	if err := adm.QueryRow(rig.Within(t, 10*time.Second), `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, m.name).Scan(&n); err != nil || n > 3+4 {
		t.Errorf("%d connections, %v", n, err)
	}
	select {
	case <-next:
		t.Fatal("a fourth connection")
	default:
	}
	rig.Unlocked(t, holds[0])
	for range 20 {
		rig.Unlocked(t, <-next)
	}
	rig.Unlocked(t, holds[1])
	rig.Unlocked(t, holds[2])
}

// What Prune removes begins again above where it was; what is in use stays.
func TestPruneKeepsAFloor(t *testing.T) {
	url := shared(t)
	adm := admin(t, url)
	m := machine(t, url, postgres.Options{})
	l := rig.NewLocker(t, m, 10*time.Second)
	rows := func(names ...string) (n int) {
		t.Helper()
		if err := adm.QueryRow(rig.Within(t, 10*time.Second), `SELECT count(*) FROM `+schema+`.lock WHERE name = ANY($1)`, names).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	used, inUse := rig.Fresh(t), rig.Fresh(t)
	last := cluster.Token(0)
	for range 5 {
		h := rig.Locked(t, l, used)
		last = h.Token()
		rig.Unlocked(t, h)
	}
	reader := rig.RLocked(t, l, inUse)
	if n, err := m.Prune(rig.Within(t, time.Minute)); err != nil || n < 1 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	if rows(used) != 0 || rows(inUse) != 1 {
		t.Errorf("%d rows of a name out of use, %d of one in use", rows(used), rows(inUse))
	}
	second := rig.RLocked(t, l, inUse)
	if err := reader.Held(); err != nil || second.Token() != reader.Token() {
		t.Errorf("a reader's token went from %d to %d, %v", reader.Token(), second.Token(), err)
	}
	rig.Unlocked(t, reader)
	rig.Unlocked(t, second)
	r := rig.RLocked(t, l, used)
	if r.Token() < last {
		t.Errorf("a reader's token %d after the writer's %d", r.Token(), last)
	}
	rig.Unlocked(t, r)
	w := rig.Locked(t, l, used)
	if w.Token() <= last || w.Token() <= r.Token() {
		t.Errorf("token %d after %d and a reader's %d", w.Token(), last, r.Token())
	}
	rig.Unlocked(t, w)
}

// The fence in a table follows the rule, and a transaction that it refused changes nothing.
func TestGuardFollowsTheRule(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	adm := admin(t, url)
	m := machine(t, url, postgres.Options{})
	guard := func(mode cluster.Mode, token cluster.Token) error {
		return pgx.BeginFunc(rig.Within(t, 10*time.Second), adm, func(tx pgx.Tx) error {
			return m.Guard(rig.Within(t, 10*time.Second), tx, name, mode, token)
		})
	}
	for i, step := range []struct {
		mode  cluster.Mode
		token cluster.Token
		stale bool
	}{
		{cluster.Write, 0, true},
		{cluster.Read, 0, true},
		{cluster.Write, 5, false},
		{cluster.Write, 5, false}, // a writer goes on writing
		{cluster.Write, 4, true},
		{cluster.Read, 4, true},
		{cluster.Read, 5, false},
		{cluster.Write, 5, true}, // a reader was here
		{cluster.Write, 6, false},
		{cluster.Read, 5, true},
		{cluster.Read, 9, false},
		{cluster.Read, 7, false}, // readers need no order among themselves
		{cluster.Write, 9, true},
		{cluster.Write, 10, false},
	} {
		err := guard(step.mode, step.token)
		if step.stale != errors.Is(err, cluster.ErrStale) || err != nil && !step.stale {
			t.Errorf("step %d, %v with token %d: %v", i, step.mode, step.token, err)
		}
	}
	if err := m.Guard(rig.Within(t, time.Second), nil, "", cluster.Write, 1); !errors.Is(err, cluster.ErrName) {
		t.Error(err)
	}
}

// Between the check and the commit nobody else passes the fence: an operation already past its check is through before
// the next holder's begins.
func TestGuardLastsUntilCommit(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	adm := admin(t, url)
	m := machine(t, url, postgres.Options{})
	tx, err := adm.Begin(rig.Within(t, 30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Guard(rig.Within(t, 10*time.Second), tx, name, cluster.Write, 1); err != nil {
		t.Fatal(err)
	}
	next := make(chan error, 1)
	go func() {
		next <- pgx.BeginFunc(rig.Within(t, 30*time.Second), adm, func(tx pgx.Tx) error {
			return m.Guard(rig.Within(t, 30*time.Second), tx, name, cluster.Write, 2)
		})
	}()
	select {
	case err := <-next:
		t.Errorf("passed while the one before was under way: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := tx.Commit(rig.Within(t, 10*time.Second)); err != nil {
		t.Error(err)
	}
	if err := <-next; err != nil {
		t.Error(err)
	}
}

// A value that is stored under a hold is there before the next holder is granted the lock, even if the hold ended
// while it was being stored.
func TestNextHolderWaitsForAStoreUnderTheLastHold(t *testing.T) {
	for _, mode := range []cluster.Mode{cluster.Read, cluster.Write} {
		t.Run(mode.String(), func(t *testing.T) {
			url, name := shared(t), rig.Fresh(t)
			adm := admin(t, url)
			m := machine(t, url, postgres.Options{})
			a, b := rig.NewLocker(t, m, 10*time.Second), rig.NewLocker(t, machine(t, url, postgres.Options{}), 10*time.Second)
			s, err := cluster.NewSnapshot(rig.Within(t, 10*time.Second), m, name, cluster.Codec[int]{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Publish(rig.Within(t, 10*time.Second), 1); err != nil {
				t.Fatal(err)
			}
			h := rig.Locked(t, a, name)
			// Somebody keeps the value's row, so that the store gets as far as that and no further.
			row, err := adm.Begin(rig.Within(t, 30*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := row.Exec(rig.Within(t, 10*time.Second), `SELECT FROM `+schema+`.value WHERE name = $1 FOR UPDATE`, name); err != nil {
				t.Fatal(err)
			}
			stored := make(chan error, 1)
			go func() { _, err := s.PublishHeld(rig.Within(t, 30*time.Second), h, 2); stored <- err }()
			for n := 0; n == 0; time.Sleep(time.Millisecond) {
				if err := adm.QueryRow(rig.Within(t, 10*time.Second), `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`, m.name).Scan(&n); err != nil {
					t.Fatal(err)
				}
			}
			m.drop(t, adm) // the hold ends
			next := make(chan *cluster.Hold, 1)
			go func() {
				if mode == cluster.Read {
					next <- rig.RLocked(t, b, name)
				} else {
					next <- rig.Locked(t, b, name)
				}
			}()
			var n *cluster.Hold
			select {
			case n = <-next:
				t.Error("granted while a store under the last hold could still change the value")
			case <-time.After(300 * time.Millisecond):
			}
			if err := row.Commit(rig.Within(t, 10*time.Second)); err != nil {
				t.Fatal(err)
			}
			if n == nil {
				n = <-next
			}
			was, err := m.Value(rig.Within(t, 10*time.Second), name)
			if err != nil {
				t.Fatal(err)
			}
			err = <-stored
			if string(was.Data) != "2" || err != nil {
				t.Errorf("the next holder finds %s; the store under the last hold: %v", was.Data, err)
			}
			rig.Unlocked(t, n)
		})
	}
}

// A publication is told, and does not wait to be asked for; and when it was not told it is asked for.
func TestSnapshotIsToldAndAsks(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	adm := admin(t, url)
	o := postgres.Options{Poll: time.Hour}
	a := machine(t, url, o)
	told, err := cluster.NewSnapshot(rig.Within(t, 10*time.Second), machine(t, url, o), name, cluster.Codec[int]{})
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	asks, err := cluster.NewSnapshot(rig.Within(t, 10*time.Second), machine(t, url, postgres.Options{Poll: 200 * time.Millisecond}), name, cluster.Codec[int]{})
	if err != nil {
		t.Fatal(err)
	}
	defer asks.Close()
	last := uint64(0)
	for v := range 5 {
		version, err := a.Store(rig.Within(t, 10*time.Second), name, fmt.Append(nil, v), cluster.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		if got, at, err := told.Wait(rig.Within(t, 20*time.Second), last); err != nil || got != v || at != version {
			t.Errorf("Wait is (%d, %d, %v), want (%d, %d, nil)", got, at, err, v, version)
		}
		last = version
	}
	// The trigger that tells is passed by.
	if err := pgx.BeginFunc(rig.Within(t, 10*time.Second), adm, func(tx pgx.Tx) error {
		_, err := tx.Exec(rig.Within(t, 10*time.Second), "SET LOCAL session_replication_role = replica")
		if err == nil {
			_, err = tx.Exec(rig.Within(t, 10*time.Second), `UPDATE `+schema+`.value SET version = version + 1000, data = '77' WHERE name = $1`, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got, _, err := asks.Wait(rig.Within(t, 20*time.Second), last); err != nil || got != 77 {
		t.Errorf("asked for, Wait is (%d, %v)", got, err)
	}
	if got, at, _ := told.Load(); at != last {
		t.Errorf("(%d, %d) was not told and not asked for", got, at)
	}
}

// The connection that listens is ended; what is published meanwhile is not missed.
func TestSnapshotOutlivesItsConnections(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	adm := admin(t, url)
	m := machine(t, url, postgres.Options{Poll: time.Hour})
	s, err := cluster.NewSnapshot(rig.Within(t, 10*time.Second), m, name, cluster.Codec[int]{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	last := uint64(0)
	for v := range 5 {
		if _, err := adm.Exec(rig.Within(t, 10*time.Second), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`, m.name); err != nil {
			t.Fatal(err)
		}
		var version uint64
		err := adm.QueryRow(rig.Within(t, 10*time.Second), `INSERT INTO `+schema+`.value (name, data) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET data = excluded.data RETURNING version`, name, fmt.Append(nil, v)).Scan(&version)
		if err != nil {
			t.Fatal(err)
		}
		if got, at, err := s.Wait(rig.Within(t, 20*time.Second), last); err != nil || got != v || at != version {
			t.Errorf("Wait is (%d, %d, %v), want (%d, %d, nil)", got, at, err, v, version)
		}
		last = version
	}
}

// Deleted and made again, by hand and in every order, a value's versions rise.
func TestVersionsRiseAcrossDeletions(t *testing.T) {
	url, name := shared(t), rig.Fresh(t)
	adm := admin(t, url)
	m := machine(t, url, postgres.Options{})
	ctx, cancel := context.WithCancel(rig.Within(t, time.Minute))
	defer cancel()
	seen := make(chan cluster.Value, 100)
	go m.Watch(ctx, name, 0, func(v *cluster.Value) {
		if v != nil {
			seen <- *v
		}
	})
	last := uint64(0)
	for i, statement := range []string{
		"store", `DELETE FROM ` + schema + `.value WHERE name = $1`, "store",
		`UPDATE ` + schema + `.value SET data = NULL WHERE name = $1`, "store",
		`UPDATE ` + schema + `.value SET data = NULL WHERE name = $1`, `DELETE FROM ` + schema + `.value WHERE name = $1`, "store",
	} {
		stored := statement == "store"
		if stored {
			if _, err := m.Store(ctx, name, []byte("1"), cluster.Condition{At: new(uint64)}); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
		} else if _, err := adm.Exec(ctx, statement, name); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		select {
		case v := <-seen:
			if v.Version <= last || v.Deleted == stored {
				t.Errorf("step %d: %+v after version %d", i, v, last)
			}
			last = v.Version
		case <-time.After(20 * time.Second):
			t.Fatalf("step %d was never seen", i)
		}
		if _, err := m.Store(ctx, name, []byte("1"), cluster.Condition{At: new(last + 1)}); !errors.Is(err, cluster.ErrConflict) {
			t.Errorf("step %d: a store at another version: %v", i, err)
		}
	}
}

// Importing the engine brings pgx and what pgx needs, and nothing else.
func TestWhatTheImportBrings(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "github.com/drawbridge-go/drawbridge/cluster/postgres")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	got := slices.Compact(modules)
	want := []string{
		"github.com/drawbridge-go/drawbridge",
		"github.com/drawbridge-go/drawbridge/cluster/postgres",
		"github.com/jackc/pgpassfile",
		"github.com/jackc/pgservicefile",
		"github.com/jackc/pgx/v5",
		"github.com/jackc/puddle/v2",
		"golang.org/x/sync",
		"golang.org/x/text",
	}
	if !slices.Equal(got, want) {
		t.Errorf("modules %q, want %q", got, want)
	}
}
