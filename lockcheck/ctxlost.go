package lockcheck

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"

	"github.com/drawbridge-go/drawbridge/lockcheck/internal/ctxedit"
)

// Ctxlost finds contexts that are replaced by an empty one when a lock is asked for.
var Ctxlost = newAnalyzer("ctxlost", `find LockContext with an empty context where a better one is in scope

context.Background and context.TODO never end, so the wait does not either, and they carry no holds, so a
nested section is not recognised. Code that runs when the function returns is left alone: its work must be
done whatever the context says.

Bad:

	func (s *Store) Get(ctx context.Context) error {
		if err := s.mu.LockContext(context.Background()); err != nil {

Good:

	func (s *Store) Get(ctx context.Context) error {
		if err := s.mu.LockContext(ctx); err != nil {`, func(r *reporter, res *flowResult) {
	for _, file := range r.pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			m, ok := r.pass.TypesInfo.Uses[sel.Sel].(*types.Func)
			if !ok {
				return true
			}
			if o, ok := operation(m); !ok || !o.ctx {
				return true
			}
			empty, ok := emptyContext(r.pass, call.Args[0])
			if !ok {
				return true
			}
			path, _ := astutil.PathEnclosingInterval(file, call.Pos(), call.End())
			if ctxedit.Deferred(path) {
				return true
			}
			ctx := ctxedit.At(r.pass.Pkg, path, call.Pos())
			if ctx == "" {
				return true
			}
			r.report(Warning, call.Args[0].Pos(), []analysis.SuggestedFix{{
				Message:   "use " + ctx,
				TextEdits: []analysis.TextEdit{{Pos: call.Args[0].Pos(), End: call.Args[0].End(), NewText: fmt.Append(nil, ctx)}},
			}}, "%s with %s never gives up although %s is at hand. Use %s", m.Name(), empty, ctx, ctx)
			return true
		})
	}
})

// emptyContext reports whether an expression is context.Background() or context.TODO().
func emptyContext(pass *analysis.Pass, x ast.Expr) (string, bool) {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return "", false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	f, ok := pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	if !ok {
		return "", false
	}
	name := f.FullName()
	return name, name == "context.Background" || name == "context.TODO"
}
