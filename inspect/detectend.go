package inspect

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// lastLook is for those who wait for a lock when the detector is stopped. Where
// it stands at the end of the tests of a package, or of one that has awaited
// its goroutines, nothing else happens any more: if nothing moves in the whole
// process, nobody is left to wake the holder of a lock. A timer or a signal
// could, so what is told is a note.
//
// Goroutines that are at it are given the patience to end or to come to rest.
func (d *detector) lastLook() {
	for end := time.Now().Add(d.Patience); ; time.Sleep(d.Patience / 20) {
		d.mu.Lock()
		waits := len(d.waits) > 0
		d.mu.Unlock()
		if !waits {
			return
		}
		if all := othersAtRest(); all != nil {
			d.tell(d.left(all))
			return
		}
		if !time.Now().Before(end) {
			return
		}
	}
}

// left returns what is to be said of the locks that are waited for, when all
// goroutines but the caller's are as given.
func (d *detector) left(all map[uint64]standing) (found []Misuse) {
	self := goroutine()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range d.locks {
		for _, w := range u.waits {
			if !w.endless || d.handed[w.lockID] {
				continue
			}
			for _, h := range u.holds {
				s, there := all[h.goroutine]
				switch {
				case h.goroutine == w.goroutine || !excludes(w.mode, h.mode) || h.noted:
				case there:
					h.noted = true
					found = append(found, Misuse{Kind: LeftWaiting, Note: true, Steps: []Step{h.step(false), s.step(h.goroutine), w.step(true)}})
				case h.goroutine != self:
					h.noted = true
					found = append(found, holderGone(h, w))
				}
			}
		}
	}
	return found
}

// standing is where a goroutine waits, as the runtime tells it.
type standing struct {
	state string // "chan receive"
	stack []byte // the text below the first line
}

func (s standing) step(g uint64) Step {
	return Step{Goroutine: g, Waits: true, For: s.state, Stack: framesOf(s.stack)}
}

// atRest are the states that only another goroutine, a timer or a signal ends.
// Others may end by themselves, or have not even begun.
var atRest = map[string]bool{
	"chan receive": true, "chan receive (nil chan)": true, "chan send": true, "chan send (nil chan)": true,
	"select": true, "select (no cases)": true, "semacquire": true, "sync.Cond.Wait": true, "sync.WaitGroup.Wait": true,
	"sync.Mutex.Lock": true, "sync.RWMutex.Lock": true, "sync.RWMutex.RLock": true, "synctest.Run": true,
}

// othersAtRest returns where all goroutines but the caller's wait, or nil if one
// of them does not. In a bubble of testing/synctest, those outside do not count.
func othersAtRest() map[uint64]standing {
	text := allStacks()
	if text == nil {
		return nil
	}
	all := make(map[uint64]standing)
	var own []byte // the caller's bubble
	for i, one := range bytes.Split(text, []byte("\n\n")) {
		first, stack, _ := bytes.Cut(one, []byte("\n"))
		id, ok := parseGoroutine(first)
		_, state, ok2 := bytes.Cut(first, []byte("["))
		if !ok || !ok2 {
			return nil
		}
		state, more, _ := bytes.Cut(bytes.TrimSuffix(state, []byte("]:")), []byte(","))
		_, bubble, _ := bytes.Cut(more, []byte("synctest bubble "))
		if i == 0 { // the caller
			own = bubble
			continue
		}
		if own != nil && !bytes.Equal(own, bubble) {
			continue
		}
		s := standing{strings.TrimSuffix(string(state), " (durable)"), stack}
		if !atRest[s.state] && !bytes.HasPrefix(stack, []byte("os/signal.signal_recv(")) {
			return nil
		}
		all[id] = s
	}
	return all
}

// allStacks returns the stacks of all goroutines, the caller's first, or nil if
// they are too many. It stops the world for as long as it takes to write them.
func allStacks() []byte {
	for size := 1 << 16; size <= 1<<26; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < len(buf) {
			return buf[:n]
		}
	}
	return nil
}

// framesOf reads the frames of a goroutine's stack, without those of package
// sync, which say no more than the state does.
func framesOf(stack []byte) (frames []Frame) {
	lines := strings.Split(strings.TrimSpace(string(stack)), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		function, place := lines[i], strings.TrimSpace(lines[i+1])
		if strings.HasPrefix(function, "created by ") {
			break
		}
		function = function[:max(strings.LastIndexByte(function, '('), 0)]
		if strings.HasPrefix(function, "sync.") || strings.HasPrefix(function, "internal/sync.") {
			continue
		}
		place, _, _ = strings.Cut(place, " +0x")
		colon := max(strings.LastIndexByte(place, ':'), 0)
		line, _ := strconv.Atoi(strings.TrimPrefix(place[colon:], ":"))
		frames = append(frames, Frame{Function: function, File: place[:colon], Line: line})
	}
	return frames
}
