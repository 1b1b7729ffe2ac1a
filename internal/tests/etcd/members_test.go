package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/clustertest"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

// on is a machine that knows these members.
func on(t testing.TB, endpoints ...string) *remote {
	t.Helper()
	m := &remote{client: dial(t, endpoints...)}
	m.client.Lease = &watchedLease{m.client.Lease, m}
	m.Engine = etcd.New(m.client, etcd.Options{Prefix: prefix})
	return m
}

// The leader dies in the middle of a storm. Nothing that was granted is doubled, what can go on goes on.
func TestLeaderIsLostInAStorm(t *testing.T) {
	s := start(t, 3)
	leader := s.Leader()
	if leader < 0 {
		t.Fatal("no leader")
	}
	rest := s.Endpoints[(leader+1)%3]
	admin := dial(t, rest)
	log := keepLog(t, admin)
	storm := clustertest.Storm{Clients: 3, Calls: 400, Cancels: 0.1, Hold: 4 * time.Millisecond, Note: revision}
	for i := range 3 {
		storm.Names = append(storm.Names, fmt.Sprintf("leader/%d", i))
		storm.Lockers = append(storm.Lockers, rig.NewLocker(t, on(t, s.Endpoints...), 4*time.Second))
	}
	var stopped sync.WaitGroup
	stopped.Go(func() {
		time.Sleep(500 * time.Millisecond)
		s.Stop(leader)
	})
	h, err := storm.Run(rig.Within(t, 2*time.Minute))
	stopped.Wait()
	if err != nil {
		t.Error(err)
	}
	verify(t, h, log.upTo(t, admin))
	count := make(map[clustertest.Outcome]int)
	for _, a := range h.Attempts {
		count[a.Outcome]++
	}
	t.Logf("%d gave up, %d unlocked, %d lost", count[clustertest.GaveUp], count[clustertest.Unlocked], count[clustertest.Lost])
}

// Two of three members are gone: the holder is told by its deadline, calls end with their context and leave nothing, and
// all goes on when the members are back.
func TestMinorityGrantsNothing(t *testing.T) {
	s := start(t, 3)
	m := on(t, s.Endpoints[0])
	l := rig.NewLocker(t, m, ttl)
	h := rig.Locked(t, l, "held")
	var others []int
	for i := range 3 {
		if i != 0 {
			others = append(others, i)
		}
	}
	began := time.Now()
	for _, i := range others {
		s.Members[i].Server.HardStop()
	}
	select {
	case <-h.Context().Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the holder was never told")
	}
	if took := time.Since(began); took > ttl+time.Second {
		t.Errorf("the holder was told after %v, its TTL is %v", took, ttl)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	asked := time.Now()
	_, err := l.Lock(ctx, "asked for")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call in the minority: %v", err)
	}
	if took := time.Since(asked); took > 1500*time.Millisecond {
		t.Errorf("a call with 500ms came back after %v", took)
	}
	var we *cluster.WaitError
	if errors.As(err, &we) {
		t.Logf("the caller is told: %v", err)
	}
}

// A watch on a member that was cut off from the leader would be silent for ever; the waiter must hear of the release.
func TestWaiterMovesFromAMemberWithoutLeader(t *testing.T) {
	s := start(t, 3)
	leader := s.Leader()
	away := (leader + 1) % 3
	holder := rig.NewLocker(t, on(t, s.Endpoints[leader]), 10*time.Second)
	h := rig.Locked(t, holder, "n")
	// The waiter prefers the member that is about to be alone.
	waiting := on(t, s.Endpoints[away], s.Endpoints[(leader+2)%3])
	lw := rig.NewLocker(t, waiting, 10*time.Second)
	got := make(chan *cluster.Hold)
	go func() { got <- rig.Locked(t, lw, "n") }()
	rig.Waiters(t, holder, "n", 1)
	s.Isolate(away)
	rig.Unlocked(t, h)
	select {
	case n := <-got:
		rig.Unlocked(t, n)
	case <-time.After(20 * time.Second):
		t.Fatal("the waiter never heard of the release")
	}
}
