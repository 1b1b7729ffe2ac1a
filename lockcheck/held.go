package lockcheck

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A hold is a lock that is held at some point of a function.
type hold struct {
	lock   place
	mode   mode
	by     ssa.Instruction // what took it: the operation, or the call inside which it was taken
	at     string
	ctx    bool // taken by a call that may fail
	scoped bool // held by WithLock and its like, and carried in the context
	bridge bool // of drawbridge's types
	stale  bool // the path has been assigned since, and names another lock now
	handed bool // something else may release it: a goroutine, a closure that was passed on
	try    bool // of what was not got: by a TryLock
	sure   bool // of what was given back: whatever way a callee takes, and it is the lock itself that is named
}

func (h hold) held() heldLock {
	return heldLock{Lock: h.lock.path, Class: h.lock.class, Mode: h.mode, At: h.at, Bridge: h.bridge}
}

// A cond is a condition that a path of execution has decided: that a value is true, or that it equals a
// constant. A variable in memory is named by its path.
type cond struct {
	value  ssa.Value
	path   path
	equals string
}

// A state is what holds on one path of execution. Paths that lead to equal locks are merged, so that the
// number of states stays small; conditions that are tested again later are remembered, which keeps
// "if needLock { mu.Lock() } … if needLock { mu.Unlock() }" apart.
type state struct {
	held   []hold
	freed  []hold // given back here, taken by a caller
	past   []hold // taken and given back here
	failed []hold // asked for with a context or a try, and not got
	conds  map[cond]bool
	defers []*ssa.Defer
}

func (s *state) clone() *state {
	c := &state{
		held:   append([]hold(nil), s.held...),
		freed:  append([]hold(nil), s.freed...),
		past:   append([]hold(nil), s.past...),
		failed: append([]hold(nil), s.failed...),
		defers: append([]*ssa.Defer(nil), s.defers...),
		conds:  make(map[cond]bool, len(s.conds)),
	}
	for k, v := range s.conds {
		c.conds[k] = v
	}
	return c
}

// A flow follows the locks through one function.
type flow struct {
	e      *engine
	fn     *ssa.Function
	sum    *summary
	report bool // events count: the function is looked at for itself, with nothing known of its arguments
	useful map[cond]bool
	seen   map[*ssa.BasicBlock]map[string][]map[cond]bool
	exits  []exit
	budget int
	ret    []returned
	locks  bool // some instruction changes what is held
	unsure bool // some call may take locks that are not known

	unlocks     []*unlock // see bare.go
	unlockIndex map[unlockKey]*unlock
	simple      bool // no instruction has done so yet, and conditions are not kept

	calls    map[callTarget]*seenCall
	returned map[ssa.Instruction]bool
}

type exit struct {
	*state
	at      ssa.Instruction
	results string
	guards  []guard
}

const (
	stepBudget = 40000 // instructions and the locks of callees, over all states of a function
	condFan    = 4     // states of a block that differ only in conditions
)

// explore runs the function from its entry. Most functions do nothing to locks
// but call functions that take and release some; conditions do not matter for them, and they are done when
// that shows.
func (e *engine) explore(fn *ssa.Function, report bool) *summary {
	f := &flow{e: e, fn: fn, report: report, simple: true, useful: map[cond]bool{}}
	for _, p := range fn.Params {
		if isBool(p.Type()) {
			f.useful[cond{value: p}] = true
		}
	}
	if f.run(); f.locks {
		f.simple, f.useful = false, e.usefulConds(fn)
		f.run()
	}
	return f.sum
}

func (f *flow) run() {
	f.sum, f.exits, f.ret, f.budget = &summary{}, nil, nil, stepBudget
	f.unlocks, f.unlockIndex = nil, map[unlockKey]*unlock{}
	f.seen = map[*ssa.BasicBlock]map[string][]map[cond]bool{}
	f.calls, f.returned = map[callTarget]*seenCall{}, map[ssa.Instruction]bool{}
	fn := f.fn
	start := &state{conds: map[cond]bool{}}
	type visit struct {
		from, to *ssa.BasicBlock
		s        *state
	}
	work := []visit{{nil, fn.Blocks[0], start}}
	for len(work) > 0 && f.budget > 0 && !(f.simple && f.locks) {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		f.enter(v.s, v.from, v.to)
		if !f.news(v.s, v.to) {
			continue
		}
		states := []*state{v.s}
		for _, instr := range v.to.Instrs {
			var next []*state
			for _, s := range states {
				f.budget--
				next = append(next, f.step(s, instr)...)
			}
			states = next
			if len(states) == 0 {
				break
			}
		}
		for _, s := range states {
			succs := v.to.Succs
			if branch, ok := v.to.Instrs[len(v.to.Instrs)-1].(*ssa.If); ok {
				k, positive, ok := f.condOf(branch.Cond)
				if known, val := f.truth(s, branch.Cond); known {
					i := 1
					if val {
						i = 0
					}
					work = append(work, visit{v.to, succs[i], s})
					continue
				}
				yes, no := s, s.clone()
				if ok && f.useful[k] {
					yes.conds[k], no.conds[k] = positive, !positive
				}
				if k = (cond{value: branch.Cond}); f.useful[k] {
					yes.conds[k], no.conds[k] = true, false
				}
				work = append(work, visit{v.to, succs[1], no}, visit{v.to, succs[0], yes})
				continue
			}
			for i, succ := range succs {
				t := s
				if i > 0 {
					t = s.clone()
				}
				work = append(work, visit{v.to, succ, t})
			}
		}
	}
	if !(f.simple && f.locks) {
		f.finish()
	}
}

// enter gives the phis of a block their values on the edge taken.
func (f *flow) enter(s *state, from, to *ssa.BasicBlock) {
	if from == nil {
		return
	}
	edge := -1
	for i, p := range to.Preds {
		if p == from {
			edge = i
		}
	}
	type fact struct {
		k cond
		v bool
	}
	var set []fact
	var phis []*ssa.Phi
	for _, instr := range to.Instrs {
		phi, ok := instr.(*ssa.Phi)
		if !ok {
			break
		}
		phis = append(phis, phi)
		if edge < 0 || edge >= len(phi.Edges) {
			continue
		}
		val := phi.Edges[edge]
		if isBool(phi.Type()) {
			if known, v := f.truth(s, val); known {
				set = append(set, fact{cond{value: phi}, v})
			}
		} else if known, null := f.nilness(s, val); known {
			set = append(set, fact{cond{value: phi, equals: "nil"}, null})
		}
	}
	for _, phi := range phis {
		f.redefine(s, phi)
	}
	for _, x := range set {
		if f.useful[x.k] {
			s.conds[x.k] = x.v
		}
	}
}

// news reports whether the state tells anything about the block that no earlier one did.
func (f *flow) news(s *state, b *ssa.BasicBlock) bool {
	key := f.e.key(s)
	m := f.seen[b]
	if m == nil {
		m = map[string][]map[cond]bool{}
		f.seen[b] = m
	}
	if len(m) > 40 {
		return false
	}
	for _, old := range m[key] {
		if implies(s.conds, old) {
			return false
		}
	}
	if len(m[key]) >= condFan {
		for _, old := range m[key] {
			for k, v := range s.conds {
				if ov, ok := old[k]; !ok || ov != v {
					delete(s.conds, k)
				}
			}
		}
		m[key] = nil
	}
	c := make(map[cond]bool, len(s.conds))
	for k, v := range s.conds {
		c[k] = v
	}
	m[key] = append(m[key], c)
	return true
}

// implies reports whether every condition of weak is in strong.
func implies(strong, weak map[cond]bool) bool {
	for k, v := range weak {
		if sv, ok := strong[k]; !ok || sv != v {
			return false
		}
	}
	return true
}

func (e *engine) key(s *state) string {
	if len(s.held)+len(s.freed)+len(s.failed)+len(s.past)+len(s.defers) == 0 {
		return ""
	}
	b := make([]byte, 0, 64)
	part := func(tag byte, hs []hold) {
		b = append(b, tag)
		for _, h := range hs {
			flags := int64(h.mode)
			for j, on := range []bool{h.stale, h.handed, h.scoped} {
				if on {
					flags |= 8 << j
				}
			}
			b = strconv.AppendInt(append(b, ' '), int64(e.id(h.lock.path)), 36)
			b = strconv.AppendInt(append(b, '.'), int64(e.id(h.by)), 36)
			b = strconv.AppendInt(append(b, '.'), flags, 36)
		}
	}
	part('h', s.held)
	part('f', s.freed)
	part('x', s.failed)
	b = append(b, 'p') // of what was given back, the path is enough
	for _, h := range s.past {
		b = strconv.AppendInt(append(b, ' '), int64(e.id(h.lock.path)), 36)
		if h.stale {
			b = append(b, '!')
		}
	}
	b = append(b, 'd')
	for _, d := range s.defers {
		b = strconv.AppendInt(append(b, ' '), int64(e.id(d)), 36)
	}
	return string(b)
}

// usefulConds are the conditions worth remembering: tested twice, a flag that is set on the way, or a
// parameter by which callers choose.
func (e *engine) usefulConds(fn *ssa.Function) map[cond]bool {
	f := &flow{e: e, fn: fn}
	count := map[cond]int{}
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			if br, ok := instr.(*ssa.If); ok {
				if k, _, ok := f.condOf(br.Cond); ok {
					count[k]++
					if k != (cond{value: br.Cond}) {
						count[cond{value: br.Cond}]++ // what was computed once stays, whatever its parts do
					}
					if _, phi := k.value.(*ssa.Phi); phi {
						count[k]++
					}
					if f.chosen(k) {
						count[k] += 2
					}
				}
			}
			if c, ok := instr.(ssa.CallInstruction); ok {
				for _, k := range f.required(c) {
					count[k]++
				}
				for _, arg := range c.Common().Args { // what is passed on may choose what the callee locks
					if isBool(arg.Type()) {
						if k, _, ok := f.condOf(arg); ok {
							count[k]++
						}
					}
				}
			}
			if mc, ok := instr.(*ssa.MakeClosure); ok {
				for _, b := range mc.Bindings { // flags that a function literal looks at
					if a, ok := b.(*ssa.Alloc); ok && isBool(deref(a.Type())) {
						count[cond{path: f.e.place(a).path}] += 2
					}
				}
			}
			if r, ok := instr.(*ssa.Return); ok {
				for _, v := range r.Results {
					if k, _, ok := f.condOf(v); ok && isBool(v.Type()) {
						count[k]++
					}
					count[f.nilCond(v)]++
				}
			}
		}
	}
	// What a phi is made of decides the phi.
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			phi, ok := instr.(*ssa.Phi)
			if !ok {
				break
			}
			if count[cond{value: phi}]+count[cond{value: phi, equals: "nil"}] == 0 {
				continue
			}
			for _, v := range phi.Edges {
				if k, _, ok := f.condOf(v); ok && isBool(v.Type()) {
					count[k]++
				} else {
					count[f.nilCond(v)]++
				}
			}
			count[cond{value: phi}] += 2
			count[cond{value: phi, equals: "nil"}] += 2
		}
	}
	out := map[cond]bool{}
	for k, n := range count {
		if n >= 2 {
			out[k] = true
		}
	}
	return out
}

// condOf brings a condition into the form that is remembered, and says whether v is it or its opposite.
func (f *flow) condOf(v ssa.Value) (k cond, positive, ok bool) {
	switch v := v.(type) {
	case *ssa.Const:
		return cond{}, false, false
	case *ssa.UnOp:
		if v.Op == token.NOT {
			k, positive, ok = f.condOf(v.X)
			return k, !positive, ok
		}
	case *ssa.BinOp:
		x, c, o := v.X, v.Y, v.Op
		if _, ok := x.(*ssa.Const); ok && (o == token.EQL || o == token.NEQ) {
			x, c = c, x
		}
		cst, ok := c.(*ssa.Const)
		if !ok {
			return cond{value: v}, true, true
		}
		if cst.IsNil() {
			return f.nilCond(x), o == token.EQL, true
		}
		if cst.Value != nil && cst.Value.Kind() == constant.Bool {
			k, positive, ok = f.condOf(x)
			return k, positive == (constant.BoolVal(cst.Value) == (o == token.EQL)), ok
		}
		what := ""
		if call, ok := x.(*ssa.Call); ok {
			if b, ok := call.Call.Value.(*ssa.Builtin); ok && b.Name() == "len" {
				x, what = call.Call.Args[0], "len "
				if o == token.GTR && cst.Value != nil && constant.Sign(cst.Value) == 0 {
					o = token.NEQ
				}
			}
		}
		k = f.variable(x)
		switch o {
		case token.EQL, token.NEQ:
			k.equals = what + cst.String()
			return k, o == token.EQL, true
		case token.LSS, token.GEQ:
			k.equals = what + "<" + cst.String()
			return k, o == token.LSS, true
		case token.GTR, token.LEQ:
			k.equals = what + ">" + cst.String()
			return k, o == token.GTR, true
		}
		return cond{value: v}, true, true
	case *ssa.Extract:
		if a, ok := v.Tuple.(*ssa.TypeAssert); ok && v.Index == 1 { // x, ok := y.(T), as often as it is asked
			k = f.variable(a.X)
			k.equals = "is " + types.TypeString(a.AssertedType, nil)
			return k, true, true
		}
	}
	return f.variable(v), true, true
}

func (f *flow) nilCond(v ssa.Value) cond {
	k := f.variable(v)
	k.equals = "nil"
	return k
}

func (f *flow) variable(v ssa.Value) cond {
	for range 4 {
		load, ok := v.(*ssa.UnOp)
		if !ok || load.Op != token.MUL {
			break
		}
		addr := load.X
		if fv, ok := addr.(*ssa.FreeVar); ok {
			if b := f.e.binding(fv); b != nil {
				addr = b
			}
		}
		a, ok := addr.(*ssa.Alloc)
		if !ok {
			return cond{path: f.e.place(load.X).path}
		}
		val := onlyStore(a)
		if val == nil {
			return cond{path: f.e.place(load.X).path}
		}
		v = val // a variable that is assigned once is its value, in function literals too
	}
	return cond{value: v}
}

// chosen reports whether a condition is about what a caller, or the enclosing function, has decided.
func (f *flow) chosen(k cond) bool {
	if a, ok := k.path.Root.value.(*ssa.Alloc); ok && k.value == nil && k.path.Steps == "" && (k.equals == "" || k.equals == "nil") {
		return a.Parent() != f.fn && encloses(origin(a.Parent()), f.fn)
	}
	if k.value == nil || k.equals != "" && k.equals != "nil" {
		return false
	}
	if k.equals == "" && !isBool(k.value.Type()) {
		return false
	}
	_, param := k.value.(*ssa.Parameter)
	return param && k.value.Parent() == f.fn || k.value.Parent() != f.fn && k.value.Parent() != nil
}

func (f *flow) newGuard(k cond, is bool) guard {
	g := guard{Param: -1, Equals: k.equals, Is: is, value: k.value}
	if k.value == nil {
		g.value = k.path.Root.value
	}
	for i, p := range f.fn.Params {
		if p == k.value {
			g.Param = i
		}
	}
	return g
}

// guards are the conditions of a state that callers can decide.
func (f *flow) guards(s *state) []guard {
	var out []guard
	for k, v := range s.conds {
		if !f.chosen(k) {
			continue
		}
		out = append(out, f.newGuard(k, v))
	}
	sort.Slice(out, func(i, j int) bool { return guardKey(out[i:i+1]) < guardKey(out[j:j+1]) })
	return out
}

// truth is the value of a boolean on this path, if it is known.
func (f *flow) truth(s *state, v ssa.Value) (known, val bool) {
	if c, ok := v.(*ssa.Const); ok && c.Value != nil && c.Value.Kind() == constant.Bool {
		return true, constant.BoolVal(c.Value)
	}
	if val, known = s.conds[cond{value: v}]; known {
		return known, val
	}
	if b, ok := v.(*ssa.BinOp); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		x, y := b.X, b.Y
		if isNil(x) {
			x, y = y, x
		}
		if isNil(y) {
			if known, null := f.nilness(s, x); known {
				return true, null == (b.Op == token.EQL)
			}
		}
	}
	if u, ok := v.(*ssa.UnOp); ok && u.Op == token.NOT {
		known, val = f.truth(s, u.X)
		return known, !val
	}
	k, positive, ok := f.condOf(v)
	if !ok {
		return false, false
	}
	val, known = s.conds[k]
	return known, val == positive
}

// nilness says whether v is nil on this path, if that is known.
func (f *flow) nilness(s *state, v ssa.Value) (known, null bool) {
	switch v := v.(type) {
	case *ssa.Const:
		if v.IsNil() {
			return true, true
		}
		return true, false
	case *ssa.MakeInterface, *ssa.Alloc, *ssa.MakeClosure, *ssa.FieldAddr, *ssa.MakeMap, *ssa.MakeChan, *ssa.MakeSlice, *ssa.Function:
		return true, false
	case *ssa.Call:
		if n := fullName(called(&v.Call)); n == "errors.New" || n == "fmt.Errorf" {
			return true, false
		}
	case *ssa.UnOp:
		if g, ok := v.X.(*ssa.Global); ok && isError(deref(g.Type())) {
			return true, false // an error variable of the package; such are not nil
		}
	}
	null, known = s.conds[f.nilCond(v)]
	return known, null
}

// redefine forgets what was known of a value that gets a new one, in the next round of a loop.
func (f *flow) redefine(s *state, v ssa.Value) {
	for k := range s.conds {
		if k.value == v || k.path.Root.Kind == rootLocal && k.path.Root.value == v {
			delete(s.conds, k)
		}
	}
	for _, hs := range [][]hold{s.held, s.past, s.freed} {
		for i, h := range hs {
			if h.lock.Root.Kind == rootLocal && h.lock.Root.value == v {
				hs[i].stale = true
			} else if strings.Contains(h.lock.Steps, "["+v.Name()+"]") && v.Parent() == f.fn {
				hs[i].stale = true
			}
		}
	}
}

// stored accounts for an assignment to the variable at addr.
func (f *flow) stored(s *state, addr, val ssa.Value) {
	p := f.e.place(addr).path
	for k := range s.conds {
		if k.path.Root == p.Root && k.path.Root.Kind != rootUnknown && strings.HasPrefix(k.path.Steps, p.Steps) {
			delete(s.conds, k)
		}
	}
	if isBool(val.Type()) {
		if known, v := f.truth(s, val); known && f.useful[cond{path: p}] {
			s.conds[cond{path: p}] = v
		}
	} else if known, null := f.nilness(s, val); known && f.useful[cond{path: p, equals: "nil"}] {
		s.conds[cond{path: p, equals: "nil"}] = null
	}
	if !isReference(val.Type()) {
		return
	}
	for i, hs := range [][]hold{s.held, s.past, s.freed} {
		if i > 0 && isNil(val) {
			break // which is no other lock
		}
		for i, h := range hs {
			if h.lock.Root == p.Root && p.Root.Kind != rootUnknown && strings.HasPrefix(h.lock.Steps, p.Steps) {
				hs[i].stale = true
			}
		}
	}
}

// step runs one instruction.
func (f *flow) step(s *state, instr ssa.Instruction) []*state {
	if v, ok := instr.(ssa.Value); ok {
		switch v.(type) {
		case *ssa.Phi, *ssa.Extract: // done by enter; part of its call
		default:
			if len(s.conds)+len(s.held)+len(s.past)+len(s.freed) > 0 {
				f.redefine(s, v)
				if _, tuple := v.Type().(*types.Tuple); tuple {
					for _, r := range *v.Referrers() {
						if x, ok := r.(*ssa.Extract); ok {
							f.redefine(s, x)
						}
					}
				}
			}
		}
	}
	switch instr := instr.(type) {
	case *ssa.Call:
		return f.call(s, instr, instr)
	case *ssa.Defer:
		f.deferred(s, instr)
	case *ssa.RunDefers:
		return f.runDefers(s)
	case *ssa.Go:
		f.handOff(s, instr)
	case *ssa.MakeClosure:
		f.passOn(s, instr)
	case *ssa.Store:
		f.stored(s, instr.Addr, instr.Val)
	case *ssa.Send:
		f.blocked(s, block{What: "send on " + f.e.describe(instr.Chan), Bounded: f.e.roomy(instr.Chan)}, instr)
	case *ssa.UnOp:
		if instr.Op == token.ARROW {
			f.blocked(s, block{What: "receive from " + f.e.describe(instr.X), Bounded: f.e.ends(instr.X)}, instr)
		}
	case *ssa.Select:
		if instr.Blocking {
			b := block{What: "select"}
			for _, c := range instr.States {
				b.Bounded = b.Bounded || f.e.ends(c.Chan)
			}
			f.blocked(s, b, instr)
		}
	case *ssa.Return:
		f.returns(s, instr)
		return nil
	case *ssa.Panic:
		f.panics(s, instr)
		return nil
	}
	return []*state{s}
}

func (f *flow) runDefers(s *state) []*state {
	states := []*state{s}
	for i := len(s.defers) - 1; i >= 0; i-- {
		d := s.defers[i]
		var next []*state
		for _, t := range states {
			next = append(next, f.call(t, d, d)...)
		}
		states = next
		if len(states) > 16 {
			states = states[:16]
		}
	}
	for _, t := range states {
		t.defers = nil
	}
	return states
}

// deferred notes a deferred call. A loop may defer the same call many times; once is enough here.
func (f *flow) deferred(s *state, d *ssa.Defer) {
	for _, old := range s.defers {
		if old == d {
			return
		}
	}
	s.defers = append(s.defers, d)
	if m := called(&d.Call); m != nil {
		if o, ok := operation(m); ok && o.kind == opAcquire && !o.try {
			p := f.e.receiver(&d.Call)
			for _, h := range s.held {
				if h.lock.path == p.path {
					f.emit(event{kind: deferLock, at: d, hold: h, lock: p, acquire: acquire{Mode: o.mode}})
				}
			}
		}
	}
}

// returns records a way out of the function.
func (f *flow) returns(s *state, r *ssa.Return) {
	var results strings.Builder
	for _, v := range r.Results {
		c := byte('?')
		if isBool(v.Type()) {
			if known, val := f.truth(s, v); known && val {
				c = 't'
			} else if known {
				c = 'f'
			}
		} else if isReference(v.Type()) {
			if known, null := f.nilness(s, v); known && null {
				c = 'n'
			} else if known {
				c = 'v'
			}
		}
		results.WriteByte(c)
	}
	f.exits = append(f.exits, exit{state: s, at: r, results: results.String(), guards: f.guards(s)})
	if !f.returned[r] {
		f.returned[r] = true
		f.returnsPlace(r)
	}
}

// panics follows an explicit panic through the deferred calls.
func (f *flow) panics(s *state, p *ssa.Panic) {
	had := append([]hold(nil), s.held...)
	report := f.report
	f.report = false // a recovered panic that finds the lock free is not worth a word
	outs := f.runDefers(s)
	f.report = report
	for _, t := range outs {
		for _, h := range t.held {
			for _, was := range had {
				if was.by == h.by && !h.stale && !h.handed && !h.scoped {
					f.emit(event{kind: panicHeld, at: p, hold: h, lock: h.lock})
				}
			}
		}
	}
}

// returnsPlace keeps what every return agrees on about where results come from.
func (f *flow) returnsPlace(r *ssa.Return) {
	for i, v := range r.Results {
		var ret returned
		if isReference(v.Type()) && !isNil(v) {
			p := f.e.place(v)
			switch {
			case p.Root.Kind == rootGlobal || p.Root.Kind == rootParam && p.Root.fn == f.fn:
				ret = returned{Alias: &p.path, Class: p.class}
			case p.Root.Kind == rootLocal && p.Steps == "":
				if a, ok := p.Root.value.(*ssa.Alloc); ok {
					ret.Fields = f.e.freshFields(a)
				}
			}
		} else if isNil(v) && i < len(f.ret) {
			continue // nil beside a value: the value is what callers lock
		}
		if len(f.ret) <= i {
			f.ret = append(f.ret, ret)
			continue
		}
		old := f.ret[i]
		if old.Alias == nil || ret.Alias == nil || *old.Alias != *ret.Alias {
			old.Alias = nil
		}
		if !slices.Equal(old.Fields, ret.Fields) {
			old.Fields = nil
		}
		f.ret[i] = old
	}
}

// freshFields are the fields of a new object that lead to what the caller gave.
func (e *engine) freshFields(a *ssa.Alloc) (out []pathField) {
	st, ok := deref(a.Type()).Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for i := range st.NumFields() {
		name := st.Field(i).Name()
		val := e.freshStore(a, name)
		if val == nil || !isReference(val.Type()) || isNil(val) {
			continue
		}
		if p := e.place(val); p.Root.Kind == rootParam && p.Root.fn == origin(a.Parent()) || p.Root.Kind == rootGlobal {
			out = append(out, pathField{name, p.path})
		}
	}
	return out
}
