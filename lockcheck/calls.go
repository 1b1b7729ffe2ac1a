package lockcheck

import (
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A target is a function that a call may reach.
type target struct {
	fn      *ssa.Function // nil when only its summary is known
	sum     *summary
	args    []ssa.Value
	bound   *ssa.MakeClosure // gives a method value its receiver
	dynamic bool             // one of several, or not certain
	printed string           // the call that formats a value and so calls its String method
}

// call runs a call, deferred or not, on a state.
func (f *flow) call(s *state, c ssa.CallInstruction, at ssa.Instruction) []*state {
	common := c.Common()
	if m := called(common); m != nil {
		if o, ok := operation(m); ok && !f.e.transparent(m) {
			return f.operate(s, o, common, c)
		}
		if b, ok := f.e.blocking(m, common); ok {
			f.blocked(s, b, c)
		}
	}
	if p, ok := common.Value.(*ssa.Parameter); ok && !common.IsInvoke() {
		f.callsParam(s, p, c)
	}
	targets := f.e.targets(f, s, c)
	states := []*state{s}
	for _, t := range targets {
		var next []*state
		for _, s := range states {
			next = append(next, f.apply(s, t, c)...)
		}
		states = slices.DeleteFunc(next, func(s *state) bool { return !f.comesBack(s, t, c) })
	}
	if _, ok := c.(*ssa.Call); ok && endsTest(common) {
		return nil
	}
	return states
}

// frame is the step that an instruction of this function is.
func (f *flow) frame(instr ssa.Instruction) frame {
	return frame{Func: funcName(f.fn), At: f.e.at(instr)}
}

// operate runs a lock operation.
func (f *flow) operate(s *state, o op, common *ssa.CallCommon, instr ssa.CallInstruction) []*state {
	lock := f.e.receiver(common)
	if lock.read && o.mode == writeMode {
		o.mode = readMode
	}
	bridge := isDrawbridge(receiverType(common))
	f.locks = true
	h := hold{lock: lock, mode: o.mode, by: instr, at: f.e.at(instr), ctx: o.ctx, bridge: bridge, handed: f.e.handed(lock, f.fn)}
	acq := acquire{Lock: lock.path, Class: lock.class, Mode: o.mode, Try: o.try, Ctx: o.ctx, Bridge: bridge,
		Trace: []frame{f.frame(instr)}}
	value, _ := instr.(*ssa.Call)
	if o.kind == opAcquire && f.report {
		f.e.asked(f, s, acq, instr)
	}
	switch o.kind {
	case opAcquire:
		if f.acquired(s, acq, lock, instr) && !o.ctx {
			return nil // it never returns, so what follows is not reached
		}
		switch {
		case o.try && value != nil:
			no := s.clone()
			no.conds[cond{value: value}] = false
			h.try = true
			no.fail(h)
			s.conds[cond{value: value}] = true
			h.try = false
			f.take(s, h)
			return []*state{s, no}
		case o.ctx && value != nil && len(*value.Referrers()) > 0:
			no := s.clone()
			no.conds[cond{value: value, equals: "nil"}] = false
			no.failed = append(no.failed, h)
			s.conds[cond{value: value, equals: "nil"}] = true
			f.take(s, h)
			return []*state{s, no}
		case o.ctx:
			f.emit(event{kind: errDropped, at: instr, hold: h, lock: lock, acquire: acq})
		}
		f.take(s, h)
	case opRelease:
		if h.sure = fixed(common); !h.sure {
			f.e.pointers[lock.class] = true
		}
		f.release(s, h, instr, nil)
	case opUpgrade:
		change := func(s *state) {
			for i := len(s.held) - 1; i >= 0; i-- {
				if s.held[i].lock.path == lock.path {
					s.held[i].mode = writeMode
					return
				}
			}
		}
		if o.ctx && value != nil && len(*value.Referrers()) > 0 {
			no := s.clone()
			no.conds[cond{value: value, equals: "nil"}] = false
			no.failed = append(no.failed, h)
			s.conds[cond{value: value, equals: "nil"}] = true
			change(s)
			return []*state{s, no}
		}
		if o.ctx {
			f.emit(event{kind: errDropped, at: instr, hold: h, lock: lock, acquire: acq})
		}
		change(s)
	case opDowngrade:
		for i := len(s.held) - 1; i >= 0; i-- {
			if s.held[i].lock.path == lock.path {
				s.held[i].mode = o.mode
				break
			}
		}
	case opScoped:
		f.acquired(s, acq, lock, instr)
		h.scoped = true
		if t, ok := f.e.closure(common.Args[len(common.Args)-1]); ok {
			s.held = append(s.held, h)
			f.apply(s, t, instr)
			s.held = s.held[:len(s.held)-1]
		}
	}
	return []*state{s}
}

// take notes a lock as held, or as given back to the caller that held it before.
func (f *flow) take(s *state, h hold) {
	f.forget(s, h.by.Block())
	s.failed = slices.DeleteFunc(s.failed, func(x hold) bool { return x.try && x.lock.path == h.lock.path })
	for i, x := range s.freed {
		if x.lock.path == h.lock.path {
			s.freed = append(s.freed[:i:i], s.freed[i+1:]...)
			f.e.served[freeKey{f.fn, x.lock.path}] = true // given back for a while: whoever calls this holds it
			return
		}
	}
	s.held = append(s.held, h)
}

// forget drops what was tested in memory before a lock was taken: another goroutine may have changed it
// while this one waited. The test that the lock itself depends on is kept, so that
// "if s.shared { mu.Lock() } … if s.shared { mu.Unlock() }" is understood; the test of
// "if s.closed { return }; mu.Lock(); if s.closed" is not.
func (f *flow) forget(s *state, b *ssa.BasicBlock) {
	keep := map[cond]bool{}
	for ; len(b.Preds) == 1; b = b.Preds[0] {
		if br, ok := b.Preds[0].Instrs[len(b.Preds[0].Instrs)-1].(*ssa.If); ok && (b.Comment == "if.then" || b.Comment == "if.else") {
			if k, _, ok := f.condOf(br.Cond); ok {
				keep[k] = true
			}
		}
	}
	for k := range s.conds {
		if k.path.Root.Kind != rootUnknown && k.path.Root.Kind != rootLocal && !keep[k] {
			delete(s.conds, k)
		}
	}
}

// fail notes a lock that was asked for and not got.
func (s *state) fail(h hold) {
	for _, x := range s.failed {
		if x.lock.path == h.lock.path && x.by == h.by {
			return
		}
	}
	s.failed = append(s.failed, h)
}

// release gives h's lock back, here or in a callee that expects it to be held.
func (f *flow) release(s *state, h hold, instr ssa.CallInstruction, via *freeing) {
	best := -1
	for i := len(s.held) - 1; i >= 0; i-- {
		x := s.held[i]
		if x.lock.path == h.lock.path && !x.scoped && (best < 0 || x.mode == h.mode && s.held[best].mode != h.mode) {
			best = i
		}
	}
	if best < 0 {
		// The lock may have been taken under another name: an element, or a variable that was assigned since.
		for i := len(s.held) - 1; i >= 0 && best < 0; i-- {
			x := s.held[i]
			if !x.scoped && x.lock.class == h.lock.class && (x.stale || !x.lock.exact() || !h.lock.exact() || vague(x.lock) || vague(h.lock)) {
				best = i
			}
		}
	}
	f.unlocked(s, h, instr, best, via)
	if best >= 0 {
		x := s.held[best]
		if x.mode != h.mode && x.lock.path == h.lock.path && !x.stale && !x.handed {
			if !f.failedUnlock(s, h, instr) {
				f.emit(event{kind: mismatch, at: instr, hold: x, lock: h.lock, acquire: acquire{Mode: h.mode}})
			}
		}
		s.held = append(s.held[:best:best], s.held[best+1:]...)
		x.stale = false
		for _, p := range s.past {
			if p.lock.path == x.lock.path && p.mode == x.mode {
				return
			}
		}
		s.past = append(s.past, x)
		return
	}
	if f.failedUnlock(s, h, instr) {
		return
	}
	for _, p := range s.past {
		if p.lock.path == h.lock.path && h.lock.exact() && !p.stale {
			if via != nil && !via.always && !via.chosen {
				return // the callee may know better
			}
			f.emit(event{kind: unheld, at: instr, hold: p, lock: h.lock, acquire: acquire{Mode: h.mode}})
			return
		}
	}
	for _, x := range s.freed {
		if x.lock.path == h.lock.path {
			if h.sure && x.sure && h.lock.exact() && h.lock.Root.Kind != rootLocal && !x.stale && x.mode == h.mode && !f.unsure {
				f.emit(event{kind: unheldAgain, at: instr, hold: x, lock: h.lock, acquire: acquire{Mode: h.mode}})
			}
			return
		}
	}
	f.e.orphan(h.lock, f.fn)
	s.freed = append(s.freed, h)
}

// failedUnlock reports an unlock on the branch where the lock was not got.
func (f *flow) failedUnlock(s *state, h hold, instr ssa.Instruction) bool {
	for i, x := range s.failed {
		if x.lock.path == h.lock.path && !x.try {
			f.emit(event{kind: failedUse, at: instr, hold: x, lock: h.lock, acquire: acquire{Mode: h.mode}})
			s.failed = append(s.failed[:i:i], s.failed[i+1:]...)
			return true
		}
	}
	return false
}

// vague reports whether the path starts at a value that may well have a second name.
func vague(p place) bool {
	if p.Root.Kind == rootUnknown {
		return true
	}
	if p.Root.Kind != rootLocal {
		return false
	}
	_, alloc := p.Root.value.(*ssa.Alloc)
	return !alloc
}

// acquired checks an acquisition, here or in a callee, against the locks held, and adds it to the summary. It
// reports whether the acquisition cannot come true.
func (f *flow) acquired(s *state, a acquire, lock place, instr ssa.Instruction) (stuck bool) {
	for i, h := range s.held {
		if h.stale || a.Try || frees(a.After, h) {
			continue
		}
		switch {
		case h.lock.path == lock.path && lock.exact():
			if h.scoped && a.Ctx {
				continue // the hold is carried in the context; the call joins it or says so
			}
			if h.handed {
				continue // another goroutine gives it back
			}
			kind := again
			if a.Dynamic {
				kind = maybeAgain
			}
			f.emit(event{kind: kind, at: instr, hold: h, lock: lock, acquire: a})
			stuck = stuck || kind == again && (h.mode == writeMode || a.Mode == writeMode)
		case h.lock.class == "" || a.Class == "":
		case h.lock.class == a.Class:
			if a.Dynamic || a.Method || returns(h.lock.path, lock.path) {
				f.emit(event{kind: maybeAgain, at: instr, hold: h, lock: lock, acquire: a})
			}
		case f.report:
			x := edge{From: h.lock.class, To: a.Class, Held: h.mode, Taken: a.Mode, HeldAt: h.at, Bounded: a.Ctx,
				Trace: a.Trace, pos: instr.Pos(), in: f.fn, by: h.by, at: instr}
			for j, g := range s.held {
				if j != i && !g.stale && g.lock.class != "" && g.lock.class != a.Class && g.lock.class != h.lock.class && !frees(a.After, g) {
					x.Gates = append(x.Gates, g.lock.class)
				}
			}
			if fn := maker(h.lock); fn != nil && fn == maker(lock) {
				x.of = fn
			}
			f.e.edge(x)
		}
	}
	switch {
	case a.Mode != writeMode:
	case a.Class == "":
		f.e.written[lock.path] = true
	default:
		f.e.writers[a.Class] = true
	}
	for _, x := range s.freed {
		if !frees(a.After, x) {
			a.After = append(a.After[:len(a.After):len(a.After)], x.held())
		}
	}
	for _, g := range f.guards(s) {
		if !opposed(a.Guards, []guard{g}) && !containsGuard(a.Guards, g) {
			a.Guards = append(a.Guards[:len(a.Guards):len(a.Guards)], g)
		}
	}
	f.sum.add(a)
	return stuck
}

func containsGuard(gs []guard, g guard) bool {
	for _, h := range gs {
		if h == g {
			return true
		}
	}
	return false
}

// open reports whether a callee's guards can hold for this call, and which of them are left for this
// function's own callers to decide.
func (f *flow) open(s *state, t target, guards []guard) (open bool, kept []guard) {
	for _, g := range guards {
		k, is, known, val := f.guard(s, t, g)
		switch {
		case known && val != g.Is:
			return false, nil
		case known || k == (cond{}):
		case f.chosen(k):
			kept = append(kept, f.newGuard(k, is))
		}
	}
	return true, kept
}

// guard puts a callee's guard in this function's terms: the condition and the value that it must have, or
// what it is known to be.
func (f *flow) guard(s *state, t target, g guard) (k cond, is, known, val bool) {
	v := g.value
	if g.Param >= 0 && (v == nil || v.Parent() == t.fn) {
		if g.Param >= len(t.args) {
			return cond{}, false, false, false
		}
		v = t.args[g.Param]
	} else if v == nil || !encloses(origin(v.Parent()), f.fn) {
		return cond{}, false, false, false
	}
	if a, ok := v.(*ssa.Alloc); ok && g.Param < 0 {
		k = cond{path: f.e.place(a).path, equals: g.Equals}
		val, known = s.conds[k]
		return k, g.Is, known, val
	}
	if g.Equals == "nil" {
		k, is = f.nilCond(v), g.Is
		known, val = f.nilness(s, v)
		return k, is, known, val
	}
	known, val = f.truth(s, v)
	if _, ok := v.(*ssa.BinOp); ok {
		return cond{value: v}, g.Is, known, val // computed once, whatever becomes of its parts
	}
	k, positive, ok := f.condOf(v)
	if !ok {
		return cond{}, false, known, val
	}
	return k, positive == g.Is, known, val
}

// maker is the function in a variable of which a lock is, or nil.
func maker(p place) *ssa.Function {
	if a, ok := p.Root.value.(*ssa.Alloc); ok && strings.Count(p.Steps, ".") <= 1 {
		return a.Parent()
	}
	return nil
}

// frees reports whether one of the locks is the one that h holds.
func frees(after []heldLock, h hold) bool {
	for _, x := range after {
		if x.Lock == h.lock.path || x.Class != "" && x.Class == h.lock.class {
			return true
		}
	}
	return false
}

// returns reports whether the second path leads away from the object that the first is in and comes back:
// s.mu and s.replicas[i].store.mu. Such pointers back to the owner are usual, so the two are likely one.
func returns(held, taken path) bool {
	if held.Root != taken.Root || held.Root.Kind == rootUnknown {
		return false
	}
	hs, ts := splitSteps(held.Steps), splitSteps(taken.Steps)
	n := 0
	for n < len(hs) && n < len(ts) && hs[n] == ts[n] {
		n++
	}
	hops := 0
	for _, s := range ts[n:] {
		if s[0] == '.' {
			hops++
		}
	}
	for _, s := range hs[n:] {
		if s[0] == '.' {
			hops--
		}
	}
	return hops >= 2
}

// blocked checks a wait against the locks held.
func (f *flow) blocked(s *state, b block, instr ssa.Instruction) {
	if len(b.Trace) == 0 {
		b.Trace = []frame{f.frame(instr)}
	}
	var under []hold
	for _, h := range s.held {
		if !h.stale && !frees(b.After, h) && !(b.OwnLock != "" && b.OwnLock == h.lock.class) && b.Own != h.lock.path {
			under = append(under, h)
		}
	}
	if b.Cond && len(s.held) > 0 {
		if b.OwnLock == "" && b.Own == (path{}) && len(under) > 0 {
			under = under[:len(under)-1] // Wait gives back the lock taken last, in all likelihood
		}
		b.Cond = false
	}
	if f.report && len(under) > 0 {
		for _, h := range under {
			f.e.waits[h.lock.class] = true
		}
		f.emit(event{kind: blockHeld, at: instr, hold: under[len(under)-1], lock: under[len(under)-1].lock, block: b})
	}
	if len(b.Trace) > f.e.depth {
		return
	}
	for _, x := range s.freed {
		b.After = append(b.After[:len(b.After):len(b.After)], x.held())
	}
	if b.Own.Root.fn != f.fn {
		b.Own = path{}
	}
	f.sum.addBlock(b)
}

// callsParam notes that a parameter is called, and which locks are held around it.
func (f *flow) callsParam(s *state, p *ssa.Parameter, c ssa.CallInstruction) {
	for i, q := range f.fn.Params {
		if q != p {
			continue
		}
		pc := paramCall{Param: i, Trace: []frame{f.frame(c)}}
		for _, h := range s.held {
			if !h.stale {
				pc.Holds = append(pc.Holds, h.held())
			}
		}
		for _, x := range s.freed {
			pc.After = append(pc.After, x.held())
		}
		for _, old := range f.sum.Calls {
			if old.Param == pc.Param && sameHolds(old.Holds, pc.Holds) && sameHolds(old.After, pc.After) {
				return
			}
		}
		f.sum.Calls = append(f.sum.Calls, pc)
	}
}

// A callTarget is a call and what it may reach; a seenCall is what that takes, in the caller's terms.
type callTarget struct {
	call    ssa.CallInstruction
	fn      *ssa.Function
	sum     *summary
	printed string
}

type seenCall struct {
	acquires []acquire
	places   []place
	guards   [][]guard
	added    map[string]bool // to the summary, with no lock held, under these guards
}

// apply runs what is known of a callee on a state.
func (f *flow) apply(s *state, t target, c ssa.CallInstruction) []*state {
	if f.report && t.fn != nil && len(t.fn.Blocks) > 0 {
		f.e.entered(t.fn, s, f.fn)
	}
	if t.sum == nil {
		return []*state{s}
	}
	f.unsure = f.unsure || t.sum.Unsure
	here := f.frame(c)
	tr := func(p path, class string) place {
		return f.e.translate(place{path: p, class: class}, t.fn, t.args, f.fn, t.bound)
	}
	trHeld := func(hs []heldLock) []heldLock {
		out := make([]heldLock, len(hs))
		for i, h := range hs {
			h.Lock = tr(h.Lock, h.Class).path
			out[i] = h
		}
		return out
	}
	// What the callee takes is the same for every state; only the locks held differ.
	k := callTarget{c, t.fn, t.sum, t.printed}
	seen := f.calls[k]
	if seen == nil {
		seen = &seenCall{}
		for _, a := range t.sum.Acquires {
			if len(a.Trace) >= maxTrace {
				continue
			}
			p := tr(a.Lock, a.Class)
			a.Lock = p.path
			a.After = trHeld(a.After)
			a.Trace = append([]frame{here}, a.Trace...)
			if c.Common().IsInvoke() {
				// On the very object that holds the lock the method is certain; on another of its kind, a guess.
				a.Method = a.Method || t.dynamic
			} else {
				a.Dynamic = a.Dynamic || t.dynamic
			}
			if t.printed != "" {
				a.Printed = t.printed
			}
			seen.acquires = append(seen.acquires, a)
			seen.places = append(seen.places, p)
			seen.guards = append(seen.guards, a.Guards)
		}
		f.calls[k] = seen
	}
	if len(seen.acquires) > 0 {
		under := guardKey(f.guards(s))
		if idle := len(s.held)+len(s.freed) == 0; !idle || !seen.added[under] {
			if idle {
				if seen.added == nil {
					seen.added = map[string]bool{}
				}
				seen.added[under] = true
			}
			f.budget -= len(seen.acquires) / 4
			for i, a := range seen.acquires {
				if open, kept := f.open(s, t, seen.guards[i]); open {
					a.Guards = kept
					f.acquired(s, a, seen.places[i], c)
				}
			}
		}
	}
	for _, pc := range t.sum.Calls {
		f.applyParamCall(s, t, pc, trHeld(pc.Holds), trHeld(pc.After), c)
	}
	for _, b := range t.sum.Blocks {
		if len(b.Trace) > f.e.depth {
			continue
		}
		b.Trace = append([]frame{here}, b.Trace...)
		b.After = trHeld(b.After)
		if b.Own.Root.Kind != rootUnknown {
			b.Own = tr(b.Own, "").path
		}
		b.Dynamic = b.Dynamic || t.dynamic
		f.blocked(s, b, c)
	}
	exits := t.sum.Exits
	if !t.sum.nets() {
		return []*state{s}
	}
	f.locks = true
	if t.dynamic {
		for _, x := range exits {
			for _, h := range x.Frees {
				p := tr(h.Lock, h.Class)
				s.hand(p)
				f.expects(s, p, freeKey{t.fn, h.Lock})
			}
			f.unsure = f.unsure || len(x.Holds) > 0
		}
		return []*state{s}
	}
	var out []*state
	for i, x := range exits {
		n := s
		if i < len(exits)-1 {
			n = s.clone()
		}
		if !f.agree(n, t, x, c) {
			continue
		}
		for _, h := range x.Frees {
			p := tr(h.Lock, h.Class)
			via := freeing{freeKey{t.fn, h.Lock}, len(exits) == 1 && !t.sum.Unsure, chosen(x, exits, h.Lock)}
			if p.Root.Kind == rootUnknown {
				f.expects(n, p, via.freeKey)
				n.handClass(h.Class)
				continue
			}
			f.release(n, hold{lock: p, mode: h.Mode, by: c, at: here.At, bridge: h.Bridge, sure: via.always}, c, &via)
		}
		for _, h := range x.Holds {
			p := tr(h.Lock, h.Class)
			if len(t.fn.Blocks) == 0 && handsOut(t.fn) && !exportedClass(h.Class) {
				continue // the other package gives the lock back through the object that it has returned
			}
			f.take(n, hold{lock: p, mode: h.Mode, by: c, at: h.At, bridge: h.Bridge})
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		return []*state{s}
	}
	return out
}

// chosen reports whether a caller decides that a callee gives a lock back, as it does in the way out x.
func chosen(x wayOut, all []wayOut, lock path) bool {
	for _, y := range all {
		frees := slices.ContainsFunc(y.Frees, func(h heldLock) bool { return h.Lock == lock })
		if !frees && !opposed(x.Guards, y.Guards) {
			return false
		}
	}
	return true
}

// handsOut reports whether a function returns an object.
func handsOut(fn *ssa.Function) bool {
	results := fn.Signature.Results()
	for i := range results.Len() {
		if t := results.At(i).Type(); isReference(t) && !isError(t) {
			return true
		}
	}
	return false
}

// agree notes what an exit says of the call's results, and reports whether this path can take it.
func (f *flow) agree(s *state, t target, x wayOut, c ssa.CallInstruction) bool {
	for _, g := range x.Guards {
		k, is, known, val := f.guard(s, t, g)
		if known && val != g.Is {
			return false
		}
		if !known && k != (cond{}) {
			s.conds[k] = is
		}
	}
	call, ok := c.(*ssa.Call)
	if !ok {
		return true
	}
	results := map[int]ssa.Value{}
	if len(x.Results) == 1 {
		results[0] = call
	}
	for _, r := range *call.Referrers() {
		if e, ok := r.(*ssa.Extract); ok {
			results[e.Index] = e
		}
	}
	for i, v := range results {
		if i >= len(x.Results) {
			continue
		}
		switch x.Results[i] {
		case 't', 'f':
			s.conds[cond{value: v}] = x.Results[i] == 't'
		case 'n', 'v':
			s.conds[cond{value: v, equals: "nil"}] = x.Results[i] == 'n'
		default:
			delete(s.conds, cond{value: v})
			delete(s.conds, cond{value: v, equals: "nil"})
		}
	}
	return true
}

// applyParamCall runs a function literal that a callee calls while it holds locks of its own.
func (f *flow) applyParamCall(s *state, t target, pc paramCall, holds, after []heldLock, c ssa.CallInstruction) {
	if pc.Param >= len(t.args) {
		return
	}
	arg := t.args[pc.Param]
	if p, ok := arg.(*ssa.Parameter); ok && p.Parent() == f.fn && len(pc.Trace) < 4 {
		for i, q := range f.fn.Params {
			if q == p {
				up := paramCall{Param: i, Holds: holds, After: after, Trace: append([]frame{f.frame(c)}, pc.Trace...)}
				for _, h := range s.held {
					if !h.stale && !frees(after, h) {
						up.Holds = append(up.Holds, h.held())
					}
				}
				if len(f.sum.Calls) < 8 {
					f.sum.Calls = append(f.sum.Calls, up)
				}
			}
		}
		return
	}
	fn, ok := f.e.closure(arg)
	if !ok || fn.sum == nil {
		return
	}
	inner := s.clone()
	kept := inner.held[:0]
	for _, h := range inner.held {
		if !frees(after, h) {
			kept = append(kept, h)
		}
	}
	inner.held = kept
	for _, h := range holds {
		inner.held = append(inner.held, hold{lock: place{path: h.Lock, class: h.Class}, mode: h.Mode, by: c, at: h.At, bridge: h.Bridge})
	}
	only := *fn.sum
	only.Exits = nil
	fn.sum = &only
	f.apply(inner, fn, c)
}

// hand marks the holds of a lock as released by something that runs at another time.
func (s *state) hand(p place) {
	for i, h := range s.held {
		if h.lock.path == p.path || p.Root.Kind == rootUnknown && p.class == h.lock.class {
			s.held[i].handed = true
		}
	}
}

func (s *state) handClass(class string) {
	for i, h := range s.held {
		if h.lock.class == class {
			s.held[i].handed = true
		}
	}
}

// handOff: a goroutine that is started here may give back what this one holds.
func (f *flow) handOff(s *state, g *ssa.Go) {
	if f.report {
		for _, t := range f.e.targets(f, s, g) {
			if t.fn != nil {
				f.e.entered(t.fn, &state{}, f.fn) // the goroutine holds nothing
			}
		}
	}
	if len(s.held) == 0 {
		return
	}
	if m := called(&g.Call); m != nil {
		if o, ok := operation(m); ok && o.kind == opRelease {
			s.hand(f.e.receiver(&g.Call))
		}
	}
	for _, t := range f.e.targets(f, s, g) {
		f.handAll(s, t)
	}
}

// passOn: so may a function literal that is stored, returned or given to another function.
func (f *flow) passOn(s *state, mc *ssa.MakeClosure) {
	if f.report {
		for _, r := range *mc.Referrers() {
			if c, ok := r.(ssa.CallInstruction); ok && c.Common().Value != mc {
				if fn, ok := mc.Fn.(*ssa.Function); ok {
					f.e.entered(fn, &state{}, nil) // given to a function that calls it we know not when
				}
			}
		}
	}
	if len(s.held) == 0 {
		return
	}
	if t, ok := f.e.closure(mc); ok {
		for _, r := range *mc.Referrers() {
			if c, ok := r.(ssa.CallInstruction); !ok || c.Common().Value != mc {
				f.handAll(s, t)
				return
			}
		}
	}
}

func (f *flow) handAll(s *state, t target) {
	if t.sum == nil {
		return
	}
	for _, x := range t.sum.Exits {
		for _, h := range x.Frees {
			p := f.e.translate(place{path: h.Lock, class: h.Class}, t.fn, t.args, f.fn, t.bound)
			s.hand(p)
			f.expects(s, p, freeKey{t.fn, h.Lock})
		}
	}
}

// receiver is the lock that an operation is called on.
func (e *engine) receiver(c *ssa.CallCommon) place {
	if c.IsInvoke() {
		return e.place(c.Value)
	}
	if mc, ok := c.Value.(*ssa.MakeClosure); ok && len(mc.Bindings) == 1 && len(c.Args) == 0 {
		return e.place(mc.Bindings[0])
	}
	if len(c.Args) == 0 {
		return place{}
	}
	return e.place(c.Args[0])
}

// translate turns a path of a callee into one of the caller.
func (e *engine) translate(p place, fn *ssa.Function, args []ssa.Value, caller *ssa.Function, bound *ssa.MakeClosure) place {
	unknown := place{path: path{Steps: p.Steps}, class: p.class, read: p.read}
	switch p.Root.Kind {
	case rootGlobal:
		return p
	case rootParam:
		if p.Root.fn == fn || p.Root.fn == nil {
			if p.Root.Index >= len(args) {
				return unknown
			}
			q := e.extendAll(e.place(args[p.Root.Index]), p.Steps)
			q.class = p.class
			if q.class == "" {
				q.class = e.place(args[p.Root.Index]).class
				if p.Steps != "" && q.class != "" {
					q.class += p.Steps
				}
			}
			q.read = p.read
			if p.Steps == "" {
				q.read = e.place(args[p.Root.Index]).read
			}
			return q
		}
		if encloses(p.Root.fn, caller) {
			return p
		}
	case rootFree:
		if bound != nil && p.Root.fn == fn && p.Root.Index < len(bound.Bindings) {
			q := e.extendAll(e.place(bound.Bindings[p.Root.Index]), p.Steps)
			if p.class != "" {
				q.class = p.class
			}
			return q
		}
	case rootLocal:
		// The callee's own variables are new in each call, also when it calls itself.
		if v := p.Root.value; v != nil && v.Parent() != nil && origin(v.Parent()) != fn && encloses(origin(v.Parent()), caller) {
			return p
		}
	}
	return unknown
}

// encloses reports whether outer is fn or a function that fn is written in.
func encloses(outer, fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if origin(fn) == outer {
			return true
		}
	}
	return false
}

// targets are the functions that a call may reach and whose summaries are known.
func (e *engine) targets(f *flow, s *state, c ssa.CallInstruction) []target {
	common := c.Common()
	var out []target
	args := common.Args
	if common.IsInvoke() {
		args = append([]ssa.Value{common.Value}, common.Args...)
	}
	if fn := common.StaticCallee(); fn != nil {
		name := ""
		if m := called(common); m != nil {
			name = fullName(m)
		}
		if callsArguments(name) {
			for _, a := range common.Args {
				if t, ok := e.closure(a); ok {
					out = append(out, t)
				}
			}
		} else {
			t := e.target(origin(fn), args)
			if mc, ok := common.Value.(*ssa.MakeClosure); ok {
				t.bound = mc
			}
			out = append(out, t)
		}
		out = append(out, e.printed(name, common)...)
		return out
	}
	if !common.IsInvoke() {
		if t, ok := e.closure(common.Value); ok {
			t.args = args
			if len(out) == 0 {
				return []target{t}
			}
		}
	} else {
		out = append(out, e.printed(fullName(common.Method), common)...)
	}
	for _, fn := range e.callees[c] {
		t := e.target(origin(fn), args)
		t.dynamic = !(common.IsInvoke() && e.certain(common, fn))
		out = append(out, t)
	}
	return out
}

// certain reports whether an interface value is known to be of the method's receiver, so that the call is
// as good as a direct one.
func (e *engine) certain(c *ssa.CallCommon, fn *ssa.Function) bool {
	return len(fn.Params) > 0 && e.made(c.Value, 0)
}

// made reports whether v is an interface value whose making can be seen.
func (e *engine) made(v ssa.Value, depth int) bool {
	if depth > 8 {
		return false
	}
	switch v := v.(type) {
	case *ssa.MakeInterface:
		return true
	case *ssa.ChangeInterface:
		return e.made(v.X, depth+1)
	case *ssa.UnOp:
		if a, ok := v.X.(*ssa.Alloc); ok {
			if val := onlyStore(a); val != nil {
				return e.made(val, depth+1)
			}
		}
	case *ssa.Call:
		if fn := v.Call.StaticCallee(); fn != nil {
			fn = origin(fn)
			for _, b := range fn.Blocks {
				if r, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && len(r.Results) == 1 {
					return e.made(r.Results[0], depth+1)
				}
			}
		}
	}
	return false
}

func (e *engine) target(fn *ssa.Function, args []ssa.Value) target {
	return target{fn: fn, sum: e.summary(fn), args: args}
}

// closure resolves a function value that can be read off the source: a literal, a named function, a method
// value, or a variable that holds one of them and is assigned once.
func (e *engine) closure(v ssa.Value) (target, bool) {
	for range 8 {
		switch x := v.(type) {
		case *ssa.MakeClosure:
			t := e.target(x.Fn.(*ssa.Function), nil)
			t.bound = x
			return t, true
		case *ssa.Function:
			return e.target(origin(x), nil), true
		case *ssa.ChangeType:
			v = x.X
		case *ssa.UnOp:
			if x.Op != token.MUL {
				return target{}, false
			}
			v = x.X
		case *ssa.FreeVar:
			if v = e.binding(x); v == nil {
				return target{}, false
			}
		case *ssa.Alloc:
			if v = onlyStore(x); v == nil {
				return target{}, false
			}
		default:
			return target{}, false
		}
	}
	return target{}, false
}

// callsArguments reports whether a function of another package calls its function arguments before it
// returns, and keeps none of them.
func callsArguments(name string) bool {
	switch name {
	case "(*sync.Once).Do", "(*sync.Map).Range":
		return true
	}
	for _, p := range []string{"sort.", "slices.", "maps.", "strings.", "bytes.", "path/filepath.Walk", "io/fs.Walk", "go/ast.Inspect"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
