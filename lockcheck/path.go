package lockcheck

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A path names a lock by the way that leads to it: a root, then fields and elements. Two equal paths in one
// function are the same lock as long as nothing on the way is assigned; pointers are followed silently, so
// s.mu is the same path whether s is a value or a pointer.
type path struct {
	Root  root
	Steps string // ".mu", ".store.mu", ".shards[].mu", ".pair[1]"
}

type rootKind uint8

const (
	rootUnknown rootKind = iota
	rootParam            // parameter Index of fn; the receiver is parameter 0
	rootFree             // variable Index bound by a method value
	rootGlobal           // the package-level variable Name
	rootLocal            // the SSA value itself
)

// A root is where a path starts. Captured variables have no kind of their own: a function literal is
// created in one place, so they are named as its enclosing function names them.
type root struct {
	Kind  rootKind
	Index int
	Name  string
	fn    *ssa.Function // of a parameter; nil in facts, where it is the function of the fact
	value ssa.Value     // of a local
}

// exact reports whether equal paths are the same lock. An element whose index is not a constant is not.
func (p path) exact() bool {
	if p.Root.Kind == rootUnknown {
		return false
	}
	for s := p.Steps; ; {
		i := strings.IndexByte(s, '[')
		if i < 0 {
			return true
		}
		s = s[i+1:]
		if s == "" || s[0] < '0' || s[0] > '9' {
			return false
		}
	}
}

// portable is the path as another package may see it; what only this function can name becomes unknown.
func (p path) portable() path {
	switch p.Root.Kind {
	case rootParam:
		p.Root.fn = nil
	case rootGlobal:
	default:
		p.Root = root{}
	}
	return p
}

func (p path) String() string {
	name := "…"
	switch p.Root.Kind {
	case rootGlobal:
		name = p.Root.Name[strings.LastIndexByte(p.Root.Name, '/')+1:]
	case rootParam:
		if fn := p.Root.fn; fn != nil && p.Root.Index < len(fn.Params) {
			name = fn.Params[p.Root.Index].Name()
		}
	case rootLocal:
		switch v := p.Root.value.(type) {
		case *ssa.Alloc:
			name = v.Comment
			if n := named(v.Type()); n != nil && (name == "" || name == "complit" || strings.ContainsAny(name, " .")) {
				name = n.Obj().Name()
			}
		case *ssa.Phi:
			if v.Comment != "" {
				name = v.Comment
			}
		case *ssa.Call:
			if f := called(&v.Call); f != nil {
				name = f.Name() + "()"
			}
		case *ssa.Extract:
			if c, ok := v.Tuple.(*ssa.Call); ok && called(&c.Call) != nil {
				name = called(&c.Call).Name() + "()"
			}
		}
	}
	var b strings.Builder
	b.WriteString(name)
	for _, s := range splitSteps(p.Steps) {
		if s[0] == '[' && !(len(s) > 2 && s[1] >= '0' && s[1] <= '9') {
			s = "[…]"
		}
		b.WriteString(s)
	}
	return b.String()
}

func splitSteps(s string) []string {
	var out []string
	for s != "" {
		n := 1
		for n < len(s) && s[n] != '.' && s[n] != '[' {
			n++
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// A place is a path with what the type system says of its end.
type place struct {
	path
	class string // "pkg/path.Type.field", the same for every instance; "" for a local variable
	read  bool   // reached through RLocker: its Lock is a read lock
}

// An alias is a field that always holds another lock of the same object, as a Cond's L does.
type alias struct {
	cut   int // steps to go back
	steps string
	class string
	read  bool
}

const maxSteps = 10

// place names the object that v points to, or is.
func (e *engine) place(v ssa.Value) place {
	p, ok := e.places[v]
	if !ok {
		// A value that is defined by way of itself, in a loop, is its own root.
		e.places[v] = place{path: path{Root: root{Kind: rootLocal, value: v}}}
		p = e.follow(v)
		e.places[v] = p
	}
	return p
}

func (e *engine) follow(v ssa.Value) place {
	local := place{path: path{Root: root{Kind: rootLocal, value: v}}}
	next := e.place
	switch v := v.(type) {
	case *ssa.Parameter:
		for i, p := range v.Parent().Params {
			if p == v {
				return place{path: path{Root: root{Kind: rootParam, Index: i, fn: origin(v.Parent())}}}
			}
		}
	case *ssa.FreeVar:
		if b := e.binding(v); b != nil {
			return next(b)
		}
		for i, fv := range v.Parent().FreeVars {
			if fv == v {
				return place{path: path{Root: root{Kind: rootFree, Index: i, fn: v.Parent()}}}
			}
		}
	case *ssa.Global:
		name := v.Name()
		if v.Pkg != nil {
			name = v.Pkg.Pkg.Path() + "." + name
		}
		return place{path: path{Root: root{Kind: rootGlobal, Name: name}}, class: name}
	case *ssa.Alloc:
		if val := onlyStore(v); val != nil && isReference(val.Type()) {
			if _, self := val.(*ssa.Alloc); !self || val != v {
				return next(val)
			}
		}
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return next(v.X)
		}
	case *ssa.FieldAddr:
		return e.field(next(v.X), v.X, deref(v.X.Type()), v.Field)
	case *ssa.Field:
		return e.field(next(v.X), v.X, v.X.Type(), v.Field)
	case *ssa.IndexAddr:
		return index(next(v.X), v.Index)
	case *ssa.Index:
		return index(next(v.X), v.Index)
	case *ssa.Lookup:
		return index(next(v.X), v.Index)
	case *ssa.Extract:
		if l, ok := v.Tuple.(*ssa.Lookup); ok && v.Index == 0 {
			return next(l)
		}
		if n, ok := v.Tuple.(*ssa.Next); ok && v.Index == 2 {
			if r, ok := n.Iter.(*ssa.Range); ok {
				return index(next(r.X), n)
			}
		}
		if a, ok := v.Tuple.(*ssa.TypeAssert); ok && v.Index == 0 {
			return next(a.X)
		}
		if c, ok := v.Tuple.(*ssa.Call); ok {
			if p, ok := e.resultPlace(c, v.Index); ok {
				return p
			}
		}
	case *ssa.ChangeType:
		return next(v.X)
	case *ssa.Convert:
		return next(v.X)
	case *ssa.ChangeInterface:
		return next(v.X)
	case *ssa.TypeAssert:
		return next(v.X)
	case *ssa.Slice:
		return next(v.X)
	case *ssa.MakeInterface:
		p := next(v.X)
		if iface, ok := v.Type().Underlying().(*types.Interface); ok && iface.NumMethods() == 2 && isLock(iface) {
			p = e.promoted(p, v.X.Type())
		}
		return p
	case *ssa.Phi:
		var same *place
		for _, edge := range v.Edges {
			if edge == v || isNil(edge) {
				continue
			}
			p := next(edge)
			if p.Root.Kind == rootLocal && p.Root.value == v {
				if p.Steps != "" {
					return local // the next of a list, or a parent: each round has another
				}
				continue
			}
			if same != nil && *same != p {
				return local
			}
			same = &p
		}
		if same != nil {
			return *same
		}
	case *ssa.Call:
		if f := called(&v.Call); f != nil && f.Name() == "RLocker" && isLock(v.Type()) && len(v.Call.Args) > 0 {
			p := next(v.Call.Args[0])
			p.read = true
			return p
		}
		if p, ok := e.resultPlace(v, 0); ok {
			return p
		}
	}
	return local
}

// field extends p, the place of x, by field i of the struct type t.
func (e *engine) field(p place, x ssa.Value, t types.Type, i int) place {
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return p
	}
	name := st.Field(i).Name()
	if p.Steps == "" && p.Root.Kind == rootLocal {
		if val := e.fresh(p.Root.value, name); val != nil {
			return *val
		}
	}
	return e.unalias(e.named(p, t, i))
}

// named extends p, whose type is t, by its field i, and leaves aliases alone.
func (e *engine) named(p place, t types.Type, i int) place {
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return p
	}
	name := st.Field(i).Name()
	q := extend(p, "."+name)
	switch {
	case isNamed(t, "sync", "Cond") && name == "L":
		q.class = p.class + ".L"
	case named(t) != nil:
		q.class = typeName(named(t)) + "." + name
	case p.class != "":
		q.class = p.class + "." + name
	default:
		q.class = ""
	}
	return q
}

func extend(p place, step string) place {
	if strings.Count(p.Steps, ".")+strings.Count(p.Steps, "[") >= maxSteps {
		p.Root = root{}
	} else {
		p.Steps += step
	}
	return p
}

func (e *engine) unalias(p place) place {
	a, ok := e.aliases[p.class]
	if !ok || p.class == "" {
		return p
	}
	steps := splitSteps(p.Steps)
	if a.cut > len(steps) {
		return p
	}
	p.Steps = strings.Join(steps[:len(steps)-a.cut], "") + a.steps
	p.class, p.read = a.class, a.read
	return p
}

// extendAll is p followed by steps that were named in another function.
func (e *engine) extendAll(p place, steps string) place {
	for _, s := range splitSteps(steps) {
		if p.Steps == "" && p.Root.Kind == rootLocal && s[0] == '.' {
			if val := e.fresh(p.Root.value, s[1:]); val != nil {
				p = *val
				continue
			}
		}
		p = extend(p, s)
	}
	return p
}

// fresh is what a field of an object that this function has just made points to, if it is set once.
func (e *engine) fresh(v ssa.Value, field string) *place {
	switch v := v.(type) {
	case *ssa.Alloc:
		val := e.freshStore(v, field)
		if val == nil || !isReference(val.Type()) || isNil(val) {
			return nil
		}
		p := e.place(val)
		return &p
	case *ssa.Call:
		if sum, args, fn := e.staticSummary(v.Common()); sum != nil && len(sum.Returns) > 0 {
			for _, f := range sum.Returns[0].Fields {
				if f.Name != field {
					continue
				}
				if p := e.translate(place{path: f.Path}, fn, args, v.Parent(), nil); p.Root.Kind != rootUnknown {
					return &p
				}
			}
		}
	}
	return nil
}

// freshStore is the only value that is stored in a field of a, or nil.
func (e *engine) freshStore(a *ssa.Alloc, field string) ssa.Value {
	st, ok := deref(a.Type()).Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var val ssa.Value
	for _, r := range *a.Referrers() {
		fa, ok := r.(*ssa.FieldAddr)
		if !ok || st.Field(fa.Field).Name() != field {
			continue
		}
		for _, r := range *fa.Referrers() {
			if s, ok := r.(*ssa.Store); ok && s.Addr == fa {
				if val != nil {
					return nil
				}
				val = s.Val
			}
		}
	}
	return val
}

func (e *engine) resultPlace(c *ssa.Call, i int) (place, bool) {
	sum, args, fn := e.staticSummary(&c.Call)
	if sum == nil || i >= len(sum.Returns) || sum.Returns[i].Alias == nil {
		return place{}, false
	}
	r := sum.Returns[i]
	p := e.translate(place{path: *r.Alias, class: r.Class}, fn, args, c.Parent(), nil)
	return p, p.Root.Kind != rootUnknown
}

// promoted extends p, whose type is t, by the embedded fields through which t gets its Lock method.
func (e *engine) promoted(p place, t types.Type) place {
	obj, idx, _ := types.LookupFieldOrMethod(t, true, nil, "Lock")
	if obj == nil {
		return p
	}
	for _, i := range idx[:len(idx)-1] {
		st, ok := deref(t).Underlying().(*types.Struct)
		if !ok {
			return p
		}
		p = e.field(p, nil, deref(t), i)
		t = st.Field(i).Type()
	}
	return p
}

func index(p place, i ssa.Value) place {
	step := "[]"
	if c, ok := i.(*ssa.Const); ok && c.Value != nil && c.Value.Kind() == constant.Int {
		step = fmt.Sprintf("[%s]", c.Value)
	} else if i != nil && i.Name() != "" {
		step = "[" + i.Name() + "]"
	}
	q := extend(p, step)
	if q.class != "" {
		q.class += "[]"
	}
	return q
}

// binding is what a captured variable stands for in the enclosing function.
func (e *engine) binding(v *ssa.FreeVar) ssa.Value {
	fn := v.Parent()
	mc := e.literals[fn]
	if mc == nil {
		return nil
	}
	for i, fv := range fn.FreeVars {
		if fv == v {
			return mc.Bindings[i]
		}
	}
	return nil
}

// onlyStore is the value of a variable that is assigned once, function literals included.
func onlyStore(a *ssa.Alloc) ssa.Value {
	var val ssa.Value
	n := 0
	var visit func(addr ssa.Value)
	visit = func(addr ssa.Value) {
		refs := addr.Referrers()
		if refs == nil {
			return
		}
		for _, r := range *refs {
			switch r := r.(type) {
			case *ssa.Store:
				if r.Addr == addr {
					val = r.Val
					n++
				} else {
					n += 2 // the address itself is passed on
				}
			case *ssa.MakeClosure:
				fn := r.Fn.(*ssa.Function)
				for i, b := range r.Bindings {
					if b == addr && i < len(fn.FreeVars) {
						visit(fn.FreeVars[i])
					}
				}
			case ssa.CallInstruction:
				n += 2
			}
		}
	}
	visit(a)
	if n != 1 {
		return nil
	}
	return val
}

func isReference(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Map, *types.Slice, *types.Signature, *types.Chan:
		return true
	}
	return false
}

func deref(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

func typeName(n *types.Named) string {
	obj := n.Origin().Obj()
	if obj.Pkg() == nil {
		return obj.Name()
	}
	return obj.Pkg().Path() + "." + obj.Name()
}

func isNil(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.IsNil()
}

// short drops the package path of a class, for people: "server.Account.mu".
func short(class string) string { return class[strings.LastIndexByte(class, '/')+1:] }

// findAliases fills e.aliases from the stores that tie two fields of one object together:
// x.cond = sync.NewCond(&x.mu), x.cond.L = &x.mu, x.locker = x.mu.RLocker().
func (e *engine) findAliases() {
	conflict := map[string]bool{}
	add := func(from place, cutL bool, to place) {
		if from.class == "" || to.class == "" || from.Root != to.Root || from.class == to.class {
			return
		}
		if cutL {
			from.class += ".L"
			from.Steps += ".L"
		}
		fs, ts := splitSteps(from.Steps), splitSteps(to.Steps)
		n := 0
		for n < len(fs) && n < len(ts) && fs[n] == ts[n] {
			n++
		}
		a := alias{cut: len(fs) - n, steps: strings.Join(ts[n:], ""), class: to.class, read: to.read}
		if old, ok := e.aliases[from.class]; ok && old != a {
			conflict[from.class] = true
		}
		e.aliases[from.class] = a
	}
	found := map[string]alias{}
	for _, fn := range e.funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				s, ok := instr.(*ssa.Store)
				if !ok {
					continue
				}
				fa, ok := s.Addr.(*ssa.FieldAddr)
				if !ok {
					continue
				}
				from := e.named(e.place(fa.X), deref(fa.X.Type()), fa.Field)
				if c, ok := s.Val.(*ssa.Call); ok && fullName(called(&c.Call)) == "sync.NewCond" {
					add(from, true, e.place(c.Call.Args[0]))
				} else if t := s.Val.Type(); isReference(t) && isLock(t) {
					if _, param := s.Val.(*ssa.Parameter); !param {
						add(from, false, e.place(s.Val))
					}
				}
			}
		}
	}
	for class, a := range e.aliases {
		if !conflict[class] {
			found[class] = a
		}
	}
	e.aliases = found
}
