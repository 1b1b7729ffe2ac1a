package inspect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

func get(h http.Handler, url string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
	return w
}

func TestOnlyGetIsAnswered(t *testing.T) {
	h := Handler()
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/debug/locks/", nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/debug/locks/", nil))
	if w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("HEAD: %d with %d bytes", w.Code, w.Body.Len())
	}
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	var mu drawbridge.RWMutex
	defer Watch("headers", &mu)()
	h := Handler()
	for url, contentType := range map[string]string{
		"/x/":                            "text/html; charset=utf-8",
		"/x/?format=json":                "application/json",
		"/x/?format=text":                "text/plain; charset=utf-8",
		"/x/app.js":                      "text/javascript; charset=utf-8",
		"/x/style.css":                   "text/css; charset=utf-8",
		"/x/held":                        "application/octet-stream",
		"/x/waiting":                     "application/octet-stream",
		"/x/trace":                       "application/json",
		"/x/nothing":                     "text/plain; charset=utf-8",
		"/x/?lock=999999999&format=json": "text/plain; charset=utf-8",
	} {
		w := get(h, url)
		for header, want := range map[string]string{
			"Content-Security-Policy": contentSecurityPolicy, "X-Content-Type-Options": "nosniff",
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Content-Type": contentType,
		} {
			if got := w.Header().Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", url, header, got, want)
			}
		}
		if code := w.Code; (code == http.StatusNotFound) != (strings.Contains(url, "nothing") || strings.Contains(url, "999")) {
			t.Errorf("%s: %d", url, code)
		}
	}
	runtime.KeepAlive(&mu)
}

// TestEveryFileIsServedAndReferredTo: no file of the page is forgotten in the
// list, and all references are relative and lead to one.
func TestEveryFileIsServedAndReferredTo(t *testing.T) {
	entries, err := fs.ReadDir(web, "web")
	if err != nil {
		t.Fatal(err)
	}
	reference := regexp.MustCompile(`(?:src|href)="([^"?#]*)["?]|from "([^"]*)"`)
	for _, e := range entries {
		name := e.Name()
		if name == "index.html" {
			name = ""
		}
		if files[name] == "" {
			t.Errorf("%s is not served", name)
		}
		data, _ := fs.ReadFile(web, "web/"+e.Name())
		for _, m := range reference.FindAllStringSubmatch(string(data), -1) {
			to := m[1] + m[2]
			if strings.HasPrefix(to, "data:") {
				continue
			}
			if strings.HasPrefix(to, "/") || strings.Contains(to, "://") {
				t.Errorf("%s refers to %q, which is not relative", e.Name(), to)
			}
			if code := get(Handler(), path.Join("/a/b", to)+map[bool]string{true: "/"}[to == "" || to == "./"]).Code; code != http.StatusOK {
				t.Errorf("%s refers to %q: %d", e.Name(), to, code)
			}
		}
	}
}

func TestBadRequestsGetOneClearLine(t *testing.T) {
	for _, url := range []string{"/?format=xml", "/?lock=x", "/?lock=0", "/?lock=-1", "/?limit=0", "/?limit=many", "/held?lock=%00",
		"/?format=" + strings.Repeat("%1b", 10_000)} {
		w := get(Handler(), url)
		body := w.Body.String()
		if w.Code != http.StatusBadRequest || !strings.HasPrefix(body, "inspect: ") || strings.Count(body, "\n") != 1 || len(body) > 200 || strings.Contains(body, "\x1b") {
			t.Errorf("%.30s: %d %q", url, w.Code, body)
		}
	}
}

func TestJSONOfAllAndOfOne(t *testing.T) {
	var a, b drawbridge.RWMutex
	defer Watch("json a", &a)()
	defer Watch("json b", &b)()
	a.Lock()
	a.Unlock()
	read := func(url string) (r Report) {
		if err := json.Unmarshal(get(Handler(), url).Body.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		return r
	}
	all := read("/?format=json")
	if all.Version != Version || all.Watched < 2 || len(all.Locks) != all.Watched || all.LeftOut != 0 {
		t.Errorf("version %d, %d watched, %d locks, %d left out", all.Version, all.Watched, len(all.Locks), all.LeftOut)
	}
	id := find(t, "json a").ID
	if one := read(fmt.Sprintf("/?format=json&lock=%d", id)); len(one.Locks) != 1 || one.Locks[0].Name != "json a" || len(one.Locks[0].Spans) != 1 {
		t.Errorf("of one: %+v", one)
	}
	if few := read("/?format=json&limit=1&brief=1"); len(few.Locks) != 1 || few.LeftOut != all.Watched-1 {
		t.Errorf("limited: %d locks, %d left out", len(few.Locks), few.LeftOut)
	}
	runtime.KeepAlive(&a)
	runtime.KeepAlive(&b)
}

// sse reads the reports of a stream.
func sse(t *testing.T, body io.Reader) func() (*Report, string) {
	r := bufio.NewReaderSize(body, 1<<20)
	return func() (*Report, string) {
		event := ""
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return nil, "end"
			}
			line = strings.TrimSuffix(line, "\n")
			if e, ok := strings.CutPrefix(line, "event: "); ok {
				event = e
			}
			data, ok := strings.CutPrefix(line, "data: ")
			switch {
			case !ok:
			case event != "":
				return nil, event
			default:
				var report Report
				if err := json.Unmarshal([]byte(data), &report); err != nil {
					t.Fatal(err)
				}
				return &report, ""
			}
		}
	}
}

// serve ends after the streams that are opened on it.
func serve(t *testing.T, change func(*http.Server)) *httptest.Server {
	s := httptest.NewUnstartedServer(Handler())
	if change != nil {
		change(s.Config)
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func open(t *testing.T, url string) *http.Response {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func TestStreamOfALock(t *testing.T) {
	var mu drawbridge.RWMutex
	stop := Watch("streamed", &mu)
	s := serve(t, nil)
	response := open(t, fmt.Sprintf("%s/events?lock=%d", s.URL, find(t, "streamed").ID))
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("content type %q", got)
	}
	next := sse(t, response.Body)
	if r, _ := next(); r.Tick != 1 || len(r.Locks) != 1 || r.Locks[0].Name != "streamed" {
		t.Fatalf("the first message is %+v", r)
	}
	mu.Lock()
	mu.Unlock()
	for spans := 0; spans == 0; {
		r, end := next()
		if r == nil {
			t.Fatalf("the stream ended: %s", end)
		}
		spans += len(r.Locks[0].Spans)
	}
	for range spansViewed + 100 {
		mu.Lock()
		mu.Unlock()
	}
	for dropped := uint64(0); dropped == 0; {
		r, end := next()
		if r == nil {
			t.Fatalf("the stream ended: %s", end)
		}
		dropped += r.Dropped
		if n := len(r.Locks[0].Spans); n > maxSpansSent {
			t.Errorf("%d spans in one message", n)
		}
	}
	stop()
	for {
		r, end := next()
		if r != nil {
			continue
		}
		if end != "gone" {
			t.Errorf("a lock that is not watched any more ends its stream with %q", end)
		}
		break
	}
}

// TestShutdownEndsStreams: Shutdown waits for requests and would wait for a
// stream for ever.
func TestShutdownEndsStreams(t *testing.T) {
	s := serve(t, nil)
	next := sse(t, open(t, s.URL+"/events").Body)
	next()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Config.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	for {
		if r, end := next(); r == nil {
			if end != "end" {
				t.Errorf("the stream ended with %q", end)
			}
			return
		}
	}
}

// TestStreamOutlivesTheWriteTimeout: the server's WriteTimeout counts from the
// request, and would end each stream.
func TestStreamOutlivesTheWriteTimeout(t *testing.T) {
	s := serve(t, func(s *http.Server) { s.WriteTimeout = 1500 * time.Millisecond })
	next := sse(t, open(t, s.URL+"/events").Body)
	for begin := time.Now(); time.Since(begin) < 2*s.Config.WriteTimeout; {
		if r, end := next(); r == nil {
			t.Fatalf("ended after %v: %s", time.Since(begin), end)
		}
	}
}

func TestTooManyPagesAreTurnedAway(t *testing.T) {
	s := serve(t, nil)
	for range maxStreams {
		sse(t, open(t, s.URL+"/events").Body)()
	}
	if code := open(t, s.URL+"/events").StatusCode; code != http.StatusServiceUnavailable {
		t.Errorf("page %d got %d", maxStreams+1, code)
	}
	if code := open(t, s.URL+"/?format=json").StatusCode; code != http.StatusOK {
		t.Errorf("the pages keep a report out: %d", code)
	}
}

func TestTickIsMadeOnceForAllPages(t *testing.T) {
	h := Handler().(*handler)
	one, two := h.ticks.now(), h.ticks.now()
	if &one[0] != &two[0] {
		t.Error("the tick was made again")
	}
}

// TestManyLocks: ten thousand watched locks, a thousand goroutines on them and
// twenty open pages keep the memory that they take within bounds. What it costs
// in throughput is measured in the folder bench.
func TestManyLocks(t *testing.T) {
	const watches, workers, pages = 10_000, 1000, 20
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	locks := make([]drawbridge.RWMutex, watches)
	for i := range locks {
		defer Watch(fmt.Sprintf("lock %d", i), &locks[i])()
	}
	s := serve(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for n := i; ctx.Err() == nil; n += 7 {
				mu := &locks[n%watches]
				mu.WithRLock(ctx, func(context.Context) error { return nil })
				mu.Lock()
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	var views sync.WaitGroup
	for i := range pages {
		url := s.URL + "/events"
		if i%2 == 1 {
			url += fmt.Sprintf("?lock=%d", find0(t, "lock ", i))
		}
		next := sse(t, open(t, url).Body)
		views.Go(func() {
			for range 3 {
				r, end := next()
				if r == nil {
					t.Errorf("page %d ended: %s", i, end)
					return
				}
				if len(r.Locks) > busyLocks {
					t.Errorf("%d locks in a tick", len(r.Locks))
				}
			}
		})
	}
	views.Wait()
	cancel()
	wg.Wait()
	// Each lock: a record, up to four histograms and its last spans.
	const each = 32 << 10
	if used := heap() - before; used > watches*each {
		t.Errorf("%d KiB for each lock, want at most %d", used/watches>>10, each>>10)
	} else {
		t.Logf("%.1f KiB for each lock", float64(used)/watches/1024)
	}
	var buf bytes.Buffer
	records := busiest()
	if err := writeJSON(&buf, newReport(len(records), 0), records, query{brief: true}); err != nil || !json.Valid(buf.Bytes()) {
		t.Errorf("the report of all is not valid: %v", err)
	}
	runtime.KeepAlive(locks)
}

// find0 returns the ID of some lock whose name begins with prefix.
func find0(t *testing.T, prefix string, skip int) uint64 {
	for _, r := range watched.all() {
		if strings.HasPrefix(r.name, prefix) {
			if skip--; skip < 0 {
				return r.id
			}
		}
	}
	t.Fatal("no such lock")
	return 0
}
