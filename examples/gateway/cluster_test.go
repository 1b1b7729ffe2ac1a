package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-go/drawbridge/cluster/mem"
)

// gateway is what two gateways on one engine consist of, without listeners.
type gateway struct {
	guard *clusterGuard
	api   http.Handler
	stop  func()
}

func join(t *testing.T, engine *mem.Engine, seed *source) gateway {
	log := slog.New(slog.DiscardHandler)
	g := new(clusterGuard)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.follow(ctx, engine, func(context.Context) error { return nil }, seed, log)
	}()
	a := &admin{guard: impatient{g, 500 * time.Millisecond}, token: "secret", blame: &blame{logger: log}, log: log,
		metrics: http.NotFoundHandler(), locks: http.NotFoundHandler(), status: func() any { return nil }}
	return gateway{g, a.handler(), func() { cancel(); <-ended; g.close() }}
}

func (g gateway) upstream(path string) (upstream string, err error) {
	err = g.guard.read(context.Background(), func(_ context.Context, t *table) error {
		r, _, _ := t.lookup(path)
		upstream = r.Upstream
		return nil
	})
	return upstream, err
}

func (g gateway) want(t *testing.T, path, want string) {
	t.Helper()
	if got, err := g.upstream(path); got != want || err != nil {
		t.Errorf("%s goes to %q, %v; want %q", path, got, err, want)
	}
}

func seedFile(t *testing.T, content string) *source {
	file := filepath.Join(t.TempDir(), "routes.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return &source{file: file}
}

func TestWriteOnOneGatewayIsServedByAll(t *testing.T) {
	first, second := seedFile(t, "/a: {upstream: http://first}"), seedFile(t, "/a: {upstream: http://second}")
	synctest.Test(t, func(t *testing.T) {
		engine := mem.New()
		one := join(t, engine, first)
		defer one.stop()
		time.Sleep(time.Second)
		one.want(t, "/a", "http://first")

		two := join(t, engine.Peer(), second)
		defer two.stop()
		time.Sleep(time.Second)
		two.want(t, "/a", "http://first") // a file only seeds an empty table

		if w := (call{"POST", "/routes", `{"prefix":"/b","upstream":"http://b"}`, nil}).do(two.api); w.Code != 201 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		two.want(t, "/b", "http://b") // at once where it was written
		time.Sleep(time.Second)
		one.want(t, "/b", "http://b")
		if w := (call{"POST", "/routes", `{"prefix":"/b","upstream":"http://other"}`, nil}).do(one.api); w.Code != 409 {
			t.Errorf("a second one is answered %d %s", w.Code, w.Body)
		}
		for _, prefix := range []string{"/a", "/b"} { // seeded routes go like any other
			if w := (call{"DELETE", "/routes" + prefix, "", nil}).do(one.api); w.Code != 204 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		three := join(t, engine.Peer(), first)
		defer three.stop()
		time.Sleep(5 * time.Second)
		for _, g := range []gateway{one, two, three} {
			g.want(t, "/a", "") // an emptied table is not seeded again
		}
	})
}

func TestGatewayServesTheLastTableWithoutItsEngine(t *testing.T) {
	seed := seedFile(t, "/a: {upstream: http://a}")
	synctest.Test(t, func(t *testing.T) {
		engine := mem.New()
		one := join(t, engine, seed)
		defer one.stop()
		time.Sleep(time.Second)
		away := mem.Link{DropRequests: true, DropReplies: true}
		engine.SetLink(away)
		time.Sleep(time.Minute)
		one.want(t, "/a", "http://a")
		if st := one.guard.status("mem"); time.Since(st.AsOf) < 30*time.Second || st.Version == 0 {
			t.Errorf("the status does not tell the age: %+v", st)
		}
		if w := (call{"PUT", "/routes/b", `{"upstream":"http://b"}`, nil}).do(one.api); w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("a change without the engine is answered %d %s", w.Code, w.Body)
		}
		one.want(t, "/a", "http://a")

		peer := engine.Peer()
		peer.SetLink(away)
		late := join(t, peer, nil)
		defer late.stop()
		time.Sleep(time.Minute)
		if _, err := late.upstream("/a"); !errors.Is(err, errNoTable) {
			t.Errorf("without a first table: %v", err)
		}
		if w := (call{"GET", "/routes", "", nil}).do(late.api); w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("without a first table the API answers %d %s", w.Code, w.Body)
		}
		engine.SetLink(mem.Link{})
		peer.SetLink(mem.Link{})
		time.Sleep(10 * time.Second)
		late.want(t, "/a", "http://a")
		if w := (call{"PUT", "/routes/b", `{"upstream":"http://b"}`, nil}).do(one.api); w.Code != 201 && w.Code != 200 {
			t.Errorf("with the engine again: %d %s", w.Code, w.Body)
		}
		time.Sleep(time.Second)
		late.want(t, "/b", "http://b")
	})
}

func TestOtherProcessesCannotPublishABadTable(t *testing.T) {
	for _, bad := range []string{
		`{"api":{"/a":{"upstream":"file:///etc/passwd"}}}`,
		`{"file":{"a":{"upstream":"http://a"}}}`,
		`[]`,
	} {
		if table, err := tableCodec.Decode([]byte(bad)); err == nil {
			t.Errorf("%s is taken: %+v", bad, table)
		}
	}
}
