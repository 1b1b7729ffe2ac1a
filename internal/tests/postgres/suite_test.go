package postgres

import (
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/clustertest"
	"github.com/drawbridge-go/drawbridge/cluster/postgres"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if rig.ChildMain(func(url string) (cluster.Engine, error) {
		return postgres.Open(url, postgres.Options{Schema: schema})
	}) {
		return
	}
	code := m.Run()
	for _, f := range slices.Backward(leftovers) {
		f()
	}
	os.Exit(code)
}

// remote is a machine of its own: an engine behind a proxy of its own. Its sessions are known by their application_name.
type remote struct {
	*postgres.Engine
	link *rig.Proxy
	name string
}

var machines atomic.Int64

func machine(t testing.TB, url string, o postgres.Options) *remote {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cc := config.ConnConfig
	m := &remote{
		link: rig.NewProxy(t, net.JoinHostPort(cc.Host, strconv.Itoa(int(cc.Port)))),
		name: fmt.Sprintf("machine %d of %d", machines.Add(1), os.Getpid()),
	}
	host, port, _ := net.SplitHostPort(m.link.Addr())
	number, _ := strconv.Atoi(port)
	cc.Host, cc.Port, cc.Fallbacks = host, uint16(number), nil
	cc.RuntimeParams["application_name"] = m.name
	o.Schema = schema
	if m.Engine, err = postgres.New(config, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// drop ends the sessions of the machine that have or had a lock, by the hand of somebody else.
func (m *remote) drop(t testing.TB, admin *pgxpool.Pool) {
	t.Helper()
	_, err := admin.Exec(rig.Within(t, 10*time.Second), `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a JOIN `+schema+`.backend b USING (pid)
		WHERE application_name = $1`, m.name)
	if err != nil {
		t.Error(err)
	}
}

func (m *remote) cut(off bool) {
	m.link.Set(rig.Direction{Cut: off}, rig.Direction{Cut: off})
}

func suite(t *testing.T, direct, url string, o postgres.Options) {
	adm := admin(t, direct)
	var remotes sync.Map
	of := func(e cluster.Engine) *remote {
		m, _ := remotes.Load(e)
		return m.(*remote)
	}
	exec := func(t testing.TB, statement string, args ...any) {
		t.Helper()
		if _, err := adm.Exec(rig.Within(t, 10*time.Second), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	clustertest.Run(t, clustertest.Harness{
		Engine: func(t testing.TB) cluster.Engine {
			m := machine(t, url, o)
			remotes.Store(cluster.Engine(m.Engine), m)
			return m.Engine
		},
		Drop: func(t testing.TB, e cluster.Engine) { of(e).drop(t, adm) },
		Cut:  func(t testing.TB, e cluster.Engine, off bool) { of(e).cut(off) },
		DeleteValue: func(t testing.TB, name string) {
			exec(t, "DELETE FROM "+schema+".value WHERE name = $1", name)
		},
		CorruptValue: func(t testing.TB, name string) {
			exec(t, "UPDATE "+schema+".value SET data = '{' WHERE name = $1", name)
		},
		TTL:      2 * time.Second,
		Takeover: 1500 * time.Millisecond,
	})
}

func TestSuite(t *testing.T) { suite(t, shared(t), shared(t), postgres.Options{}) }
