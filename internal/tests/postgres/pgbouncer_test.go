package postgres

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// pooler starts a PgBouncer before the server at direct that gives out sessions by "session" or by "transaction", and
// returns its URL. It ends with the test.
func pooler(t testing.TB, direct, mode string) string { return poolerWith(t, direct, mode, "") }

// lenient is a pooler that pretends to know settings that it ignores.
func lenient(t testing.TB, direct, mode string) string {
	return poolerWith(t, direct, mode, "ignore_startup_parameters = idle_session_timeout, client_connection_check_interval, lock_timeout, "+
		"statement_timeout, idle_in_transaction_session_timeout, tcp_keepalives_idle, tcp_keepalives_interval, tcp_keepalives_count")
}

func poolerWith(t testing.TB, direct, mode, more string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; exec.Command(program, "--version").Run() != nil {
			missing(t, "pgbouncer")
		}
	}
	server, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := server.User.Password()
	dir, port := folder(t), freePort(t)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		give(t, path)
		return path
	}
	users := write("users", fmt.Sprintf("%q %q\n", server.User.Username(), password))
	config := write("pgbouncer.ini", fmt.Sprintf(`[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = %s
default_pool_size = 100
max_client_conn = 1000
server_login_retry = 1
%s
`, server.Hostname(), server.Port(), port, users, mode, more))
	var log bytes.Buffer
	run := exec.Command(program, config)
	run.SysProcAttr, run.Dir, run.Stderr = give(t, dir), dir, &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		run.Process.Kill()
		run.Wait()
		if t.Failed() {
			t.Logf("PgBouncer ended with %v and said last:\n%s", run.ProcessState, log.Bytes()[max(0, log.Len()-8000):])
		}
	})
	server.Host = fmt.Sprintf("127.0.0.1:%d", port)
	reachable(t, server.String(), func() string { return log.String() })
	return server.String()
}
