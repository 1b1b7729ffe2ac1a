package lockcheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
)

// Ctxlock finds waits for a lock that could end with the request and do not.
var Ctxlock = newAnalyzer("ctxlock", `find a lock asked for without the context that is at hand

Where some section of a lock waits for something else, over a network perhaps, whoever wants the lock waits as
long. A function that serves a request has a context that ends with it, and drawbridge's locks can be asked
for with it. Only locks of drawbridge are looked at, and of them those with a section that waits.

Bad:

	func (s *Store) Get(ctx context.Context, k string) (string, error) {
		s.mu.RLock()
		defer s.mu.RUnlock()
		…

Good:

	func (s *Store) Get(ctx context.Context, k string) (string, error) {
		if err := s.mu.RLockContext(ctx); err != nil {
			return "", err
		}
		defer s.mu.RUnlock()
		…`, func(r *reporter, res *flowResult) {
	for _, a := range res.asks {
		if !a.acquire.Bridge || a.acquire.Ctx || a.acquire.Try || !res.waits[a.acquire.Class] || a.acquire.Class == "" {
			continue
		}
		pos := position(a.at)
		file := enclosingFile(r.pass, pos)
		if file == nil {
			continue
		}
		path, _ := astutil.PathEnclosingInterval(file, pos, pos)
		if deferredCode(path) {
			continue
		}
		ctx := contextAt(r.pass, path, pos)
		if ctx == "" {
			continue
		}
		call, method := callOf(path)
		if call == nil {
			continue
		}
		r.report(Warning, pos, contextFix(r.pass, path, call, method, ctx),
			"%s waits without end although %s is at hand, and a section of this lock waits for something else. Use %sContext(%s)",
			method, ctx, method, ctx)
	}
})

// callOf is the innermost method call of a path of syntax, and the method's name.
func callOf(path []ast.Node) (*ast.CallExpr, string) {
	for _, n := range path {
		if c, ok := n.(*ast.CallExpr); ok {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok {
				return c, s.Sel.Name
			}
		}
	}
	return nil, ""
}

// deferredCode reports whether the code runs when its function returns, which it must do whatever the
// context says.
func deferredCode(path []ast.Node) bool {
	for i, n := range path {
		if _, ok := n.(*ast.DeferStmt); ok {
			return true
		}
		if _, ok := n.(*ast.FuncLit); ok && i+1 < len(path) {
			if c, ok := path[i+1].(*ast.CallExpr); ok && i+2 < len(path) && c.Fun == n {
				if _, ok := path[i+2].(*ast.DeferStmt); ok {
					return true
				}
			}
		}
	}
	return false
}

// contextAt is an expression for the context that code at a position has: a variable in scope, or that of
// the request that a handler serves. A goroutine's function has only what it declares itself.
func contextAt(pass *analysis.Pass, path []ast.Node, pos token.Pos) string {
	scope := pass.Pkg.Scope().Innermost(pos)
	outer := token.NoPos
	for i, n := range path {
		if lit, ok := n.(*ast.FuncLit); ok && i+2 < len(path) {
			if _, ok := path[i+2].(*ast.GoStmt); ok {
				outer = lit.Pos()
				break
			}
		}
	}
	request := ""
	for s := scope; s != nil && s != pass.Pkg.Scope(); s = s.Parent() {
		for _, name := range s.Names() {
			obj, ok := s.Lookup(name).(*types.Var)
			if !ok || name == "_" || obj.Pos() >= pos || obj.Pos() < outer {
				continue
			}
			if isContext(obj.Type()) {
				return name
			}
			if isNamed(obj.Type(), "net/http", "Request") && request == "" {
				request = name + ".Context()"
			}
		}
	}
	return request
}

// contextFix asks with the context and returns the error, in a function that can return one.
func contextFix(pass *analysis.Pass, path []ast.Node, call *ast.CallExpr, method, ctx string) []analysis.SuggestedFix {
	var stmt *ast.ExprStmt
	var sig *types.Signature
	for _, n := range path {
		switch n := n.(type) {
		case *ast.ExprStmt:
			if stmt == nil && n.X == call {
				stmt = n
			}
		case *ast.FuncLit:
			sig, _ = pass.TypesInfo.TypeOf(n).(*types.Signature)
		case *ast.FuncDecl:
			if obj, ok := pass.TypesInfo.Defs[n.Name].(*types.Func); ok {
				sig = obj.Type().(*types.Signature)
			}
		}
		if sig != nil {
			break
		}
	}
	if stmt == nil || sig == nil || method == "" {
		return nil
	}
	ret, ok := returnErr(sig)
	if !ok {
		return nil
	}
	indent := strings.Repeat("\t", max(pass.Fset.Position(stmt.Pos()).Column-1, 0))
	sel := call.Fun.(*ast.SelectorExpr)
	return []analysis.SuggestedFix{{
		Message: fmt.Sprintf("ask with %s and return the error", ctx),
		TextEdits: []analysis.TextEdit{
			{Pos: stmt.Pos(), End: stmt.Pos(), NewText: []byte("if err := ")},
			{Pos: sel.Sel.Pos(), End: stmt.End(), NewText: fmt.Appendf(nil, "%sContext(%s); err != nil {\n%s\t%s\n%s}", method, ctx, indent, ret, indent)},
		},
	}}
}

// returnErr is the statement that returns err and zero values, if the last result is an error and the
// others have a zero value that is written in one word.
func returnErr(sig *types.Signature) (string, bool) {
	n := sig.Results().Len()
	if n == 0 || !isError(sig.Results().At(n-1).Type()) {
		return "", false
	}
	var vals []string
	for i := range n - 1 {
		t := sig.Results().At(i).Type()
		if _, ok := types.Unalias(t).(*types.TypeParam); ok {
			return "", false
		}
		switch u := t.Underlying().(type) {
		case *types.Basic:
			switch {
			case u.Info()&types.IsString != 0:
				vals = append(vals, `""`)
			case u.Info()&types.IsBoolean != 0:
				vals = append(vals, "false")
			case u.Info()&types.IsNumeric != 0:
				vals = append(vals, "0")
			default:
				return "", false
			}
		case *types.Pointer, *types.Interface, *types.Map, *types.Slice, *types.Signature, *types.Chan:
			vals = append(vals, "nil")
		default:
			return "", false
		}
	}
	return "return " + strings.Join(append(vals, "err"), ", "), true
}
