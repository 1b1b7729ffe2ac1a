package etcd

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/clustertest"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

var soak = flag.Duration("soak", 0, "run the storm again and again for so long")

func revision(h *cluster.Hold) int64 {
	rev, err := etcd.Revision(h)
	if err != nil {
		panic(err)
	}
	return rev
}

// verify holds a history against everything that must be true of it.
func verify(t *testing.T, h clustertest.History, spans []*span) {
	t.Helper()
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	grants, err := audit(spans, h)
	if err != nil {
		t.Error(err)
	}
	if grants == 0 {
		t.Error("no grant in the whole storm")
	}
	if err := rig.Linearizable(h); err != nil {
		t.Error(err)
	}
}

// At least 10,000 calls of three machines, a tenth of them cancelled, while leases are revoked early, keys deleted by hand,
// connections reset, links slow and the history compacted.
func TestStormOfCancelsAndFaults(t *testing.T) {
	endpoint := shared(t)[0]
	admin := dial(t, endpoint)
	end := time.Now().Add(*soak)
	total := make(map[clustertest.Outcome]int)
	for round := 0; round < 25 || time.Now().Before(end); round++ {
		passed := t.Run(fmt.Sprint(round), func(t *testing.T) { // so that its machines go with it
			for _, a := range stormRound(t, admin, endpoint, round).Attempts {
				total[a.Outcome]++
			}
		})
		if !passed {
			t.FailNow()
		}
	}
	t.Logf("%d calls: %d gave up, %d unlocked, %d lost", total[0]+total[1]+total[2], total[clustertest.GaveUp], total[clustertest.Unlocked], total[clustertest.Lost])
	if total[0]+total[1]+total[2] < 10000 || total[clustertest.Lost] == 0 || total[clustertest.GaveUp] < 500 {
		t.Error("the storm was too calm to mean anything")
	}
}

func stormRound(t *testing.T, admin *clientv3.Client, endpoint string, round int) clustertest.History {
	machines := []*remote{machine(t, endpoint), machine(t, endpoint), machine(t, endpoint)}
	log := keepLog(t, admin)
	storm := clustertest.Storm{Clients: 4, Calls: 420, Cancels: 0.1, Hold: time.Millisecond, Note: revision}
	for i := range 4 {
		storm.Names = append(storm.Names, fmt.Sprintf("storm/%d/%d/%d", time.Now().UnixNano(), round, i))
	}
	for _, m := range machines {
		storm.Lockers = append(storm.Lockers, rig.NewLocker(t, m, ttl))
	}
	defer rig.Every(100*time.Millisecond, func() {
		m := machines[rand.N(len(machines))]
		switch rand.N(5) {
		case 0:
			m.drop(t, admin)
		case 1:
			m.link.Reset()
		case 2:
			m.link.Set(rig.Direction{}, rig.Direction{Delay: rand.N(5 * time.Millisecond)})
		case 3:
			m.link.Set(rig.Direction{Delay: rand.N(5 * time.Millisecond)}, rig.Direction{})
		case 4:
			deleteOne(t, admin)
		}
	})()
	defer rig.Every(30*time.Millisecond, func() {
		// Not up to the last revision: the log of the test needs them for a moment.
		log.mu.Lock()
		rev := log.rev - 20
		log.mu.Unlock()
		if rev > 0 {
			admin.Compact(context.Background(), rev) // fails when it is compacted already
		}
	})()
	h, err := storm.Run(rig.Within(t, 2*time.Minute))
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
	verify(t, h, log.upTo(t, admin))
	nothingLeft(t, admin, machines...)
	return h
}

// deleteOne deletes the key of a holder or a waiter, by hand.
func deleteOne(t testing.TB, admin *clientv3.Client) {
	ctx := rig.Within(t, 10*time.Second)
	resp, err := admin.Get(ctx, prefix+"l/", clientv3.WithPrefix(), clientv3.WithLimit(3), clientv3.WithKeysOnly())
	if err != nil {
		t.Error(err)
		return
	}
	if len(resp.Kvs) > 0 {
		if _, err := admin.Delete(ctx, string(resp.Kvs[rand.N(len(resp.Kvs))].Key)); err != nil {
			t.Error(err)
		}
	}
}

// nothingLeft: with the Lockers closed there is no key of a lock or an epoch and no lease of these machines.
func nothingLeft(t testing.TB, admin *clientv3.Client, machines ...*remote) {
	t.Helper()
	mine := make(map[clientv3.LeaseID]bool)
	for _, m := range machines {
		m.mu.Lock()
		for _, id := range m.leases {
			mine[id] = true
		}
		m.mu.Unlock()
	}
	ctx := rig.Within(t, 20*time.Second)
	for {
		var left []string
		for _, part := range []string{"l/", "e/"} {
			resp, err := admin.Get(ctx, prefix+part, clientv3.WithPrefix(), clientv3.WithKeysOnly())
			if err != nil {
				t.Fatal(err)
			}
			for _, kv := range resp.Kvs {
				left = append(left, string(kv.Key))
			}
		}
		leases, err := admin.Leases(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range leases.Leases {
			if mine[l.ID] {
				left = append(left, fmt.Sprintf("lease %x", l.ID))
			}
		}
		if len(left) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("left behind: %s", strings.Join(left, ", "))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestNoGoroutineIsLeft(t *testing.T) {
	endpoint := shared(t)[0]
	admin := dial(t, endpoint)
	if _, err := admin.Get(rig.Within(t, 10*time.Second), "warm"); err != nil {
		t.Fatal(err)
	}
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(),
		// Of the server in this process, for connections that come and go.
		goleak.IgnoreAnyFunction("go.etcd.io/etcd/server/v3/etcdserver.(*EtcdServer).run"),
	)
	engine, err := etcd.Dial(clientv3.Config{Endpoints: []string{endpoint}}, etcd.Options{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	rig.UseAndClose(t, engine, 200)
}
