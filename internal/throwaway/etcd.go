package throwaway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// etcd starts an etcd that is on PATH, or else, in a clone of the project, the
// one of its tests.
func etcd(ctx context.Context) (url string, end func(), err error) {
	if program, err := exec.LookPath("etcd"); err == nil {
		return installed(ctx, program)
	}
	if clone, ok := inClone(ctx); ok {
		return fromClone(ctx, clone)
	}
	return "", nil, errors.New("there is no etcd on PATH to start; install one, or name one that runs: --engine etcd://HOST:PORT")
}

func installed(ctx context.Context, program string) (url string, end func(), err error) {
	var address [2]string
	for i := range address {
		if address[i], err = FreeAddress(); err != nil {
			return "", nil, err
		}
	}
	dir, err := os.MkdirTemp("", "drawbridge-etcd")
	if err != nil {
		return "", nil, err
	}
	client, peer := "http://"+address[0], "http://"+address[1]
	server := exec.Command(program, "--name", "lab", "--data-dir", filepath.Join(dir, "data"), "--unsafe-no-fsync", "--log-level", "error",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "lab="+peer)
	end, err = serve(ctx, server, dir, func(p *os.Process) { p.Kill() }, func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address[0])
		if err == nil {
			c.Close()
		}
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("etcd: %w", err)
	}
	return "etcd://" + address[0], end, nil
}

// inClone returns the folder of the project if this runs in a clone of it.
func inClone(ctx context.Context) (dir string, ok bool) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOWORK").Output()
	if err != nil {
		return "", false
	}
	dir = filepath.Dir(strings.TrimSpace(string(out)))
	_, err = os.Stat(filepath.Join(dir, "internal", "tests", "cmd", "etcdserver", "main.go"))
	return dir, err == nil
}

// fromClone builds the small server and runs it. It ends when its input does, so
// also when this process is killed.
func fromClone(ctx context.Context, clone string) (url string, end func(), err error) {
	dir, err := os.MkdirTemp("", "drawbridge-etcd")
	if err != nil {
		return "", nil, err
	}
	program := filepath.Join(dir, "etcdserver")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./internal/tests/cmd/etcdserver")
	build.Dir = clone
	if out, err := build.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", nil, fmt.Errorf("building the etcd of the tests: %w: %q", err, lastLine(out))
	}
	server := exec.Command(program)
	in, err := server.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	var log bytes.Buffer
	server.Stderr = &log
	if err := server.Start(); err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	end = func() {
		in.Close()
		server.Wait()
		os.RemoveAll(dir)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		end()
		return "", nil, fmt.Errorf("the etcd of the tests did not start: %q", lastLine(log.Bytes()))
	}
	return "etcd://" + strings.TrimSpace(line), end, nil
}
