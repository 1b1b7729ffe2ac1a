package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge/internal/throwaway"
)

// database is a PostgreSQL in a temporary folder.
type database struct {
	t    *testing.T
	bin  string
	dir  string
	port int
	who  *syscall.SysProcAttr // the programs refuse root
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	bin, err := throwaway.PostgresPrograms()
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("initdb not found: install Debian's postgresql")
	} else if err != nil {
		t.Fatal("initdb not found")
	}
	dir, err := os.MkdirTemp("", "gateway-postgres-") // others may not enter the parents of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	who, err := throwaway.Unprivileged(dir)
	if err != nil {
		t.Fatal(err)
	}
	address, err := throwaway.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	d := &database{t: t, bin: bin, dir: dir, who: who, port: int(netip.MustParseAddrPort(address).Port())}
	d.run("initdb", "-D", dir, "-U", "gateway", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	t.Cleanup(d.stop)
	d.start()
	return d
}

func (d *database) run(program string, args ...string) {
	d.t.Helper()
	cmd := exec.Command(filepath.Join(d.bin, program), args...)
	cmd.SysProcAttr, cmd.Dir = d.who, d.dir
	if err := cmd.Run(); err != nil { // no pipe: the server would inherit it and keep it open
		log, _ := os.ReadFile(filepath.Join(d.dir, "log"))
		d.t.Errorf("%s: %v\n%s", program, err, log)
	}
}

func (d *database) start() {
	d.t.Helper()
	options := fmt.Sprintf("-p %d -h 127.0.0.1 -c unix_socket_directories= -c fsync=off", d.port)
	d.run("pg_ctl", "-D", d.dir, "-l", filepath.Join(d.dir, "log"), "-o", options, "-w", "start")
}

// stop ends the server at once, as a crash would.
func (d *database) stop() {
	if _, err := os.Stat(filepath.Join(d.dir, "postmaster.pid")); err == nil {
		d.run("pg_ctl", "-D", d.dir, "-m", "immediate", "-w", "stop")
	}
}

func (d *database) url() string {
	return fmt.Sprintf("postgres://gateway:hunter2@127.0.0.1:%d/postgres?sslmode=disable", d.port)
}

func TestGatewaysShareATable(t *testing.T) {
	db := newDatabase(t)
	s := newScene(t)
	upstream := httptest.NewServer(demoUpstream("up"))
	defer upstream.Close()
	seeder := start(t, "--engine", db.url(), "--routes", s.file)
	other := start(t, "--engine", db.url())
	until(t, "the seed has come to both", func() bool {
		a, _, _, _ := seeder.send(t.Context(), "GET", seeder.url+"/one/1", "")
		b, _, _, _ := other.send(t.Context(), "GET", other.url+"/one/1", "")
		return a == 200 && b == 200
	})

	body := fmt.Sprintf(`{"upstream":%q}`, upstream.URL)
	seeder.audit("PUT", seeder.admin+"/routes/new", body, 201)
	seeder.audit("GET", seeder.url+"/new/1", "", 200) // at once where it was written
	until(t, "the change has come to the other", func() bool {
		code, _ := other.audit("GET", other.url+"/new/1", "", 200, 404)
		return code == 200
	})
	other.audit("POST", other.admin+"/routes", strings.Replace(body, "{", `{"prefix":"/new",`, 1), 409)

	other.cmd.Process.Signal(syscall.SIGHUP)
	until(t, "the log says why SIGHUP does nothing", func() bool { return strings.Contains(other.log(), "SIGHUP changes nothing") })
	if _, text := other.audit("GET", other.admin+"/debug/locks/", "", 200); !strings.Contains(text, "without a lock") || strings.Contains(text, "hunter2") {
		t.Errorf("the page of the locks says %q", text)
	}
	if _, text := other.audit("GET", other.admin+"/debug/locks/?format=json", "", 200); !strings.Contains(text, `"locks"`) {
		t.Errorf("programs get %q", text)
	}

	db.stop()
	shared := func(p *process) (st engineStatus) {
		_, text := p.audit("GET", p.admin+"/status", "", 200)
		var all status
		if err := json.Unmarshal([]byte(text), &all); err != nil || all.Engine == nil {
			t.Errorf("%v in %s", err, text)
			return st
		}
		return *all.Engine
	}
	until(t, "the status says that the engine is away", func() bool { return shared(other).Error != "" })
	other.audit("GET", other.url+"/new/2", "", 200) // the last good table
	other.audit("PUT", other.admin+"/routes/lost", body, 503)
	before := shared(other)
	until(t, "the table grows old", func() bool { return time.Since(before.AsOf) > time.Second && shared(other).AsOf.Equal(before.AsOf) })
	late := start(t, "--engine", db.url())
	late.audit("GET", late.url+"/new/1", "", 503)

	db.start()
	until(t, "the late one has its first table", func() bool {
		code, _ := late.audit("GET", late.url+"/new/1", "", 200, 503)
		return code == 200
	})
	until(t, "changes are taken again", func() bool {
		code, _ := other.audit("PUT", other.admin+"/routes/again", body, 200, 201, 503)
		return code != 503
	})
	until(t, "and come to all", func() bool {
		a, _ := seeder.audit("GET", seeder.url+"/again/1", "", 200, 404)
		b, _ := late.audit("GET", late.url+"/again/1", "", 200, 404)
		return a == 200 && b == 200
	})
	for _, p := range []*process{seeder, other, late} {
		p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-p.exited:
			if err != nil {
				t.Errorf("a gateway ended with %v", err)
			}
		case <-time.After(patience):
			t.Error("a gateway has not ended")
		}
		for _, bad := range []string{"panic", "DATA RACE", "hunter2"} {
			if strings.Contains(p.log(), bad) {
				t.Errorf("the log has %q", bad)
			}
		}
	}
}
