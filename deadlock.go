package drawbridge

import (
	"runtime"
	"strconv"
	"strings"
)

// cycles knows the waits of the process that can be part of a deadlock over
// several locks: those whose context carries a hold of another lock. A hold
// alone is never registered, so locks that are not nested pay nothing.
//
// A wait W waits for a wait V if V carries a live hold of the lock that W waits
// for, and that hold keeps W out. A cycle closes when its last wait begins: one
// that is granted waits for nobody, and a goroutine that waits already can get
// no new hold. So it is enough to look when a wait is registered.
var cycles deadlocks

type deadlocks struct {
	mu      mutex
	holders map[*core]map[*wait]struct{} // the waits that carry a hold of a lock
}

// wait is a registered wait.
type wait struct {
	core   *core
	lock   any
	key    keyed
	mode   Mode
	waiter *waiter
	scope  *scope
	pcs    [16]uintptr
}

// enter registers the wait of w, which is in the queue of c, unless it would
// close a cycle.
//
//go:norace
func (d *deadlocks) enter(c *core, k *call, w *waiter, s *scope) (*wait, *DeadlockError) {
	v := &wait{core: c, lock: k.lock, key: k.key, mode: k.mode, waiter: w, scope: s}
	runtime.Callers(3, v.pcs[:])

	d.mu.Lock()
	defer d.mu.Unlock()
	if cycle := d.search(v, []*wait{v}, map[*core]bool{}); cycle != nil && stands(cycle) {
		return nil, &DeadlockError{describe(cycle)}
	}
	for held := range v.holds() {
		if d.holders[held] == nil {
			if d.holders == nil {
				d.holders = make(map[*core]map[*wait]struct{})
			}
			d.holders[held] = make(map[*wait]struct{})
		}
		d.holders[held][v] = struct{}{}
	}
	return v, nil
}

// leave forgets a wait that enter returned, or nil.
func (d *deadlocks) leave(v *wait) {
	if v == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for s := v.scope; s != nil; s = s.parent {
		if delete(d.holders[s.core], v); len(d.holders[s.core]) == 0 {
			delete(d.holders, s.core)
		}
	}
}

// holds yields the locks that v carries a live hold of.
func (v *wait) holds() func(yield func(*core) bool) {
	return func(yield func(*core) bool) {
		for s := v.scope; s != nil; s = s.parent {
			if s.live() && !yield(s.core) {
				return
			}
		}
	}
}

// search returns a path from the last wait of path back to its first, or nil.
func (d *deadlocks) search(first *wait, path []*wait, seen map[*core]bool) []*wait {
	last := path[len(path)-1]
	if last != first && last.blockedBy(first) {
		return path
	}
	if seen[last.core] {
		return nil
	}
	seen[last.core] = true
	for next := range d.holders[last.core] {
		if next != last && last.blockedBy(next) {
			if cycle := d.search(first, append(path, next), seen); cycle != nil {
				return cycle
			}
		}
	}
	return nil
}

// blockedBy reports whether v waits for a hold that other carries.
func (v *wait) blockedBy(other *wait) bool {
	if v.waiter.granted.Load() {
		return false
	}
	// The door is closed while a writer holds or waits for those inside.
	shut := v.core.state.Load()&closed != 0
	for s := other.scope; s != nil; s = s.parent {
		if s.core != v.core || !s.live() {
			continue
		}
		// A reader is kept out by a writer that holds, or by one that waits
		// for everybody inside; so is an upgradable reader, or by another one
		// alone. A writer waits for everybody inside, under PreferReaders at
		// an open door.
		if v.mode == Write || shut || v.mode == Upgradable && s.mode == Upgradable {
			return true
		}
	}
	return false
}

// stands looks at a cycle once more. A wait that is not granted now was not
// granted when the first look began, and a hold that is live now was live then:
// neither comes back. So if all of it is true again, all of it was true at one
// moment between the two looks.
func stands(cycle []*wait) bool {
	for i, v := range cycle {
		if !v.blockedBy(cycle[(i+1)%len(cycle)]) {
			return false
		}
	}
	return true
}

func describe(cycle []*wait) []DeadlockWait {
	waits := make([]DeadlockWait, len(cycle))
	for i, v := range cycle {
		waits[i] = DeadlockWait{Lock: v.lock, Mode: v.mode, Site: v.site()}
		if v.key != nil {
			waits[i].Key = v.key.boxed()
		}
	}
	return waits
}

// site is the innermost frame outside of this package.
func (v *wait) site() string {
	frames := runtime.CallersFrames(v.pcs[:])
	for {
		f, more := frames.Next()
		name := strings.TrimPrefix(f.Function, modulePath+".")
		if name == f.Function || strings.HasSuffix(f.File, "_test.go") {
			return f.File + ":" + strconv.Itoa(f.Line)
		}
		if !more {
			return "unknown"
		}
	}
}

const modulePath = "github.com/drawbridge-go/drawbridge"
