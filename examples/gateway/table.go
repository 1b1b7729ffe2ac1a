package main

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"strings"
	"unicode"
)

// A route says where the requests under its prefix go.
type route struct {
	Upstream string `json:"upstream"`         // http or https, perhaps with a path that goes before the request's
	Health   string `json:"health,omitempty"` // path to ask before each request; "" asks nothing

	// Generation is that of the refresh which wrote the route, 0 for one
	// from the API. Down is what that refresh found wrong with its upstream.
	Generation uint64 `json:"generation,omitempty"`
	Down       string `json:"down,omitempty"`
}

// A table is the routing table: two layers of routes by prefix. Those of the
// API lie above those of the file and survive every refresh.
type table struct {
	Generation uint64           `json:"generation"` // of the refresh that File came from, 0 before the first
	File       map[string]route `json:"file"`
	API        map[string]route `json:"api"`
}

func newTable() *table {
	return &table{File: map[string]route{}, API: map[string]route{}}
}

func (t *table) clone() *table {
	next := newTable()
	next.Generation = t.Generation
	maps.Copy(next.File, t.File)
	maps.Copy(next.API, t.API)
	return next
}

// at returns the route of exactly this prefix.
func (t *table) at(prefix string) (r route, layer string, ok bool) {
	if r, ok = t.API[prefix]; ok {
		return r, "api", true
	}
	if r, ok = t.File[prefix]; ok {
		return r, "file", true
	}
	return route{}, "", false
}

// lookup returns the route of the longest prefix that p begins with. Prefixes
// end where a segment does: /orders has /orders and /orders/7, not /orders2.
func (t *table) lookup(p string) (r route, prefix string, ok bool) {
	for prefix = p; prefix != ""; prefix = prefix[:max(0, strings.LastIndexByte(prefix, '/'))] {
		if r, _, ok = t.at(prefix); ok {
			return r, prefix, true
		}
	}
	r, _, ok = t.at("/")
	return r, "/", ok
}

// checkPrefix returns what is wrong with prefix as the key of a route.
func checkPrefix(prefix string) error {
	switch {
	case !strings.HasPrefix(prefix, "/"):
		return fmt.Errorf("prefix %q: begin it with a slash", prefix)
	case len(prefix) > 512:
		return fmt.Errorf("prefix %.40q…: at most 512 bytes", prefix)
	case path.Clean(prefix) != prefix:
		return fmt.Errorf("prefix %q: write it as %q", prefix, path.Clean(prefix))
	case strings.ContainsAny(prefix, `%?#\`) || strings.ContainsFunc(prefix, notGraphic):
		return fmt.Errorf(`prefix %q: write it decoded, and without ? # %% \ and control characters`, prefix)
	}
	return nil
}

// check returns what is wrong with r.
func (r route) check() error {
	u, err := url.Parse(r.Upstream)
	switch {
	case err != nil:
		return fmt.Errorf("the upstream is not a URL") // the error of url.Parse would show a password
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return fmt.Errorf("upstream %q: write http://HOST:PORT or https://HOST:PORT", u.Redacted())
	case u.User != nil:
		return fmt.Errorf("upstream %q: leave the user and the password out", u.Redacted())
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("upstream %q: leave the query and the fragment out", u.Redacted())
	}
	if r.Health == "" {
		return nil
	}
	h, err := url.Parse(r.Health)
	if err != nil || !strings.HasPrefix(r.Health, "/") || h.Host != "" || h.Fragment != "" {
		return fmt.Errorf("health %q: write a path such as /healthz", r.Health)
	}
	return nil
}

// healthURL is what to ask whether the upstream of r is well.
func (r route) healthURL() string {
	u, err := url.Parse(r.Upstream)
	if err != nil {
		return r.Upstream // checked before it came into a table
	}
	h, err := url.Parse(r.Health)
	if err != nil {
		return r.Upstream
	}
	u = u.JoinPath(h.EscapedPath())
	u.RawQuery = h.RawQuery
	return u.String()
}

func notGraphic(r rune) bool { return !unicode.IsGraphic(r) || r == unicode.ReplacementChar }
