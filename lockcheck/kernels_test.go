package lockcheck

import (
	"os/exec"
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
	file  string
	class []string
	lock  string
}{
	{"hugo5379", double, "contentInitMu"},
	{"grpc3017", missing, "mu"},
	{"grpc795", double, "mu"},
	{"etcd10492", double, "mu"},
	{"etcd6708", double, "RWMutex"},
	{"etcd5509", missing, "mu"},
	{"cockroach9935", double, "mu"},
	{"cockroach584", missing, "mu"},
	{"syncthing4829", double, "mut"},
	{"moby36114", double, "Mutex"},
	{"moby17176", missing, "Mutex"},
	{"moby7559", missing, "connTrackLock"},
	{"cockroach10214", order, "coalescedMu"},
	{"cockroach7504", order, "mu"},
	{"kubernetes30872", order, "lock"},
	{"kubernetes13135", order, "RWMutex"},
	{"moby4951", order, "lock"},
	{"hugo3251", order, "m[]"},
	{"cockroach16167", recursive, "systemConfigMu"},
	{"cockroach6181", recursive, "rangeCacheMu"},
	{"cockroach3710", recursive, "mu"},
	{"kubernetes62464", recursive, "RWMutex"},
	{"kubernetes58107", wait, "workerLock"},
	{"grpc1460", wait, "mu"},
	{"etcd7902", wait, "mu"},
	{"etcd7492", wait, "simpleTokensMu"},
	{"etcd6873", wait, "mu"},
	{"istio16224", wait, "lock"},
	{"serving2137", wait, "lock"},
	{"kubernetes26980", wait, "lock"},
	{"kubernetes10182", wait, "podStatusesLock"},
	{"kubernetes6632", wait, "writeLock"},
	{"kubernetes1321", wait, "lock"},
	{"moby28462", wait, "Mutex"},
}

// goroot is the folder of the Go distribution, which has the kernels.
func goroot(t testing.TB) string {
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
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
