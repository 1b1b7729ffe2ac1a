package etcd

import (
	"os/exec"
	"strings"
	"testing"
)

// Whoever imports the engine gets etcd's client and no server: not Raft, not bbolt, not embed.
func TestEngineBringsNoServer(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/drawbridge-go/drawbridge/cluster/etcd").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 100 {
		t.Fatalf("only %d packages: %s", len(packages), out)
	}
	for _, p := range packages {
		for _, server := range []string{"go.etcd.io/etcd/server", "go.etcd.io/raft", "go.etcd.io/bbolt", "github.com/jackc/pgx"} {
			if strings.HasPrefix(p, server) {
				t.Errorf("cluster/etcd brings %s", p)
			}
		}
	}
	t.Logf("%d packages", len(packages))
}
