package lockcheck

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// drawbridgePath is the package whose types have the operations that the standard ones lack.
const drawbridgePath = "github.com/drawbridge-go/drawbridge"

// A mode is how a lock is held or asked for.
type mode uint8

const (
	readMode mode = iota + 1
	upgradableMode
	writeMode
)

func (m mode) String() string {
	switch m {
	case readMode:
		return "read"
	case upgradableMode:
		return "upgradable"
	}
	return "write"
}

type opKind uint8

const (
	opAcquire opKind = iota + 1
	opRelease
	opUpgrade   // upgradable hold to write
	opDowngrade // write hold to a weaker one
	opScoped    // the section is a function argument
)

// An op is what one call does to one lock.
type op struct {
	kind opKind
	mode mode // taken, released, or reached by an upgrade or downgrade
	try  bool // reports in a bool; never waits
	ctx  bool // reports in an error; the wait ends with a context
}

// ops are the method names that the checkers know. A name counts only on a type that is a lock.
var ops = map[string]op{
	"Lock":                  {kind: opAcquire, mode: writeMode},
	"RLock":                 {kind: opAcquire, mode: readMode},
	"ULock":                 {kind: opAcquire, mode: upgradableMode},
	"TryLock":               {kind: opAcquire, mode: writeMode, try: true},
	"TryRLock":              {kind: opAcquire, mode: readMode, try: true},
	"TryULock":              {kind: opAcquire, mode: upgradableMode, try: true},
	"LockContext":           {kind: opAcquire, mode: writeMode, ctx: true},
	"RLockContext":          {kind: opAcquire, mode: readMode, ctx: true},
	"ULockContext":          {kind: opAcquire, mode: upgradableMode, ctx: true},
	"Unlock":                {kind: opRelease, mode: writeMode},
	"RUnlock":               {kind: opRelease, mode: readMode},
	"UUnlock":               {kind: opRelease, mode: upgradableMode},
	"Upgrade":               {kind: opUpgrade, mode: writeMode},
	"UpgradeContext":        {kind: opUpgrade, mode: writeMode, ctx: true},
	"Downgrade":             {kind: opDowngrade, mode: readMode},
	"DowngradeToUpgradable": {kind: opDowngrade, mode: upgradableMode},
	"WithLock":              {kind: opScoped, mode: writeMode, ctx: true},
	"WithRLock":             {kind: opScoped, mode: readMode, ctx: true},
	"WithULock":             {kind: opScoped, mode: upgradableMode, ctx: true},
}

// signatures that an operation must have besides its name; a Lock that takes a key, say, is another thing.
func (o op) fits(sig *types.Signature) bool {
	params, results := sig.Params().Len(), sig.Results().Len()
	switch {
	case o.kind == opScoped:
		return params == 2 && results == 1
	case o.ctx:
		return params == 1 && isContext(sig.Params().At(0).Type()) && results == 1 && isError(sig.Results().At(0).Type())
	case o.try:
		return params == 0 && results == 1 && isBool(sig.Results().At(0).Type())
	}
	return params == 0 && results == 0
}

// operation says which lock operation a method is, if any.
func operation(m *types.Func) (op, bool) {
	o, ok := ops[m.Name()]
	sig := m.Type().(*types.Signature)
	if !ok || sig.Recv() == nil || !o.fits(sig) {
		return op{}, false
	}
	recv := sig.Recv().Type()
	if !isLock(recv) {
		return op{}, false
	}
	if (o.kind == opScoped || o.kind == opUpgrade || o.kind == opDowngrade) && !isDrawbridge(recv) {
		return op{}, false
	}
	return o, true
}

// isLock reports whether t has the method set of a lock: Lock and Unlock without arguments or results.
func isLock(t types.Type) bool {
	for _, name := range []string{"Lock", "Unlock"} {
		obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
		m, ok := obj.(*types.Func)
		if !ok {
			return false
		}
		sig := m.Type().(*types.Signature)
		if sig.Params().Len() != 0 || sig.Results().Len() != 0 {
			return false
		}
	}
	return true
}

// isPrimitive reports whether t is a lock whose methods are its meaning: the standard library's and
// drawbridge's. Other types with the method set are looked into, see [engine.transparent].
func isPrimitive(t types.Type) bool {
	n := named(t)
	if n == nil || n.Obj().Pkg() == nil {
		return false
	}
	switch n.Obj().Pkg().Path() {
	case "sync", "internal/sync":
		return n.Obj().Name() == "Mutex" || n.Obj().Name() == "RWMutex"
	}
	return isDrawbridge(t)
}

func isDrawbridge(t types.Type) bool {
	n := named(t)
	if n == nil || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != drawbridgePath {
		return false
	}
	return n.Obj().Name() == "RWMutex" || n.Obj().Name() == "Mutex"
}

func named(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, _ := types.Unalias(t).(*types.Named)
	return n
}

func isNamed(t types.Type, pkg, name string) bool {
	n := named(t)
	return n != nil && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkg && n.Obj().Name() == name
}

func isContext(t types.Type) bool { return isNamed(t, "context", "Context") }

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// called returns the method or function object that a call names, if its callee is known by name.
func called(c *ssa.CallCommon) *types.Func {
	if c.IsInvoke() {
		return c.Method
	}
	fn := c.StaticCallee()
	if fn == nil {
		return nil
	}
	obj, _ := origin(fn).Object().(*types.Func)
	return obj
}

func origin(fn *ssa.Function) *ssa.Function {
	if o := fn.Origin(); o != nil {
		return o
	}
	return fn
}

// fullName is a function's name as the tables of known functions spell it: "time.Sleep",
// "(*sync.WaitGroup).Wait".
func fullName(f *types.Func) string {
	if f == nil {
		return ""
	}
	return strings.ReplaceAll(f.Origin().FullName(), "[T]", "")
}
