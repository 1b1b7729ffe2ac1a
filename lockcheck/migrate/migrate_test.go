package migrate

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module for a test and returns its folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if files["go.mod"] == "" {
		files["go.mod"] = "module example.test/shop\n\ngo 1.26\n"
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func migrate(t *testing.T, o Options) (status int, stdout, stderr string) {
	t.Helper()
	if o.Version == "" {
		o.Replace = cmp.Or(o.Replace, "../..")
	}
	var out, errs bytes.Buffer
	status = Run(t.Context(), o, &out, &errs)
	return status, out.String(), errs.String()
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// goTest runs a module's own tests.
func goTest(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly") // go.mod and go.sum are complete
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the migrated module's tests fail: %v\n%s", err, out)
	}
}

const shop = `package shop

import (
	"context"
	"fmt"
	"sync"
)

// Stock is what there is.
type Stock struct {
	mu    sync.RWMutex
	once  sync.Once
	items map[string]int
}

type Till struct {
	sync.Mutex
	cents int
}

func New() *Stock { return &Stock{items: map[string]int{}} }

func (s *Stock) Add(ctx context.Context, k string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items[k]++
	return nil
}

func (s *Stock) Get(ctx context.Context, k string) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, ok := s.items[k]
	if !ok {
		return 0, fmt.Errorf("no %s", k)
	}
	return n, nil
}

func (s *Stock) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.items)
}

func (t *Till) Close(ctx context.Context) error {
	t.Lock()
	defer t.Unlock()
	t.cents = 0
	return nil
}

func with(mu *sync.RWMutex, f func()) {
	mu.Lock()
	defer mu.Unlock()
	f()
}

func (s *Stock) Clear() { with(&s.mu, func() { clear(s.items) }) }
`

const shopTest = `package shop

import (
	"sync"
	"testing"
)

func TestAdd(t *testing.T) {
	s := New()
	var wg sync.WaitGroup
	var mu sync.Mutex
	sum := 0
	for range 10 {
		wg.Go(func() {
			if err := s.Add(t.Context(), "a"); err != nil {
				t.Error(err)
			}
			mu.Lock()
			sum++
			mu.Unlock()
		})
	}
	wg.Wait()
	if n, err := s.Get(t.Context(), "a"); n != 10 || err != nil || sum != 10 {
		t.Error(n, err, sum)
	}
	s.Clear()
	if s.Len() != 0 {
		t.Error("not cleared")
	}
	var till Till
	till.Close(t.Context())
}
`

func TestLocksFollowWithTheirUses(t *testing.T) {
	dir := module(t, map[string]string{"shop.go": shop, "shop_test.go": shopTest})
	status, stdout, stderr := migrate(t, Options{Dir: dir})
	if status != 0 {
		t.Fatal(stderr)
	}
	if got := read(t, dir, "shop.go"); got != shop {
		t.Error("files are changed without --write")
	}
	for _, want := range []string{"-\tmu    sync.RWMutex", "+\tmu    drawbridge.RWMutex", "+require github.com/drawbridge-go/drawbridge v0.1.0", "+++ b/shop_test.go"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the difference lacks %q:\n%s", want, stdout)
		}
	}
	if status, _, stderr = migrate(t, Options{Dir: dir, Write: true}); status != 0 || !strings.Contains(stderr, "4 of 4 locks changed, in 2 files") {
		t.Fatal(status, stderr)
	}
	got := read(t, dir, "shop.go")
	if strings.Contains(got, "sync.RWMutex") || strings.Contains(got, "sync.Mutex") || !strings.Contains(got, `"sync"`) {
		t.Errorf("sync.Once stays, the locks go:\n%s", got)
	}
	formatted(t, dir)
	goTest(t, dir)
}

func formatted(t *testing.T, dir string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "gofmt", "-l", dir).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("gofmt would change %s (%v)", out, err)
	}
}

func TestContextGoesOnlyWhereTheErrorCan(t *testing.T) {
	dir := module(t, map[string]string{"shop.go": shop, "shop_test.go": shopTest})
	status, _, stderr := migrate(t, Options{Dir: dir, Write: true, Context: true})
	if status != 0 {
		t.Fatal(stderr)
	}
	got := read(t, dir, "shop.go")
	for _, want := range []string{
		"\tif err := s.mu.LockContext(ctx); err != nil {\n\t\treturn err\n\t}\n",
		"\tif err := s.mu.RLockContext(ctx); err != nil {\n\t\treturn 0, err\n\t}\n",
		"\tt.Lock()\n", // in Close
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	for _, want := range []string{"no context is at hand", "Close cleans up"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("does not say %q:\n%s", want, stderr)
		}
	}
	formatted(t, dir)
	goTest(t, dir)
}

func TestLockThatLeavesTheModuleStays(t *testing.T) {
	lib := module(t, map[string]string{
		"go.mod": "module example.test/lib\n\ngo 1.26\n",
		"lib.go": "package lib\n\nimport \"sync\"\n\nfunc Guard(mu *sync.Mutex, f func()) { mu.Lock(); defer mu.Unlock(); f() }\n",
	})
	dir := module(t, map[string]string{
		"go.mod": "module example.test/shop\n\ngo 1.26\n\nrequire example.test/lib v0.0.0\n\nreplace example.test/lib => " + lib + "\n",
		"shop.go": `package shop

import (
	"sync"

	"example.test/lib"
)

type a struct{ mu sync.Mutex }

type b struct{ mu sync.Mutex }

func (x *a) do() { lib.Guard(&x.mu, func() {}) }

func (x *b) do() { x.mu.Lock(); x.mu.Unlock() }

func pass(mu *sync.Mutex) { lib.Guard(mu, func() {}) }
`,
	})
	status, _, stderr := migrate(t, Options{Dir: dir, Write: true})
	if status != 0 {
		t.Fatal(stderr)
	}
	got := read(t, dir, "shop.go")
	for _, want := range []string{"type a struct{ mu sync.Mutex }", "type b struct{ mu drawbridge.Mutex }", "func pass(mu *sync.Mutex)"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if !strings.Contains(stderr, "shop.go:9: sync.Mutex stays: the change does not compile") || !strings.Contains(stderr, "1 of 3 locks changed") {
		t.Error(stderr)
	}
	goTest(t, dir)
}

func TestNamesThatAreTaken(t *testing.T) {
	dir := module(t, map[string]string{
		"one.go": "package shop\n\nimport \"sync\"\n\nvar drawbridge = 1\n\nvar mu sync.Mutex\n\nfunc f() { mu.Lock(); mu.Unlock() }\n",
		"go.mod": "module example.test/shop\n\ngo 1.21\n", // older than drawbridge allows
		"two.go": "package shop\n\nimport gosync \"sync\"\n\ntype t struct{ gosync.RWMutex }\n\nfunc (x *t) g() { x.RLock(); x.RUnlock() }\n",
	})
	status, _, stderr := migrate(t, Options{Dir: dir, Write: true})
	if status != 0 || !strings.Contains(stderr, "2 of 2 locks changed") {
		t.Fatal(stderr)
	}
	formatted(t, dir)
	goTest(t, dir)
}

func TestModuleThatDoesNotCompileIsLeftAlone(t *testing.T) {
	dir := module(t, map[string]string{"shop.go": "package shop\n\nimport \"sync\"\n\nvar mu sync.Mutex = 3\n"})
	status, _, stderr := migrate(t, Options{Dir: dir, Write: true})
	if status != 2 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "does not compile as it is") {
		t.Error(status, stderr)
	}
}

func TestOutsideAModule(t *testing.T) {
	status, _, stderr := migrate(t, Options{Dir: t.TempDir()})
	if status != 2 || !strings.Contains(stderr, "no go.mod") {
		t.Error(status, stderr)
	}
}

// Without drawbridge nothing compiles that would use it, which is not the fault of the locks.
func TestDrawbridgeThatCannotBeHadIsSaid(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	for _, o := range []Options{{Version: "v0.0.7-unknown"}, {Version: "v9.9.9"}, {Version: "\x1b[31mred"}, {Replace: t.TempDir()}} {
		o.Dir = module(t, map[string]string{"shop.go": shop})
		status, stdout, stderr := migrate(t, o)
		if status != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "--replace") || strings.Contains(stderr, "\x1b") {
			t.Errorf("%+v: status %d: %s%s", o, status, stdout, stderr)
		}
	}
}
