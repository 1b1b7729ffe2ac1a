package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// newTestProxy proxies /up to a server that runs handler.
func newTestProxy(t *testing.T, handler http.HandlerFunc) (front, upstream *httptest.Server) {
	t.Helper()
	upstream = httptest.NewServer(handler)
	t.Cleanup(upstream.Close)
	g := newSnapshotGuard()
	err := g.change(t.Context(), func(_ context.Context, table *table, write func() error) error {
		table.File["/up"] = route{Upstream: upstream.URL + "/base", Health: "/well?deep=1"}
		return write()
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := newTransport(200 * time.Millisecond)
	t.Cleanup(transport.CloseIdleConnections)
	log := slog.New(slog.DiscardHandler)
	front = httptest.NewServer(&proxy{guard: g, checks: newChecker(transport, 200*time.Millisecond), transport: transport, blame: &blame{logger: log}, log: log})
	t.Cleanup(front.Close)
	return front, upstream
}

func get(t *testing.T, url string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestUpstreamDoesNotSeeWhatIsForTheGatewayAlone(t *testing.T) {
	var seen *http.Request
	front, upstream := newTestProxy(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/base/well" && r.URL.RawQuery == "deep=1" {
			return
		}
		seen = r
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "upstream")
		io.WriteString(w, "answer")
	})
	code, body := get(t, front.URL+"/up/x?q=1", http.Header{
		"Connection":        {"X-Hop"},
		"X-Hop":             {"client"},
		"X-Forwarded-For":   {"203.0.113.7"},
		"X-Forwarded-Host":  {"elsewhere"},
		"X-Forwarded-Proto": {"https"},
		"X-End":             {"stays"},
		"Via":               {"1.0 before"},
	})
	if code != 200 || body != "answer" {
		t.Fatalf("%d %q", code, body)
	}
	for what, got := range map[string][2]string{
		"path":              {seen.URL.String(), "/base/up/x?q=1"},
		"host":              {seen.Host, strings.TrimPrefix(upstream.URL, "http://")},
		"a hop's header":    {seen.Header.Get("X-Hop"), ""},
		"X-Forwarded-For":   {seen.Header.Get("X-Forwarded-For"), "127.0.0.1"},
		"X-Forwarded-Host":  {seen.Header.Get("X-Forwarded-Host"), strings.TrimPrefix(front.URL, "http://")},
		"X-Forwarded-Proto": {seen.Header.Get("X-Forwarded-Proto"), "http"},
		"another header":    {seen.Header.Get("X-End"), "stays"},
		"Via":               {strings.Join(seen.Header.Values("Via"), ", "), "1.0 before, 1.1 " + ourselves},
	} {
		if got[0] != got[1] {
			t.Errorf("the upstream sees %s %q, want %q", what, got[0], got[1])
		}
	}
}

func TestUnwellAndSilentUpstreams(t *testing.T) {
	for what, c := range map[string]struct {
		health, answer http.HandlerFunc
		code           int
	}{
		"says that it is not well": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, nil, 502},
		"sends its health elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/", http.StatusFound)
		}, nil, 502},
		"is silent about its health": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil, 504},
		"is silent":                  {nil, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 504},
		"is well":                    {nil, nil, 200},
	} {
		front, _ := newTestProxy(t, func(w http.ResponseWriter, r *http.Request) {
			part := c.answer
			if r.URL.Path == "/base/well" {
				part = c.health
			}
			if part != nil {
				part(w, r)
			}
		})
		if code, body := get(t, front.URL+"/up", nil); code != c.code || strings.Contains(body, "127.0.0.1") {
			t.Errorf("an upstream that %s: %d %q, want %d", what, code, body, c.code)
		}
	}
}

// Were it not found, each request would make another one until the gateway
// has no memory or ports left.
func TestRouteThatLeadsBackToTheGateway(t *testing.T) {
	for what, c := range map[string]struct {
		health  string
		between bool // another proxy is on the way
		code    int
	}{
		"at once":                  {"", false, 508},
		"by another proxy":         {"", true, 508},
		"with its health":          {"/healthz", false, 502},
		"with its health, by both": {"/healthz", true, 502},
	} {
		g := newSnapshotGuard()
		transport := newTransport(patience)
		defer transport.CloseIdleConnections()
		log := slog.New(slog.DiscardHandler)
		p := &proxy{guard: g, checks: newChecker(transport, patience), transport: transport, blame: &blame{logger: log}, log: log}
		var requests atomic.Int32
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			p.ServeHTTP(w, r)
		}))
		defer front.Close()
		back := front.URL
		if c.between {
			there, err := url.Parse(front.URL)
			if err != nil {
				t.Fatal(err)
			}
			between := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(there)
				r.Out.Header["Via"] = []string{strings.Join(r.In.Header.Values("Via"), ",") + ", 1.1 between"} // one field, as it may
			}})
			defer between.Close()
			back = between.URL
		}
		err := g.change(t.Context(), func(_ context.Context, table *table, write func() error) error {
			table.File["/"] = route{Upstream: back, Health: c.health}
			return write()
		})
		if err != nil {
			t.Fatal(err)
		}
		if code, body := get(t, front.URL+"/x", nil); code != c.code || requests.Load() != 2 {
			t.Errorf("%s: %d %q after %d requests; want %d after 2", what, code, body, requests.Load(), c.code)
		}
	}
}
