package migrate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// kernels are the programs with lock bugs in the tests of Go's goroutine leak profile, each the core of a
// deadlock that a real project had.
var kernels = []string{
	"Hugo5379", "Grpc3017", "Grpc795", "Etcd10492", "Etcd6708", "Etcd5509", "Cockroach9935", "Cockroach584", "Syncthing4829",
	"Moby36114", "Moby17176", "Moby7559", "Cockroach10214", "Cockroach7504", "Kubernetes30872", "Kubernetes13135", "Moby4951",
	"Hugo3251", "Cockroach16167", "Cockroach6181", "Cockroach3710", "Kubernetes62464", "Kubernetes58107", "Grpc1460", "Etcd7902",
	"Etcd7492", "Etcd6873", "Istio16224", "Serving2137", "Kubernetes26980", "Kubernetes10182", "Kubernetes6632", "Kubernetes1321",
	"Moby28462",
}

// TestKernelsAreFoundAtRunTime swaps the kernels' locks for drawbridge's, by migrate, and runs them under
// inspect.Detect and an inspect.Alarm. It fails when a kernel goes by without a word, or fewer than 28 are found
// by what their goroutines do with locks, without the alarm that judges by how long a wait is.
func TestKernelsAreFoundAtRunTime(t *testing.T) {
	if testing.Short() {
		t.Skip("runs programs that hang, for a minute")
	}
	program := migratedKernels(t)
	type outcome struct{ alarm, found, noted bool }
	outcomes := make([]outcome, len(kernels))
	slots := make(chan struct{}, 4) // they mostly sleep
	var wg sync.WaitGroup
	for i, name := range kernels {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			o := &outcomes[i]
			// Not every run of a kernel goes wrong, and what is found without the alarm ends the search.
			for attempt := 0; attempt < 20 && !o.found && !o.noted && !(o.alarm && attempt >= 3); attempt++ {
				for _, f := range runKernel(t, program, name) {
					o.alarm = o.alarm || f.Kind == "stall"
					o.found = o.found || f.Kind != "stall" && !f.Note
					o.noted = o.noted || f.Note
				}
			}
		})
	}
	wg.Wait()
	all, misuses, notes := 0, 0, 0
	for i, o := range outcomes {
		switch {
		case o.found:
			misuses++
		case o.noted:
			notes++
		case o.alarm:
			t.Logf("%s: by the alarm alone", kernels[i])
		default:
			t.Errorf("%s: nothing found", kernels[i])
			continue
		}
		all++
	}
	t.Logf("%d of %d kernels found; %d without the alarm, of which %d by notes", all, len(kernels), misuses+notes, notes)
	if misuses+notes < 28 {
		t.Errorf("%d found without the alarm, want 28", misuses+notes)
	}
}

// migratedKernels makes a module of the kernels and a main of its own, migrates it, and returns its binary.
func migratedKernels(t *testing.T) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	pattern := filepath.Join(strings.TrimSpace(string(root)), "src/runtime/testdata/testgoroutineleakprofile/goker/*.go")
	sources, err := filepath.Glob(pattern)
	if err != nil || len(sources) == 0 {
		t.Skipf("this Go distribution has no %s", pattern)
	}
	files := map[string]string{"go.mod": "module example.test/kernels\n\ngo 1.26\n"}
	for _, source := range append(sources, "testdata/kernels/main.go") { // the last main.go counts
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(source)] = string(text)
	}
	main := files["main.go"]
	files["main.go"] = "package main\n\nconst yieldCount = 10\n\nfunc register(string, func()) {}\n\nfunc main() {}\n"
	dir := module(t, files)
	if status, _, stderr := migrate(t, Options{Dir: dir, Write: true}); status != 0 {
		t.Fatal(stderr)
	}
	for name := range files {
		if text := read(t, dir, name); strings.Contains(text, "sync.Mutex") || strings.Contains(text, "sync.RWMutex") {
			t.Errorf("%s has locks of package sync left", name)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(main), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "kernels")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the migrated kernels do not build: %s", out)
	}
	return program
}

// A found is one thing that inspect has found in a kernel.
type found struct {
	Kind string
	Note bool
}

// runKernel runs a kernel until it ends, which those do that misuse makes panic, or for half a minute.
func runKernel(t *testing.T, program, name string) (all []found) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, name)
	cmd.Stdout, cmd.Stderr = &out, io.Discard
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Error(err)
	}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var f found
		if err := json.Unmarshal(lines.Bytes(), &f); err == nil && f.Kind != "" { // the kernels print, too
			all = append(all, f)
		}
	}
	return all
}
