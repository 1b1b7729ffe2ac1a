// Package etcd tests the etcd engine against real servers, most of them in this process.
package etcd

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/drawbridge-go/drawbridge/internal/tests/etcdserver"
)

// start starts a cluster of n members for one test.
func start(t testing.TB, n int) *etcdserver.Cluster {
	t.Helper()
	c, err := etcdserver.Start(n, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// one is the server that the tests of one process share: that of DRAWBRIDGE_ETCD_ENDPOINTS if set, else one member here.
var one struct {
	once      sync.Once
	endpoints []string
	end       func()
}

func shared(t testing.TB) []string {
	t.Helper()
	one.once.Do(func() {
		if given := os.Getenv("DRAWBRIDGE_ETCD_ENDPOINTS"); given != "" {
			one.endpoints = strings.Split(given, ",")
			return
		}
		dir, err := os.MkdirTemp("", "drawbridge-etcd")
		if err != nil {
			t.Fatal(err)
		}
		c, err := etcdserver.Start(1, dir)
		if err != nil {
			t.Fatal(err)
		}
		one.endpoints = c.Endpoints
		one.end = func() {
			c.Close()
			os.RemoveAll(dir)
		}
	})
	if len(one.endpoints) == 0 {
		t.Fatal("no etcd to test against")
	}
	return one.endpoints
}

// dial returns a client with connection keepalives.
func dial(t testing.TB, endpoints ...string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{
		Endpoints:            endpoints,
		DialKeepAliveTime:    3 * time.Second,
		DialKeepAliveTimeout: 2 * time.Second,
		Logger:               zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
