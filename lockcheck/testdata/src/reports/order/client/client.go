// Package client takes the connection's lock and then that of its addresses.
package client

import "sync"

// https://github.com/grpc/grpc-go/issues/3047
type Conn struct {
	Mu    sync.Mutex
	addrs []*AddrConn
}

type AddrConn struct {
	Mu sync.Mutex
	Cc *Conn
}

func (c *Conn) Close() {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for _, a := range c.addrs {
		a.TearDown()
	}
}

func (a *AddrConn) TearDown() {
	a.Mu.Lock()
	defer a.Mu.Unlock()
}
