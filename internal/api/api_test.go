package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

// lines describes a package of this source.
func lines(t *testing.T, source string) []string {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "p.go", "package p\n"+source, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := new(types.Config).Check(module+"/p", files, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return describe(p)
}

func TestEachKindOfThingHasItsLine(t *testing.T) {
	got := lines(t, `
const Limit = 3
var Err, inner error
func F[K comparable, V any](ctx K, fn func(name string, n ...int) error) (v V, err error) { panic(0) }
type Old = T
type T struct { Name string; embedded }
type embedded struct { m map[int]int }
func (embedded) Promoted() {}
func (*T) Close() error { return nil }
func (T) hidden() {}
type G[E ~int] []E
func (g G[E]) First() E { return g[0] }
type I interface { B(n int); A() error }
type Closed interface { A(); a() }
`)
	want := []string{
		"p: const Limit untyped int = 3",
		"p: func F[K comparable, V any](K, func(string, ...int) error) (V, error)",
		"p: method (*T) Close() error",
		"p: method (G[E]) First() E",
		"p: method (T) Promoted()",
		"p: type Closed interface{A(); unexported methods}",
		"p: type G[E ~int] []E",
		"p: type I interface{A() error; B(int)}",
		"p: type Old = T",
		"p: type T struct, Name string",
		"p: type T struct, with unexported fields, not comparable",
		"p: var Err error",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestBreakIsFound(t *testing.T) {
	const before = "type T struct{ A, B int }; func (T) M() {}; type I interface{ M() }; const C = 1; func F(a int) {}"
	for what, c := range map[string]struct {
		after       string
		gone, added int
	}{
		"nothing":                        {before, 0, 0},
		"a parameter has another name":   {"type T struct{ A, B int }; func (T) M() {}; type I interface{ M() }; const C = 1; func F(b int) {}", 0, 0},
		"something is new":               {before + "; func New() {}", 0, 1},
		"a function is gone":             {"type T struct{ A, B int }; func (T) M() {}; type I interface{ M() }; const C = 1", 1, 0},
		"a function takes something new": {"type T struct{ A, B int }; func (T) M() {}; type I interface{ M() }; const C = 1; func F(a ...int) {}", 1, 1},
		"a field is gone":                {"type T struct{ A int }; func (T) M() {}; type I interface{ M() }; const C = 1; func F(a int) {}", 1, 0},
		"literals without keys break":    {"type T struct{ A, B int; c int }; func (T) M() {}; type I interface{ M() }; const C = 1; func F(a int) {}", 1, 1},
		"it can no longer be compared":   {"type T struct{ A, B int; _ []int }; func (T) M() {}; type I interface{ M() }; const C = 1; func F(a int) {}", 1, 1},
		"values lose a method":           {"type T struct{ A, B int }; func (*T) M() {}; type I interface{ M() }; const C = 1; func F(a int) {}", 1, 1},
		"implementations lack a method":  {"type T struct{ A, B int }; func (T) M() {}; type I interface{ M(); N() }; const C = 1; func F(a int) {}", 1, 1},
		"a constant has another value":   {"type T struct{ A, B int }; func (T) M() {}; type I interface{ M() }; const C = 2; func F(a int) {}", 1, 1},
	} {
		gone, added := compare(lines(t, before), lines(t, c.after))
		if len(gone) != c.gone || len(added) != c.added {
			t.Errorf("%s: %q are gone, %q are new; want %d and %d", what, gone, added, c.gone, c.added)
		}
	}
}

func TestPackagesOfProgramsAreNotPublic(t *testing.T) {
	for path, want := range map[string]bool{
		module: true, module + "/cluster/etcd": true, module + "/lockcheck/vet": true,
		module + "/internal/api": false, module + "/cmd/drawbridge": false, module + "/examples/guide": false, module + "/bench/locks": false,
	} {
		if public(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
