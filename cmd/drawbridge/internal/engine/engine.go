// Package engine opens the engine of locks across machines that a command line
// names, and counts what is sent to it.
package engine

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
	"github.com/drawbridge-go/drawbridge/cluster/postgres"
)

// Engine is an engine and its connections.
type Engine interface {
	cluster.Engine
	Close() error
}

// Sent counts messages to an engine: for etcd those of its protocol, for
// PostgreSQL what is written to a connection at once, which is a statement or a
// batch of them. Keepalives and what it takes to connect count, too.
type Sent struct{ atomic.Int64 }

// Open opens the engine at a URL. It does not wait for a connection, except that
// etcd is asked first who the user is, if there is one, which may take as long
// as timeout. Its errors do not repeat the URL, which may have a password.
func Open(rawURL string, timeout time.Duration, sent *Sent) (Engine, error) {
	scheme, _, _ := strings.Cut(rawURL, "://")
	switch scheme {
	case "etcd", "etcds":
		config, o, err := etcd.Config(rawURL)
		if err != nil {
			return nil, err
		}
		config.DialTimeout = timeout
		config.DialOptions = append(config.DialOptions, grpc.WithStatsHandler(sent))
		e, err := etcd.Dial(config, o)
		if err != nil {
			return nil, err
		}
		return e, nil
	case "postgres", "postgresql":
		config, o, err := postgres.Config(rawURL, postgres.Options{})
		if err != nil {
			return nil, err
		}
		dial := config.ConnConfig.DialFunc
		config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return counted{c, sent}, nil
		}
		e, err := postgres.New(config, o)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	return nil, errNone
}

var errNone = errors.New("name the engine with --engine or in DRAWBRIDGE_ENGINE as etcd://HOST:PORT,HOST:PORT or postgres://HOST/DATABASE")

const noTables = "etcd needs no tables"

// Migrate makes what the locks of an engine need there and says what that was.
func Migrate(ctx context.Context, e Engine) (string, error) {
	if e, ok := e.(*postgres.Engine); ok {
		return "the tables are there", postgres.Migrate(ctx, e)
	}
	return noTables, nil
}

// SQL is what Migrate would run at a URL.
func SQL(rawURL string) (string, error) {
	switch scheme, _, _ := strings.Cut(rawURL, "://"); scheme {
	case "etcd", "etcds":
		return "", errors.New(noTables)
	case "postgres", "postgresql":
		_, o, err := postgres.Config(rawURL, postgres.Options{})
		return postgres.SQL(o), err
	}
	return "", errNone
}

// counted is a connection whose writes are counted.
type counted struct {
	net.Conn
	sent *Sent
}

func (c counted) Write(b []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(b)
}

// Sent is a stats.Handler of gRPC.

func (s *Sent) HandleRPC(_ context.Context, what stats.RPCStats) {
	if _, ok := what.(*stats.OutPayload); ok {
		s.Add(1)
	}
}
func (*Sent) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*Sent) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*Sent) HandleConn(context.Context, stats.ConnStats)                       {}
