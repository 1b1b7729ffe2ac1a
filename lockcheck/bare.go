package lockcheck

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Unlocks of what is not held. A function that unlocks what it has not locked may well be a helper that is called
// with the lock held, and a path on which the lock seems to be missing may be one that no run takes. So an unlock
// is taken for a mistake only where no caller holds the lock, and the branch that leaves the lock out is sure to
// end at the unlock.

// A freeKey is a lock that a function gives back without having taken it, as the function names it.
type freeKey struct {
	fn   *ssa.Function
	lock path
}

// A freeing is one as a caller meets it.
type freeing struct {
	freeKey
	always bool // whatever way the callee takes
	chosen bool // on a way that the caller decides
}

// An unlock is a place where a function gives back a lock, itself or by a call.
type unlock struct {
	fn     *ssa.Function
	at     ssa.CallInstruction
	lock   place
	mode   mode
	by     []hold // what had taken the lock, on the paths where it was held
	called bool   // by a call
	bare   bool   // on some path it was not
	tried  []hold // and a TryLock had failed
	doubt  bool   // what is not held under this name may be held under another, or may not come to an unlock
	unsure bool   // a call may take locks that are not known
}

type unlockKey struct {
	at   ssa.CallInstruction
	lock path
}

// An unlockBook is what the functions of a package say of one another's unlocks.
type unlockBook struct {
	unlocks  []*unlock
	served   map[freeKey]bool       // somebody has called the function with the lock held
	up       map[freeKey][]freeKey  // callers that did not hold the lock either
	lent     map[string]bool        // classes that some function keeps for its callers
	pointers map[string]bool        // classes whose locks are reached by a pointer, and so perhaps by several fields
	valued   map[*ssa.Function]bool // used as values, started as goroutines, or not followed to all their callers
	invoked  map[string]bool        // names of methods that are called through an interface
}

func newUnlockBook() unlockBook {
	return unlockBook{
		served: map[freeKey]bool{}, up: map[freeKey][]freeKey{}, lent: map[string]bool{},
		pointers: map[string]bool{}, valued: map[*ssa.Function]bool{}, invoked: map[string]bool{},
	}
}

// indexValues notes the functions that an instruction makes values of.
func (e *engine) indexValues(instr ssa.Instruction) {
	var callee *ssa.Value
	if c, ok := instr.(ssa.CallInstruction); ok {
		if c.Common().IsInvoke() {
			e.invoked[c.Common().Method.Name()] = true
		}
		if _, spawned := instr.(*ssa.Go); !spawned {
			callee = &c.Common().Value
		}
	}
	for _, op := range instr.Operands(nil) {
		if op == callee || *op == nil {
			continue
		}
		if fn, ok := (*op).(*ssa.Function); ok {
			if m, ok := fn.Object().(*types.Func); ok && fn.Synthetic != "" { // a method value's or an interface's wrapper
				fn = e.pkg.Prog.FuncValue(m.Origin())
			}
			if fn != nil {
				e.valued[origin(fn)] = true
			}
		}
	}
}

// fixed reports whether an operation's lock is a variable or a field itself, and not what one points to.
func fixed(c *ssa.CallCommon) bool {
	if c.IsInvoke() || len(c.Args) == 0 {
		return false
	}
	switch c.Args[0].(type) {
	case *ssa.FieldAddr, *ssa.Global, *ssa.Alloc, *ssa.FreeVar:
		return true
	}
	return false
}

// lost says that the function's summary does not tell all of what it gives back.
func (f *flow) lost() {
	f.sum.Unsure = true
	f.e.valued[f.fn] = true
	for _, b := range f.fn.Blocks {
		for _, instr := range b.Instrs {
			if c, ok := instr.(ssa.CallInstruction); ok && c.Common().StaticCallee() != nil {
				f.e.valued[origin(c.Common().StaticCallee())] = true // perhaps with the lock held
			}
		}
	}
}

// expects notes that a callee which gives a lock back is called while the lock, or another of its class, is held.
func (f *flow) expects(s *state, lock place, via freeKey) {
	for _, h := range s.held {
		if h.lock.path == lock.path || h.lock.class == lock.class && lock.class != "" {
			f.e.served[via] = true
		}
	}
}

// unlocked notes an unlock. The hold that it ends is s.held[best]; there is none if best is negative.
func (f *flow) unlocked(s *state, h hold, at ssa.CallInstruction, best int, via *freeing) {
	key := freeKey{f.fn, h.lock.path}
	if via != nil {
		f.expects(s, h.lock, via.freeKey)
		if best >= 0 {
			f.e.served[via.freeKey] = true
		} else if !slices.Contains(f.e.up[via.freeKey], key) {
			f.e.up[via.freeKey] = append(f.e.up[via.freeKey], key)
		}
	}
	if !f.report || !h.lock.exact() || vague(h.lock) {
		return
	}
	k := unlockKey{at, h.lock.path}
	u := f.unlockIndex[k]
	if u == nil {
		u = &unlock{fn: f.fn, at: at, lock: h.lock, mode: h.mode}
		f.unlockIndex[k] = u
		f.unlocks = append(f.unlocks, u)
	}
	if via != nil {
		u.called, u.doubt = true, u.doubt || !via.always
	}
	if best >= 0 {
		if !slices.ContainsFunc(u.by, func(x hold) bool { return x.by == s.held[best].by }) {
			u.by = append(u.by, s.held[best])
		}
		return
	}
	for _, p := range append(s.past[:len(s.past):len(s.past)], s.freed...) {
		if p.lock.path == h.lock.path {
			return // a second unlock, which is told where it is made
		}
	}
	for _, x := range s.failed {
		if x.lock.path != h.lock.path {
			continue
		}
		if !x.try {
			return // ctxlockerr has a word on it
		}
		u.tried = append(u.tried, x)
	}
	u.bare = true
	for _, x := range s.held {
		u.doubt = u.doubt || x.lock.class == h.lock.class
	}
}

// judgeUnlocks says, with the whole package known, which unlocks are of what is not held.
func (e *engine) judgeUnlocks() {
	for _, u := range e.unlocks {
		if !u.bare || u.doubt || u.unsure || e.pointers[u.lock.class] && u.lock.class != "" {
			continue
		}
		if _, ok := ops[u.fn.Name()]; ok && u.fn.Signature.Recv() != nil {
			continue // this is a lock's own method
		}
		ev := event{at: u.at, fn: u.fn, lock: u.lock, acquire: acquire{Mode: u.mode}, pos: position(u.at)}
		private := e.private(u)
		switch {
		case len(u.tried) > 0:
			if !e.failsInto(u) || !private && e.expected(u) {
				continue
			}
			ev.kind, ev.hold = unheldTry, u.tried[0]
		case len(u.by) == 0:
			if !private && (e.expected(u) || !e.alone(u)) {
				continue
			}
			ev.kind = unheldNever
		case len(u.by) == 1:
			if !bypassed(u.by[0].by.Block(), u.at) || !private && e.expected(u) {
				continue
			}
			ev.kind, ev.hold = unheldSome, u.by[0]
		default:
			continue // one way for each mode, say, and no way is left out
		}
		e.events = append(e.events, ev)
	}
}

// expected reports whether the lock may be held when the function is called: by a caller that is seen, or by one
// that is not.
func (e *engine) expected(u *unlock) bool {
	if told.MatchString(u.fn.Name()) || told.MatchString(e.docs(u.fn)) {
		return true
	}
	seen := map[freeKey]bool{}
	var may func(k freeKey) bool
	may = func(k freeKey) bool {
		if seen[k] {
			return false
		}
		seen[k] = true
		if e.served[k] || e.valued[k.fn] || e.invoked[k.fn.Name()] && k.fn.Signature.Recv() != nil {
			return true
		}
		if e.foreign(k.fn) && (u.lock.class == "" || e.lent[u.lock.class] || exportedClass(u.lock.class)) {
			return true
		}
		return slices.ContainsFunc(e.up[k], may)
	}
	return may(freeKey{u.fn, u.lock.path})
}

// foreign reports whether other packages can call a function.
func (e *engine) foreign(fn *ssa.Function) bool {
	return fn.Parent() == nil && ast.IsExported(fn.Name()) && e.pass.Pkg.Name() != "main"
}

// told are the words by which a function says that it is called with a lock held.
var told = regexp.MustCompile(`(?i)unlock|locked|releas|holding|\bheld\b|\bholds\b`)

// docs is a function's doc comment.
func (e *engine) docs(fn *ssa.Function) string {
	if d, ok := fn.Syntax().(*ast.FuncDecl); ok {
		return d.Doc.Text()
	}
	return ""
}

// alone reports whether an unlock without any lock in its function is of a lock that only this package can take,
// and the function has callers.
func (e *engine) alone(u *unlock) bool {
	return !u.called && u.fn.Parent() == nil && strings.HasPrefix(u.lock.class, e.pass.Pkg.Path()+".") && !exportedClass(u.lock.class) &&
		(e.called[u.fn] || e.foreign(u.fn))
}

// private reports whether the lock is in a variable of the unlocking function that nobody else can lock: its
// address goes nowhere but to methods and functions of this package.
func (e *engine) private(u *unlock) bool {
	a, ok := u.lock.Root.value.(*ssa.Alloc)
	if !ok || a.Parent() != u.fn || !inside(deref(a.Type()), u.lock.Steps) {
		return false
	}
	var stays func(addr ssa.Value) bool
	stays = func(addr ssa.Value) bool {
		for _, r := range *addr.Referrers() {
			switch r := r.(type) {
			case *ssa.FieldAddr:
				if !stays(r) {
					return false
				}
			case *ssa.Store:
				if r.Addr != addr {
					if !isResult(r.Addr) {
						return false
					}
				} else if _, zero := r.Val.(*ssa.Const); !zero && isLockValue(r.Val) {
					return false
				}
			case *ssa.MakeClosure:
				for _, use := range *r.Referrers() {
					if _, spawned := use.(*ssa.Go); spawned {
						return false
					}
					if c, ok := use.(ssa.CallInstruction); !ok || c.Common().Value != r {
						return false
					}
				}
			case *ssa.Call, *ssa.Defer:
				fn := r.(ssa.CallInstruction).Common().StaticCallee()
				if fn == nil || len(origin(fn).Blocks) == 0 && !isOperation(r) {
					return false
				}
			case *ssa.UnOp, *ssa.Return, *ssa.DebugRef:
			default:
				return false
			}
		}
		return true
	}
	return stays(a)
}

// isResult reports whether a variable is only returned.
func isResult(addr ssa.Value) bool {
	a, ok := addr.(*ssa.Alloc)
	if !ok {
		return false
	}
	for _, r := range *a.Referrers() {
		switch r := r.(type) {
		case *ssa.Store:
		case *ssa.UnOp:
			for _, use := range *r.Referrers() {
				if _, ok := use.(*ssa.Return); !ok {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// isLockValue reports whether a value may have a lock in it.
func isLockValue(v ssa.Value) bool {
	switch v.Type().Underlying().(type) {
	case *types.Struct, *types.Array:
		return true
	}
	return false
}

// inside reports whether the steps from a value of type t lead over no pointer.
func inside(t types.Type, steps string) bool {
	for _, step := range splitSteps(steps) {
		s, ok := t.Underlying().(*types.Struct)
		if !ok {
			return false
		}
		for f := range s.Fields() {
			if "."+f.Name() == step {
				t = f.Type()
			}
		}
	}
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// bypassed reports whether some branch leaves a lock out and is then sure to come to the unlock.
func bypassed(lock *ssa.BasicBlock, at ssa.Instruction) bool {
	unlock := at.Block()
	_, deferred := at.(*ssa.Defer)
	for d := lock.Idom(); d != nil; d = d.Idom() {
		if _, ok := d.Instrs[len(d.Instrs)-1].(*ssa.If); !ok || strings.Contains(d.Succs[0].Comment, "switch.") {
			continue // the cases of a switch may be all there are
		}
		for _, around := range d.Succs {
			if leads(around, lock, d) {
				continue
			}
			for _, succ := range d.Succs {
				if leads(succ, d, unlock) {
					return false // in a loop, an earlier round may have locked
				}
			}
			if deferred && unlock.Dominates(d) || endsAt(around, unlock) {
				return true
			}
		}
	}
	return false
}

// failsInto reports whether the branch on which a TryLock has failed is sure to come to the unlock, or the unlock
// is part of that branch.
func (e *engine) failsInto(u *unlock) bool {
	unlock := u.at.Block()
	_, deferred := u.at.(*ssa.Defer)
	f := &flow{e: e, fn: u.fn}
	for _, d := range u.fn.Blocks {
		br, ok := d.Instrs[len(d.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		k, positive, ok := f.condOf(br.Cond)
		if !ok || k.equals != "" || !slices.ContainsFunc(u.tried, func(h hold) bool { return any(h.by) == any(k.value) }) {
			continue
		}
		failed := d.Succs[0]
		if positive {
			failed = d.Succs[1]
		}
		if len(failed.Preds) == 1 && failed.Dominates(unlock) || endsAt(failed, unlock) || deferred && unlock.Dominates(d) {
			return true
		}
	}
	return false
}

// leads reports whether control can go from one block to another without coming through a third.
func leads(from, to, without *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{without: true}
	var walk func(b *ssa.BasicBlock) bool
	walk = func(b *ssa.BasicBlock) bool {
		if b == to {
			return true
		}
		if seen[b] {
			return false
		}
		seen[b] = true
		return slices.ContainsFunc(b.Succs, walk)
	}
	return walk(from)
}

// endsAt reports whether every way from a block that returns comes to another block before.
func endsAt(from, to *ssa.BasicBlock) bool {
	for _, b := range from.Parent().Blocks {
		if _, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && b != to && leads(from, b, to) {
			return false
		}
	}
	return leads(from, to, nil)
}
