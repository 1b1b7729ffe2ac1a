package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func newTestAdmin(t *testing.T, name string) (*admin, guard) {
	t.Helper()
	g := guards[name]()
	log := slog.New(slog.DiscardHandler)
	f := &refresher{guard: g, checks: newChecker(upstream{nothing, nothing}, time.Second), log: log}
	if err := f.apply(t.Context(), map[string]route{"/file": {Upstream: "http://file"}}); err != nil {
		t.Fatal(err)
	}
	return &admin{guard: impatient{g, time.Second}, token: "secret", blame: &blame{logger: log}, log: log,
		metrics: http.NotFoundHandler(), locks: http.NotFoundHandler(), status: func() any { return nil }}, g
}

type call struct {
	method, path, body string
	header             http.Header
}

func (c call) do(h http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
	r.Host = "127.0.0.1:9901"
	r.Header.Set("Authorization", "Bearer secret")
	r.Header.Set("Content-Type", "application/json")
	for name, values := range c.header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAPILiesAboveTheFile(t *testing.T) {
	for name := range guards {
		t.Run(name, func(t *testing.T) {
			a, g := newTestAdmin(t, name)
			h := a.handler()
			for _, step := range []struct {
				call
				code int
				has  string
			}{
				{call{"POST", "/routes", `{"prefix":"/x","upstream":"http://one"}`, nil}, 201, `"layer": "api"`},
				{call{"POST", "/routes", `{"prefix":"/x","upstream":"http://two"}`, nil}, 409, "already"},
				{call{"POST", "/routes", `{"prefix":"/file","upstream":"http://two"}`, nil}, 409, "from the file"},
				{call{"GET", "/routes/x", "", nil}, 200, "http://one"},
				{call{"PUT", "/routes/x", `{"upstream":"http://three"}`, nil}, 200, "http://three"},
				{call{"PUT", "/routes/y/z", `{"upstream":"http://yz","health":"/up"}`, nil}, 201, `"/y/z"`},
				{call{"DELETE", "/routes/file", "", nil}, 409, "the file's"},
				{call{"PUT", "/routes/file", `{"upstream":"http://above"}`, nil}, 200, "http://above"},
				{call{"GET", "/routes/file", "", nil}, 200, "http://above"},
				{call{"DELETE", "/routes/file", "", nil}, 204, ""},
				{call{"GET", "/routes/file", "", nil}, 200, "http://file"},
				{call{"DELETE", "/routes/nowhere", "", nil}, 404, "no route"},
				{call{"GET", "/routes/nowhere", "", nil}, 404, "no route"},
			} {
				if w := step.do(h); w.Code != step.code || !strings.Contains(w.Body.String(), step.has) {
					t.Errorf("%s %s: %d %s, want %d with %q", step.method, step.path, w.Code, w.Body, step.code, step.has)
				}
			}

			f := &refresher{guard: g, checks: newChecker(upstream{nothing, nothing}, time.Second), log: a.log}
			if err := f.apply(t.Context(), map[string]route{"/new": {Upstream: "http://new"}}); err != nil {
				t.Fatal(err)
			}
			var list []entry
			if err := json.Unmarshal(call{method: "GET", path: "/routes"}.do(h).Body.Bytes(), &list); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range list {
				got = append(got, e.Prefix+" "+e.Layer+" "+e.Upstream)
			}
			if s := strings.Join(got, ", "); s != "/new file http://new, /x api http://three, /y/z api http://yz" {
				t.Errorf("after a refresh there are %s", s)
			}
		})
	}
}

func TestOneOfManyAddsTheRoute(t *testing.T) {
	for name := range guards {
		t.Run(name, func(t *testing.T) {
			a, _ := newTestAdmin(t, name)
			h := a.handler()
			var all sync.WaitGroup
			var added, refused atomic.Int32
			for range 16 {
				all.Go(func() {
					switch w := (call{"POST", "/routes", `{"prefix":"/one","upstream":"http://one"}`, nil}).do(h); w.Code {
					case http.StatusCreated:
						added.Add(1)
					case http.StatusConflict:
						refused.Add(1)
					default:
						t.Errorf("%d %s", w.Code, w.Body)
					}
				})
			}
			all.Wait()
			if added.Load() != 1 || refused.Load() != 15 {
				t.Errorf("%d added it, %d were refused", added.Load(), refused.Load())
			}
		})
	}
}

func TestAdminRefuses(t *testing.T) {
	good := `{"prefix":"/x","upstream":"http://one"}`
	for what, c := range map[string]struct {
		call
		code int
	}{
		"no token":         {call{"POST", "/routes", good, http.Header{"Authorization": {""}}}, 401},
		"a wrong token":    {call{"POST", "/routes", good, http.Header{"Authorization": {"Bearer secre"}}}, 401},
		"another scheme":   {call{"POST", "/routes", good, http.Header{"Authorization": {"Basic secret"}}}, 401},
		"PUT, no token":    {call{"PUT", "/routes/x", good, http.Header{"Authorization": {""}}}, 401},
		"DELETE, no token": {call{"DELETE", "/routes/file", "", http.Header{"Authorization": {""}}}, 401},
		"another site":     {call{"POST", "/routes", good, http.Header{"Sec-Fetch-Site": {"cross-site"}}}, 403},
		"a form":           {call{"POST", "/routes", good, http.Header{"Content-Type": {"text/plain"}}}, 415},
		"too much":         {call{"POST", "/routes", `{"prefix":"` + strings.Repeat("x", 65<<10) + `"}`, nil}, 413},
		"no JSON":          {call{"POST", "/routes", `{`, nil}, 400},
		"an unknown field": {call{"POST", "/routes", `{"prefix":"/x","upstram":"http://one"}`, nil}, 400},
		"two objects":      {call{"POST", "/routes", good + good, nil}, 400},
		"no upstream":      {call{"POST", "/routes", `{"prefix":"/x"}`, nil}, 422},
		"another protocol": {call{"POST", "/routes", `{"prefix":"/x","upstream":"file:///etc/passwd"}`, nil}, 422},
		"a bad prefix":     {call{"POST", "/routes", `{"prefix":"x","upstream":"http://one"}`, nil}, 422},
		"PATCH":            {call{"PATCH", "/routes/x", good, nil}, 405},
		"an unclean PUT":   {call{"PUT", "/routes/x/", `{"upstream":"http://one"}`, nil}, 422},
	} {
		a, g := newTestAdmin(t, "rwmutex")
		if w := c.do(a.handler()); w.Code != c.code {
			t.Errorf("%s: %d %s, want %d", what, w.Code, w.Body, c.code)
		}
		g.read(t.Context(), func(_ context.Context, table *table) error {
			if len(table.API) != 0 || len(table.File) != 1 {
				t.Errorf("%s: the table has changed", what)
			}
			return nil
		})
	}
}

// A page of somebody else's whose name leads here must not be able to read.
func TestAdminIsNotAskedByStrangeNames(t *testing.T) {
	a, _ := newTestAdmin(t, "snapshot")
	a.hosts = adminHosts(options{Admin: "Gateway-7.internal:9901", Hosts: []string{"routes.example.org"}})
	h := a.handler()
	for host, code := range map[string]int{
		"127.0.0.1:9901":          200,
		"127.0.0.1":               200,
		"[::1]:9901":              200,
		"[::1]":                   200,
		"10.1.2.3:9901":           200,
		"localhost:9901":          200,
		"LOCALHOST":               200,
		"gateway-7.internal:9901": 200,
		"Routes.Example.org":      200,
		"rebound.example.com":     421,
		"localhost.example.com":   421,
		"127.0.0.1.example.com":   421,
		"":                        421,
	} {
		r := httptest.NewRequest("GET", "/routes", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != code || code == 421 && strings.Contains(w.Body.String(), "upstream") {
			t.Errorf("host %q: %d %s, want %d", host, w.Code, w.Body, code)
		}
	}
}
