package throwaway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// postgreSQL makes a database where initdb is found, on PATH or where Debian has
// it, and starts its server.
func postgreSQL(ctx context.Context) (url string, end func(), err error) {
	programs, err := postgresPrograms()
	if err != nil {
		return "", nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "drawbridge-postgres")
	if err != nil {
		return "", nil, err
	}
	give, err := unprivileged(dir)
	if err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "-D", dir, "-U", "drawbridge", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, give
	if out, err := initdb.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", nil, fmt.Errorf("initdb: %w: %q", err, lastLine(out))
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, err
	}
	server := exec.Command(filepath.Join(programs, "postgres"), "-D", dir, "-h", "127.0.0.1", "-p", port,
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=500")
	var log bytes.Buffer
	server.Dir, server.SysProcAttr, server.Stdout, server.Stderr = dir, give, &log, &log
	if err := server.Start(); err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	ended, gone := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- server.Wait()
		close(gone)
	}()
	end = func() {
		stop(server.Process)
		<-gone
		os.RemoveAll(dir)
	}
	url = "postgres://drawbridge@" + address + "/postgres?sslmode=disable"
	// The server listens before it takes connections.
	if err := reachable(ctx, ended, func(ctx context.Context) error {
		return exec.CommandContext(ctx, filepath.Join(programs, "pg_isready"), "-h", "127.0.0.1", "-p", port).Run()
	}); err != nil {
		end()
		return "", nil, fmt.Errorf("PostgreSQL: %w: %q", err, lastLine(log.Bytes()))
	}
	return url, end, nil
}

func postgresPrograms() (dir string, err error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errors.New("there is no initdb on PATH to make a PostgreSQL with; install one, or name one that runs: --engine postgres://HOST/DATABASE")
	}
	return filepath.Dir(slices.Max(found)), nil
}
