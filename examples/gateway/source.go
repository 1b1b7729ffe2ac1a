package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const (
	maxSource = 1 << 20 // bytes of a routes file
	maxRoutes = 10_000
)

// A source is where the routes of the file layer come from: a file or a URL.
type source struct {
	file string
	url  *url.URL // nil for a file
}

func newSource(s string) (source, error) {
	if !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		return source{file: s}, nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return source{}, errors.New("--routes: that is not a URL; write http://HOST/PATH or the name of a file")
	}
	return source{url: u}, nil
}

// String names the source without the password or query it may have.
func (s source) String() string {
	if s.url == nil {
		return s.file
	}
	u := *s.url
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// load reads the routes, which are all right if there is no error.
func (s source) load(ctx context.Context) (map[string]route, error) {
	data, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	if len(data) > maxSource {
		return nil, fmt.Errorf("%q has more than %d bytes", s, maxSource)
	}
	routes, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", s, err)
	}
	return routes, nil
}

func (s source) read(ctx context.Context) ([]byte, error) {
	if s.url == nil {
		f, err := os.Open(s.file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxSource+1))
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%q cannot be asked", s)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		// The error names the URL as it was asked, query and all.
		if e := new(url.Error); errors.As(err, &e) {
			err = e.Err
		}
		return nil, fmt.Errorf("%q: %w", s, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%q answers %q", s, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxSource+1))
}

// target is what may be said of a route from outside.
type target struct {
	Upstream string `json:"upstream" yaml:"upstream"`
	Health   string `json:"health" yaml:"health"`
}

// parse reads routes in JSON, if data begins with a brace, or YAML.
func parse(data []byte) (map[string]route, error) {
	read := parseYAML
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		read = parseJSON
	}
	targets, err := read(data)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		return nil, errors.New("there is no route; write one, such as /orders: {upstream: http://localhost:8081, health: /healthz}")
	}
	if len(targets) > maxRoutes {
		return nil, fmt.Errorf("%d routes, and at most %d are served", len(targets), maxRoutes)
	}
	routes := make(map[string]route, len(targets))
	for prefix, t := range targets {
		r := route{Upstream: t.Upstream, Health: t.Health}
		if err := checkPrefix(prefix); err != nil {
			return nil, err
		}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("route %q: %w", prefix, err)
		}
		routes[prefix] = r
	}
	return routes, nil
}

func parseYAML(data []byte) (targets map[string]target, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&targets); err != nil && err != io.EOF {
		return nil, errors.New(strings.Join(strings.Fields(err.Error()), " ")) // one line
	}
	if err := decoder.Decode(new(any)); err != io.EOF {
		return nil, errors.New("more than one YAML document")
	}
	return targets, nil
}

// parseJSON refuses a prefix that is there twice, as YAML does, of which
// encoding/json would silently take the last.
func parseJSON(data []byte) (map[string]target, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	targets := map[string]target{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		prefix, _ := key.(string) // the decoder takes nothing else for a key
		if _, twice := targets[prefix]; twice {
			return nil, fmt.Errorf("prefix %q is there twice", prefix)
		}
		var t target
		if err := decoder.Decode(&t); err != nil {
			return nil, fmt.Errorf("route %q: %w", prefix, err)
		}
		targets[prefix] = t
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the routes")
	}
	return targets, nil
}
