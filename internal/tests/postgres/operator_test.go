package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/postgres"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

// locksCommand is "drawbridge locks", whose output is not to show the password.
func locksCommand(t *testing.T, password string) func(args ...string) (string, error) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "drawbridge")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = filepath.Join("..", "..", "..", "cmd", "drawbridge")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return func(args ...string) (string, error) {
		t.Helper()
		out, err := exec.CommandContext(rig.Within(t, time.Minute), binary, append([]string{"locks"}, args...)...).CombinedOutput()
		if strings.Contains(string(out), password) {
			t.Errorf("%q shows the password: %s", args, out)
		}
		return string(out), err
	}
}

// Before the operator has made the tables a command says how to; after that locks work; and again does no harm.
func TestOperatorMakesTheTables(t *testing.T) {
	o := postgres.Options{Schema: fmt.Sprintf("made_%d", time.Now().UnixNano())}
	adm := admin(t, shared(t))
	t.Cleanup(func() { adm.Exec(rig.Within(t, 10*time.Second), "DROP SCHEMA "+o.Schema+" CASCADE") })
	t.Setenv("DRAWBRIDGE_ENGINE", shared(t)+"&schema="+o.Schema)
	locks := locksCommand(t, "no password")
	if out, err := locks("ls"); err == nil || !strings.Contains(out, "drawbridge locks migrate") {
		t.Errorf("without tables: %v, %s", err, out)
	}
	if sql, err := locks("migrate", "--sql"); err != nil || sql != postgres.SQL(o) {
		t.Errorf("migrate --sql: %v, %s", err, sql)
	}
	for range 2 {
		if out, err := locks("migrate"); err != nil || out != "the tables are there\n" {
			t.Errorf("migrate: %v, %s", err, out)
		}
	}
	e, err := postgres.Open(shared(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	rig.Unlocked(t, rig.Locked(t, rig.NewLocker(t, e, ttl), "name"))
}

// The operator's command ends the session of one hold and no other, and never shows the password of the URL.
func TestOperatorReleasesOneSession(t *testing.T) {
	u, err := url.Parse(shared(t))
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("schema", schema)
	u.RawQuery = query.Encode()
	password, given := u.User.Password()
	if !given { // the server asks for none
		password = "not-to-be-seen"
		u.User = url.UserPassword(u.User.Username(), password)
	}
	t.Setenv("DRAWBRIDGE_ENGINE", u.String())
	locks := locksCommand(t, password)

	engine, err := postgres.Open(u.String(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	locker := cluster.New(engine, cluster.Options{Label: "daily\x1b[31m", Logger: rig.Quiet()})
	defer locker.Close()
	hold, err := locker.Lock(t.Context(), "operator/daily")
	if err != nil {
		t.Fatal(err)
	}
	other, err := locker.Lock(t.Context(), "operator/other")
	if err != nil {
		t.Fatal(err)
	}
	token := fmt.Sprint(hold.Token())
	if out, err := locks("ls", "operator/d"); err != nil || !strings.Contains(out, `"daily\x1b[31m"`) || strings.Contains(out, "other") {
		t.Errorf("ls: %v, %s", err, out)
	}
	if out, err := locks("show", "operator/daily"); err != nil || !strings.Contains(out, token) {
		t.Errorf("show: %v, %s", err, out)
	}
	if out, err := locks("release", "operator/daily", "--token", token); err == nil || !strings.Contains(out, "may still be working") || hold.Held() != nil {
		t.Errorf("release without --yes: %v, %s, hold %v", err, out, hold.Held())
	}
	if out, err := locks("release", "operator/daily", "--token", token, "--yes"); err != nil || !strings.HasSuffix(out, "\nreleased\n") {
		t.Errorf("release: %v, %s", err, out)
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

	// The name is free, its row is removed, and its tokens go on above.
	if out, err := locks("prune"); err != nil || !strings.Contains(out, "removed the remains of") {
		t.Errorf("prune: %v, %s", err, out)
	}
	again, err := locker.Lock(t.Context(), "operator/daily")
	if err != nil {
		t.Fatal(err)
	}
	if again.Token() <= hold.Token() {
		t.Errorf("token %d after %d", again.Token(), hold.Token())
	}

	u.Path = "/no_such_database"
	t.Setenv("DRAWBRIDGE_ENGINE", u.String())
	if out, err := locks("ls"); err == nil || strings.Count(out, "\n") != 1 || !strings.Contains(out, "no_such_database") {
		t.Errorf("a database that is not there: %v, %s", err, out)
	}
}
