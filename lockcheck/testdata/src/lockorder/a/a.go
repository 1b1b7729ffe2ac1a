// Package a takes Conn.Mu and then Pool.Mu.
package a

import "sync"

type Conn struct{ Mu sync.Mutex }
type Pool struct{ Mu sync.Mutex }

func (c *Conn) Close(p *Pool) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	p.Remove()
}

func (p *Pool) Remove() {
	p.Mu.Lock()
	defer p.Mu.Unlock()
}
