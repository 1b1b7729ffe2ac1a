package lockcheck

import (
	"go/types"
	"regexp"
	"sort"

	"golang.org/x/tools/go/ssa"
)

// finish draws the conclusions from all the ways out of a function: what it leaves locked or unlocked for
// its callers, and which returns have forgotten an unlock.
func (f *flow) finish() {
	f.sum.Returns, f.sum.Outcome = f.ret, *f.e.outcome(f.fn)
	if f.budget <= 0 {
		f.lost()
		return // too many paths to say anything of the ways out
	}
	for _, x := range f.exits {
		f.pair(x.state)
		for _, h := range x.held {
			f.e.lent[h.lock.class] = true
		}
	}
	forgotten := f.leaks()
	handed := returnsFunc(f.fn)
	for _, x := range f.exits {
		out := wayOut{Results: x.results, Guards: x.guards}
		for _, h := range x.held {
			if !h.stale && !h.handed && !h.scoped && !handed && !forgotten[leakKey{h.lock.path, h.by}] {
				out.Holds = append(out.Holds, h.held())
			}
		}
		for _, h := range x.freed {
			out.Frees = append(out.Frees, h.held())
		}
		sortHolds(out.Holds)
		sortHolds(out.Frees)
		f.sum.addExit(out)
	}
	var whole bool
	if f.sum.Exits, whole = simplify(f.sum.Exits); !whole {
		f.lost()
	}
	if f.report {
		for _, u := range f.unlocks {
			u.unsure = f.unsure
		}
		f.e.unlocks = append(f.e.unlocks, f.unlocks...)
	}
}

// pair drops an unlock without a lock together with a lock without an unlock of the same class: the function
// has reached one lock by two names.
func (f *flow) pair(s *state) {
	for i := 0; i < len(s.freed); i++ {
		for j, h := range s.held {
			if h.lock.class == s.freed[i].lock.class && h.mode == s.freed[i].mode && (vague(h.lock) || vague(s.freed[i].lock) || !h.lock.exact()) {
				f.e.served[freeKey{f.fn, s.freed[i].lock.path}] = true
				s.held = append(s.held[:j:j], s.held[j+1:]...)
				s.freed = append(s.freed[:i:i], s.freed[i+1:]...)
				i--
				break
			}
		}
	}
}

func sortHolds(hs []heldLock) {
	sort.SliceStable(hs, func(i, j int) bool {
		if hs[i].Class != hs[j].Class {
			return hs[i].Class < hs[j].Class
		}
		return hs[i].Lock.Steps < hs[j].Lock.Steps
	})
}

// simplify makes one exit of exits that leave the same locks, and of too many exits what they have in common,
// which is not the whole of it.
func simplify(xs []wayOut) (out []wayOut, whole bool) {
	if len(xs) == 0 {
		return nil, true
	}
	same := true
	for _, x := range xs[1:] {
		same = same && sameHolds(x.Holds, xs[0].Holds) && sameHolds(x.Frees, xs[0].Frees)
	}
	if same {
		xs[0].Results, xs[0].Guards = "", nil
		return xs[:1], true
	}
	if len(xs) <= maxExits {
		return xs, true
	}
	common := func(of func(wayOut) []heldLock) []heldLock {
		var out []heldLock
	next:
		for _, h := range of(xs[0]) {
			for _, x := range xs[1:] {
				found := false
				for _, g := range of(x) {
					found = found || g.Lock == h.Lock && g.Mode == h.Mode
				}
				if !found {
					continue next
				}
			}
			out = append(out, h)
		}
		return out
	}
	return []wayOut{{
		Holds: common(func(x wayOut) []heldLock { return x.Holds }),
		Frees: common(func(x wayOut) []heldLock { return x.Frees }),
	}}, false
}

// returnsFunc reports whether a function returns a function, which may well be the one that unlocks.
func returnsFunc(fn *ssa.Function) bool {
	results := fn.Signature.Results()
	for i := range results.Len() {
		if _, ok := results.At(i).Type().Underlying().(*types.Signature); ok {
			return true
		}
	}
	return false
}

type leakKey struct {
	lock path
	by   ssa.Instruction
}

// leaks finds the returns that keep a lock which other returns have given back. It returns those about which
// there is no doubt; the others are for [lockleak] to judge once the whole package is known.
func (f *flow) leaks() map[leakKey]bool {
	sure := map[leakKey]bool{}
	told := map[leakKey]bool{}
	if _, ok := ops[f.fn.Name()]; ok && f.fn.Signature.Recv() != nil {
		return sure // this is a lock's own method
	}
	for _, x := range f.exits {
		for _, h := range x.held {
			k := leakKey{h.lock.path, h.by}
			if h.stale || h.handed || h.scoped || !h.lock.exact() || vague(h.lock) {
				continue
			}
			ev := event{kind: leak, at: x.at, hold: h, lock: h.lock, helper: true, never: true}
			others, differ := 0, 0
			for _, y := range f.exits {
				if y.holds(h.lock.path) {
					continue
				}
				others++
				apart := differs(x.results, y.results) || opposed(x.guards, y.guards)
				never := !y.had(h.lock.path)
				if apart {
					differ++
				}
				if !apart && !never {
					ev.helper, ev.never = false, false
				} else if !apart && ev.helper {
					ev.helper = false
				} else if apart && !never && ev.helper {
					ev.never = false
				}
			}
			if others == 0 {
				// Every return keeps the lock. That is a helper's way, but for one that gives the lock back in a loop
				// and forgets it on the way out, or has asked with a context and let nobody unlock.
				switch {
				case x.had(h.lock.path):
					ev.helper, ev.never = true, false
				case h.ctx:
					ev.kind = ctxLeak
				default:
					continue
				}
			} else if h.ctx && others == differ && ev.helper && !f.anyHad(h.lock.path) {
				ev.kind = ctxLeak
			}
			if ev.kind == leak && !ev.helper && !ev.never {
				sure[k] = true
			}
			if !told[k] {
				told[k] = true
				f.emit(ev)
			}
		}
	}
	return sure
}

func (s *state) holds(p path) bool {
	for _, h := range s.held {
		if h.lock.path == p {
			return true
		}
	}
	return false
}

func (s *state) had(p path) bool {
	for _, h := range s.past {
		if h.lock.path == p {
			return true
		}
	}
	return false
}

func (f *flow) anyHad(p path) bool {
	for _, x := range f.exits {
		if x.had(p) {
			return true
		}
	}
	return false
}

// differs reports whether a caller can tell two returns apart by their results.
func differs(a, b string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != '?' && b[i] != '?' && a[i] != b[i] {
			return true
		}
	}
	return false
}

// opposed reports whether two ways through a function are chosen by its caller.
func opposed(a, b []guard) bool {
	for _, g := range a {
		for _, h := range b {
			if g.Param == h.Param && g.value == h.value && g.Equals == h.Equals && g.Is != h.Is {
				return true
			}
		}
	}
	return false
}

// lockish are the names of functions that may keep a lock for their caller.
var lockish = regexp.MustCompile(`(?i)lock|acquire|begin|enter|hold|claim|reserve`)

// forgets judges a leak event with the whole package known.
func (e *engine) forgets(ev event) bool {
	if !ev.helper && !ev.never {
		return true
	}
	if e.orphans[ev.lock.class] {
		return false // somebody gives back what others have taken
	}
	if ev.never && !ev.helper {
		return !lockish.MatchString(ev.fn.Name())
	}
	if e.called[ev.fn] || ev.fn.Parent() != nil {
		return true
	}
	return !lockish.MatchString(ev.fn.Name()) && !exportedClass(ev.lock.class)
}

// exportedClass reports whether other packages can name the lock's field and so unlock it.
func exportedClass(class string) bool {
	i := len(class) - 1
	for i >= 0 && class[i] != '.' {
		i--
	}
	return i+1 < len(class) && class[i+1] >= 'A' && class[i+1] <= 'Z'
}
