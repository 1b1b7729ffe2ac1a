package etcd

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Whoever imports the engine gets etcd's client and no server: not Raft, not bbolt, not embed; and no engine for another
// system.
func TestEngineBringsNoServer(t *testing.T) {
	list := func(format string) []string {
		t.Helper()
		out, err := exec.Command("go", "list", "-deps", "-f", format, "github.com/drawbridge-go/drawbridge/cluster/etcd").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lines := strings.Fields(string(out))
		slices.Sort(lines)
		return slices.Compact(lines)
	}
	packages, modules := list("{{.ImportPath}}"), list("{{with .Module}}{{.Path}}{{end}}")
	if len(packages) < 100 || !slices.Contains(modules, "go.etcd.io/etcd/client/v3") {
		t.Fatalf("only %d packages of %q", len(packages), modules)
	}
	for _, path := range append(packages, modules...) {
		for _, server := range []string{"go.etcd.io/etcd/server", "go.etcd.io/raft", "go.etcd.io/bbolt", "github.com/jackc/pgx"} {
			if strings.HasPrefix(path, server) {
				t.Errorf("cluster/etcd brings %s", path)
			}
		}
	}
	t.Logf("%d packages, with the standard library, of %d modules:\n%s", len(packages), len(modules), strings.Join(modules, "\n"))
}
