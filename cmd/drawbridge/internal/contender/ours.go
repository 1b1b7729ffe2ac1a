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
			return &bridge{drawbridge.RWMutex{Policy: p}}
		}})
	}
	return all
}

type bridge struct{ rw drawbridge.RWMutex }

func (b *bridge) Lock(ctx context.Context) error  { return b.rw.LockContext(ctx) }
func (b *bridge) Unlock()                         { b.rw.Unlock() }
func (b *bridge) RLock(ctx context.Context) error { return b.rw.RLockContext(ctx) }
func (b *bridge) RUnlock()                        { b.rw.RUnlock() }
func (b *bridge) Settle()                         {}
