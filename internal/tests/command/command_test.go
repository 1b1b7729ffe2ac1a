// Package command tests the parts of the drawbridge command that talk to a server, which the module of the command must
// not bring.
package command

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
	"github.com/drawbridge-go/drawbridge/internal/tests/etcdserver"
)

var (
	source = filepath.Join("..", "..", "..", "cmd", "drawbridge")
	binary string // built from it
	server string // the URL of an etcd, with a prefix for these tests alone
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "drawbridge-command")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "drawbridge")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir, build.Stderr = source, os.Stderr
	if err := build.Run(); err != nil {
		return 0, err
	}
	server = "etcd://" + os.Getenv("DRAWBRIDGE_ETCD_ENDPOINTS")
	if server == "etcd://" {
		c, err := etcdserver.Start(1, dir)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		server += c.Endpoints[0]
	}
	server += "/" + rand.Text() + "/"
	return m.Run(), nil
}

// drawbridge runs the command; status is what it ended with.
func drawbridge(t *testing.T, args ...string) (out, errs string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, binary, args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), command.ProcessState.ExitCode()
}

// The command takes etcd's client to people's machines, and no server.
func TestCommandLinksNoServer(t *testing.T) {
	list := exec.Command("go", "list", "-deps", ".")
	list.Dir = source
	out, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	packages := strings.Fields(string(out))
	client := false
	for _, p := range packages {
		client = client || p == "go.etcd.io/etcd/client/v3"
		for _, server := range []string{"go.etcd.io/etcd/server", "go.etcd.io/raft", "go.etcd.io/bbolt"} {
			if strings.HasPrefix(p, server) {
				t.Errorf("the command brings %s", p)
			}
		}
	}
	if !client {
		t.Errorf("etcd's client is not among the %d packages: this looked at something else", len(packages))
	}
}

func TestOperatorSeesAndReleasesOneHold(t *testing.T) {
	t.Setenv("DRAWBRIDGE_ENGINE", server)
	engine, err := etcd.Open(server)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	locks := cluster.New(engine, cluster.Options{Label: "daily\x1b[31m"})
	defer locks.Close()

	if out, errs, status := drawbridge(t, "locks", "ls"); status != 0 || errs != "" || out != "no lock is held or waited for\n" {
		t.Errorf("ls: status %d, %q, %q", status, out, errs)
	}
	hold, err := locks.Lock(t.Context(), "reports/daily")
	if err != nil {
		t.Fatal(err)
	}
	other, err := locks.RLock(t.Context(), "reports/other")
	if err != nil {
		t.Fatal(err)
	}
	token := fmt.Sprint(hold.Token())
	for _, look := range [][]string{{"ls"}, {"ls", "reports/d"}, {"show", "reports/daily"}} {
		out, errs, status := drawbridge(t, append([]string{"locks"}, look...)...)
		if status != 0 || errs != "" || !strings.Contains(out, `"daily\x1b[31m"`) || !strings.Contains(out, "write") {
			t.Errorf("%q: status %d, %q, %q", look, status, out, errs)
		}
		if shown := strings.Contains(out, "reports/other"); shown != (len(look) == 1) {
			t.Errorf("%q shows another lock: %t", look, shown)
		}
		if look[0] == "show" && !strings.Contains(out, token) {
			t.Errorf("show lacks token %s:\n%s", token, out)
		}
	}

	release := []string{"locks", "release", "reports/daily", "--token"}
	out, errs, status := drawbridge(t, append(release, token)...)
	if status != 2 || !strings.Contains(out, "may still be working") || !strings.Contains(errs, "say --yes") || hold.Held() != nil {
		t.Errorf("without --yes: status %d, %q, %q, hold %v", status, out, errs, hold.Held())
	}
	out, errs, status = drawbridge(t, append(release, fmt.Sprint(hold.Token()+1000), "--yes")...)
	if status != 2 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "no hold") {
		t.Errorf("a token that nobody has: status %d, %q, %q", status, out, errs)
	}
	out, errs, status = drawbridge(t, append(release, token, "--yes")...)
	if status != 0 || errs != "" || !strings.HasSuffix(out, "\nreleased\n") || strings.Index(out, "may still be working") > strings.Index(out, "\nreleased") {
		t.Errorf("with --yes: status %d, %q, %q", status, out, errs)
	}
	select {
	case <-hold.Context().Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the holder was never told")
	}
	if err := context.Cause(hold.Context()); !errors.Is(err, cluster.ErrLost) {
		t.Errorf("the holder was told %v", err)
	}
	if err := other.Held(); err != nil {
		t.Errorf("the other hold of the process: %v", err)
	}
	if out, errs, status := drawbridge(t, "locks", "prune"); status != 0 || errs != "" || out != "nothing to remove\n" {
		t.Errorf("prune: status %d, %q, %q", status, out, errs)
	}
}

// The variable may have a password. It is not in the help, where defaults are.
func TestHelpDoesNotShowTheEngine(t *testing.T) {
	t.Setenv("DRAWBRIDGE_ENGINE", "etcd://user:secret@host:2379")
	t.Setenv("DRAWBRIDGE_LAB_ENGINE", "etcd://user:secret@host:2379")
	for _, help := range []struct {
		variable string
		args     []string
	}{{"$DRAWBRIDGE_ENGINE", []string{"locks", "ls", "--help"}}, {"$DRAWBRIDGE_LAB_ENGINE", []string{"lab", "--help"}}} {
		out, errs, status := drawbridge(t, help.args...)
		if status != 0 || strings.Contains(out+errs, "secret") || !strings.Contains(out, help.variable) {
			t.Errorf("%q: status %d, %s%s", help.args, status, out, errs)
		}
	}
}
