package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const buggyShop = `package shop

import "sync"

type stock struct {
	mu sync.Mutex
	n  int
}

func (s *stock) add() {
	s.mu.Lock()
	s.mu.Lock()
	s.n++
	s.mu.Unlock()
}
`

const soundShop = `package shop

import "sync"

type stock struct {
	mu sync.Mutex
	n  int
}

func (s *stock) add() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
}
`

// shop makes a module of one file and goes there for the rest of the test.
func shop(t *testing.T, text string) {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"go.mod": "module example.test/shop\n\ngo 1.26\n", "shop.go": text} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVetTellsABugFromNone(t *testing.T) {
	shop(t, buggyShop)
	got := drawbridge(t, nil, "vet", "./...")
	if got.status != 1 || got.err != "" || !strings.HasPrefix(got.out, "shop.go:12:") || !strings.Contains(got.out, "s.mu is taken again while it is held") {
		t.Errorf("a bug: status %d, %q, %q", got.status, got.out, got.err)
	}
	// The tool's flags reach it: an analyzer that has nothing to say here.
	if got := drawbridge(t, nil, "vet", "--only", "lockorder"); got != (output{}) {
		t.Errorf("only lockorder: %+v, want nothing", got)
	}
	shop(t, soundShop)
	if got := drawbridge(t, nil, "vet"); got != (output{}) {
		t.Errorf("no bug: %+v, want nothing", got)
	}
}

func TestVetWritesWhatProgramsRead(t *testing.T) {
	shop(t, buggyShop)
	var list struct {
		Findings []struct {
			Analyzer, Level, Package, Function, File, Message string
			Line                                              int
		}
	}
	got := drawbridge(t, nil, "vet", "--json", "./...")
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || got.status != 1 || len(list.Findings) != 1 {
		t.Fatalf("JSON: status %d, %v, %s%s", got.status, err, got.out, got.err)
	}
	f := list.Findings[0]
	if f.Analyzer != "lockdouble" || f.Level != "error" || f.Package != "example.test/shop" || f.Function != "stock.add" || f.File != "shop.go" || f.Line != 12 {
		t.Errorf("JSON: %+v", f)
	}

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
	got = drawbridge(t, nil, "vet", "--sarif", "./...")
	if err := json.Unmarshal([]byte(got.out), &sarif); err != nil || got.status != 1 || sarif.Version != "2.1.0" || len(sarif.Runs) != 1 || len(sarif.Runs[0].Results) != 1 {
		t.Fatalf("SARIF: status %d, %v, %s%s", got.status, err, got.out, got.err)
	}
	r := sarif.Runs[0].Results[0]
	rule := sarif.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID
	if r.RuleID != "lockdouble" || rule != "lockdouble" || r.Level != "error" ||
		r.Locations[0].PhysicalLocation.ArtifactLocation.URI != "shop.go" || r.Locations[0].PhysicalLocation.Region.StartLine != 12 {
		t.Errorf("SARIF: %+v, rule %s", r, rule)
	}
}

// What was found once is a file, and counts no more.
func TestVetKnowsWhatIsInTheBaseline(t *testing.T) {
	shop(t, buggyShop)
	if got := drawbridge(t, nil, "vet", "--baseline", "known.json", "--write-baseline"); got.status != 0 || got.err != "" {
		t.Fatalf("writing: %+v", got)
	}
	if got := drawbridge(t, nil, "vet", "--baseline", "known.json"); got.status != 0 || !strings.Contains(got.out, "1 known") {
		t.Errorf("reading: %+v", got)
	}
}

// The binary is a tool for go vet by itself.
func TestGoVetTakesTheCommandAsItsTool(t *testing.T) {
	shop(t, buggyShop)
	out, err := exec.CommandContext(t.Context(), "go", "vet", "-vettool="+binary, "./...").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "s.mu is taken again while it is held") {
		t.Errorf("%v: %s", err, out)
	}
}

// A file that ends as those of go vet do is still an argument.
func TestAnArgumentMayEndInCfg(t *testing.T) {
	got := drawbridge(t, nil, "replay", filepath.Join(t.TempDir(), "access.cfg"))
	if got.status != 2 || !strings.HasPrefix(got.err, "drawbridge: ") || !strings.Contains(got.err, "no such file") {
		t.Errorf("%+v", got)
	}
}

func TestVetThatCannotLookHasStatus2(t *testing.T) {
	shop(t, "package shop\n\nfunc broken( {\n")
	if got := drawbridge(t, nil, "vet"); got.status != 2 || got.out != "" || !strings.Contains(got.err, "shop.go:3:14") {
		t.Errorf("a file that does not compile: %+v", got)
	}
	t.Setenv("PATH", "")
	if got := drawbridge(t, nil, "vet"); got.status != 2 || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, `"go"`) {
		t.Errorf("without go: %+v", got)
	}
}

func TestMigrateShowsAndThenWrites(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	shop(t, soundShop)
	text := func() string {
		t.Helper()
		b, err := os.ReadFile("shop.go")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	got := drawbridge(t, nil, "migrate", "--replace", root, "./...")
	for _, want := range []string{"\n-\tmu sync.Mutex\n+\tmu drawbridge.Mutex\n", "\n+require github.com/drawbridge-go/drawbridge "} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the difference lacks %q:\n%s", want, got.out)
		}
	}
	if got.status != 0 || !strings.Contains(got.err, "--write does it") || text() != soundShop {
		t.Errorf("status %d, %s, and the file is\n%s", got.status, got.err, text())
	}
	if got := drawbridge(t, nil, "migrate", "--write", "--replace", root); got.status != 0 || !strings.Contains(text(), "mu drawbridge.Mutex") {
		t.Errorf("--write: %+v, and the file is\n%s", got, text())
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "./...").CombinedOutput(); err != nil {
		t.Errorf("the result does not build: %s", out)
	}
}

func TestMigrateNeedsAModule(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Chdir(t.TempDir())
	if got := drawbridge(t, nil, "migrate"); got.status != 2 || got.out != "" || got.err != "drawbridge migrate: there is no go.mod here; run it in a module\n" {
		t.Errorf("%+v", got)
	}
}
