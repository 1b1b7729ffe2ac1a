// Package throwaway starts servers for one experiment. Their data is not synced
// to disk and goes with them. It only starts programs and needs no library of
// theirs.
package throwaway

import (
	"context"
	"fmt"
	"net"
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

// freeAddress is one that was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
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
