package lockcheck

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// lockflow follows the locks through every function of a package, once for all analyzers. It reports
// nothing; each analyzer picks the events that are its own.
var lockflow = &analysis.Analyzer{
	Name:       "lockflow",
	Doc:        "follow locks through functions (for the other lock analyzers)",
	Run:        runFlow,
	Requires:   []*analysis.Analyzer{ctrlflow.Analyzer}, // which buildssa requires
	ResultType: reflect.TypeFor[*result](),
	FactTypes:  []analysis.Fact{(*summary)(nil), (*packageFact)(nil)},
}

// A result is what a package's functions do to locks.
type result struct {
	pass *analysis.Pass
	once sync.Once
	flow flowResult
	err  error
}

type flowResult struct {
	*engine
	all []edge // this package's order of locks and that of its imports
}

// get follows the package's locks, at the first call.
func (r *result) get() (*flowResult, error) {
	r.once.Do(func() { r.err = r.flow.follow(r.pass) })
	return &r.flow, r.err
}

type eventKind uint8

const (
	again       eventKind = iota + 1 // a lock taken while the same lock is held
	maybeAgain                       // a lock of the same class, perhaps of another object
	leak                             // a return with the lock held where another return has given it back
	unheld                           // given back twice
	unheldAgain                      // given back twice, and taken by a caller
	unheldNever                      // given back, and nobody has taken it
	unheldSome                       // given back also where it was not taken
	unheldTry                        // given back where TryLock has failed
	mismatch                         // given back in another mode
	errDropped                       // the error of a LockContext is not looked at
	failedUse                        // given back where LockContext failed
	ctxLeak                          // taken by LockContext and never given back
	deferLock                        // defer mu.Lock()
	panicHeld                        // an explicit panic without a deferred unlock
	blockHeld                        // a wait under the lock
)

// An event is something that an analyzer may have a word on.
type event struct {
	kind    eventKind
	at      ssa.Instruction
	fn      *ssa.Function
	hold    hold
	lock    place
	acquire acquire
	block   block
	helper  bool // leak: the caller can tell from the results which it is
	never   bool // leak: the other return never took the lock
	pos     token.Pos
}

// An eventKey tells events apart that an analyzer would speak of differently.
type eventKey struct {
	kind          eventKind
	at, by        ssa.Instruction
	lock          path
	class         string
	mode          mode
	frames        int
	what          string
	helper, never bool
}

// An ask is a lock operation that is written in this package.
type ask struct {
	fn      *ssa.Function
	at      ssa.CallInstruction
	acquire acquire
}

type engine struct {
	pass     *analysis.Pass
	pkg      *ssa.Package
	funcs    []*ssa.Function
	literals map[*ssa.Function]*ssa.MakeClosure
	callees  map[ssa.CallInstruction][]*ssa.Function
	aliases  map[string]alias
	places   map[ssa.Value]place
	sums     map[*ssa.Function]*summary
	imported map[*types.Func]*summary
	busy     map[*ssa.Function]bool
	looks    map[*types.Named]bool // see transparent
	ids      map[any]int
	depth    int

	events    []event
	eventSeen map[eventKey]bool
	orphans   map[string]bool                 // classes with an unlock in a function that did not lock
	writers   map[string]bool                 // classes that someone locks for writing
	written   map[path]bool                   // the same of local variables
	spawned   map[*ssa.Function]bool          // function literals that are goroutines
	forks     map[*ssa.Function]bool          // functions that start function literals as goroutines
	strays    map[path]map[*ssa.Function]bool // local variables that are unlocked where they were not locked
	waits     map[string]bool                 // classes whose sections wait for something else
	asks      []ask
	edges     []edge
	edgeSeen  map[string]bool
	entries   map[*ssa.Function][]entry // see under
	called    map[*ssa.Function]bool    // called by name in this package
	outcomes  map[*ssa.Function]*outcome
	unlockBook
}

// maxCallees bounds what a dynamic call is followed to; beyond it, nothing is learned from the call.
const maxCallees = 10

func runFlow(pass *analysis.Pass) (any, error) {
	r := &result{pass: pass}
	if !standard(pass.Pkg.Path()) {
		_, err := r.get()
		return r, err
	}
	// A program cannot hold the standard library's locks while it calls it, so programs learn nothing from it.
	// It is looked at when it is itself what is checked, and not as everybody's dependency: that saves most
	// of the time. This is also why buildssa is called and not required.
	return r, nil
}

func (r *flowResult) follow(pass *analysis.Pass) error {
	ssaResult, err := buildssa.Analyzer.Run(pass)
	if err != nil {
		return err
	}
	in := ssaResult.(*buildssa.SSA)
	e := &engine{
		pass: pass, pkg: in.Pkg, funcs: in.SrcFuncs, depth: blockDepth,
		literals:   map[*ssa.Function]*ssa.MakeClosure{},
		callees:    map[ssa.CallInstruction][]*ssa.Function{},
		aliases:    map[string]alias{},
		places:     map[ssa.Value]place{},
		sums:       map[*ssa.Function]*summary{},
		imported:   map[*types.Func]*summary{},
		busy:       map[*ssa.Function]bool{},
		looks:      map[*types.Named]bool{},
		ids:        map[any]int{},
		writers:    map[string]bool{},
		written:    map[path]bool{},
		forks:      map[*ssa.Function]bool{},
		spawned:    map[*ssa.Function]bool{},
		strays:     map[path]map[*ssa.Function]bool{},
		edgeSeen:   map[string]bool{},
		eventSeen:  map[eventKey]bool{},
		entries:    map[*ssa.Function][]entry{},
		called:     map[*ssa.Function]bool{},
		outcomes:   map[*ssa.Function]*outcome{},
		unlockBook: newUnlockBook(),
	}
	fact := e.importPackages()
	e.index()
	e.findAliases()
	e.places = map[ssa.Value]place{}
	// The first round makes the summaries. The second, with all of them known, also where functions call one
	// another in a circle, is the one that counts.
	for _, fn := range e.funcs {
		e.summary(fn)
	}
	e.lent = map[string]bool{}
	e.orphans, e.waits, e.places = map[string]bool{}, map[string]bool{}, map[ssa.Value]place{}
	for _, fn := range e.funcs {
		if len(fn.Blocks) > 0 {
			e.busy[fn] = true
			e.sums[fn] = e.explore(fn, true)
			delete(e.busy, fn)
		}
	}
	e.gate()
	e.judgeUnlocks()
	e.events = likeliest(e.events, pass.Pkg.Path())
	fact.Edges = append(fact.Edges, e.edges...)
	r.engine, r.all = e, fact.Edges
	if !e.standard() {
		e.export(fact)
	}
	return nil
}

// likeliest keeps, of the events that may be no mistake, one for each function and lock: the one with the
// shortest way to the second lock. Other packages' own locks are left to them.
func likeliest(events []event, pkg string) []event {
	type key struct {
		fn   *ssa.Function
		held string
		lock string
		kind second
	}
	best := map[key]int{}
	for i, ev := range events {
		if ev.kind != maybeAgain {
			continue
		}
		k := key{ev.fn, ev.hold.at, ev.acquire.Class, classify(ev)}
		if j, ok := best[k]; !ok || len(ev.acquire.Trace) < len(events[j].acquire.Trace) {
			best[k] = i
		}
	}
	var out []event
	for i, ev := range events {
		if ev.kind == maybeAgain {
			if best[key{ev.fn, ev.hold.at, ev.acquire.Class, classify(ev)}] != i || !strings.HasPrefix(ev.acquire.Class, pkg+".") {
				continue
			}
		}
		out = append(out, ev)
	}
	return out
}

// index finds function literals and the functions of this package that dynamic calls may reach.
func (e *engine) index() {
	locks := false
	for _, fn := range e.funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				e.indexValues(instr)
				switch instr := instr.(type) {
				case *ssa.MakeClosure:
					if lit, ok := instr.Fn.(*ssa.Function); ok && lit.Parent() == fn {
						e.literals[lit] = instr
					}
				case ssa.CallInstruction:
					if m := called(instr.Common()); m != nil {
						if _, ok := ops[m.Name()]; ok {
							locks = true
						}
					}
					if callee := instr.Common().StaticCallee(); callee != nil {
						e.called[origin(callee)] = true
					}
					if lit := funcOf(spawns(instr)); lit != nil {
						e.spawned[lit] = true
						e.forks[fn] = true
					}
				}
			}
		}
	}
	if locks {
		e.findCallees()
	}
}

// findCallees resolves dynamic calls within the package by variable type analysis.
func (e *engine) findCallees() {
	defer func() {
		// The analysis is not made for packages whose generic functions are not instantiated, and such a
		// program may be more than it can take. Calls through variables are not followed then.
		if recover() != nil {
			e.callees = map[ssa.CallInstruction][]*ssa.Function{}
		}
	}()
	funcs := ssautil.AllFunctions(e.pkg.Prog) // with wrappers, and without methods that nothing calls
	for _, fn := range e.funcs {
		funcs[fn] = true
	}
	graph := vta.CallGraph(funcs, nil)
	for fn, node := range graph.Nodes {
		if fn == nil {
			continue
		}
		for _, edge := range node.Out {
			if edge.Site == nil || edge.Site.Common().StaticCallee() != nil || edge.Callee.Func == nil {
				continue
			}
			if callee := edge.Callee.Func; len(callee.Blocks) > 0 && (e.inTest(fn) || !e.inTest(callee)) {
				e.callees[edge.Site] = append(e.callees[edge.Site], callee)
			}
		}
	}
	for site, fns := range e.callees {
		if len(fns) > maxCallees {
			delete(e.callees, site)
			continue
		}
		sortFuncs(fns)
	}
}

// inTest reports whether a function is written in a test. What tests put behind an interface or into a variable
// is not what the program calls there.
func (e *engine) inTest(fn *ssa.Function) bool {
	return strings.HasSuffix(e.pass.Fset.Position(fn.Pos()).Filename, "_test.go")
}

// sortFuncs sorts functions by where they are written. Those made from one piece of source, as the instances of
// a generic function are, go by their names.
func sortFuncs(fns []*ssa.Function) {
	slices.SortFunc(fns, func(a, b *ssa.Function) int {
		return cmp.Or(cmp.Compare(a.Pos(), b.Pos()), cmp.Compare(a.String(), b.String()))
	})
}

// summary is what a function does. A function that is being summarised is taken to do what was last known
// of it.
func (e *engine) summary(fn *ssa.Function) *summary {
	if len(fn.Blocks) == 0 {
		return e.importSummary(fn)
	}
	if s, ok := e.sums[fn]; ok || e.busy[fn] {
		return s
	}
	e.busy[fn] = true
	s := e.explore(fn, false)
	delete(e.busy, fn)
	e.sums[fn] = s
	return s
}

func (e *engine) importSummary(fn *ssa.Function) *summary {
	obj, ok := fn.Object().(*types.Func)
	if !ok || obj.Pkg() == nil || obj.Pkg() == e.pass.Pkg || standard(obj.Pkg().Path()) {
		return nil // what the standard library does to its own locks concerns nobody else
	}
	s, ok := e.imported[obj]
	if !ok {
		var fact summary
		if e.pass.ImportObjectFact(obj, &fact) {
			s = &fact
		}
		e.imported[obj] = s
	}
	return s
}

// staticSummary is the summary of a call's callee, where that is one function.
func (e *engine) staticSummary(c *ssa.CallCommon) (*summary, []ssa.Value, *ssa.Function) {
	fn := c.StaticCallee()
	if fn == nil {
		return nil, nil, nil
	}
	fn = origin(fn)
	return e.summary(fn), c.Args, fn
}

// transparent reports whether the methods of m's type are looked into instead of being taken as the lock
// itself: Lock takes a lock inside the object, and keeps it.
func (e *engine) transparent(m *types.Func) bool {
	recv := m.Type().(*types.Signature).Recv().Type()
	if isPrimitive(recv) {
		return false
	}
	n := named(recv)
	if n == nil || types.IsInterface(n) {
		return false
	}
	n = n.Origin()
	if t, ok := e.looks[n]; ok {
		return t
	}
	e.looks[n] = true // Lock may well call other methods of the type
	see := true
	for _, name := range []string{"Lock", "Unlock"} {
		obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(n), true, n.Obj().Pkg(), name)
		lm, ok := obj.(*types.Func)
		if !ok {
			see = false
			break
		}
		fn := e.pkg.Prog.FuncValue(lm.Origin())
		if fn == nil {
			see = false
			break
		}
		sum := e.summary(fn)
		see = see && sum != nil && len(sum.Exits) > 0
		for i := 0; see && i < len(sum.Exits); i++ {
			holds, frees := ofReceiver(sum.Exits[i].Holds), ofReceiver(sum.Exits[i].Frees)
			if name == "Unlock" {
				holds, frees = frees, holds
			}
			see = len(holds) == 1 && len(frees) == 0
		}
	}
	e.looks[n] = see
	return see
}

func ofReceiver(hs []heldLock) (out []heldLock) {
	for _, h := range hs {
		if h.Lock.Root.Kind == rootParam && h.Lock.Root.Index == 0 {
			out = append(out, h)
		}
	}
	return out
}

func receiverType(c *ssa.CallCommon) types.Type {
	if c.IsInvoke() {
		return c.Value.Type()
	}
	if m := called(c); m != nil {
		return m.Type().(*types.Signature).Recv().Type()
	}
	return types.Typ[types.Invalid]
}

func (e *engine) id(x any) int {
	n, ok := e.ids[x]
	if !ok {
		n = len(e.ids)
		e.ids[x] = n
	}
	return n
}

// orphan notes an unlock of what fn has not locked.
func (e *engine) orphan(p place, fn *ssa.Function) {
	if e.orphans != nil {
		e.orphans[p.class] = true
	}
	if p.Root.Kind == rootLocal {
		if e.strays[p.path] == nil {
			e.strays[p.path] = map[*ssa.Function]bool{}
		}
		e.strays[p.path][fn] = true
	}
}

// handed reports whether a local lock that fn takes is given back by another goroutine of the function that
// both are written in: it is a semaphore.
func (e *engine) handed(p place, fn *ssa.Function) bool {
	for other := range e.strays[p.path] {
		if e.goroutine(other) != e.goroutine(fn) {
			return true
		}
	}
	return false
}

// goroutine is the function literal of the goroutine that fn is written in, or the function around all.
func (e *engine) goroutine(fn *ssa.Function) *ssa.Function {
	for !e.spawned[fn] && fn.Parent() != nil {
		fn = fn.Parent()
	}
	return fn
}

// hasWriter reports whether somebody is seen to lock for writing.
func (e *engine) hasWriter(class string, p path) bool {
	if class == "" {
		return e.written[p]
	}
	return e.writers[class]
}

func (f *flow) emit(ev event) {
	if !f.report {
		return
	}
	ev.fn = f.fn
	k := eventKey{ev.kind, ev.at, ev.hold.by, ev.lock.path, ev.acquire.Class, ev.acquire.Mode, len(ev.acquire.Trace), ev.block.What, ev.helper, ev.never}
	if f.e.eventSeen[k] {
		return // another state has come to the same
	}
	f.e.eventSeen[k] = true
	if !ev.pos.IsValid() {
		ev.pos = position(ev.at)
	}
	f.e.events = append(f.e.events, ev)
}

// asked notes a lock operation that is written here.
func (e *engine) asked(f *flow, s *state, a acquire, at ssa.CallInstruction) {
	for _, old := range e.asks {
		if old.at == at {
			return
		}
	}
	e.asks = append(e.asks, ask{f.fn, at, a})
}

// position is where an instruction is written, or the function if it is written nowhere.
func position(instr ssa.Instruction) token.Pos {
	if p := instr.Pos(); p.IsValid() {
		return p
	}
	if v, ok := instr.(*ssa.Select); ok {
		for _, s := range v.States {
			if s.Pos.IsValid() {
				return s.Pos
			}
		}
	}
	b := instr.Block()
	for i, x := range b.Instrs {
		if x != instr {
			continue
		}
		for j := i; j >= 0; j-- {
			if p := b.Instrs[j].Pos(); p.IsValid() {
				return p
			}
		}
	}
	return instr.Parent().Pos()
}

// at is an instruction's file and line, for people.
func (e *engine) at(instr ssa.Instruction) string { return e.where(position(instr)) }

func (e *engine) where(pos token.Pos) string {
	p := e.pass.Fset.Position(pos)
	return fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line)
}

// funcName is a function's name without its package: "(*Server).Close", "Run$1".
func funcName(fn *ssa.Function) string {
	if fn.Pkg != nil {
		return fn.RelString(fn.Pkg.Pkg)
	}
	return fn.Name()
}

// export hands the summaries to the packages that import this one.
func (e *engine) export(fact *packageFact) {
	for _, fn := range e.funcs {
		obj, ok := fn.Object().(*types.Func)
		if !ok || obj.Pkg() != e.pass.Pkg {
			continue
		}
		s := e.sums[fn]
		if s.empty() {
			continue
		}
		out := s.portable()
		out.Blocks = nil // waits are followed within a package only
		if !out.empty() {
			e.pass.ExportObjectFact(obj, out)
		}
	}
	for class := range e.writers {
		fact.Writers = append(fact.Writers, class)
	}
	fact.trim()
	e.pass.ExportPackageFact(fact)
}

func (e *engine) standard() bool { return standard(e.pass.Pkg.Path()) }

func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && (first != "command-line-arguments") && stdRoots[first]
}

// printed are the methods that a call of fmt, log, slog or encoding/json makes on its arguments.
func (e *engine) printed(name string, c *ssa.CallCommon) []target {
	if !prints(name) {
		return nil
	}
	methods := []string{"String", "Error", "Format", "GoString"}
	switch {
	case strings.Contains(name, "encoding/json"):
		methods = []string{"MarshalJSON", "MarshalText"}
	case strings.Contains(name, "log/slog"):
		methods = []string{"LogValue", "MarshalText", "MarshalJSON", "String", "Error"}
	}
	verbs := formatVerbs(c)
	var out []target
	for i, v := range printedArgs(c) {
		mi, ok := v.(*ssa.MakeInterface)
		if !ok || verbs != nil && i < len(verbs) && strings.ContainsRune("pTtbcdoOqxXUeEfFgG", verbs[i]) && verbs[i] != 'q' && verbs[i] != 'x' && verbs[i] != 'X' {
			continue
		}
		for _, m := range methods {
			obj, path, _ := types.LookupFieldOrMethod(mi.X.Type(), false, e.pass.Pkg, m)
			fn, ok := obj.(*types.Func)
			if !ok || len(path) != 1 || types.IsInterface(mi.X.Type()) {
				continue
			}
			if sf := e.pkg.Prog.FuncValue(fn.Origin()); sf != nil {
				t := e.target(sf, []ssa.Value{mi.X})
				t.printed = name
				out = append(out, t)
			}
		}
	}
	return out
}

func prints(name string) bool {
	for _, p := range []string{"fmt.", "log.", "(*log.Logger).", "log/slog.", "(*log/slog.Logger).", "encoding/json.Marshal", "(*encoding/json.Encoder).Encode"} {
		if strings.HasPrefix(name, p) {
			return !strings.HasPrefix(name, "fmt.S") || strings.HasPrefix(name, "fmt.Sprint")
		}
	}
	return false
}

// printedArgs are the values that are formatted: the elements of the variadic slice, or plain interfaces.
func printedArgs(c *ssa.CallCommon) []ssa.Value {
	var out []ssa.Value
	for _, a := range c.Args {
		if mi, ok := a.(*ssa.MakeInterface); ok {
			out = append(out, mi)
			continue
		}
		sl, ok := a.(*ssa.Slice)
		if !ok {
			continue
		}
		array, ok := sl.X.(*ssa.Alloc)
		if !ok {
			continue
		}
		out = nil // what comes before is a writer or a format
		for _, r := range *array.Referrers() {
			ia, ok := r.(*ssa.IndexAddr)
			if !ok {
				continue
			}
			for _, r := range *ia.Referrers() {
				if st, ok := r.(*ssa.Store); ok && st.Addr == ia {
					out = append(out, st.Val)
				}
			}
		}
	}
	return out
}

// formatVerbs are the verbs of a constant format string, one for each argument, or nil if that is not clear.
func formatVerbs(c *ssa.CallCommon) []rune {
	for _, a := range c.Args {
		k, ok := a.(*ssa.Const)
		if !ok || k.Value == nil {
			continue
		}
		s := strings.Trim(k.Value.ExactString(), `"`)
		if strings.ContainsAny(s, "[*") || !strings.Contains(s, "%") {
			return nil
		}
		var verbs []rune
		in := false
		for _, r := range s {
			switch {
			case !in:
				in = r == '%'
			case strings.ContainsRune("+-# 0123456789.", r):
			default:
				if r != '%' {
					verbs = append(verbs, r)
				}
				in = false
			}
		}
		return verbs
	}
	return nil
}

// enclosingFile is the syntax of the file that a position is in.
func enclosingFile(pass *analysis.Pass, pos token.Pos) *ast.File {
	for _, f := range pass.Files {
		if f.FileStart <= pos && pos <= f.FileEnd {
			return f
		}
	}
	return nil
}
