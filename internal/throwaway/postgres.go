package throwaway

import (
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
	programs, err := PostgresPrograms()
	if err != nil {
		return "", nil, err
	}
	address, err := FreeAddress()
	if err != nil {
		return "", nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "drawbridge-postgres")
	if err != nil {
		return "", nil, err
	}
	give, err := Unprivileged(dir)
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
	server := exec.Command(filepath.Join(programs, "postgres"), "-D", dir, "-h", "127.0.0.1", "-p", port,
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=500")
	server.Dir, server.SysProcAttr = dir, give
	// The server listens before it takes connections.
	end, err = serve(ctx, server, dir, stop, func(ctx context.Context) error {
		return exec.CommandContext(ctx, filepath.Join(programs, "pg_isready"), "-h", "127.0.0.1", "-p", port).Run()
	})
	if err != nil {
		return "", nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	return "postgres://drawbridge@" + address + "/postgres?sslmode=disable", end, nil
}

// PostgresPrograms returns the folder with initdb and the rest, on PATH or where
// Debian has it.
func PostgresPrograms() (dir string, err error) {
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
