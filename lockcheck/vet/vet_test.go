package vet

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-go/drawbridge/lockcheck"
)

// go vet runs the program that it is given as its tool; here that is this test.
func TestMain(m *testing.M) {
	if IsTool(os.Args) {
		Tool()
	}
	os.Exit(m.Run())
}

// module writes a module of one package for a test and returns its folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	files["go.mod"] = "module example.test/shop\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const shop = `package shop

import "sync"

type stock struct {
	mu sync.Mutex
	c  chan int
	n  int
}

func (s *stock) twice() {
	s.mu.Lock()
	s.mu.Lock()
	s.mu.Unlock()
}

func (s *stock) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c <- s.n
}
`

const calm = `package shop

import "sync"

type stock struct {
	mu sync.Mutex
	c  chan int
}

func (s *stock) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c <- 1
}
`

func run(t *testing.T, o Options) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(t.Context(), o, &out, &errs)
	return status, out.String(), errs.String()
}

func TestExitStatusTellsErrorsFromWarnings(t *testing.T) {
	for _, c := range []struct {
		name, src string
		o         Options
		want      int
	}{
		{"error", shop, Options{}, 1},
		{"warning", calm, Options{}, 0},
		{"warning, strict", calm, Options{Strict: true}, 1},
		{"other analyzer", shop, Options{Only: []string{"lockleak"}}, 0},
		{"unknown analyzer", shop, Options{Only: []string{"lockjaw"}}, 2},
		{"does not compile", "package shop\n\nvar x int = \"\"\n", Options{}, 2},
		{"fix without a name", shop, Options{Fix: true}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Dir = module(t, map[string]string{"shop.go": c.src})
			status, stdout, stderr := run(t, c.o)
			if status != c.want {
				t.Errorf("status %d, want %d\n%s%s", status, c.want, stdout, stderr)
			}
			if c.want == 2 && stderr == "" {
				t.Error("nothing says why")
			}
		})
	}
}

func TestTextNamesPlaceLevelAndAnalyzer(t *testing.T) {
	dir := module(t, map[string]string{"shop.go": shop})
	_, stdout, _ := run(t, Options{Dir: dir})
	want := `shop.go:13:11: error: s.mu is taken again while it is held, and this never returns: locked at shop.go:12, then locked here. Unlock it first (lockdouble)
shop.go:20:6: warning: send on s.c while s.mu, locked at shop.go:18, is held: here. Whoever wants the lock waits as long. Give it back first, bound the wait with a context, or build the value without the lock and publish it as a drawbridge.Snapshot (lockblock)
1 error, 1 warning
`
	if stdout != want {
		t.Errorf("got\n%swant\n%s", stdout, want)
	}
}

func TestBaselineSurvivesMovedLines(t *testing.T) {
	dir := module(t, map[string]string{"shop.go": shop})
	file := filepath.Join(dir, "known.json")
	if status, _, stderr := run(t, Options{Dir: dir, Baseline: file, WriteBaseline: true}); status != 0 {
		t.Fatal(stderr)
	}
	moved := strings.Replace(shop, "import", "// A comment that\n// moves the lines.\nimport", 1)
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(moved), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, stdout, _ := run(t, Options{Dir: dir, Baseline: file, Strict: true}); status != 0 || stdout != "2 known from the baseline\n" {
		t.Errorf("status %d: %s", status, stdout)
	}
	second := strings.Replace(moved, "s.mu.Unlock()\n}", "s.mu.Unlock()\n}\n\nfunc (s *stock) thrice() {\n\ts.mu.Lock()\n\ts.mu.Lock()\n}", 1)
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(second), 0o644); err != nil {
		t.Fatal(err)
	}
	status, stdout, _ := run(t, Options{Dir: dir, Baseline: file})
	if status != 1 || strings.Count(stdout, "error:") != 1 {
		t.Errorf("a new mistake is to be found beside known ones; status %d:\n%s", status, stdout)
	}
}

func TestBadBaselineIsSaid(t *testing.T) {
	dir := module(t, map[string]string{"shop.go": calm, "known.json": `{"version": 7, "findings": []}`})
	for _, file := range []string{filepath.Join(dir, "known.json"), filepath.Join(dir, "none.json"), filepath.Join(dir, "shop.go")} {
		if status, _, stderr := run(t, Options{Dir: dir, Baseline: file}); status != 2 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d: %q", filepath.Base(file), status, stderr)
		}
	}
}

func TestJSONAndSARIFCarryTheFindings(t *testing.T) {
	dir := module(t, map[string]string{"shop.go": shop})
	_, stdout, _ := run(t, Options{Dir: dir, JSON: true})
	var got struct{ Findings []Finding }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Findings) != 2 || got.Findings[0].Function != "stock.twice" || got.Findings[0].Level != lockcheck.Error || got.Findings[0].File != "shop.go" {
		t.Errorf("%+v", got.Findings)
	}
	_, stdout, _ = run(t, Options{Dir: dir, SARIF: true})
	var sarif struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &sarif); err != nil {
		t.Fatal(err)
	}
	r := sarif.Runs[0].Results[0]
	at := r.Locations[0].PhysicalLocation
	if sarif.Version != "2.1.0" || r.Level != "error" || at.ArtifactLocation.URI != "shop.go" || at.Region.StartLine != 13 ||
		sarif.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
		t.Errorf("%+v", sarif)
	}
}

func TestSARIFNamesFilesAsURLs(t *testing.T) {
	var out bytes.Buffer
	found := []Finding{{Analyzer: "lockdouble", Level: lockcheck.Error, File: "a shop/50%.go", Line: 1}, {Analyzer: "lockdouble", Level: lockcheck.Error, File: "/a shop/b.go", Line: 1}}
	if err := writeSARIF(&out, found); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"uri": "a%20shop/50%25.go"`, `"uri": "file:///a%20shop/b.go"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %s:\n%s", want, out.String())
		}
	}
}

func TestTestFilesAreReportedOnce(t *testing.T) {
	dir := module(t, map[string]string{
		"shop.go":      shop,
		"shop_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {\n\tvar s stock\n\ts.mu.Lock()\n\ts.mu.Lock()\n}\n",
	})
	_, stdout, _ := run(t, Options{Dir: dir})
	if n := strings.Count(stdout, "error:"); n != 2 {
		t.Errorf("%d errors, want one in each file:\n%s", n, stdout)
	}
}

func TestToolDefaultsToErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"-lockorder", "x.cfg"}, true},
		{[]string{"--lockdouble=true", "x.cfg"}, true},
		{[]string{"-lockdouble=false", "x.cfg"}, false},
		{[]string{"-lockblock.depth=3", "x.cfg"}, false},
		{[]string{"x.cfg"}, false},
	} {
		if got := named(c.args); got != c.want {
			t.Errorf("named(%q) = %v", c.args, got)
		}
	}
}

// What go vet says has names of files in it, which may hold anything.
func TestWhatGoVetSaysIsMadeHarmless(t *testing.T) {
	dir := module(t, map[string]string{"shop.go": "package shop\n\nvar x int = \"\x1b]0;owned\x07\"\n"})
	status, _, stderr := run(t, Options{Dir: dir})
	if status != 2 || strings.ContainsAny(stderr, "\x1b\x07") || !strings.Contains(stderr, "shop.go:3:13") {
		t.Errorf("status %d: %q", status, stderr)
	}
}

const request = `package shop

import (
	"context"

	"github.com/drawbridge-go/drawbridge"
)

type stock struct {
	mu drawbridge.Mutex
	c  chan int
	n  int
}

func (s *stock) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c <- s.n
}

func (s *stock) get(ctx context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n, nil
}

func (s *stock) put(ctx context.Context, n int) error {
	if err := s.mu.LockContext(context.Background()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.n = n
	return nil
}
`

// A fix changes what the program does, so it is only made by the analyzers that are named.
func TestFixesAreThoseOfTheAnalyzersNamed(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := module(t, map[string]string{"shop.go": request})
	mod := "module example.test/shop\n\ngo 1.26\n\nrequire github.com/drawbridge-go/drawbridge v0.1.0\n\nreplace github.com/drawbridge-go/drawbridge => " + root + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644); err != nil {
		t.Fatal(err)
	}
	text := func() string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, "shop.go"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if _, stdout, stderr := run(t, Options{Dir: dir}); !strings.Contains(stdout, "(ctxlock)") || !strings.Contains(stdout, "(ctxlost)") {
		t.Fatalf("want a finding of each to fix:\n%s%s", stdout, stderr)
	}

	if status, _, stderr := run(t, Options{Dir: dir, Fix: true}); status != 2 || !strings.Contains(stderr, "--only") || text() != request {
		t.Errorf("no analyzer is named: status %d, %s\n%s", status, stderr, text())
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", "-vettool="+self, "-fix", "./...")
	vet.Dir = dir
	if out, err := vet.CombinedOutput(); err != nil || text() != request {
		t.Errorf("go vet -fix: %v, %s\n%s", err, out, text())
	}

	if status, stdout, stderr := run(t, Options{Dir: dir, Fix: true, Only: []string{"ctxlost"}}); status != 0 {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	want := strings.Replace(request, "s.mu.LockContext(context.Background())", "s.mu.LockContext(ctx)", 1)
	if text() != want {
		t.Errorf("ctxlost has made\n%s", text())
	}
	if status, stdout, stderr := run(t, Options{Dir: dir, Fix: true, Only: []string{"ctxlock"}}); status != 0 {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	want = strings.Replace(want, "(int, error) {\n\ts.mu.Lock()\n", "(int, error) {\n\tif err := s.mu.LockContext(ctx); err != nil {\n\t\treturn 0, err\n\t}\n", 1)
	if text() != want {
		t.Errorf("ctxlock has made\n%s", text())
	}
	if status, stdout, stderr := run(t, Options{Dir: dir, Strict: true, Only: []string{"ctxlock", "ctxlost", "ctxlockerr"}}); status != 0 || stdout != "" {
		t.Errorf("after the fixes: status %d\n%s%s", status, stdout, stderr)
	}
}
