// Package throwaway starts servers for one experiment. Their data is not synced
// to disk and goes with them. It only starts programs and needs no library of
// theirs.
package throwaway

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
)

// Start starts the server that is named, "etcd" or "postgres", and returns its
// URL and what ends it. Anything else is returned as it is: the URL of a server
// that is there.
func Start(ctx context.Context, name string) (url string, end func(), err error) {
	switch name {
	case "etcd":
		return etcd(ctx)
	case "postgres":
		return postgreSQL(ctx)
	}
	return name, func() {}, nil
}

// patience is how long a server may take to answer.
const patience = time.Minute

// FreeAddress returns one of this machine that was free a moment ago.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// serve runs a server whose data is in dir, and returns when ask succeeds. end
// stops it and removes dir.
func serve(ctx context.Context, server *exec.Cmd, dir string, stop func(*os.Process), ask func(context.Context) error) (end func(), err error) {
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, err
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
	if err := reachable(ctx, ended, ask); err != nil {
		end()
		return nil, fmt.Errorf("%w: %q", err, lastLine(log.Bytes()))
	}
	return end, nil
}

// reachable waits until asking succeeds. ended is what becomes of the server's
// process.
func reachable(ctx context.Context, ended <-chan error, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("it ended at once: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// lastLine is where a program says what was wrong.
func lastLine(log []byte) []byte {
	log = bytes.TrimSpace(log)
	return log[bytes.LastIndexByte(log, '\n')+1:]
}
