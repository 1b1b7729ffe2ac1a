package lockcheck

import (
	"os"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// Each analyzer has a package of mistakes, marked with what is to be said of them, and of correct code that
// looks like them.
func TestAnalyzers(t *testing.T) {
	for _, a := range Analyzers {
		t.Run(a.Name, func(t *testing.T) {
			pkgs := []string{a.Name}
			if a == Unlockunheld {
				pkgs = append(pkgs, "outcome")
			}
			if a == Lockorder {
				pkgs = append(pkgs, "lockorder/a", "lockorder/b")
			}
			if a == Ctxlock || a == Ctxlost {
				analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), a, pkgs...)
				return
			}
			analysistest.Run(t, analysistest.TestData(), a, pkgs...)
		})
	}
}

func TestIgnoreComments(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), Lockdouble, "ignore")
}

// everything is all analyzers in one.
var everything = &analysis.Analyzer{
	Name: "everything", Doc: "run every analyzer", Requires: []*analysis.Analyzer{lockflow},
	Run: func(pass *analysis.Pass) (any, error) {
		for _, a := range Analyzers {
			if _, err := a.Run(pass); err != nil {
				return nil, err
			}
		}
		return nil, nil
	},
}

// TestRealReports has the shapes of bugs that were reported of real projects, written anew.
func TestRealReports(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), everything, "reports/recursive", "reports/upgrade", "reports/double",
		"reports/missing", "reports/order/client", "reports/order", "reports/blocking", "reports/unbounded")
}

// TestHarmlessShapes fails when code that cannot deadlock gets a finding at error level.
func TestHarmlessShapes(t *testing.T) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Dir: "testdata/src/harmless",
		Env: append(os.Environ(), "GO111MODULE=off", "GOPATH="+analysistest.TestData(), "GOWORK=off")}, ".")
	if err != nil {
		t.Fatal(err)
	}
	graph, err := checker.Analyze(Analyzers, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, root := range graph.Roots {
		if root.Err != nil {
			t.Fatal(root.Err)
		}
		looked++
		for _, d := range root.Diagnostics {
			t.Logf("%s: %s: %s: %s", root.Package.Fset.Position(d.Pos), d.Category, root.Analyzer.Name, d.Message)
			if d.Category == Error {
				t.Errorf("error: %s", d.Message)
			}
		}
	}
	if looked != len(Analyzers) {
		t.Errorf("%d analyzers have looked, want %d", looked, len(Analyzers))
	}
}
