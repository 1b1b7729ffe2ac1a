package lockcheck

import (
	"fmt"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A summary is what a function does to locks, as its callers need to know it. It is the fact that crosses
// package borders, so it speaks of parameters and package-level variables only.
type summary struct {
	Acquires []acquire
	Exits    []wayOut
	Blocks   []block
	Calls    []paramCall
	Returns  []returned
	Outcome  outcome
	Unsure   bool // there are more ways out than Exits tells

	index map[acquireKey]int
}

// AFact makes summary an analysis.Fact.
func (*summary) AFact() {}

func (s *summary) String() string {
	var b strings.Builder
	for _, a := range s.Acquires {
		fmt.Fprintf(&b, "%s %s;", a.Mode, a.Lock)
	}
	for _, x := range s.Exits {
		fmt.Fprintf(&b, " exit")
		for _, h := range x.Holds {
			fmt.Fprintf(&b, " +%s", h.Lock)
		}
		for _, h := range x.Frees {
			fmt.Fprintf(&b, " -%s", h.Lock)
		}
	}
	return b.String()
}

// An acquire is a lock that the function, or what it calls, takes at some point.
type acquire struct {
	Lock    path
	Class   string
	Mode    mode
	Try     bool
	Ctx     bool
	Bridge  bool
	Guards  []guard    // what must hold of the arguments for it to come to that
	After   []heldLock // locks that it gives back before, although it did not take them
	Trace   []frame    // from the function down to the place
	Dynamic bool       // some call on the way, through a variable, may go elsewhere
	Method  bool       // some call on the way is one of an interface's method
	Printed string     // the call that formats the value, when a String method does it
}

// A frame is one step on the way to a place: the function, and file and line.
type frame struct{ Func, At string }

// A heldLock is a lock that is held, or given back, when the function returns.
type heldLock struct {
	Lock   path
	Class  string
	Mode   mode
	At     string
	Bridge bool // drawbridge's own type
}

// A wayOut is one way in which the function returns.
type wayOut struct {
	Holds   []heldLock
	Frees   []heldLock
	Results string // a letter for each result: t, f (bool), n, v (nil, a value), ? (not known)
	Guards  []guard
}

// A guard is a condition on a parameter, or on a variable of the enclosing function, that chooses what a
// function does: needLock in func (s *Store) remove(k string, needLock bool).
type guard struct {
	Param  int    // -1 for a variable of the enclosing function
	Equals string // "nil"; empty when the parameter is a bool
	Is     bool
	value  ssa.Value
}

// A block is a wait without a lock's own wait: a channel, a network call.
type block struct {
	What    string
	Bounded bool   // by a context or a time limit
	Own     path   // the lock that a Cond gives back while it waits
	OwnLock string // its class
	Cond    bool   // gives a lock back while it waits, and that is not one of Own
	After   []heldLock
	Trace   []frame
	Dynamic bool
}

// A paramCall is a call of a function parameter, with the locks held around it.
type paramCall struct {
	Param int
	Holds []heldLock
	After []heldLock
	Trace []frame
}

// A returned says where a result comes from: a lock or object that a parameter leads to, or a new object with
// fields that parameters lead to.
type returned struct {
	Alias  *path
	Class  string
	Fields []pathField
}

// A pathField is a field of a new object, and what leads to its value.
type pathField struct {
	Name string
	Path path
}

func (s *summary) empty() bool {
	if s == nil {
		return true
	}
	returns := false
	for _, r := range s.Returns {
		returns = returns || r.Alias != nil || len(r.Fields) > 0
	}
	return len(s.Acquires) == 0 && len(s.Calls) == 0 && len(s.Blocks) == 0 && !s.nets() && !returns && !s.Unsure && s.Outcome.empty()
}

// nets reports whether some exit leaves the locks other than they were.
func (s *summary) nets() bool {
	for _, x := range s.Exits {
		if len(x.Holds)+len(x.Frees) > 0 {
			return true
		}
	}
	return false
}

// portable is the summary without what other packages cannot use.
func (s *summary) portable() *summary {
	out := &summary{Outcome: s.Outcome.portable(), Unsure: s.Unsure}
	for _, a := range s.Acquires {
		if a.Lock = a.Lock.portable(); a.Lock.Root.Kind == rootUnknown && a.Class == "" {
			continue
		}
		a.After, a.Guards = portableHolds(a.After), portableGuards(a.Guards)
		out.Acquires = append(out.Acquires, a)
	}
	for _, x := range s.Exits {
		x.Holds, x.Frees, x.Guards = portableHolds(x.Holds), portableHolds(x.Frees), portableGuards(x.Guards)
		out.Exits = append(out.Exits, x)
	}
	if !out.nets() {
		out.Exits = nil
	}
	for _, c := range s.Calls {
		c.Holds, c.After = portableHolds(c.Holds), portableHolds(c.After)
		out.Calls = append(out.Calls, c)
	}
	for _, r := range s.Returns {
		var q returned
		if r.Alias != nil {
			if p := r.Alias.portable(); p.Root.Kind != rootUnknown {
				q.Alias, q.Class = &p, r.Class
			}
		}
		for _, f := range r.Fields {
			if f.Path = f.Path.portable(); f.Path.Root.Kind != rootUnknown {
				q.Fields = append(q.Fields, f)
			}
		}
		out.Returns = append(out.Returns, q)
	}
	return out
}

func portableHolds(hs []heldLock) []heldLock {
	var out []heldLock
	for _, h := range hs {
		if h.Lock = h.Lock.portable(); h.Lock.Root.Kind != rootUnknown || h.Class != "" {
			out = append(out, h)
		}
	}
	return out
}

// add keeps one acquire of each kind, the one with the shortest way to it.
func (s *summary) add(a acquire) {
	k := acquireKey{a.Lock, a.Class, a.Mode, a.Try, a.Ctx, a.Dynamic, a.Method, a.Printed != "", len(a.After), guardKey(a.Guards)}
	for _, h := range a.After {
		k.after += h.Class + h.Lock.Steps + ";"
	}
	if i, ok := s.index[k]; ok {
		if len(a.Trace) < len(s.Acquires[i].Trace) {
			s.Acquires[i] = a
		}
		return
	}
	if len(s.Acquires) < maxAcquires && len(a.Trace) <= maxTrace {
		if s.index == nil {
			s.index = map[acquireKey]int{}
		}
		s.index[k] = len(s.Acquires)
		s.Acquires = append(s.Acquires, a)
	}
}

type acquireKey struct {
	lock                               path
	class                              string
	mode                               mode
	try, ctx, dynamic, method, printed bool
	afters                             int
	after                              string
}

func (s *summary) addBlock(b block) {
	for i, old := range s.Blocks {
		if old.What == b.What && old.Own == b.Own && old.Bounded == b.Bounded && old.Dynamic == b.Dynamic && sameHolds(old.After, b.After) {
			if len(b.Trace) < len(old.Trace) {
				s.Blocks[i] = b
			}
			return
		}
	}
	if len(s.Blocks) < maxAcquires {
		s.Blocks = append(s.Blocks, b)
	}
}

func (s *summary) addExit(x wayOut) {
	for _, old := range s.Exits {
		if old.Results == x.Results && sameGuards(old.Guards, x.Guards) && sameHolds(old.Holds, x.Holds) && sameHolds(old.Frees, x.Frees) {
			return
		}
	}
	s.Exits = append(s.Exits, x)
}

const (
	maxAcquires = 96
	maxTrace    = 12
	maxExits    = 6
)

// guardKey tells guards apart within one function.
func guardKey(gs []guard) string {
	s := ""
	for _, g := range gs {
		name := ""
		if g.value != nil {
			name = g.value.Parent().Name() + g.value.Name()
		}
		s += fmt.Sprint(g.Param, g.Equals, g.Is, name, ";")
	}
	return s
}

func sameGuards(a, b []guard) bool { return guardKey(a) == guardKey(b) }

func portableGuards(gs []guard) []guard {
	var out []guard
	for _, g := range gs {
		if g.value = nil; g.Param >= 0 {
			out = append(out, g)
		}
	}
	return out
}

func sameHolds(a, b []heldLock) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Lock != b[i].Lock || a[i].Mode != b[i].Mode {
			return false
		}
	}
	return true
}
