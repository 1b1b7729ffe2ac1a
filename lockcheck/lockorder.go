package lockcheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"sort"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// An edge says that a lock of class To was taken while one of class From was held.
type edge struct {
	From, To    string
	Held, Taken mode
	HeldAt      string
	Gates       []string // classes of the other locks held
	Bounded     bool     // To was asked for with a context, so the wait ends
	Trace       []frame
	Pkg         string
	pos         token.Pos       // in this package only
	of          *ssa.Function   // the function whose local variables both locks are
	in          *ssa.Function   // the function that holds From
	by, at      ssa.Instruction // what has taken From in it, and what takes To
	fork        string          // of steps that may be over when others are taken: the function's name
}

// own is the function that takes its own local locks, or nil.
func (e edge) own() *ssa.Function {
	if e.of == e.in {
		return e.of
	}
	return nil
}

func (e edge) key() string {
	return fmt.Sprint(e.From, e.To, e.Held, e.Taken, e.Bounded, e.Gates, e.own() != nil, e.fork)
}

// A packageFact carries the order in which a package and everything it imports take locks.
type packageFact struct {
	Edges   []edge
	Writers []string
}

// AFact makes packageFact an analysis.Fact.
func (*packageFact) AFact() {}

func (f *packageFact) String() string {
	var s []string
	for _, e := range f.Edges {
		s = append(s, short(e.From)+" before "+short(e.To))
	}
	return strings.Join(s, "; ")
}

const maxEdges = 4000

// trim keeps the facts small: each edge once, and none that ends in the standard library, where no cycle
// goes through.
func (f *packageFact) trim() {
	seen := map[string]bool{}
	var kept []edge
	for _, e := range f.Edges {
		if pkg, _, _ := strings.Cut(e.To, "."); seen[e.key()] || standard(pkg) || len(kept) >= maxEdges {
			continue
		}
		seen[e.key()] = true
		kept = append(kept, e)
	}
	f.Edges = kept
	sort.Strings(f.Writers)
	var w []string
	for _, c := range f.Writers {
		pkg, _, _ := strings.Cut(c, ".")
		if c != "" && !standard(pkg) && (len(w) == 0 || w[len(w)-1] != c) {
			w = append(w, c)
		}
	}
	f.Writers = w
}

// importPackages collects what the imports know.
func (e *engine) importPackages() *packageFact {
	all := &packageFact{}
	for _, imp := range e.pass.Pkg.Imports() {
		var fact packageFact
		if !e.pass.ImportPackageFact(imp, &fact) {
			continue
		}
		all.Edges = append(all.Edges, fact.Edges...)
		for _, c := range fact.Writers {
			e.writers[c] = true
		}
	}
	return all
}

func (e *engine) edge(x edge) {
	sort.Strings(x.Gates)
	x.Pkg = e.pass.Pkg.Path()
	if e.fork(x.in) != nil || e.forks[x.in] {
		x.fork = funcName(x.in)
	}
	if !e.edgeSeen[x.key()] {
		e.edgeSeen[x.key()] = true
		e.edges = append(e.edges, x)
	}
}

// An entry is a call of a function of this package, and the classes of the locks held at it.
type entry struct {
	from  *ssa.Function
	holds map[string]bool
}

func (e *engine) entered(fn *ssa.Function, s *state, from *ssa.Function) {
	x := entry{from, map[string]bool{}}
	for _, h := range s.held {
		if !h.stale {
			x.holds[h.lock.class] = true
		}
	}
	for _, old := range e.entries[fn] {
		if old.from == from && maps.Equal(old.holds, x.holds) {
			return
		}
	}
	e.entries[fn] = append(e.entries[fn], x)
}

// gate adds to the edges the locks that all callers of their functions hold. Of a function that other packages
// can call, only those are certain that it gives back itself.
func (e *engine) gate() {
	under := map[*ssa.Function]map[string]bool{}
	for fn := range e.entries {
		if !ast.IsExported(fn.Name()) || fn.Parent() != nil {
			under[fn] = nil // not yet known
		}
	}
	certain := func(fn *ssa.Function) map[string]bool {
		out := map[string]bool{}
		if s := e.sums[fn]; s != nil {
			for i, x := range s.Exits {
				has := map[string]bool{}
				for _, h := range x.Frees {
					has[h.Class] = true
				}
				if i == 0 {
					out = has
				}
				for c := range out {
					if !has[c] {
						delete(out, c)
					}
				}
			}
		}
		return out
	}
	known := func(fn *ssa.Function) (map[string]bool, bool) {
		set, ok := under[fn]
		if !ok {
			return certain(fn), true
		}
		return set, set != nil
	}
	for changed := true; changed; {
		changed = false
		for fn := range under {
			var all map[string]bool
			for _, x := range e.entries[fn] {
				above, ok := known(x.from)
				if !ok {
					continue // not yet known; it takes away later
				}
				if all == nil {
					all = map[string]bool{}
					for c := range x.holds {
						all[c] = true
					}
					for c := range above {
						all[c] = true
					}
					continue
				}
				for c := range all {
					if !x.holds[c] && !above[c] {
						delete(all, c)
					}
				}
			}
			if all == nil {
				continue
			}
			for c := range certain(fn) {
				all[c] = true
			}
			if old := under[fn]; old == nil || len(old) != len(all) {
				if old == nil || len(all) < len(old) {
					under[fn], changed = all, true
				}
			}
		}
	}
	for i, x := range e.edges {
		set, _ := known(x.in)
		for c := range set {
			if c != "" && c != x.From && c != x.To && !slices.Contains(x.Gates, c) {
				x.Gates = append(x.Gates, c)
			}
		}
		sort.Strings(x.Gates)
		e.edges[i].Gates = x.Gates
	}
}

// Lockorder finds locks that are taken in an order that makes a circle.
var Lockorder = newAnalyzer("lockorder", `find locks taken in orders that contradict one another

If one goroutine takes A and then B and another B and then A, the two can end up waiting for one another. The
order is that of lock classes (type and field), along calls, over packages, and circles may have any length.
A circle of reads alone is none while nobody writes, and neither is one whose every step is taken under one
and the same other lock, nor one in which a goroutine has ended before its function takes the other order: the
function waits for it, and the locks are its own variables, or the function is main or a test, which run once. A
circle is reported once, in the first package that sees all of it. One whose halves are in packages that no
package of the run imports together is not seen.

Bad:

	func (a *Account) Pay(b *Bank)  { a.mu.Lock(); b.mu.Lock(); … }
	func (b *Bank) Close(a *Account) { b.mu.Lock(); a.mu.Lock(); … }

Good: one order everywhere, or the first lock given back before the second is taken:

	func (b *Bank) Close(a *Account) { a.mu.Lock(); b.mu.Lock(); … }`, lockorder)

func lockorder(r *reporter, res *flowResult) {
	// res.edges are this package's; res.all are all of them. Of edges that look the same to other packages,
	// keep this package's, which have positions.
	graph := map[string][]edge{}
	seen := map[string]bool{}
	for _, e := range append(append([]edge(nil), res.edges...), res.all...) {
		if !seen[e.key()] {
			seen[e.key()] = true
			graph[e.From] = append(graph[e.From], e)
		}
	}
	var nodes []string
	for n := range graph {
		nodes = append(nodes, n)
	}
	sort.Strings(nodes)
	told, used := map[string]bool{}, map[string]bool{}
	for _, cycle := range cycles(graph, nodes) {
		best := res.choose(cycle)
		if best == nil {
			continue
		}
		names := make([]string, len(best))
		for i, e := range best {
			names[i] = e.From
		}
		sort.Strings(names)
		if id := strings.Join(names, " "); told[id] {
			continue
		} else {
			told[id] = true
		}
		if res.seenBelow(best) {
			continue
		}
		// A longer circle that goes along one already reported is most often cured with it.
		along := false
		for _, e := range best {
			along = along || used[e.From+" "+e.To]
		}
		for _, e := range best {
			used[e.From+" "+e.To] = true
		}
		if along && len(best) > 2 {
			continue
		}
		pos := r.pass.Files[0].Name.Pos()
		for i, e := range best {
			if e.pos.IsValid() {
				pos = e.pos
				best = append(best[i:len(best):len(best)], best[:i]...)
				break
			}
		}
		var steps []string
		level := Warning
		for _, e := range best {
			if e.Bounded {
				level = Info
			}
			last := e.Trace[len(e.Trace)-1]
			s := fmt.Sprintf("%s (held since %s) then %s (%s, %s", short(e.From), e.HeldAt, short(e.To), last.Func, last.At)
			if len(e.Trace) > 1 {
				s += fmt.Sprintf(", called from %s at %s", e.Trace[0].Func, e.Trace[0].At)
			}
			steps = append(steps, s+")")
		}
		r.report(level, pos, nil, "locks are taken in orders that contradict one another, so that goroutines can wait for each other for ever: %s. Take them in one order everywhere, or give the first back before the second is taken",
			strings.Join(steps, "; "))
	}
}

const (
	maxCycle   = 8      // steps in a circle
	maxCycles  = 400    // circles of a package
	cycleSteps = 200000 // of the search, for each class that a circle may start at
)

// cycles lists simple cycles of classes, short ones first, as lists of parallel edges. Each is found from
// its smallest class, by a search that deepens and goes only where the way back is short enough.
func cycles(graph map[string][]edge, nodes []string) [][][]edge {
	next, prev := map[string][]string{}, map[string][]string{}
	between := map[[2]string][]edge{}
	for _, from := range nodes {
		for _, e := range graph[from] {
			k := [2]string{from, e.To}
			if between[k] == nil {
				next[from] = append(next[from], e.To)
				prev[e.To] = append(prev[e.To], from)
			}
			between[k] = append(between[k], e)
		}
		sort.Strings(next[from])
	}
	var out [][][]edge
	for _, start := range nodes {
		back := map[string]int{start: 0} // steps to start, over larger classes
		for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
			for _, p := range prev[queue[0]] {
				if _, ok := back[p]; !ok && p > start {
					back[p] = back[queue[0]] + 1
					queue = append(queue, p)
				}
			}
		}
		steps := 0
		for length := 2; length <= maxCycle && len(out) < maxCycles; length++ {
			path := []string{start}
			on := map[string]bool{}
			var walk func()
			walk = func() {
				for _, n := range next[path[len(path)-1]] {
					if steps++; steps > cycleSteps || len(out) >= maxCycles {
						return
					}
					if n == start && len(path) == length {
						var c [][]edge
						for i := range path {
							c = append(c, between[[2]string{path[i], path[(i+1)%len(path)]}])
						}
						out = append(out, c)
						continue
					}
					if d, ok := back[n]; !ok || on[n] || n == start || len(path)+d > length {
						continue
					}
					on[n] = true
					path = append(path, n)
					walk()
					path = path[:len(path)-1]
					delete(on, n)
				}
			}
			walk()
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return len(out[i]) < len(out[j]) })
	return out
}

// choose picks one edge for each step so that the circle can close, or returns nil.
func (e *engine) choose(cycle [][]edge) []edge {
	pick := make([]edge, len(cycle))
	tries := 0
	var try func(i int) bool
	try = func(i int) bool {
		if tries++; tries > 2000 {
			return false
		}
		if i == len(cycle) {
			return e.closes(pick)
		}
		for _, step := range cycle[i] {
			pick[i] = step
			if try(i + 1) {
				return true
			}
		}
		return false
	}
	if !try(0) {
		return nil
	}
	return pick
}

// closes reports whether goroutines that take the edges' locks can wait for one another.
func (e *engine) closes(cycle []edge) bool {
	for i, x := range cycle {
		hold := cycle[(i+1)%len(cycle)].Held // how x.To is held by the next
		if x.Taken == readMode && hold == readMode && !e.writers[x.To] {
			return false
		}
		for _, y := range cycle[:i] {
			if e.apart(x, y) {
				return false
			}
		}
	}
	for _, g := range cycle[0].Gates {
		common := true
		for _, x := range cycle[1:] {
			found := false
			for _, h := range x.Gates {
				found = found || h == g
			}
			common = common && found
		}
		if common {
			return false
		}
	}
	for _, x := range cycle {
		if x.own() == nil || x.own() != cycle[0].own() {
			return true
		}
	}
	return false // the locks are made where they are taken, so one goroutine takes them in both orders
}

// seenBelow reports whether an import has all of the cycle, and so has reported it.
func (res *flowResult) seenBelow(cycle []edge) bool {
	for _, imp := range res.pass.Pkg.Imports() {
		var fact packageFact
		if !res.pass.ImportPackageFact(imp, &fact) {
			continue
		}
		have := map[string]bool{}
		for _, e := range fact.Edges {
			have[e.From+" "+e.To] = true
		}
		all := true
		for _, e := range cycle {
			all = all && have[e.From+" "+e.To]
		}
		if all {
			return true
		}
	}
	return false
}
