package lockcheck

import (
	"go/token"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// What a goroutine has done is over where its function has waited for it. If the one takes A and then B, and the
// other B and then A after that, the two orders do not meet: unless the function runs twice at a time with the same
// locks. So this counts only for locks in variables of the function itself, which each run of it has its own of, and
// for functions of which there is one run.

// apart reports whether two steps of a circle are never taken at one time.
func (e *engine) apart(x, y edge) bool { return e.joined(x, y) || e.joined(y, x) }

// joined reports whether x is a step of a goroutine that the function of y has waited for.
func (e *engine) joined(x, y edge) bool {
	if x.in == nil || y.in == nil || !x.pos.IsValid() || !y.pos.IsValid() {
		return false
	}
	fork := e.fork(x.in)
	if fork == nil || fork.Parent() != y.in || !(x.of == y.in && y.of == y.in || once(y.in)) {
		return false
	}
	if _, late := x.at.(*ssa.Defer); late {
		return false
	}
	done := e.completions(x, fork)
	for _, b := range y.in.Blocks {
		for _, instr := range b.Instrs {
			what, ok := e.waitsFor(instr)
			if !ok || !done[what] || follows(instr, fork) || !what.group && follows(fork, fork) {
				continue // a receive is of one goroutine only
			}
			if precedes(instr, y.by) && precedes(instr, y.at) {
				return true
			}
		}
	}
	return false
}

// A completion is how a goroutine says that it is done.
type completion struct {
	on    path
	group bool // a WaitGroup or an errgroup; else a channel
}

// fork is the only place where the function literal fn is made, if that starts it as a goroutine.
func (e *engine) fork(fn *ssa.Function) ssa.CallInstruction {
	mc := e.literals[fn]
	if mc == nil || len(*mc.Referrers()) != 1 {
		return nil
	}
	call, ok := (*mc.Referrers())[0].(ssa.CallInstruction)
	if !ok || spawns(call) != mc {
		return nil
	}
	return call
}

// spawns is what a call starts as a goroutine, or nil.
func spawns(call ssa.CallInstruction) ssa.Value {
	if _, ok := call.(*ssa.Go); ok {
		return call.Common().Value
	}
	if _, ok := call.(*ssa.Call); ok && groupGo[fullName(called(call.Common()))] {
		return call.Common().Args[1]
	}
	return nil
}

// groupGo are the calls that start a goroutine of a group, and groupWait those that wait for all of them.
var (
	groupGo = map[string]bool{
		"(*sync.WaitGroup).Go":                      true,
		"(*golang.org/x/sync/errgroup.Group).Go":    true,
		"(*golang.org/x/sync/errgroup.Group).TryGo": true,
	}
	groupWait = map[string]bool{
		"(*sync.WaitGroup).Wait":                   true,
		"(*golang.org/x/sync/errgroup.Group).Wait": true,
	}
)

// completions are what the goroutine of x, which fork starts, says it with after the step.
func (e *engine) completions(x edge, fork ssa.CallInstruction) map[completion]bool {
	out := map[completion]bool{}
	if _, ok := fork.(*ssa.Call); ok {
		if c := (completion{e.place(fork.Common().Args[0]).path, true}); c.on.exact() {
			out[c] = true // the group itself, when the literal has returned
		}
	}
	for i, b := range x.in.Blocks {
		for _, instr := range b.Instrs {
			var c completion
			_, deferred := instr.(*ssa.Defer)
			switch instr := instr.(type) {
			case *ssa.Send:
				c.on = e.place(instr.Chan).path
			case ssa.CallInstruction:
				call := instr.Common()
				if fullName(called(call)) == "(*sync.WaitGroup).Done" {
					c = completion{e.place(call.Args[0]).path, true}
				} else if b, ok := call.Value.(*ssa.Builtin); ok && b.Name() == "close" {
					c.on = e.place(call.Args[0]).path
				}
			}
			if c.on.exact() && (c.group || e.onlySender(c.on, x.in)) && (deferred && i == 0 || !deferred && !follows(instr, x.at)) {
				out[c] = true
			}
		}
	}
	return out
}

// onlySender reports whether a channel is a local variable of the function around fn that only fn sends on or
// closes.
func (e *engine) onlySender(ch path, fn *ssa.Function) bool {
	if v := ch.Root.value; v == nil || v.Parent() != fn.Parent() || ch.Steps != "" {
		return false
	}
	for _, other := range e.funcs {
		if !encloses(fn.Parent(), other) {
			continue
		}
		for _, b := range other.Blocks {
			for _, instr := range b.Instrs {
				switch instr := instr.(type) {
				case *ssa.UnOp, *ssa.Store, *ssa.MakeClosure, *ssa.MakeChan, *ssa.DebugRef:
					continue
				case *ssa.Send:
					if other == fn {
						continue
					}
				case ssa.CallInstruction:
					if b, ok := instr.Common().Value.(*ssa.Builtin); ok && b.Name() == "close" && other == fn {
						continue
					}
				}
				for _, op := range instr.Operands(nil) {
					if *op != nil && e.place(*op).path == ch {
						return false
					}
				}
			}
		}
	}
	return true
}

// waitsFor says which completion an instruction waits for.
func (e *engine) waitsFor(instr ssa.Instruction) (completion, bool) {
	switch instr := instr.(type) {
	case *ssa.Call:
		if groupWait[fullName(called(&instr.Call))] {
			return completion{e.place(instr.Call.Args[0]).path, true}, true
		}
	case *ssa.UnOp:
		if instr.Op == token.ARROW {
			return completion{on: e.place(instr.X).path}, true
		}
	}
	return completion{}, false
}

// once reports whether a program runs a function once: main, an initialisation, a test.
func once(fn *ssa.Function) bool {
	if fn.Parent() != nil || fn.Signature.Recv() != nil {
		return false
	}
	params := fn.Signature.Params()
	test := strings.HasPrefix(fn.Name(), "Test") && params.Len() == 1 && isNamed(params.At(0).Type(), "testing", "T")
	return test || fn.Name() == "main" && fn.Pkg.Pkg.Name() == "main" || strings.HasPrefix(fn.Name(), "init#")
}

// precedes reports whether a is done whenever b is.
func precedes(a, b ssa.Instruction) bool {
	if a.Block() != b.Block() {
		return a.Block().Dominates(b.Block())
	}
	for _, instr := range a.Block().Instrs {
		if instr == a || instr == b {
			return instr == a
		}
	}
	return false
}

// follows reports whether control may come from a to b.
func follows(a, b ssa.Instruction) bool {
	if a != b && a.Block() == b.Block() && precedes(a, b) {
		return true
	}
	for _, succ := range a.Block().Succs {
		if leads(succ, b.Block(), nil) {
			return true
		}
	}
	return false
}

// funcOf is the function that a value is known to be, or nil.
func funcOf(v ssa.Value) *ssa.Function {
	if mc, ok := v.(*ssa.MakeClosure); ok {
		v = mc.Fn
	}
	fn, _ := v.(*ssa.Function)
	return fn
}
