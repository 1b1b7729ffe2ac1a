// Package ctxedit turns a plain Lock into one with the context that is at hand.
package ctxedit

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// CallOf is the innermost method call of a path of syntax, and the method's name.
func CallOf(path []ast.Node) (*ast.CallExpr, string) {
	for _, n := range path {
		if c, ok := n.(*ast.CallExpr); ok {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok {
				return c, s.Sel.Name
			}
		}
	}
	return nil, ""
}

// Deferred reports whether the code runs when its function returns, which it must do whatever the
// context says.
func Deferred(path []ast.Node) bool {
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

// At is an expression for the context that code at a position has: a variable in scope, or that of
// the request that a handler serves. A goroutine's function has only what it declares itself.
func At(pkg *types.Package, path []ast.Node, pos token.Pos) string {
	scope := pkg.Scope().Innermost(pos)
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
	for s := scope; s != nil && s != pkg.Scope(); s = s.Parent() {
		for _, name := range s.Names() {
			obj, ok := s.Lookup(name).(*types.Var)
			if !ok || name == "_" || obj.Pos() >= pos || obj.Pos() < outer {
				continue
			}
			if isNamed(obj.Type(), "context", "Context") {
				return name
			}
			if isNamed(obj.Type(), "net/http", "Request") && request == "" {
				request = name + ".Context()"
			}
		}
	}
	return request
}

// Fix asks with the context and returns the error, in a function that can return one.
func Fix(fset *token.FileSet, info *types.Info, path []ast.Node, call *ast.CallExpr, method, ctx string) []analysis.TextEdit {
	var stmt *ast.ExprStmt
	var sig *types.Signature
	for _, n := range path {
		switch n := n.(type) {
		case *ast.ExprStmt:
			if stmt == nil && n.X == call {
				stmt = n
			}
		case *ast.FuncLit:
			sig, _ = info.TypeOf(n).(*types.Signature)
		case *ast.FuncDecl:
			if obj, ok := info.Defs[n.Name].(*types.Func); ok {
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
	indent := strings.Repeat("\t", max(fset.Position(stmt.Pos()).Column-1, 0))
	sel := call.Fun.(*ast.SelectorExpr)
	return []analysis.TextEdit{
		{Pos: stmt.Pos(), End: stmt.Pos(), NewText: []byte("if err := ")},
		{Pos: sel.Sel.Pos(), End: stmt.End(), NewText: fmt.Appendf(nil, "%sContext(%s); err != nil {\n%s\t%s\n%s}", method, ctx, indent, ret, indent)},
	}
}

// returnErr is the statement that returns err and zero values, if the last result is an error and the
// others have a zero value that is written in one word.
func returnErr(sig *types.Signature) (string, bool) {
	n := sig.Results().Len()
	if n == 0 || !types.Identical(sig.Results().At(n-1).Type(), types.Universe.Lookup("error").Type()) {
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

func isNamed(t types.Type, pkg, name string) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkg && n.Obj().Name() == name
}
