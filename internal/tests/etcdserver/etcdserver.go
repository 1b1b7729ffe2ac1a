// Package etcdserver runs etcd in this process, for tests and for experiments in a clone of the repository. Its data is
// not synced to disk unless that is asked for, and its clock ticks fast: it is no place for anything that has to last.
package etcdserver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// Cluster is an etcd cluster of one or more members on loopback.
type Cluster struct {
	Members   []*embed.Etcd // nil where stopped
	Endpoints []string      // host and port of each
}

// Member is one member of a cluster, as a process of its own can be told of it.
type Member struct {
	Name, Dir, Client, Peer string // two URLs on loopback
	Initial                 string // all members, as etcd is told of them
	TLS                     *TLS   `json:",omitempty"`
	Sync                    bool   // the data is synced to disk, as it is where it has to last
}

// TLS is what clients are asked to prove, and who the member says it is: files, in PEM.
type TLS struct{ CA, Cert, Key string }

// Plan is a cluster of n members that keep their data under dir.
func Plan(n int, dir string) ([]Member, error) {
	members := make([]Member, n)
	var initial []string
	for i := range members {
		client, err := freeURL()
		if err != nil {
			return nil, err
		}
		peer, err := freeURL()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("m%d", i)
		members[i] = Member{Name: name, Dir: filepath.Join(dir, name), Client: client, Peer: peer}
		initial = append(initial, name+"="+peer)
	}
	for i := range members {
		members[i].Initial = strings.Join(initial, ",")
	}
	return members, nil
}

// Start starts the member, or starts it again, and returns when it is ready: for the first time, when enough of the others
// are. Leases last at least a second.
func (m Member) Start() (*embed.Etcd, error) {
	client, err := url.Parse(m.Client)
	if err != nil {
		return nil, err
	}
	peer, err := url.Parse(m.Peer)
	if err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = m.Name, m.Dir
	cfg.LogLevel = "panic"
	cfg.TickMs, cfg.ElectionMs, cfg.UnsafeNoFsync = 10, 100, !m.Sync
	cfg.BcryptCost = 4 // the least there is
	if m.TLS != nil {
		client.Scheme = "https"
		cfg.ClientTLSInfo = transport.TLSInfo{TrustedCAFile: m.TLS.CA, CertFile: m.TLS.Cert, KeyFile: m.TLS.Key, ClientCertAuth: true}
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = m.Initial
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, nil
	case err := <-e.Err():
		e.Close()
		return nil, err
	}
}

// Endpoint is the host and port for clients.
func (m Member) Endpoint() string { return strings.TrimPrefix(m.Client, "http://") }

// Start starts n members in this process.
func Start(n int, dir string) (*Cluster, error) {
	plan, err := Plan(n, dir)
	if err != nil {
		return nil, err
	}
	return StartAll(plan)
}

// StartAll starts the members in this process.
func StartAll(plan []Member) (*Cluster, error) {
	c := &Cluster{Members: make([]*embed.Etcd, len(plan))}
	errs := make([]error, len(plan))
	var wg sync.WaitGroup
	for i, m := range plan {
		c.Endpoints = append(c.Endpoints, m.Endpoint())
		wg.Go(func() { c.Members[i], errs[i] = m.Start() })
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

// freeURL is at a port that was free a moment ago.
func freeURL() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return "http://" + l.Addr().String(), nil
}
