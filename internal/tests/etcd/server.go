// Package etcd tests the etcd engine against real servers, some of them in this process, and measures it.
package etcd

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// server is an etcd cluster of one or more members in this process.
type server struct {
	members   []*embed.Etcd
	endpoints []string
}

// start starts a cluster of n members with fast ticks and without fsync, in temporary folders.
func start(t testing.TB, n int) *server {
	t.Helper()
	s := &server{members: make([]*embed.Etcd, n)}
	configs := make([]*embed.Config, n)
	var initial []string
	for i := range n {
		cfg := embed.NewConfig()
		cfg.Name = fmt.Sprintf("m%d", i)
		cfg.Dir = t.TempDir()
		cfg.LogLevel = "panic"
		cfg.TickMs, cfg.ElectionMs, cfg.UnsafeNoFsync = 10, 100, true
		client, peer := freeURL(t), freeURL(t)
		cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
		cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
		initial = append(initial, cfg.Name+"="+peer.String())
		configs[i] = cfg
		s.endpoints = append(s.endpoints, client.Host)
	}
	var wg sync.WaitGroup
	for i, cfg := range configs {
		cfg.InitialCluster = strings.Join(initial, ",")
		wg.Go(func() {
			e, err := embed.StartEtcd(cfg)
			if err != nil {
				t.Error(err)
				return
			}
			<-e.Server.ReadyNotify()
			s.members[i] = e
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() {
		for i := range s.members {
			s.stop(i)
		}
	})
	return s
}

// stop stops one member.
func (s *server) stop(i int) {
	if s.members[i] != nil {
		s.members[i].Close()
		s.members[i] = nil
	}
}

// leader is the index of the member that leads.
func (s *server) leader() int {
	for i, m := range s.members {
		if m != nil && uint64(m.Server.MemberID()) == m.Server.Lead() {
			return i
		}
	}
	return -1
}

func freeURL(t testing.TB) url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}
}

// one is a server that tests of one process share: that of DRAWBRIDGE_ETCD_ENDPOINTS if set, else one member here.
var one struct {
	once      sync.Once
	endpoints []string
}

func shared(t testing.TB) []string {
	t.Helper()
	one.once.Do(func() {
		if given := os.Getenv("DRAWBRIDGE_ETCD_ENDPOINTS"); given != "" {
			one.endpoints = strings.Split(given, ",")
			return
		}
		one.endpoints = start(forever{t}, 1).endpoints
	})
	return one.endpoints
}

// forever leaves what a test began to the end of the process.
type forever struct{ testing.TB }

func (forever) Cleanup(func()) {}
func (f forever) TempDir() string {
	dir, err := os.MkdirTemp("", "drawbridge-etcd")
	if err != nil {
		f.Fatal(err)
	}
	leftovers = append(leftovers, dir)
	return dir
}

var leftovers []string // removed by TestMain

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

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
