package postgres

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/postgres"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
)

// A server that takes nothing but TLS, whose certificate the engine verifies: every connection is encrypted, those too by
// which a wait is given up.
func TestVerifiedTLS(t *testing.T) {
	s := start(t)
	adm := admin(t, s.url())
	ca, stranger := rig.NewAuthority(t), rig.NewAuthority(t)
	place := func(from, name, text string) {
		t.Helper()
		if from != "" {
			data, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		give(t, path)
	}
	cert, key := ca.Issue(t, "server")
	place(cert, "server.crt", "")
	place(key, "server.key", "")
	place("", "pg_hba.conf", "hostssl all all 127.0.0.1/32 trust\n")
	adm.Close()
	s.stop()
	s.settings = []string{"ssl=on"}
	at := func(mode, ca string) string {
		return "postgres://drawbridge@" + s.addr() + "/postgres?" + url.Values{"sslmode": {mode}, "sslrootcert": {ca}}.Encode()
	}
	s.beginAt(t, at("verify-full", ca.File))

	open := func(url string) *cluster.Locker {
		t.Helper()
		e, err := postgres.Open(url+"&application_name=tls", postgres.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return rig.NewLocker(t, e, 10*time.Second)
	}
	a, b := open(at("verify-full", ca.File)), open(at("verify-full", ca.File))
	h := rig.Locked(t, a, "n")
	ctx, cancel := context.WithCancel(rig.Within(t, time.Minute))
	gaveUp := make(chan error)
	go func() {
		_, err := b.Lock(ctx, "n")
		gaveUp <- err
	}()
	rig.Waiters(t, a, "n", 1)
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	rig.Waiters(t, a, "n", 0)
	adm = admin(t, at("verify-full", ca.File))
	var encrypted, all int
	if err := adm.QueryRow(rig.Within(t, 10*time.Second), `SELECT count(*) FILTER (WHERE ssl), count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
		WHERE application_name = 'tls'`).Scan(&encrypted, &all); err != nil || encrypted != all || all < 2 {
		t.Errorf("%d of %d connections are encrypted, %v", encrypted, all, err)
	}
	rig.Unlocked(t, h)

	for what, l := range map[string]*cluster.Locker{
		"certificate":          open(at("verify-full", stranger.File)),
		"no pg_hba.conf entry": open("postgres://drawbridge@" + s.addr() + "/postgres?sslmode=disable"),
	} {
		_, err := l.Lock(rig.Within(t, 3*time.Second), "n")
		said := ""
		if we := new(cluster.WaitError); errors.As(err, &we) {
			said = errors.Join(we.Err, we.Last).Error()
		}
		if !strings.Contains(said, what) {
			t.Errorf("the error does not speak of %q: %v", what, err)
		}
	}
}
