package lockcheck

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// TestStandardLibrary fails when an analyzer cannot take what some package of the standard library contains.
func TestStandardLibrary(t *testing.T) {
	if raceEnabled {
		t.Skip("runs without the race detector, which makes it ten times as long and has nothing to find here")
	}
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax}, "std")
	if err != nil {
		t.Fatal(err)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{everything}, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(graph.Roots) < 200 {
		t.Errorf("only %d packages have been looked at", len(graph.Roots))
	}
	findings := 0
	for _, root := range graph.Roots {
		if root.Err != nil {
			t.Errorf("%s: %v", root.Package.PkgPath, root.Err)
		}
		for _, d := range root.Diagnostics {
			findings++
			if d.Category == Error {
				t.Logf("%s: %s", root.Package.Fset.Position(d.Pos), d.Message)
			}
		}
	}
	t.Logf("%d packages, %d findings", len(graph.Roots), findings)
}
