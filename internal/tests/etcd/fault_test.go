package etcd

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

const ttl = 3 * time.Second

// takeover is how long after its TTL a dead holder's lock may stay taken.
const takeover = 1500 * time.Millisecond

func TestKilledHolderIsReplacedWithinItsLease(t *testing.T) {
	endpoint := shared(t)[0]
	rig.KilledHolder(t, endpoint, rig.NewLocker(t, machine(t, endpoint), ttl), ttl, ttl+takeover)
}

// A killed waiter must not keep the door shut for longer than its lease.
func TestKilledWaiterOpensTheDoor(t *testing.T) {
	endpoint := shared(t)[0]
	l, other := rig.NewLocker(t, machine(t, endpoint), ttl), rig.NewLocker(t, machine(t, endpoint), ttl)
	rig.KilledWaiter(t, endpoint, l, other, ttl, ttl+takeover)
}

func TestStoppedHolderIsFenced(t *testing.T) {
	endpoint := shared(t)[0]
	var fence cluster.Fence // of a store in this process
	write := func(token cluster.Token) error { return fence.Write(token, func() error { return nil }) }
	rig.StoppedHolder(t, endpoint, rig.NewLocker(t, machine(t, endpoint), ttl), rig.Fresh(t), ttl, ttl+takeover, write)
}

// Whatever the network does, the holder is told before etcd ends the lease.
func TestHolderIsToldBeforeTheLeaseEnds(t *testing.T) {
	endpoint := shared(t)[0]
	admin := dial(t, endpoint)
	cut := rig.Direction{Cut: true}
	for what, fault := range map[string]func(m *remote){
		"requests are lost": func(m *remote) { m.link.Set(cut, rig.Direction{}) },
		"answers are lost":  func(m *remote) { m.link.Set(rig.Direction{}, cut) },
		"both are lost":     func(m *remote) { m.link.Set(cut, cut) },
		// The answers of keepalives that etcd has carried out come late, and then none does.
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
		"the connection is refused": func(m *remote) { m.link.Refuse(); m.link.Reset() },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name := rig.Fresh(t)
			m := machine(t, endpoint)
			h := rig.Locked(t, rig.NewLocker(t, m, 4*time.Second), name)
			told, gone := make(chan time.Time, 1), make(chan time.Time, 1)
			context.AfterFunc(h.Context(), func() { told <- time.Now() })
			watch := admin.Watch(rig.Within(t, time.Minute), lockKeys(name), clientv3.WithPrefix(), clientv3.WithFilterPut(), clientv3.WithRev(int64(h.Token())))
			go func() {
				for w := range watch {
					if len(w.Events) > 0 {
						gone <- time.Now()
						return
					}
				}
			}()
			fault(m)
			ended, at := <-gone, time.Time{}
			select {
			case at = <-told:
			default:
				t.Fatal("etcd ended the lease before the holder was told")
			}
			t.Logf("told %v before the lease ended", ended.Sub(at).Round(time.Millisecond))
			if err := h.Held(); !errors.Is(err, cluster.ErrLost) {
				t.Error(err)
			}
			m.link.Set(rig.Direction{}, rig.Direction{})
		})
	}
}

// lockKeys is where the keys of a lock are.
func lockKeys(name string) string {
	return prefix + "l/" + keyName(name) + "/"
}

// A connection that breaks and comes back costs no hold and no place.
func TestResetConnectionsLoseNothing(t *testing.T) {
	endpoint, name := shared(t)[0], rig.Fresh(t)
	a, b := machine(t, endpoint), machine(t, endpoint)
	la, lb := rig.NewLocker(t, a, 4*time.Second), rig.NewLocker(t, b, 4*time.Second)
	h := rig.Locked(t, la, name)
	got := make(chan *cluster.Hold)
	go func() { got <- rig.Locked(t, lb, name) }()
	rig.Waiters(t, la, name, 1)
	for range 12 {
		a.link.Reset()
		b.link.Reset()
		time.Sleep(300 * time.Millisecond)
	}
	if err := h.Held(); err != nil {
		t.Errorf("resets cost the hold: %v", err)
	}
	rig.Unlocked(t, h)
	rig.Unlocked(t, <-got)
}

// The answer to the request that made the key is lost: sent again, it must find the key and its place.
func TestLostAnswerToAcquireKeepsThePlace(t *testing.T) {
	endpoint, name := shared(t)[0], rig.Fresh(t)
	admin := dial(t, endpoint)
	for _, broken := range []string{"silently", "with a reset"} {
		t.Run(broken, func(t *testing.T) {
			a, b := machine(t, endpoint), machine(t, endpoint)
			la, lb := rig.NewLocker(t, a, 10*time.Second), rig.NewLocker(t, b, 10*time.Second)
			rig.Unlocked(t, rig.Locked(t, la, rig.Fresh(t))) // the lease is there
			a.link.Set(rig.Direction{}, rig.Direction{Cut: true})
			first := make(chan *cluster.Hold)
			go func() { first <- rig.Locked(t, la, name) }()
			waitKeys(t, admin, name, 1)
			second := make(chan *cluster.Hold)
			go func() { second <- rig.Locked(t, lb, name) }()
			waitKeys(t, admin, name, 2)
			if broken == "with a reset" {
				a.link.Reset()
			}
			a.link.Set(rig.Direction{}, rig.Direction{})
			h := <-first
			select {
			case <-second:
				t.Fatal("the later call came first")
			default:
			}
			waitKeys(t, admin, name, 2) // and not a third
			rig.Unlocked(t, h)
			rig.Unlocked(t, <-second)
		})
	}
}

// The answer to the release is lost: it is no loss, and no error.
func TestLostAnswerToReleaseIsNoLoss(t *testing.T) {
	endpoint, name := shared(t)[0], rig.Fresh(t)
	admin := dial(t, endpoint)
	m := machine(t, endpoint)
	h := rig.Locked(t, rig.NewLocker(t, m, 10*time.Second), name)
	m.link.Set(rig.Direction{}, rig.Direction{Cut: true})
	done := make(chan error)
	go func() { done <- h.Unlock(rig.Within(t, time.Minute)) }()
	waitKeys(t, admin, name, 0)
	m.link.Reset()
	m.link.Set(rig.Direction{}, rig.Direction{})
	if err := <-done; err != nil {
		t.Errorf("Unlock: %v", err)
	}
}

// waitKeys waits until the lock has n keys.
func waitKeys(t testing.TB, c *clientv3.Client, name string, n int64) {
	t.Helper()
	ctx := rig.Within(t, 30*time.Second)
	for last := int64(-1); ; time.Sleep(5 * time.Millisecond) {
		resp, err := c.Get(ctx, lockKeys(name), clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatalf("the lock has %d keys, want %d: %v", last, n, err)
		}
		if last = resp.Count; last == n {
			return
		}
	}
}

// A request to enter that arrives after the caller has given up, and after the cleaning up, must make no key: it would
// bar everybody for as long as the process lives.
func TestLateRequestOfACallThatGaveUpMakesNoKey(t *testing.T) {
	endpoint, name := shared(t)[0], rig.Fresh(t)
	admin := dial(t, endpoint)
	m, other := machine(t, endpoint), machine(t, endpoint)
	kv := &heldBack{KV: m.client.KV, endpoint: endpoint, release: make(chan struct{}), made: make(chan error, 1)}
	m.client.KV = kv
	l := rig.NewLocker(t, m, ttl)
	rig.Unlocked(t, rig.Locked(t, l, rig.Fresh(t)))

	kv.arm()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := l.Lock(ctx, name); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("the call came back after %v", took)
	}
	// The cleaning up is through when the epoch has moved on; the lease lives.
	waitEpoch(t, admin)
	close(kv.release)
	if err := <-kv.made; err != nil {
		t.Fatalf("the request never arrived: %v", err)
	}
	waitKeys(t, admin, name, 0)
	time.Sleep(100 * time.Millisecond)
	waitKeys(t, admin, name, 0)
	rig.Unlocked(t, rig.Locked(t, rig.NewLocker(t, other, ttl), name))
	rig.Unlocked(t, rig.Locked(t, l, name)) // the same process, the same lease
}

// The same for a call whose second request was answered: the first one arrives when the lock has been given back.
func TestLateRequestOfACallThatIsThroughMakesNoKey(t *testing.T) {
	endpoint, name := shared(t)[0], rig.Fresh(t)
	admin := dial(t, endpoint)
	m := machine(t, endpoint)
	kv := &heldBack{KV: m.client.KV, endpoint: endpoint, release: make(chan struct{}), made: make(chan error, 1)}
	m.client.KV = kv
	l := rig.NewLocker(t, m, 10*time.Second)
	rig.Unlocked(t, rig.Locked(t, l, rig.Fresh(t)))

	kv.arm()
	rig.Unlocked(t, rig.Locked(t, l, name))
	close(kv.release)
	if err := <-kv.made; err != nil {
		t.Fatalf("the request never arrived: %v", err)
	}
	waitKeys(t, admin, name, 0)
	rig.Unlocked(t, rig.Locked(t, rig.NewLocker(t, machine(t, endpoint), 10*time.Second), name))
	rig.Unlocked(t, rig.Locked(t, l, name))
}

// etcd goes through all keys that a range ever had, so calls that come one after the other must not leave one each.
func TestLookDoesNotGrowWithEachCall(t *testing.T) {
	endpoint, name := shared(t)[0], rig.Fresh(t)
	admin := dial(t, endpoint)
	l := rig.NewLocker(t, machine(t, endpoint), 10*time.Second)
	first := rig.Locked(t, l, name)
	from := int64(first.Token())
	rig.Unlocked(t, first)
	const together = 4
	for range 10 {
		var calls sync.WaitGroup
		for range together {
			calls.Go(func() { rig.Unlocked(t, rig.Locked(t, l, name)) })
		}
		calls.Wait()
	}
	now, err := admin.Get(rig.Within(t, 10*time.Second), prefix)
	if err != nil {
		t.Fatal(err)
	}
	keys, calls := make(map[string]bool), 0
	watch := admin.Watch(rig.Within(t, 30*time.Second), lockKeys(name), clientv3.WithPrefix(), clientv3.WithFilterDelete(), clientv3.WithRev(from))
	for w := range watch {
		for _, ev := range w.Events {
			keys[string(ev.Kv.Key)] = true
			calls++
		}
		if calls == 1+10*together || w.Header.Revision > now.Header.Revision {
			break
		}
	}
	if calls != 1+10*together || len(keys) > together {
		t.Errorf("%d calls, at most %d at a time, had %d keys", calls, together, len(keys))
	}
}

func waitEpoch(t testing.TB, c *clientv3.Client) {
	t.Helper()
	ctx := rig.Within(t, 30*time.Second)
	for {
		resp, err := c.Get(ctx, prefix+"e/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		if resp.Count > 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// heldBack is a KV whose next transaction is still under way when its sender has lost the connection, and arrives all the
// same.
type heldBack struct {
	clientv3.KV
	endpoint string
	release  chan struct{}
	made     chan error

	mu    sync.Mutex
	armed bool
}

func (k *heldBack) arm() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.armed = true
}

func (k *heldBack) Txn(ctx context.Context) clientv3.Txn {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.armed {
		return k.KV.Txn(ctx)
	}
	k.armed = false
	return &heldTxn{ctx: ctx, kv: k, txn: k.KV.Txn(context.Background())}
}

type heldTxn struct {
	ctx context.Context
	kv  *heldBack
	txn clientv3.Txn
}

func (x *heldTxn) If(cs ...clientv3.Cmp) clientv3.Txn   { x.txn = x.txn.If(cs...); return x }
func (x *heldTxn) Then(ops ...clientv3.Op) clientv3.Txn { x.txn = x.txn.Then(ops...); return x }
func (x *heldTxn) Else(ops ...clientv3.Op) clientv3.Txn { x.txn = x.txn.Else(ops...); return x }
func (x *heldTxn) Commit() (*clientv3.TxnResponse, error) {
	go func() {
		<-x.kv.release
		_, err := x.txn.Commit()
		x.kv.made <- err
	}()
	time.Sleep(100 * time.Millisecond)
	return nil, status.Error(codes.Unavailable, "the connection is lost")
}

// An operator deletes the key with etcdctl; nobody tells the holder but etcd.
func TestHolderIsToldOfADeletedKey(t *testing.T) {
	endpoint, name := shared(t)[0], rig.Fresh(t)
	admin := dial(t, endpoint)
	h := rig.Locked(t, rig.NewLocker(t, machine(t, endpoint), time.Minute), name)
	if _, err := admin.Delete(rig.Within(t, 10*time.Second), lockKeys(name), clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	select {
	case <-h.Context().Done():
	case <-time.After(10 * time.Second):
		t.Fatal("never told")
	}
	t.Logf("told after %v with a TTL of a minute", time.Since(began).Round(time.Millisecond))
	if err := h.Unlock(rig.Within(t, 10*time.Second)); !errors.Is(err, cluster.ErrLost) {
		t.Error(err)
	}
}

// The deletion that a holder's watch was to see has been compacted before the watch began.
func TestHolderIsToldOfADeletionThatWasCompacted(t *testing.T) {
	endpoint, name := shared(t)[0], rig.Fresh(t)
	admin := dial(t, endpoint)
	h := rig.Locked(t, rig.NewLocker(t, machine(t, endpoint), time.Minute), name)
	resp, err := admin.Delete(rig.Within(t, 10*time.Second), lockKeys(name), clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Put(rig.Within(t, 10*time.Second), prefix+"mark", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Compact(rig.Within(t, 10*time.Second), resp.Header.Revision+1); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.Context().Done():
	case <-time.After(10 * time.Second):
		t.Fatal("never told")
	}
}

// Compaction while a call waits costs it nothing, and no requests without end.
func TestWaiterOutlastsCompaction(t *testing.T) {
	endpoint, name := shared(t)[0], rig.Fresh(t)
	admin := dial(t, endpoint)
	m := machine(t, endpoint)
	kv := &countingKV{KV: m.client.KV}
	m.client.KV = kv
	la, lb := rig.NewLocker(t, machine(t, endpoint), 10*time.Second), rig.NewLocker(t, m, 10*time.Second)
	h := rig.Locked(t, la, name)
	got := make(chan *cluster.Hold)
	go func() { got <- rig.Locked(t, lb, name) }()
	rig.Waiters(t, la, name, 1)
	for range 50 {
		resp, err := admin.Put(rig.Within(t, 10*time.Second), prefix+"mark", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := admin.Compact(rig.Within(t, 10*time.Second), resp.Header.Revision); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-got:
		t.Fatal("granted by a compaction")
	case <-time.After(300 * time.Millisecond):
	}
	if n := kv.requests.Load(); n > 60 {
		t.Errorf("%d transactions of one waiter over 50 compactions", n)
	}
	rig.Unlocked(t, h)
	rig.Unlocked(t, <-got)
}

// Data in etcd is guarded by the hold itself.
func TestTransactionGuardedByTheHold(t *testing.T) {
	endpoint, name := shared(t)[0], rig.Fresh(t)
	m := machine(t, endpoint)
	l := rig.NewLocker(t, m, 10*time.Second)
	h := rig.Locked(t, l, name)
	write := func() bool {
		t.Helper()
		held, err := etcd.Held(h)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.client.Txn(rig.Within(t, 10*time.Second)).If(held).Then(clientv3.OpPut(prefix+"data", "x")).Commit()
		if err != nil {
			t.Fatal(err)
		}
		return resp.Succeeded
	}
	if !write() {
		t.Error("refused while the hold stands")
	}
	asWriter, err := etcd.Held(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Downgrade(rig.Within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	resp, err := m.client.Txn(rig.Within(t, 10*time.Second)).If(asWriter).Then(clientv3.OpPut(prefix+"data", "x")).Commit()
	if err != nil || resp.Succeeded {
		t.Errorf("a writer's transaction after its downgrade: %v, %v", resp, err)
	}
	if !write() {
		t.Error("the reader's comparison is refused after the downgrade")
	}
	rig.Unlocked(t, h)
	if write() {
		t.Error("accepted after Unlock")
	}
}
