package linear

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/drawbridge-go/drawbridge"
)

// kind is what a call on a lock does.
type kind uint8

const (
	acquire kind = iota
	try
	release
	upgrade
	downgrade
)

func (k kind) String() string {
	return [...]string{"acquire to", "try to", "release a hold to", "upgrade and", "downgrade and"}[k]
}

// lockCall is a call on the lock of a key.
type lockCall struct {
	kind    kind
	mode    drawbridge.Mode // wanted, or ended
	key     int
	overlap bool // of a try: another call on the lock was under way
}

// holders is the whole state of a lock that does one thing at a time.
type holders struct {
	readers            int
	upgradable, writer bool
}

// step is what that lock does. A call that failed has no effect; a try may only
// fail when it meets a hold or another call.
func (h holders) step(c lockCall, ok bool) (bool, holders) {
	n := h
	switch c.kind {
	case acquire, try:
		if !ok {
			return c.kind == acquire || c.overlap || !h.admits(c.mode), h
		}
		if !h.admits(c.mode) {
			return false, h
		}
		n.change(c.mode, true)
	case release:
		n.change(c.mode, false)
	case upgrade:
		if !ok {
			return h.upgradable, h
		}
		if !h.upgradable || h.readers > 0 {
			return false, h
		}
		n = holders{writer: true}
	case downgrade:
		if !h.writer {
			return false, h
		}
		n.writer = false
		n.change(c.mode, true)
	}
	return true, n
}

func (h holders) admits(m drawbridge.Mode) bool {
	switch m {
	case drawbridge.Read:
		return !h.writer
	case drawbridge.Upgradable:
		return !h.writer && !h.upgradable
	}
	return h == holders{}
}

func (h *holders) change(m drawbridge.Mode, in bool) {
	switch m {
	case drawbridge.Read:
		if in {
			h.readers++
		} else {
			h.readers--
		}
	case drawbridge.Upgradable:
		h.upgradable = in
	case drawbridge.Write:
		h.writer = in
	}
}

// lockModel is one lock a key.
var lockModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[int][]porcupine.Operation{}
		for _, o := range history {
			key := o.Input.(lockCall).key
			byKey[key] = append(byKey[key], o)
		}
		var all [][]porcupine.Operation
		for _, h := range byKey {
			all = append(all, h)
		}
		return all
	},
	Init: func() any { return holders{} },
	Step: func(state, in, out any) (bool, any) {
		ok, next := state.(holders).step(in.(lockCall), out.(bool))
		return ok, next
	},
	DescribeOperation: func(in, out any) string {
		c := in.(lockCall)
		return fmt.Sprintf("%s %s: %t", c.kind, c.mode, out)
	},
}

// markOverlaps notes for each try whether another call on its lock was under
// way at some time during it.
func markOverlaps(history []porcupine.Operation) {
	for i := range history {
		c := history[i].Input.(lockCall)
		for j, other := range history {
			if c.kind == try && i != j && other.Input.(lockCall).key == c.key &&
				other.Call <= history[i].Return && other.Return >= history[i].Call {
				c.overlap = true
			}
		}
		history[i].Input = c
	}
}

// patience returns a context for one call: three in ten end within 50 µs, some
// of them before the call.
func (c *client) patience() (context.Context, context.CancelFunc) {
	if c.rnd.IntN(10) < 3 {
		return context.WithTimeout(context.Background(), time.Duration(c.rnd.IntN(51))*time.Microsecond)
	}
	return context.WithCancel(context.Background())
}

// pause is a section that others may find themselves beside.
func (c *client) pause() {
	for range c.rnd.IntN(3) {
		runtime.Gosched()
	}
}

// useLock does one acquire in some way and what may follow it.
func (c *client) useLock(rw *drawbridge.RWMutex) {
	ctx, cancel := c.patience()
	defer cancel()
	do := func(k kind, m drawbridge.Mode, f func() bool) bool {
		began := c.now()
		ok := f()
		c.add(began, lockCall{kind: k, mode: m}, ok)
		return ok
	}
	granted := func(f func(context.Context) error) func() bool {
		return func() bool { return f(ctx) == nil }
	}
	plain := func(f func()) func() bool { return func() bool { f(); return true } }
	const R, U, W = drawbridge.Read, drawbridge.Upgradable, drawbridge.Write

	held := drawbridge.Mode(0)
	switch c.rnd.IntN(8) {
	case 0, 1:
		if do(acquire, R, granted(rw.RLockContext)) {
			held = R
		}
	case 2, 3:
		if do(acquire, W, granted(rw.LockContext)) {
			held = W
		}
	case 4:
		if do(acquire, U, granted(rw.ULockContext)) {
			held = U
		}
	case 5:
		if do(try, R, rw.TryRLock) {
			held = R
		}
	case 6:
		if do(try, W, rw.TryLock) {
			held = W
		}
	case 7:
		do(acquire, R, plain(rw.RLock))
		held = R
	}
	c.pause()
	if held == U && c.rnd.IntN(2) == 0 && do(upgrade, W, granted(rw.UpgradeContext)) {
		held = W
		c.pause()
	}
	if held == W {
		switch c.rnd.IntN(4) {
		case 0:
			do(downgrade, R, plain(rw.Downgrade))
			held = R
		case 1:
			do(downgrade, U, plain(rw.DowngradeToUpgradable))
			held = U
		}
		c.pause()
	}
	switch held {
	case R:
		do(release, R, plain(rw.RUnlock))
	case U:
		do(release, U, plain(rw.UUnlock))
	case W:
		do(release, W, plain(rw.Unlock))
	}
}

func TestRWMutexIsLinearizable(t *testing.T) {
	for _, p := range []drawbridge.Policy{drawbridge.Balanced, drawbridge.PreferWriters, drawbridge.PreferReaders, drawbridge.FIFO} {
		t.Run(p.String(), func(t *testing.T) {
			for seed := range rounds(t) {
				rw := &drawbridge.RWMutex{Policy: p}
				history := newRecorder().run(6, uint64(seed), func(c *client) {
					for range 12 {
						c.useLock(rw)
					}
				})
				markOverlaps(history)
				linearizable(t, lockModel, history)
				if s := rw.State(); s != (drawbridge.State{}) || !rw.TryLock() {
					t.Fatalf("all calls have returned and the lock is not free: %s", s)
				}
			}
		})
	}
}

// The lock that many readers have made striped, and that turns back.
func TestReadHotRWMutexIsLinearizable(t *testing.T) {
	for seed := range rounds(t) / 2 {
		rw := new(drawbridge.RWMutex)
		rw.RLock()
		for range 2000 {
			rw.RLock()
			rw.RUnlock()
		}
		rw.RUnlock()
		history := newRecorder().run(6, uint64(seed), func(c *client) {
			for range 12 {
				c.useLock(rw)
			}
		})
		markOverlaps(history)
		linearizable(t, lockModel, history)
	}
}

func TestKeyedIsLinearizable(t *testing.T) {
	for seed := range rounds(t) {
		var k drawbridge.Keyed[int]
		history := newRecorder().run(6, uint64(seed), func(c *client) {
			for range 10 {
				c.useKeyed(&k)
			}
		})
		linearizable(t, lockModel, history)
		if n := k.Len(); n != 0 {
			t.Fatalf("all calls have returned and %d keys are left", n)
		}
	}
}

func (c *client) useKeyed(k *drawbridge.Keyed[int]) {
	ctx, cancel := c.patience()
	defer cancel()
	mode := drawbridge.Write
	keys := []int{c.rnd.IntN(2)}
	began, ended := c.now(), int64(0)
	entered := false
	inside := func(context.Context) error {
		entered = true
		for _, key := range keys {
			c.add(began, lockCall{kind: acquire, mode: mode, key: key}, true)
		}
		c.pause()
		ended = c.now()
		return nil
	}
	switch c.rnd.IntN(4) {
	case 0:
		k.WithLock(ctx, keys[0], inside)
	case 1:
		mode = drawbridge.Read
		k.WithRLock(ctx, keys[0], inside)
	case 2:
		keys = []int{1, 0}
		k.WithLocks(ctx, keys, inside)
	case 3:
		if unlock, err := k.LockContext(ctx, keys[0]); err == nil {
			inside(ctx)
			unlock()
		}
	}
	for _, key := range keys {
		if entered {
			c.add(ended, lockCall{kind: release, mode: mode, key: key}, true)
		} else {
			c.add(began, lockCall{kind: acquire, mode: mode, key: key}, false)
		}
	}
}

// TestCheckerFindsTwoOwners gives the checker histories that no lock may have,
// and looks for the picture.
func TestCheckerFindsTwoOwners(t *testing.T) {
	op := func(client int, call, ret int64, c lockCall, ok bool) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Call: call, Return: ret, Input: c, Output: ok}
	}
	const R, W = drawbridge.Read, drawbridge.Write
	for name, history := range map[string][]porcupine.Operation{
		"two writers": {
			op(0, 0, 1, lockCall{kind: acquire, mode: W}, true),
			op(1, 2, 3, lockCall{kind: acquire, mode: W}, true),
			op(0, 4, 5, lockCall{kind: release, mode: W}, true),
			op(1, 4, 5, lockCall{kind: release, mode: W}, true),
		},
		"a grant that was lost": {
			op(0, 0, 1, lockCall{kind: acquire, mode: W}, false),
			op(1, 2, 3, lockCall{kind: try, mode: R}, false),
		},
	} {
		markOverlaps(history)
		result, info := porcupine.CheckOperationsVerbose(lockModel, history, time.Minute)
		if result != porcupine.Illegal {
			t.Errorf("%s: the checker says %s", name, result)
		}
		path := filepath.Join(t.TempDir(), "history.html")
		if err := porcupine.VisualizePath(lockModel, info, path); err != nil {
			t.Error(err)
		}
		if page, err := os.ReadFile(path); err != nil || len(page) < 1000 {
			t.Errorf("%s: a picture of %d bytes, %v", name, len(page), err)
		}
	}
}
