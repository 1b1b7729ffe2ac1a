package inspect

import (
	"context"
	"maps"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Frame is a line of code.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

// Label is one of the [runtime/pprof] labels of a context.
type Label struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

const module = "github.com/drawbridge-go/drawbridge"

// frameKind says on whose side a frame is.
type frameKind uint8

const (
	outside  frameKind = iota + 1 // the user's
	inside                        // of the locks, or of this package
	scoped                        // inside, and of a scoped call
	manyKeys                      // inside, and of Keyed.WithLocks
	bottom                        // of the runtime, below every goroutine
)

// kinds remembers the kind of every program counter that was met. It is
// replaced when one is added, of which there are as many as lines that lock.
var kinds struct {
	sync.Mutex
	known atomic.Pointer[map[uintptr]frameKind]
}

func kindOfFrame(pc uintptr) frameKind {
	if m := kinds.known.Load(); m != nil {
		if k := (*m)[pc]; k != 0 {
			return k
		}
	}
	k := classify(frameAt(pc))
	kinds.Lock()
	defer kinds.Unlock()
	next := map[uintptr]frameKind{pc: k}
	if m := kinds.known.Load(); m != nil {
		maps.Copy(next, *m)
	}
	kinds.known.Store(&next)
	return k
}

// classify: a call that goes through sync.Cond, sync.OnceFunc or an RLocker has
// its site in the caller of those.
func classify(f Frame) frameKind {
	own := strings.HasPrefix(f.Function, module+".") || strings.HasPrefix(f.Function, module+"/inspect.")
	switch {
	case strings.HasSuffix(f.File, "_test.go"):
		return outside
	case own && strings.HasSuffix(f.Function, "(*core).within"):
		return scoped
	case own && strings.Contains(f.Function, ".withEntries"):
		return manyKeys
	case own || strings.HasPrefix(f.Function, "sync."):
		return inside
	case f.Function == "runtime.goexit":
		return bottom
	}
	return outside
}

func frameAt(pc uintptr) Frame {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return Frame{f.Function, f.File, f.Line}
}

// site is where a call came from. The zero site is of a call that nobody took
// down.
type site struct {
	pc     uintptr
	stack  []uintptr // from pc on, when the watch keeps stacks
	scoped bool      // made by a scoped call
}

// isSite reports whether pc, the caller of a lock's method, is the site of the
// call. For a trace that runs it has to be known whether the call is a scoped
// one, which the frames tell.
func isSite(pc uintptr) bool {
	return pc != 0 && kindOfFrame(pc) == outside && !trace.IsEnabled()
}

// fewFrames is how many frames of a call are looked at before it is known how
// far its caller is from the observer. Each frame costs time.
const fewFrames = 4

// callSite returns the site of the call that is being observed, of which near
// has the innermost frames, and how many of those it takes to find it.
func callSite(d Detail, near []uintptr) (s site, frames int) {
	if n := s.find(near); n > 0 && d != Stacks {
		return s, n
	}
	var far [64]uintptr
	pcs := far[:runtime.Callers(5, far[:])] // from where near begins
	n := s.find(pcs)
	if n > 0 && d == Stacks {
		s.stack = slices.Clone(pcs[n-1:])
	}
	return s, n
}

// find looks for the first frame outside, and returns how many it has looked
// at; 0 if there is none. What a lock does on a goroutine of its own, as a
// Snapshot does, has its site there.
func (s *site) find(pcs []uintptr) (frames int) {
	for i, pc := range pcs {
		switch kindOfFrame(pc) {
		case scoped:
			s.scoped = true
		case outside:
			s.pc = pc
			return i + 1
		case bottom:
			if i > 0 {
				s.pc = pcs[i-1]
				return i
			}
		}
	}
	return 0
}

// frames returns the site as frames, innermost first, or nil.
func (s site) frames() []Frame {
	pcs := s.stack
	if pcs == nil {
		if s.pc == 0 {
			return nil
		}
		pcs = []uintptr{s.pc}
	}
	var l []Frame
	for it := runtime.CallersFrames(pcs); ; {
		f, more := it.Next()
		if f.Function != "" && f.Function != "runtime.goexit" {
			l = append(l, Frame{f.Function, f.File, f.Line})
		}
		if !more {
			return l
		}
	}
}

// labels are the pprof labels of a context, packed into one string so that a
// hold costs one allocation for them at most: key, NUL, value, NUL.
type labels string

const (
	maxLabels = 512 // bytes in all; labels that would go beyond are left out
	maxLabel  = 128 // bytes of one value; longer ones are cut
)

// labelsBuffer is on the stack of whoever packs labels.
type labelsBuffer [maxLabels]byte

// packLabels packs the labels of ctx into buf.
func packLabels(ctx context.Context, buf *labelsBuffer) []byte {
	b := buf[:0]
	if ctx == context.Background() {
		return b
	}
	pprof.ForLabels(ctx, func(key, value string) bool {
		if len(value) > maxLabel {
			value = strings.ToValidUTF8(value[:maxLabel], "") + "…"
		}
		if len(b)+len(key)+len(value)+2 <= maxLabels {
			b = append(b, key...)
			b = append(b, 0)
			b = append(b, value...)
			b = append(b, 0)
		}
		return true
	})
	return b
}

// list unpacks l. A label that itself has a NUL comes out in pieces, which
// does no harm.
func (l labels) list() []Label {
	if l == "" {
		return nil
	}
	parts := strings.Split(strings.TrimSuffix(string(l), "\x00"), "\x00")
	list := make([]Label, 0, len(parts)/2)
	for i := 0; i+1 < len(parts); i += 2 {
		list = append(list, Label{parts[i], parts[i+1]})
	}
	return list
}
