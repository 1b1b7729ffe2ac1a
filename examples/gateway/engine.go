package main

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/drawbridge-go/drawbridge/cluster"
	"github.com/drawbridge-go/drawbridge/cluster/etcd"
	"github.com/drawbridge-go/drawbridge/cluster/postgres"
)

// An engine is where many gateways keep one table.
type engine struct {
	cluster.Engine
	io.Closer
	name    string // its URL without the password
	migrate func(context.Context) error
}

// openEngine takes the URL of --engine. It does not wait for the engine.
func openEngine(rawURL string) (*engine, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("--engine: that is not a URL; write etcd://HOST:PORT or postgres://USER@HOST/DATABASE")
	}
	name := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	switch strings.ToLower(u.Scheme) {
	case "etcd", "etcds":
		e, err := etcd.Open(rawURL)
		if err != nil {
			return nil, err
		}
		return &engine{e, e, name.String(), func(context.Context) error { return nil }}, nil
	case "postgres", "postgresql":
		e, err := postgres.Open(rawURL, postgres.Options{})
		if err != nil {
			return nil, err
		}
		return &engine{e, e, name.String(), func(ctx context.Context) error { return postgres.Migrate(ctx, e) }}, nil
	}
	return nil, errors.New("--engine: write etcd://HOST:PORT or postgres://USER@HOST/DATABASE")
}
