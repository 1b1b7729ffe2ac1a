package contender

import (
	"context"

	"github.com/drawbridge-go/drawbridge"
)

const drawbridgeName = "drawbridge.RWMutex"

func ours() []Contender {
	var all []Contender
	for _, p := range []drawbridge.Policy{
		drawbridge.Balanced, drawbridge.PreferWriters, drawbridge.PreferReaders, drawbridge.FIFO,
	} {
		all = append(all, Contender{drawbridgeName, p.String(), func() Lock {
			return Bridge(&drawbridge.RWMutex{Policy: p})
		}})
	}
	return all
}

// RW is the part of a [drawbridge.RWMutex] that an experiment uses.
type RW interface {
	LockContext(context.Context) error
	Unlock()
	RLockContext(context.Context) error
	RUnlock()
}

// Bridge returns rw as a contender.
func Bridge(rw RW) Lock { return bridge{rw} }

type bridge struct{ RW }

func (b bridge) Lock(ctx context.Context) error  { return b.LockContext(ctx) }
func (b bridge) RLock(ctx context.Context) error { return b.RLockContext(ctx) }
func (b bridge) Settle()                         {}
