package vet

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"strings"
	"unicode"

	"github.com/drawbridge-go/drawbridge/lockcheck"
)

func writeText(w io.Writer, found []Finding, known int) error {
	levels := map[string]int{}
	for _, f := range found {
		levels[f.Level]++
		if _, err := fmt.Fprintf(w, "%s:%d:%d: %s: %s (%s)\n", printable(f.File), f.Line, f.Column, f.Level, printable(f.Message), f.Analyzer); err != nil {
			return err
		}
	}
	var parts []string
	for _, l := range []string{lockcheck.Error, lockcheck.Warning} {
		if levels[l] > 0 {
			parts = append(parts, count(levels[l], l))
		}
	}
	if n := levels[lockcheck.Info]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d for information", n))
	}
	if known > 0 {
		parts = append(parts, fmt.Sprintf("%d known from the baseline", known))
	}
	if len(parts) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(w, strings.Join(parts, ", "))
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printable shows text from files and other processes without what a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

func writeJSON(w io.Writer, found []Finding) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "\t")
	if found == nil {
		found = []Finding{}
	}
	return enc.Encode(struct {
		Findings []Finding `json:"findings"`
	}{found})
}

// functions finds the declared function that a line is in.
type functions map[string][]span

type span struct {
	name       string
	start, end int
}

func (fs functions) at(file string, line int) string {
	spans, ok := fs[file]
	if !ok {
		fset := token.NewFileSet()
		if f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution); err == nil {
			for _, d := range f.Decls {
				if fd, ok := d.(*ast.FuncDecl); ok {
					spans = append(spans, span{declName(fd), fset.Position(fd.Pos()).Line, fset.Position(fd.End()).Line})
				}
			}
		}
		fs[file] = spans
	}
	for _, s := range spans {
		if s.start <= line && line <= s.end {
			return s.name
		}
	}
	return ""
}

// declName is a function's name with its receiver's type: "Cache.Get".
func declName(fd *ast.FuncDecl) string {
	if fd.Recv == nil || len(fd.Recv.List) == 0 {
		return fd.Name.Name
	}
	t := fd.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fd.Name.Name
		default:
			return fd.Name.Name
		}
	}
}
