// Package postgres tests the PostgreSQL engine against real servers: one that the environment names, or ones that the
// tests start in temporary folders, and PgBouncer before them.
package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/drawbridge-go/drawbridge/cluster/postgres"
	"github.com/drawbridge-go/drawbridge/internal/tests/rig"
	"github.com/drawbridge-go/drawbridge/internal/throwaway"
)

// urlVariable names the server to use instead of one that is started here.
const urlVariable = "DRAWBRIDGE_POSTGRES_URL"

const schema = "drawbridge_test"

// server is a PostgreSQL in a temporary folder.
type server struct {
	bin, dir string
	port     int
	settings []string // besides those of all
	run      *exec.Cmd
}

// missing skips the test, or fails it where the programs have to be there.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s not found", what)
	}
	t.Skipf("%s not found: install Debian's postgresql and pgbouncer, or set %s", what, urlVariable)
}

// programs is the folder with initdb.
func programs(t testing.TB) string {
	t.Helper()
	dir, err := throwaway.PostgresPrograms()
	if err != nil {
		missing(t, "initdb")
	}
	return dir
}

// give hands a folder or a file over to whoever runs the programs, and says who that is: they refuse root.
func give(t testing.TB, path string) *syscall.SysProcAttr {
	t.Helper()
	who, err := throwaway.Unprivileged(path)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

// folder is a temporary one outside t.TempDir, whose parents others may not enter.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "drawbridge-postgres")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	give(t, dir)
	return dir
}

func freePort(t testing.TB) int {
	t.Helper()
	address, err := throwaway.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return int(netip.MustParseAddrPort(address).Port())
}

// start makes a server and starts it. It is stopped and removed with the test.
func start(t testing.TB) *server {
	t.Helper()
	s := &server{bin: programs(t), dir: folder(t), port: freePort(t)}
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "-D", s.dir, "-U", "drawbridge", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = give(t, s.dir), s.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	t.Cleanup(func() { s.stop() })
	s.begin(t)
	e, err := postgres.Open(s.url(), postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := postgres.Migrate(rig.Within(t, time.Minute), e); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }
func (s *server) url() string {
	return fmt.Sprintf("postgres://drawbridge@%s/postgres?sslmode=disable", s.addr())
}

// begin starts the server's process and waits until it takes connections.
func (s *server) begin(t testing.TB) { s.beginAt(t, s.url()) }

// beginAt is begin for a server that is reached at another URL.
func (s *server) beginAt(t testing.TB, url string) {
	t.Helper()
	var log bytes.Buffer
	s.run = exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.dir, "-p", strconv.Itoa(s.port), "-h", "127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=300", "-c", "max_locks_per_transaction=256")
	for _, setting := range s.settings {
		s.run.Args = append(s.run.Args, "-c", setting)
	}
	s.run.SysProcAttr, s.run.Dir, s.run.Stderr = give(t, s.dir), s.dir, &log
	if err := s.run.Start(); err != nil {
		t.Fatal(err)
	}
	reachable(t, url, func() string { return log.String() })
}

func reachable(t testing.TB, url string, log func() string) {
	t.Helper()
	for ctx := rig.Within(t, time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := pgx.Connect(ctx, url)
		if err == nil {
			c.Close(ctx)
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("not reachable: %v\n%s", err, log())
		}
	}
}

// stop ends the server at once, as a crash would.
func (s *server) stop() {
	if s.run != nil {
		s.run.Process.Signal(syscall.SIGQUIT)
		s.run.Wait()
		s.run = nil
	}
}

// one is a server that the tests of one process share.
var one struct {
	once sync.Once
	url  string
	why  error
}

// shared is the URL of the server that the environment names, or of one that is started for all tests here.
func shared(t testing.TB) string {
	t.Helper()
	if os.Getenv(urlVariable) == "" {
		programs(t)
	}
	one.once.Do(func() {
		one.why = errors.New("the shared server could not be started")
		if url := os.Getenv(urlVariable); url != "" {
			e, err := postgres.Open(url, postgres.Options{Schema: schema})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if err := postgres.Migrate(rig.Within(t, time.Minute), e); err != nil {
				t.Fatal(err)
			}
			one.url = url
		} else {
			one.url = start(forever{t}).url()
		}
		one.why = nil
	})
	if one.why != nil {
		t.Fatal(one.why)
	}
	return one.url
}

// forever leaves what a test began to the end of the process.
type forever struct{ testing.TB }

func (forever) Cleanup(f func()) { leftovers = append(leftovers, f) }

var leftovers []func() // run by TestMain, the last first

// admin is a way to the server beside the tests' engines.
func admin(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// backup is a standby of the server as it is now, not started, that will hear no more of it.
func (s *server) backup(t testing.TB) *server {
	t.Helper()
	b := &server{bin: s.bin, dir: filepath.Join(folder(t), "data"), port: freePort(t)}
	copying := exec.Command(filepath.Join(s.bin, "pg_basebackup"), "-D", b.dir, "-h", "127.0.0.1", "-p", strconv.Itoa(s.port),
		"-U", "drawbridge", "-X", "stream", "-c", "fast", "--no-sync")
	copying.SysProcAttr, copying.Dir = give(t, s.dir), s.dir
	if out, err := copying.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	signal := filepath.Join(b.dir, "standby.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	give(t, signal)
	t.Cleanup(func() { b.stop() })
	return b
}
