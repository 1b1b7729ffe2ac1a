package main

import (
	"os"
	"testing"
)

// A change of the locks must take the faults along.
func TestEveryFaultApplies(t *testing.T) {
	t.Chdir("../..")
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, f := range faults {
		if seen[f.kind+f.name] {
			t.Errorf("%s: two faults have this name", f.name)
		}
		seen[f.kind+f.name] = true
		if f.old == f.new {
			t.Errorf("%s: changes nothing", f.name)
		}
		if _, err := f.apply(root, t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}
