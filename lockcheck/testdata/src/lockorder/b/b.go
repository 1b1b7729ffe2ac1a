// Package b takes them the other way round.
package b

import "lockorder/a"

func Drain(c *a.Conn, p *a.Pool) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	c.Mu.Lock() // want `a.Pool.Mu \(held since b.go:7\) then a.Conn.Mu \(Drain, b.go:9\); a.Conn.Mu \(held since a.go:10\) then a.Pool.Mu \(\(\*Pool\).Remove, a.go:16, called from \(\*Conn\).Close at a.go:12\)`
	c.Mu.Unlock()
}
