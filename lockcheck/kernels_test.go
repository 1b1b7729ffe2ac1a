package lockcheck

import (
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// kernels are the programs with lock bugs in the tests of Go's goroutine leak profile, each the core of a
// deadlock that a real project had. For each, the analyzers that name the bug's class, and the lock.
var kernels = []struct {
	file   string
	class  []string
	lock   string
	decoys []string // what the program contains besides its bug
}{
	{"hugo5379", double, "contentInitMu", nil},
	{"grpc3017", missing, "mu", nil},
	{"grpc795", double, "mu", nil},
	{"etcd10492", double, "mu", nil},
	{"etcd6708", double, "RWMutex", nil},
	{"etcd5509", missing, "mu", nil},
	{"cockroach9935", double, "mu", nil},
	{"cockroach584", missing, "mu", nil},
	{"syncthing4829", double, "mut", nil},
	{"moby36114", double, "Mutex", nil},
	{"moby17176", missing, "Mutex", nil},
	{"moby7559", missing, "connTrackLock", nil},
	{"cockroach10214", order, "coalescedMu", nil},
	{"cockroach7504", order, "mu", nil},
	{"kubernetes30872", order, "lock", nil},
	{"kubernetes13135", order, "RWMutex", nil},
	{"moby4951", order, "lock", nil},
	{"hugo3251", order, "m[]", nil},
	{"cockroach16167", recursive, "systemConfigMu", nil},
	{"cockroach6181", recursive, "rangeCacheMu", nil},
	{"cockroach3710", recursive, "mu", nil},
	{"kubernetes62464", recursive, "RWMutex", nil},
	{"kubernetes58107", wait, "workerLock", nil},
	{"grpc1460", wait, "mu", nil},
	{"etcd7902", wait, "mu", nil},
	{"etcd7492", wait, "simpleTokensMu", nil},
	{"etcd6873", wait, "mu", nil},
	{"istio16224", wait, "lock", nil},
	{"serving2137", wait, "lock", nil},
	{"kubernetes26980", wait, "lock", nil},
	{"kubernetes10182", wait, "podStatusesLock", nil},
	{"kubernetes6632", wait, "writeLock", nil},
	{"kubernetes1321", wait, "lock", nil},
	{"moby28462", wait, "Mutex", nil},
}

var (
	double    = []string{"lockdouble", "lockupgrade"}
	missing   = []string{"lockleak", "lockdouble"}
	order     = []string{"lockorder"}
	recursive = []string{"lockrecursive", "lockstringer"}
	wait      = []string{"lockblock"}
)

// TestKernels fails when fewer than 32 of the 34 bugs are named by their class, or more than two programs get
// a finding of a class that is not theirs.
func TestKernels(t *testing.T) {
	dir := filepath.Join(goroot(t), "src/runtime/testdata/testgoroutineleakprofile/goker")
	if found, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(found) == 0 {
		t.Skipf("this Go distribution has no %s", dir)
	}
	defer func(old int) { blockDepth = old }(blockDepth)
	blockDepth = 4 // some of the kernels wait a few calls away from their lock

	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Dir: dir}, ".")
	if err != nil {
		t.Fatal(err)
	}
	graph, err := checker.Analyze(Analyzers, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	type finding struct{ analyzer, level, where, message string }
	got := map[string][]finding{}
	for _, root := range graph.Roots {
		if root.Err != nil {
			t.Fatal(root.Err)
		}
		for _, d := range root.Diagnostics {
			p := root.Package.Fset.Position(d.Pos)
			file := strings.TrimSuffix(filepath.Base(p.Filename), ".go")
			got[file] = append(got[file], finding{root.Analyzer.Name, d.Category, p.String(), d.Message})
		}
	}
	right, wrong := 0, 0
	for _, k := range kernels {
		found, other := false, map[string]bool{}
		for _, f := range got[k.file] {
			mine := false
			for _, c := range k.class {
				mine = mine || c == f.analyzer
			}
			if mine && strings.Contains(f.message, k.lock) {
				found = true
			} else if f.level != Info && !mine {
				other[f.analyzer] = true
			}
		}
		if found {
			right++
		} else {
			t.Logf("%s: not found", k.file)
		}
		if len(other) > 0 {
			var names []string
			for n := range other {
				names = append(names, n)
			}
			sort.Strings(names)
			t.Logf("%s: also %s", k.file, strings.Join(names, ", "))
		}
		if !found && len(other) > 0 {
			wrong++
		}
		if testing.Verbose() {
			for _, f := range got[k.file] {
				t.Logf("  %s [%s] %s: %s", filepath.Base(f.where), f.level, f.analyzer, f.message)
			}
		}
	}
	t.Logf("%d of %d kernels, %d with a wrong class", right, len(kernels), wrong)
	if right < 32 || wrong > 2 {
		t.Errorf("want at least 32 kernels and at most 2 with a wrong class")
	}
}
