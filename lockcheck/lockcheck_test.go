package lockcheck

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// Each analyzer has a package of mistakes, marked with what is to be said of them, and of correct code that
// looks like them.
func TestAnalyzers(t *testing.T) {
	for _, a := range Analyzers {
		t.Run(a.Name, func(t *testing.T) {
			pkgs := []string{a.Name}
			if a == Lockorder {
				pkgs = append(pkgs, "lockorder/a", "lockorder/b")
			}
			analysistest.Run(t, analysistest.TestData(), a, pkgs...)
		})
	}
}

func TestIgnoreComments(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), Lockdouble, "ignore")
}
