package postgres

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/clustertest"
	"github.com/drawbridge-go/drawbridge/cluster/postgres"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

var soak = flag.Duration("soak", 0, "run the storm again and again for so long")

// verify holds a history against everything that must be true of it.
func verify(t *testing.T, h clustertest.History) {
	t.Helper()
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	if err := tokens(h); err != nil {
		t.Error(err)
	}
	if err := rig.Linearizable(h); err != nil {
		t.Error(err)
	}
}

// tokens: no two write holds have one token; and a reader that saw a writer leave before it was granted, and no other come
// until it left, has that writer's token.
func tokens(h clustertest.History) error {
	type key struct {
		name  string
		token cluster.Token
	}
	writers := make(map[key]clustertest.Attempt)
	byName := make(map[string][]clustertest.Attempt)
	for _, a := range h.Attempts {
		if a.Outcome == clustertest.GaveUp {
			continue
		}
		if a.Token>>40 < 1 {
			return fmt.Errorf("no timeline in the token of %+v", a)
		}
		byName[a.Name] = append(byName[a.Name], a)
		if a.Mode != cluster.Write {
			continue
		}
		if b, twice := writers[key{a.Name, a.Token}]; twice {
			return fmt.Errorf("two writers with one token: %+v and %+v", b, a)
		}
		writers[key{a.Name, a.Token}] = a
	}
	for _, as := range byName {
		for _, r := range as {
			if r.Mode != cluster.Read {
				continue
			}
			w, ok := writers[key{r.Name, r.Token}]
			if ok && w.Outcome == clustertest.Unlocked && w.Answered > r.Left {
				return fmt.Errorf("%+v has the token of a later writer, %+v", r, w)
			}
		}
	}
	return nil
}

// At least 10,000 calls of three machines, a tenth of them cancelled, while sessions are terminated, statements cancelled,
// holds removed, connections reset, links slow and unused names pruned.
func TestStormOfCancelsAndFaults(t *testing.T) {
	storm(t, shared(t), shared(t), postgres.Options{Connections: 6}, 25)
}

func TestStormBehindTransactionPooler(t *testing.T) {
	storm(t, shared(t), pooler(t, shared(t), "transaction"), postgres.Options{Xact: true}, 5)
}

func storm(t *testing.T, direct, url string, o postgres.Options, rounds int) {
	adm := admin(t, direct)
	end := time.Now().Add(*soak)
	total := make(map[clustertest.Outcome]int)
	for round := 0; round < rounds || time.Now().Before(end); round++ {
		for _, a := range stormRound(t, adm, url, o, round).Attempts {
			total[a.Outcome]++
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("%d calls: %d gave up, %d unlocked, %d lost", total[0]+total[1]+total[2], total[clustertest.GaveUp], total[clustertest.Unlocked], total[clustertest.Lost])
	if total[0]+total[1]+total[2] < 400*rounds || total[clustertest.Lost] == 0 || total[clustertest.GaveUp] < 20*rounds {
		t.Error("the storm was too calm to mean anything")
	}
}

func stormRound(t *testing.T, adm *pgxpool.Pool, url string, o postgres.Options, round int) clustertest.History {
	machines := []*remote{machine(t, url, o), machine(t, url, o), machine(t, url, o)}
	storm := clustertest.Storm{Clients: 4, Calls: 420, Cancels: 0.1, Hold: time.Millisecond}
	for i := range 4 {
		storm.Names = append(storm.Names, fmt.Sprintf("storm/%d/%d/%d", time.Now().UnixNano(), round, i))
	}
	for _, m := range machines {
		storm.Lockers = append(storm.Lockers, rig.NewLocker(t, m, 2*time.Second))
	}
	stop := rig.Every(40*time.Millisecond, func() {
		m := machines[rand.N(len(machines))]
		switch rand.N(8) {
		case 0:
			m.drop(t, adm)
		case 1:
			m.link.Reset()
		case 2:
			m.link.Set(rig.Direction{}, rig.Direction{Delay: rand.N(20 * time.Millisecond)})
		case 3:
			m.link.Set(rig.Direction{Delay: rand.N(20 * time.Millisecond)}, rig.Direction{})
		case 4:
			m.link.Set(rig.Direction{}, rig.Direction{})
		case 5:
			cancelAll(t, adm)
		case 6:
			removeOne(t, m, storm.Names)
		case 7:
			if _, err := m.Prune(rig.Within(t, 10*time.Second)); err != nil {
				t.Log("pruning: ", err) // its connection may have been reset
			}
		}
	})
	h, err := storm.Run(rig.Within(t, 2*time.Minute))
	stop()
	if err != nil {
		t.Error(err)
	}
	for _, m := range machines {
		m.link.Set(rig.Direction{}, rig.Direction{})
	}
	for _, l := range storm.Lockers {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	verify(t, h)
	nothingLeft(t, adm, machines...)
	return h
}

// cancelAll cancels whatever sessions with a lock, or waiting for one, are doing.
func cancelAll(t testing.TB, adm *pgxpool.Pool) {
	if _, err := adm.Exec(rig.Within(t, 10*time.Second), `SELECT pg_cancel_backend(pid) FROM pg_locks WHERE locktype = 'advisory'`); err != nil {
		t.Error(err)
	}
}

// removeOne releases the hold of somebody, as an operator would.
func removeOne(t testing.TB, m *remote, names []string) {
	ctx, name := rig.Within(t, 10*time.Second), names[rand.N(len(names))]
	entries, err := m.Entries(ctx, name)
	if err == nil && len(entries) > 0 {
		err = m.Remove(ctx, name, entries[0].Token)
	}
	if err != nil && !errors.Is(err, cluster.ErrLost) {
		t.Log("removing: ", err) // its connection may have been reset
	}
}

// nothingLeft: with the Lockers closed no session of these machines has a lock or waits for one, and with the engines
// closed there is none at all, except those that a pooler keeps.
func nothingLeft(t testing.TB, adm *pgxpool.Pool, machines ...*remote) {
	t.Helper()
	var names []string
	for _, m := range machines {
		names = append(names, m.name)
	}
	gone := func(what, query string) {
		t.Helper()
		ctx := rig.Within(t, 20*time.Second)
		for n := 1; ; time.Sleep(10 * time.Millisecond) {
			if err := adm.QueryRow(ctx, query, names).Scan(&n); err != nil {
				t.Fatalf("%d %s left: %v", n, what, err)
			}
			if n == 0 {
				return
			}
		}
	}
	gone("locks", `SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND application_name = ANY($1)`)
	for _, m := range machines {
		m.Close()
	}
	gone("transactions", `SELECT count(*) FROM pg_stat_activity WHERE application_name = ANY($1) AND xact_start IS NOT NULL`)
}

func TestNoGoroutineAndNoConnectionIsLeft(t *testing.T) {
	url := shared(t)
	adm := admin(t, url)
	if err := adm.Ping(rig.Within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	ignore := goleak.IgnoreCurrent()
	engine, err := postgres.Open(url+"&application_name=leaks", postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	rig.UseAndClose(t, engine, 400)
	goleak.VerifyNone(t, ignore)
	for ctx, n := rig.Within(t, 20*time.Second), 1; n > 0; time.Sleep(10 * time.Millisecond) {
		if err := adm.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'leaks'`).Scan(&n); err != nil {
			t.Fatalf("%d connections left: %v", n, err)
		}
	}
}
