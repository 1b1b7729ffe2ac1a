package explore

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestHooksCompileToNothing builds a program that uses the locks without the
// tag. Of the scheduler there must be nothing in it, of the names behind which
// the steps are hidden no function may be left, and a Lock that need not wait
// must be an atomic instruction in its caller.
func TestHooksCompileToNothing(t *testing.T) {
	const module = "github.com/drawbridge-go/drawbridge"
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte(`package main

import "`+module+`"

var rw drawbridge.RWMutex
var s drawbridge.Snapshot[int]

//go:noinline
func locked() { rw.Lock(); rw.Unlock() }

//go:noinline
func loaded() *int { return s.Load() }

func main() { locked(); rw.RLock(); rw.RUnlock(); s.Publish(new(int)); loaded() }
`), 0o666); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("go", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("build", "-o", program, source)

	if deps := run("list", "-deps", module); strings.Contains(deps, module+"/internal/explore") {
		t.Errorf("the locks import the scheduler without the tag:\n%s", deps)
	}
	// Where it is deferred, leaving the internal mutex has a function for the
	// case of a panic. A deferred method of sync.Mutex would have one too.
	deferred := "drawbridge.(*section).unlock"
	hidden := regexp.MustCompile(`drawbridge\.(\(\*(section|atom|word|counter|flag|pointer|mutex|pool)\b|now$|spawn$)`)
	for line := range strings.Lines(run("tool", "nm", program)) {
		fields := strings.Fields(line)
		if name := fields[len(fields)-1]; hidden.MatchString(name) && !strings.HasSuffix(name, deferred) {
			t.Errorf("%s is a function of its own", name)
		}
	}

	if runtime.GOARCH != "amd64" {
		return
	}
	code := run("tool", "objdump", "-s", `main\.locked`, program)
	if n := strings.Count(code, "CMPXCHGQ"); n != 2 {
		t.Errorf("Lock and Unlock are %d atomic instructions in their caller, not 2:\n%s", n, code)
	}
	if code := run("tool", "objdump", "-s", `main\.loaded`, program); strings.Contains(code, "CALL") {
		t.Errorf("Load of a Snapshot is a call:\n%s", code)
	}
}
