package etcd

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/clustertest"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if rig.ChildMain(open) || memberMain() {
		return
	}
	code := m.Run()
	if one.end != nil {
		one.end()
	}
	os.Exit(code)
}

// open is for children, which are told of one endpoint or of several.
func open(endpoints string) (cluster.Engine, error) {
	return etcd.Dial(clientv3.Config{Endpoints: strings.Split(endpoints, ",")}, etcd.Options{Prefix: prefix})
}

// remote is a machine of its own: an engine on a client of its own behind a proxy of its own.
type remote struct {
	*etcd.Engine
	client *clientv3.Client
	link   *rig.Proxy

	mu     sync.Mutex
	leases []clientv3.LeaseID
}

const prefix = "test/"

func machine(t testing.TB, endpoint string) *remote {
	t.Helper()
	p := rig.NewProxy(t, endpoint)
	c := dial(t, p.Addr())
	m := &remote{client: c, link: p}
	c.Lease = &watchedLease{c.Lease, m}
	m.Engine = etcd.New(c, etcd.Options{Prefix: prefix})
	return m
}

// watchedLease notes which leases a machine is granted.
type watchedLease struct {
	clientv3.Lease
	machine *remote
}

func (w *watchedLease) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	resp, err := w.Lease.Grant(ctx, ttl)
	if err == nil {
		w.machine.mu.Lock()
		defer w.machine.mu.Unlock()
		w.machine.leases = append(w.machine.leases, resp.ID)
	}
	return resp, err
}

// drop revokes all leases of the machine, by the hand of somebody else.
func (m *remote) drop(t testing.TB, admin *clientv3.Client) {
	t.Helper()
	m.mu.Lock()
	leases := m.leases
	m.leases = nil
	m.mu.Unlock()
	for _, id := range leases {
		if _, err := admin.Revoke(rig.Within(t, 10*time.Second), id); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			t.Error(err)
		}
	}
}

func (m *remote) cut(off bool) { m.link.Set(rig.Direction{Cut: off}, rig.Direction{Cut: off}) }

// valueKey is where a snapshot's value is.
func valueKey(name string) string {
	return prefix + "s/" + keyName(name)
}

// keyName is a name as it stands in keys. It is written down here once more, since what is in etcd outlives a version.
func keyName(name string) string { return strings.NewReplacer("%", "%25", "/", "%2F").Replace(name) }

func TestSuite(t *testing.T) {
	endpoint := shared(t)[0]
	admin := dial(t, endpoint)
	var remotes sync.Map
	of := func(e cluster.Engine) *remote {
		m, _ := remotes.Load(e)
		return m.(*remote)
	}
	clustertest.Run(t, clustertest.Harness{
		Engine: func(t testing.TB) cluster.Engine {
			m := machine(t, endpoint)
			remotes.Store(cluster.Engine(m.Engine), m)
			return m.Engine
		},
		Drop: func(t testing.TB, e cluster.Engine) { of(e).drop(t, admin) },
		Cut:  func(t testing.TB, e cluster.Engine, off bool) { of(e).cut(off) },
		DeleteValue: func(t testing.TB, name string) {
			if _, err := admin.Delete(rig.Within(t, 10*time.Second), valueKey(name)); err != nil {
				t.Fatal(err)
			}
		},
		CorruptValue: func(t testing.TB, name string) {
			if _, err := admin.Put(rig.Within(t, 10*time.Second), valueKey(name), "{"); err != nil {
				t.Fatal(err)
			}
		},
		TTL:      ttl,
		Takeover: takeover,
	})
}
