package cluster

import (
	"context"

	"github.com/drawbridge-go/drawbridge"
	"github.com/drawbridge-go/drawbridge/internal/carrying"
)

// holds are what a context that was given a hold carries: it, and those that its parents carry.
type holds struct {
	hold  *Hold
	outer *holds
}

func carry(ctx context.Context, h *Hold) context.Context {
	outer, _ := ctx.Value(carrying.Key{}).(*holds)
	return context.WithValue(ctx, carrying.Key{}, &holds{h, outer})
}

// carried answers a call on name whose context carries a hold of it: it joins the hold or says why it cannot. ok is
// false if there is no such hold, or no more. The hold may be that of another Locker on the same engine, which a
// call would wait for just as well.
func carried(ctx context.Context, engine Engine, name string, mode Mode) (joined *Hold, err error, ok bool) {
	hs, _ := ctx.Value(carrying.Key{}).(*holds)
	for ; hs != nil; hs = hs.outer {
		if hs.hold.name == name && hs.hold.locker.engine == engine && hs.hold.Held() == nil {
			if joined, err, ok = hs.hold.join(ctx, mode); ok {
				return joined, err, true
			}
		}
	}
	return nil, nil, false
}

func (h *Hold) join(ctx context.Context, mode Mode) (joined *Hold, err error, ok bool) {
	l := h.locker
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case h.ctx.Err() != nil:
		return nil, nil, false // it ended meanwhile
	case h.grant.mode == Write:
		return nil, drawbridge.ErrReentrant, true
	case mode == Write:
		return nil, drawbridge.ErrUpgrade, true
	}
	return l.admit(h.grant, ctx), nil, true
}
