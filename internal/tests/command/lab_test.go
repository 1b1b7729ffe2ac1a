package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-go/drawbridge/internal/throwaway"
)

// result is what the tests read of the lab's JSON.
type result struct {
	Engine string
	Locks  []struct {
		Lock             string
		PeakReaders      int `json:"peak_readers"`
		Reads            int
		GrantP50MS       float64 `json:"grant_p50_ms"`
		MessagesPerGrant float64 `json:"messages_per_grant"`
		Writes           []struct{ Starved bool }
		Lanes            []struct{ Name string }
	}
}

// lab runs the experiment on an engine with four readers and a writer, which must get in.
func lab(t *testing.T, engine, name string) {
	t.Helper()
	out, errs, status := drawbridge(t, "lab", "--engine", engine, "--readers", "4", "--deadline", "5s", "--json")
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %q, %q", status, out, errs)
	}
	var r result
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Locks) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	l := r.Locks[0]
	if r.Engine != name || len(l.Lanes) != 5 || l.PeakReaders < 2 || l.PeakReaders > 4 || l.Reads < 4 || l.GrantP50MS <= 0 {
		t.Errorf("%s: %d lanes, peak %d, %d reads, p50 %g ms", r.Engine, len(l.Lanes), l.PeakReaders, l.Reads, l.GrantP50MS)
	}
	if len(l.Writes) != 1 || l.Writes[0].Starved {
		t.Errorf("the writer starved between processes: %+v", l.Writes)
	}
	// No grant comes without one message to ask and one to give back.
	if l.MessagesPerGrant < 1.5 || l.MessagesPerGrant > 50 {
		t.Errorf("%g messages per grant", l.MessagesPerGrant)
	}
	t.Logf("%s: %d reads, p50 %g ms, %g messages per grant", r.Engine, l.Reads, l.GrantP50MS, l.MessagesPerGrant)
}

func TestLabAcrossProcessesOnEtcd(t *testing.T) { lab(t, server, "etcd") }

// Without an etcd on PATH the lab starts the one of the clone that it is run in, and leaves nothing.
func TestLabStartsTheEtcdOfTheClone(t *testing.T) {
	if _, err := exec.LookPath("etcd"); err == nil {
		path, err := exec.LookPath("go")
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", filepath.Dir(path))
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	lab(t, "etcd", "etcd")
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// An etcd on PATH is used before that.
func TestLabStartsTheEtcdOnPath(t *testing.T) {
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "etcd"), "go.etcd.io/etcd/server/v3")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", bin) // and no go
	lab(t, "etcd", "etcd")
}

func TestLabStartsPostgreSQL(t *testing.T) {
	if _, err := throwaway.PostgresPrograms(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("initdb not found")
		}
		t.Skip("initdb not found: install Debian's postgresql")
	}
	lab(t, "postgres", "PostgreSQL")
}

func TestLabWithoutAServerToStartSaysSo(t *testing.T) {
	t.Setenv("PATH", "")
	out, errs, status := drawbridge(t, "lab", "--engine", "etcd")
	if status != 2 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "no etcd on PATH") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}
