package lockcheck

import (
	"cmp"
	"go/constant"
	"go/token"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// An outcome is what a call's coming back says of its arguments. A test's helper that ends the test when it is
// given an error comes back only for nil, and what follows it is reached on no other path.
type outcome struct {
	Never   bool    // it does not come back
	Always  byte    // t or f: its only result
	Returns []guard // hold whenever it comes back
	True    []guard // hold whenever it comes back with true, its only result
	False   []guard // the same of false
}

func (o outcome) empty() bool {
	return !o.Never && o.Always == 0 && len(o.Returns)+len(o.True)+len(o.False) == 0
}

func (o outcome) portable() outcome {
	o.Returns, o.True, o.False = portableGuards(o.Returns), portableGuards(o.True), portableGuards(o.False)
	return o
}

// endsTest reports whether a call ends a test, through an interface: the method has the name and signature of
// one of testing.TB's that do not return. What methods of types and functions do is read off their bodies.
func endsTest(c *ssa.CallCommon) bool {
	if !c.IsInvoke() {
		return false
	}
	sig := c.Method.Signature()
	if sig.Results().Len() > 0 {
		return false
	}
	switch c.Method.Name() {
	case "FailNow", "SkipNow":
		return sig.Params().Len() == 0
	case "Fatal", "Skip":
		return sig.Params().Len() == 1 && sig.Variadic()
	case "Fatalf", "Skipf":
		return sig.Params().Len() == 2 && sig.Variadic()
	}
	return false
}

// outcome reads off a function's body what its coming back says of its parameters. What it says of values that
// are computed from them is not followed, and neither are functions that recover from panics.
func (e *engine) outcome(fn *ssa.Function) *outcome {
	if o, ok := e.outcomes[fn]; ok {
		return o
	}
	o := &outcome{}
	e.outcomes[fn] = o // nothing is known of a function that calls itself
	if len(fn.Blocks) == 0 {
		if s := e.importSummary(fn); s != nil {
			*o = s.Outcome
		}
		return o
	}
	if fn.Recover != nil || len(fn.Params) == 0 || !isPredicate(fn) && !e.mayEnd(fn) {
		return o
	}
	r := &reach{f: &flow{e: e, fn: fn}, in: make([]map[cond]bool, len(fn.Blocks)), returns: map[*ssa.Return]map[cond]bool{}}
	r.run()
	r.conclude(o)
	return o
}

// isPredicate reports whether a bool is all that a function returns.
func isPredicate(fn *ssa.Function) bool {
	results := fn.Signature.Results()
	return results.Len() == 1 && isBool(results.At(0).Type())
}

// mayEnd reports whether some instruction of a function may not come back.
func (e *engine) mayEnd(fn *ssa.Function) bool {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Panic:
				return true
			case *ssa.Call:
				if endsTest(&instr.Call) {
					return true
				}
				if o := e.outcomeOf(instr); o.Never || len(o.Returns) > 0 {
					return true
				}
			}
		}
	}
	return false
}

// A reach finds what is certain of a function's parameters wherever control comes to.
type reach struct {
	f       *flow
	in      []map[cond]bool // by block; nil where control does not come to
	returns map[*ssa.Return]map[cond]bool
	work    []*ssa.BasicBlock
}

func (r *reach) run() {
	r.enter(r.f.fn.Blocks[0], map[cond]bool{})
	for len(r.work) > 0 {
		b := r.work[0]
		r.work = r.work[1:]
		r.block(b, maps.Clone(r.in[b.Index]))
	}
}

// enter takes away from what is certain in a block what is not on this way to it.
func (r *reach) enter(b *ssa.BasicBlock, known map[cond]bool) {
	old := r.in[b.Index]
	if old == nil {
		r.in[b.Index] = maps.Clone(known)
	} else if implies(known, old) {
		return
	} else {
		r.in[b.Index] = common(old, known)
	}
	r.work = append(r.work, b)
}

func (r *reach) block(b *ssa.BasicBlock, known map[cond]bool) {
	for _, instr := range b.Instrs {
		switch instr := instr.(type) {
		case *ssa.Call:
			if endsTest(&instr.Call) {
				return
			}
			if o := r.f.e.outcomeOf(instr); o.Never || !r.learn(known, o.Returns, instr) {
				return
			}
		case *ssa.Return:
			r.returns[instr] = known
		case *ssa.If:
			for i, succ := range b.Succs {
				if k := maps.Clone(known); r.assume(k, instr.Cond, i == 0) {
					r.enter(succ, k)
				}
			}
			return
		}
	}
	for _, succ := range b.Succs {
		r.enter(succ, known)
	}
}

// outcomeOf is the outcome of a call's callee, where that is one function.
func (e *engine) outcomeOf(c *ssa.Call) *outcome {
	if fn := c.Call.StaticCallee(); fn != nil {
		return e.outcome(origin(fn))
	}
	return &outcome{}
}

// learn adds what a call says of its arguments, and reports whether that can be.
func (r *reach) learn(known map[cond]bool, guards []guard, c *ssa.Call) bool {
	for _, g := range guards {
		if g.Param < 0 || g.Param >= len(c.Call.Args) {
			continue
		}
		arg := c.Call.Args[g.Param]
		if g.Equals != "nil" {
			if !r.assume(known, arg, g.Is) {
				return false
			}
		} else if null := isNil(arg); null && !g.Is || !null && !r.set(known, r.f.nilCond(arg), g.Is) {
			return false
		}
	}
	return true
}

// assume adds that v is true or false, and reports whether that can be.
func (r *reach) assume(known map[cond]bool, v ssa.Value, is bool) bool {
	if c, ok := v.(*ssa.Const); ok && c.Value != nil && c.Value.Kind() == constant.Bool {
		return constant.BoolVal(c.Value) == is
	}
	if u, ok := v.(*ssa.UnOp); ok && u.Op == token.NOT {
		return r.assume(known, u.X, !is)
	}
	if c, ok := v.(*ssa.Call); ok {
		o := r.f.e.outcomeOf(c)
		switch {
		case o.Always == 't' && !is || o.Always == 'f' && is:
			return false
		case is:
			return r.learn(known, o.True, c)
		default:
			return r.learn(known, o.False, c)
		}
	}
	k, positive, ok := r.f.condOf(v)
	return !ok || r.set(known, k, positive == is)
}

func (r *reach) set(known map[cond]bool, k cond, is bool) bool {
	if !r.f.chosen(k) || r.f.newGuard(k, is).Param < 0 {
		return true
	}
	if old, ok := known[k]; ok {
		return old == is
	}
	known[k] = is
	return true
}

// conclude sums up the returns.
func (r *reach) conclude(o *outcome) {
	if len(r.returns) == 0 {
		o.Never = true
		return
	}
	var all, yes, no map[cond]bool
	meet := func(to *map[cond]bool, known map[cond]bool) {
		if *to == nil {
			*to = maps.Clone(known)
		} else {
			*to = common(*to, known)
		}
	}
	predicate := isPredicate(r.f.fn)
	for ret, known := range r.returns {
		meet(&all, known)
		if !predicate {
			continue
		}
		if k := maps.Clone(known); r.assume(k, ret.Results[0], true) {
			meet(&yes, k)
		}
		if k := maps.Clone(known); r.assume(k, ret.Results[0], false) {
			meet(&no, k)
		}
	}
	o.Returns = r.guards(all)
	switch {
	case !predicate:
	case no == nil:
		o.Always = 't'
	case yes == nil:
		o.Always = 'f'
	default:
		o.True, o.False = r.guards(yes), r.guards(no)
	}
}

func (r *reach) guards(known map[cond]bool) (out []guard) {
	for k, is := range known {
		g := r.f.newGuard(k, is)
		g.value = nil // the parameter says it
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b guard) int {
		return cmp.Or(cmp.Compare(a.Param, b.Param), cmp.Compare(a.Equals, b.Equals))
	})
	return out
}

// common is what two sets of conditions agree on.
func common(a, b map[cond]bool) map[cond]bool {
	out := map[cond]bool{}
	for k, v := range a {
		if w, ok := b[k]; ok && v == w {
			out[k] = v
		}
	}
	return out
}

// required are the conditions without which a call does not come back.
func (f *flow) required(c ssa.CallInstruction) (out []cond) {
	call, ok := c.(*ssa.Call)
	if !ok {
		return nil
	}
	for _, g := range f.e.outcomeOf(call).Returns {
		if g.Param < 0 || g.Param >= len(call.Call.Args) {
			continue
		}
		if g.Equals == "nil" { // a bool's condition counts as that of any argument does
			out = append(out, f.nilCond(call.Call.Args[g.Param]))
		}
	}
	return out
}

// comesBack notes what a call's coming back says of its arguments, and reports whether it can on this path.
func (f *flow) comesBack(s *state, t target, c ssa.CallInstruction) bool {
	if _, ok := c.(*ssa.Call); !ok || t.fn == nil || t.dynamic || t.printed != "" {
		return true
	}
	if fn := c.Common().StaticCallee(); fn != nil && origin(fn) != t.fn {
		return true // a function that the callee may call
	}
	o := f.e.outcome(t.fn)
	for _, g := range o.Returns {
		k, is, known, val := f.guard(s, t, g)
		if known && val != g.Is {
			return false
		}
		if !known && k != (cond{}) && !f.simple {
			s.conds[k] = is
		}
	}
	return !o.Never
}
