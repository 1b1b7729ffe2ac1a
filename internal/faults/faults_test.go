package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// A mutant is made where gremlins has seen it, and a list for other code is
// noticed.
func TestMutants(t *testing.T) {
	t.Chdir("../..")
	code, err := os.ReadFile("stripes.go")
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(code), "&&")
	if !ok {
		t.Fatal("stripes.go has no && any more: take another file")
	}
	line, column := strings.Count(before, "\n")+1, len(before)-strings.LastIndex(before, "\n")
	list := filepath.Join(t.TempDir(), "gremlins.txt")
	write := func(line, column int) {
		text := fmt.Sprintf("KILLED INVERT_LOGICAL at stripes.go:1:1\n       LIVED INVERT_LOGICAL at stripes.go:%d:%d\n", line, column)
		if err := os.WriteFile(list, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(line, column)
	all, err := mutants(list)
	if err != nil || len(all) != 1 || all[0].file != "stripes.go" || all[0].new != before+"||"+after {
		t.Errorf("%d mutants, %v", len(all), err)
	}
	for _, wrong := range [][2]int{{line, column + 1}, {line, 1000}, {100000, 1}} {
		write(wrong[0], wrong[1])
		if _, err := mutants(list); err == nil {
			t.Errorf("a mutant at %v is made", wrong)
		}
	}
}
