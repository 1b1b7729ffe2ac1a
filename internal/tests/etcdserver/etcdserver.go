// Package etcdserver runs etcd in this process, for tests and for experiments in a clone of the repository. Its data is
// not synced to disk and its clock ticks fast: it is no place for anything that has to last.
package etcdserver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"go.etcd.io/etcd/server/v3/embed"
)

// Cluster is an etcd cluster of one or more members on loopback.
type Cluster struct {
	Members   []*embed.Etcd // nil where stopped
	Endpoints []string      // host and port of each
}

// Start starts n members that keep their data under dir. Leases last at least a second.
func Start(n int, dir string) (*Cluster, error) {
	c := &Cluster{Members: make([]*embed.Etcd, n)}
	configs := make([]*embed.Config, n)
	var initial []string
	for i := range n {
		client, err := freeURL()
		if err != nil {
			return nil, err
		}
		peer, err := freeURL()
		if err != nil {
			return nil, err
		}
		cfg := embed.NewConfig()
		cfg.Name = fmt.Sprintf("m%d", i)
		cfg.Dir = filepath.Join(dir, cfg.Name)
		cfg.LogLevel = "panic"
		cfg.TickMs, cfg.ElectionMs, cfg.UnsafeNoFsync = 10, 100, true
		cfg.BcryptCost = 4 // the least there is
		cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
		cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
		initial = append(initial, cfg.Name+"="+peer.String())
		configs[i] = cfg
		c.Endpoints = append(c.Endpoints, client.Host)
	}
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i, cfg := range configs {
		cfg.InitialCluster = strings.Join(initial, ",")
		wg.Go(func() {
			e, err := embed.StartEtcd(cfg)
			if err != nil {
				errs[i] = err
				return
			}
			c.Members[i] = e
			select {
			case <-e.Server.ReadyNotify():
			case errs[i] = <-e.Err():
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Stop stops one member.
func (c *Cluster) Stop(i int) {
	if c.Members[i] != nil {
		c.Members[i].Close()
		c.Members[i] = nil
	}
}

// Close stops all members.
func (c *Cluster) Close() {
	for i := range c.Members {
		c.Stop(i)
	}
}

// Leader is the index of the member that leads, -1 if none does.
func (c *Cluster) Leader() int {
	for i, m := range c.Members {
		if m != nil && uint64(m.Server.MemberID()) == m.Server.Lead() {
			return i
		}
	}
	return -1
}

// Isolate cuts a member off from the others.
func (c *Cluster) Isolate(i int) {
	for j, m := range c.Members {
		if j != i {
			m.Server.CutPeer(c.Members[i].Server.MemberID())
			c.Members[i].Server.CutPeer(m.Server.MemberID())
		}
	}
}

// freeURL is a port that was free a moment ago.
func freeURL() (url.URL, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return url.URL{}, err
	}
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}, nil
}
