//go:build !explore

package drawbridge

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// takeCaller notes who made the call k, if an observer of c wants to know. It is
// called by what the user's call has called, so the user is the fourth to be asked
// for: Callers, takeCaller, that function, the method and its caller.
//
// c.q is not guarded by mu here, and need not be: it is set before the bit in
// the state, and what has been observed once keeps its queue.
//
//go:norace
func (c *core) takeCaller(k *call) {
	raceDisable()
	wanted := c.state.Load()&watched != 0 && atomic.LoadInt32(&c.q.watch.callers) > 0
	raceEnable()
	if wanted {
		var pcs [1]uintptr
		runtime.Callers(4, pcs[:])
		k.caller = pcs[0]
	}
}

// wantsCallers reports whether the observer of entry wants to know who calls.
//
//go:norace
func wantsCallers(entry *Observer) bool {
	raceAcquire(unsafe.Pointer(entry))
	o, ok := (*entry).(CallerObserver)
	return ok && o.WantsCallers()
}
