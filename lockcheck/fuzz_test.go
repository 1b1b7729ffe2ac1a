package lockcheck

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// FuzzAnalyzers feeds valid Go to all analyzers. Its seeds are the standard library's test data for the type
// checker and the kernels with lock bugs; what is not valid by itself is passed over.
func FuzzAnalyzers(f *testing.F) {
	root := goroot(f)
	for _, pattern := range []string{
		"src/internal/types/testdata/check/*.go",
		"src/internal/types/testdata/examples/*.go",
		"src/runtime/testdata/testgoroutineleakprofile/goker/*.go",
		"test/typeparam/*.go",
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	for _, file := range []string{"lockdouble/bad.go", "lockdouble/good.go", "lockleak/good.go", "lockorder/bad.go", "harmless/harmless.go", "lockblock/bad.go"} {
		src, err := os.ReadFile(filepath.Join("testdata/src", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	imports := importer.ForCompiler(token.NewFileSet(), "source", nil)
	f.Fuzz(func(t *testing.T, src []byte) {
		pkg := load(imports, src)
		if pkg == nil {
			t.Skip("not valid Go")
		}
		graph, err := checker.Analyze([]*analysis.Analyzer{everything}, []*packages.Package{pkg}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, root := range graph.Roots {
			if root.Err != nil {
				t.Fatal(root.Err)
			}
		}
	})
}

// load makes a package of one file, or returns nil if it is not valid by itself.
func load(imports types.Importer, src []byte) *packages.Package {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}
	conf := types.Config{Importer: imports, Sizes: types.SizesFor("gc", "amd64")}
	pkg, err := conf.Check("fuzz.test/x", fset, []*ast.File{file}, info)
	if err != nil {
		return nil
	}
	return &packages.Package{ID: "x", PkgPath: "fuzz.test/x", Name: pkg.Name(), Types: pkg, Fset: fset, Syntax: []*ast.File{file},
		TypesInfo: info, TypesSizes: conf.Sizes, Module: &packages.Module{Path: "fuzz.test/x", GoVersion: "1.26"}}
}
