package main

import (
	"context"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/postgres"
)

func onPostgres(ctx context.Context, url string) (system, error) {
	config, o, err := postgres.Config(url, postgres.Options{})
	if err != nil {
		return system{}, err
	}
	connect := func(o postgres.Options, sent *sent) (*postgres.Engine, error) {
		return postgres.New(sent.counted(config), o)
	}
	e, err := connect(o, new(sent))
	if err != nil {
		return system{}, err
	}
	defer e.Close()
	if err := postgres.Migrate(ctx, e); err != nil {
		return system{}, err
	}
	s := system{name: "PostgreSQL", url: url}
	if s.apart, err = room(ctx, config); err != nil {
		return system{}, err
	}
	s.connect = func(_ context.Context, sent *sent) (engine, error) { return connect(o, sent) }
	xact := s
	xact.connect = func(_ context.Context, sent *sent) (engine, error) {
		o := o
		o.Xact = true
		return connect(o, sent)
	}
	plain := func(name, suffix string) contender {
		return contender{name, func(ctx context.Context, sent *sent) (process, error) {
			c, err := pgx.ConnectConfig(ctx, sent.counted(config).ConnConfig)
			if err != nil {
				return process{}, err
			}
			call := func(ctx context.Context, function, name string) error {
				_, err := c.Exec(ctx, "SELECT pg_advisory_"+function+suffix+"(hashtext($1))", name)
				return err
			}
			return process{
				lock: func(ctx context.Context, name string) (func(context.Context) error, error) {
					return func(ctx context.Context) error { return call(ctx, "unlock", name) }, call(ctx, "lock", name)
				},
				close: func() { c.Close(context.WithoutCancel(ctx)) },
			}, nil
		}}
	}
	s.contenders = []contender{
		s.ours("drawbridge, to write", cluster.Write),
		s.ours("drawbridge, to read", cluster.Read),
		xact.ours("drawbridge, to write, with Xact", cluster.Write),
		plain("plain advisory lock, to write", ""),
		plain("plain advisory lock, to read", "_shared"),
	}
	return s, nil
}

// room is how many sessions can wait, beside those for everything else.
func room(ctx context.Context, config *pgxpool.Config) (n int, err error) {
	c, err := pgx.ConnectConfig(ctx, config.ConnConfig.Copy())
	if err != nil {
		return 0, err
	}
	defer c.Close(ctx)
	err = c.QueryRow(ctx, `SELECT current_setting('max_connections')::int
		- current_setting('superuser_reserved_connections')::int - count(*)::int - 20 FROM pg_stat_activity`).Scan(&n)
	return n, err
}

// counted is a configuration whose connections count: each statement, or batch of them, is written at once.
func (s *sent) counted(config *pgxpool.Config) *pgxpool.Config {
	config = config.Copy()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return countedConn{c, s}, nil
	}
	return config
}

type countedConn struct {
	net.Conn
	sent *sent
}

func (c countedConn) Write(b []byte) (int, error) {
	c.sent.requests.Add(1)
	return c.Conn.Write(b)
}
