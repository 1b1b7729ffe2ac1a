package etcd

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
	"github.com/drawbridge-go/drawbridge/internal/tests/etcdserver"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

// A server that proves who it is, and asks the same of its clients.
func TestMutualTLS(t *testing.T) {
	ca, stranger := rig.NewAuthority(t), rig.NewAuthority(t)
	plan, err := etcdserver.Plan(1, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cert, key := ca.Issue(t, "server")
	plan[0].TLS = &etcdserver.TLS{CA: ca.File, Cert: cert, Key: key}
	s, err := etcdserver.StartAll(plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	open := func(ca, cert, key string) *cluster.Locker {
		t.Helper()
		files := url.Values{"cacert": {ca}}
		if cert != "" {
			files.Set("cert", cert)
			files.Set("key", key)
		}
		e, err := etcd.Open("etcds://" + s.Endpoints[0] + "/tls/?" + files.Encode())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return rig.NewLocker(t, e, 10*time.Second)
	}

	cert, key = ca.Issue(t, "client")
	a, b := open(ca.File, cert, key), open(ca.File, cert, key)
	h := rig.Locked(t, a, "n")
	next := make(chan *cluster.Hold)
	go func() { next <- rig.Locked(t, b, "n") }()
	rig.Waiters(t, a, "n", 1)
	rig.Unlocked(t, h)
	rig.Unlocked(t, <-next)

	foreign, foreignKey := stranger.Issue(t, "client")
	// What the server refuses the client learns from a connection that ends; what the client refuses it says itself.
	for what, refused := range map[string]struct {
		by   *cluster.Locker
		says string
	}{
		"no certificate":              {open(ca.File, "", ""), "Unavailable"},
		"a certificate of another":    {open(ca.File, foreign, foreignKey), "Unavailable"},
		"a server nobody vouches for": {open(stranger.File, cert, key), "certificate signed by unknown authority"},
	} {
		_, err := refused.by.Lock(rig.Within(t, 3*time.Second), "n")
		var we *cluster.WaitError
		if !errors.As(err, &we) || we.Last == nil || !strings.Contains(we.Last.Error(), refused.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
