package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The test's own executable is the gateway when this is set, so that the race
// detector looks at the process too.
const asGateway = "GATEWAY_TEST_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(asGateway) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const patience = 30 * time.Second // for what must happen, on a busy machine

// process is a running gateway.
type process struct {
	t          *testing.T
	cmd        *exec.Cmd
	url, admin string
	token      string
	exited     chan error
	mu         sync.Mutex
	stderr     bytes.Buffer
	client     *http.Client
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, token: "e2e-token", exited: make(chan error, 1), client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
		Timeout:   patience,
	}}
	p.cmd = exec.Command(exe, append([]string{"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, args...)...)
	p.cmd.Env = append(os.Environ(), asGateway+"=1", "GATEWAY_TOKEN="+p.token)
	p.cmd.Stderr = p
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		p.client.CloseIdleConnections()
		if t.Failed() {
			t.Logf("the gateway's log:\n%.4000s", p.log())
		}
	})
	lines := bufio.NewScanner(stdout)
	for _, want := range []struct {
		name string
		url  *string
	}{{"gateway", &p.url}, {"admin", &p.admin}} {
		if !lines.Scan() {
			p.cmd.Wait()
			t.Fatalf("no address of the %s: %s", want.name, p.log())
		}
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != want.name {
			t.Fatalf("%q is no address of the %s", lines.Text(), want.name)
		}
		*want.url = fields[1]
	}
	go func() {
		io.Copy(io.Discard, stdout)
		p.exited <- p.cmd.Wait()
	}()
	return p
}

// send returns the status and body of an answer; 0 if there was none.
func (p *process) send(ctx context.Context, method, url, body string) (code int, text string, header http.Header, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	if strings.HasPrefix(url, p.admin) {
		r.Header.Set("Authorization", "Bearer "+p.token)
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return 0, "", nil, err
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(all), answer.Header, err
}

// audit sends a request and checks that the answer is one of codes. A 503
// says when to try again, always.
func (p *process) audit(method, path, body string, codes ...int) (code int, text string) {
	p.t.Helper()
	code, text, header, err := p.send(context.Background(), method, path, body)
	if err != nil {
		p.t.Errorf("%s %s: %v", method, path, err)
		return 0, ""
	}
	for _, want := range codes {
		if code != want {
			continue
		}
		if code == 503 && header.Get("Retry-After") == "" {
			p.t.Errorf("%s %s: 503 without Retry-After", method, path)
		}
		return code, text
	}
	p.t.Errorf("%s %s: %d %s, want one of %v", method, path, code, text, codes)
	return code, text
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// scene is what stands behind the gateway.
type scene struct {
	file       string
	a, b, slow string // upstreams; a and b differ in what they say
	stuck      string // its health check answers requests when free is closed
	dead       string // nobody listens there
	free       chan struct{}
	letGo      chan struct{} // a /hold request to a or b answers when it is closed
	held       atomic.Int32  // how many of them have arrived
	generation atomic.Int64
}

func newScene(t *testing.T) *scene {
	s := &scene{file: filepath.Join(t.TempDir(), "routes.yaml"), free: make(chan struct{}), letGo: make(chan struct{})}
	serve := func(name string, health func(*http.Request)) string {
		mux := http.NewServeMux()
		mux.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) {
			health(r)
			io.WriteString(w, "well")
		})
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/hold") {
				s.held.Add(1)
				<-s.letGo
			}
			fmt.Fprintf(w, "%s %s", name, r.URL.Path)
		})
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		return server.URL
	}
	quick := func(*http.Request) { time.Sleep(time.Millisecond) }
	s.a, s.b = serve("a", quick), serve("b", quick)
	s.slow = serve("slow", func(*http.Request) { time.Sleep(60 * time.Millisecond) })
	s.stuck = serve("stuck", func(r *http.Request) {
		if strings.Contains(r.UserAgent(), "(request)") {
			select {
			case <-s.free:
			case <-r.Context().Done():
			}
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.dead = "http://" + listener.Addr().String()
	listener.Close()
	s.write(t)
	return s
}

// write replaces the routes file, with the other of a and b behind two routes.
func (s *scene) write(t *testing.T) {
	up := s.a
	if s.generation.Add(1)%2 == 0 {
		up = s.b
	}
	s.replace(t, fmt.Sprintf(
		"/one: {upstream: %q, health: /healthz}\n/two: {upstream: %q, health: /healthz}\n/slow: {upstream: %q, health: /healthz}\n/stuck: {upstream: %q, health: /healthz}\n/dead: {upstream: %q, health: /healthz}\n",
		up, up, s.slow, s.stuck, s.dead))
}

func (s *scene) replace(t *testing.T, content string) {
	next := s.file + ".next"
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		t.Error(err)
	}
	if err := os.Rename(next, s.file); err != nil {
		t.Error(err)
	}
}

func TestGatewayProcess(t *testing.T) {
	for name := range guards {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			p := start(t, "--guard", name, "--routes", s.file, "--refresh", "1h", "--lock-timeout", "1s", "--health-timeout", "20s")
			storm(t, p, s)
			whileSomebodyHoldsTheTable(t, p, s, name)
			brokenFile(t, p, s)
			openProxy(t, p)
			nobodyIsInside(t, p)
			terminated(t, p, s)
		})
	}
}

// storm lets readers, writers and refreshes meet, with slow and dead
// upstreams between them, and audits every answer.
func storm(t *testing.T, p *process, s *scene) {
	var all, refreshes sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for n := range 30 {
				path := fmt.Sprintf("/%s/%d/%d", []string{"one", "two"}[n%2], i, n)
				code, text := p.audit("GET", p.url+path, "", 200, 503)
				if code == 200 && text != "a "+path && text != "b "+path {
					t.Errorf("%s is answered with %q", path, text)
				}
			}
		})
	}
	all.Go(func() {
		for range 8 {
			p.audit("GET", p.url+"/slow/x", "", 200, 503)
			p.audit("GET", p.url+"/dead/x", "", 502, 503)
			p.audit("GET", p.url+"/nowhere", "", 404, 503)
		}
	})
	for i := range 2 {
		all.Go(func() { // what the API has acknowledged stands until it says otherwise
			prefix := fmt.Sprintf("/own%d", i)
			there := false
			for n := range 10 {
				if !there {
					body := fmt.Sprintf(`{"prefix":%q,"upstream":%q}`, prefix, s.a)
					code, _ := p.audit("POST", p.admin+"/routes", body, 201, 503)
					there = code == 201
				} else {
					code, _ := p.audit("DELETE", p.admin+"/routes"+prefix, "", 204, 503)
					there = code != 204
				}
				want := 404
				if there {
					want = 200
				}
				p.audit("GET", fmt.Sprintf("%s%s/%d", p.url, prefix, n), "", want, 503)
			}
		})
	}
	all.Go(func() { // one look at the table shows one refresh
		for range 30 {
			code, text := p.audit("GET", p.admin+"/routes", "", 200, 503)
			if code != 200 {
				continue
			}
			var list []entry
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				t.Error(err)
				return
			}
			upstreams, generations, files := map[string]bool{}, map[uint64]bool{}, 0
			for _, e := range list {
				if e.Layer == "file" {
					files++
					generations[e.Generation] = true
				}
				if e.Prefix == "/one" || e.Prefix == "/two" {
					upstreams[e.Upstream] = true
				}
			}
			if len(upstreams) != 1 || len(generations) != 1 || files != 5 {
				t.Errorf("half a table: %s", text)
			}
		}
	})
	stop := make(chan struct{})
	refreshes.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				s.write(t)
				p.cmd.Process.Signal(syscall.SIGHUP)
			}
		}
	})
	all.Wait()
	close(stop)
	refreshes.Wait()
}

// lock returns the state of the table's lock.
func (p *process) lock() (inside, waiting int) {
	_, text, _, err := p.send(context.Background(), "GET", p.admin+"/debug/locks/?format=json", "")
	var report struct {
		Locks []struct {
			State struct {
				Readers        int `json:"readers"`
				Writers        int `json:"writers"`
				Upgradables    int `json:"upgradables"`
				WaitingReaders int `json:"waiting_readers"`
				WaitingWriters int `json:"waiting_writers"`
			} `json:"state"`
		} `json:"locks"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &report)
	}
	if err != nil || len(report.Locks) != 1 {
		p.t.Errorf("the page of the lock: %v in %s", err, text)
		return -1, -1
	}
	st := report.Locks[0].State
	return st.Readers + st.Writers + st.Upgradables, st.WaitingReaders + st.WaitingWriters
}

var gone = regexp.MustCompile(`gateway_answers_total\{code="499"\} [1-9]`)

// whileSomebodyHoldsTheTable has a reader inside whose health check does not
// come back, and a refresh that waits for it.
func whileSomebodyHoldsTheTable(t *testing.T, p *process, s *scene, name string) {
	settled := func() bool { inside, waiting := p.lock(); return inside == 0 && waiting == 0 }
	until(t, "the lock is free after the storm", settled)
	var stuck sync.WaitGroup
	stuck.Go(func() { p.audit("GET", p.url+"/stuck/x", "", 200) })
	if name == "snapshot" {
		s.write(t)
		p.cmd.Process.Signal(syscall.SIGHUP)
		for range 5 { // nobody waits, whoever is stuck
			p.audit("GET", p.url+"/one/1", "", 200)
		}
	} else {
		until(t, "the stuck reader is inside", func() bool { inside, _ := p.lock(); return inside > 0 })
		s.write(t)
		p.cmd.Process.Signal(syscall.SIGHUP)
		until(t, "the refresh waits", func() bool { _, waiting := p.lock(); return waiting > 0 })

		// A client that leaves while it waits is told apart from one whose
		// time is up by what is counted for it. Its patience is short of the
		// lock's; a machine too busy for that gets another try.
		until(t, "a client that left was seen to leave", func() bool {
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			p.send(ctx, "GET", p.url+"/one/leaves", "")
			_, metrics, _, _ := p.send(context.Background(), "GET", p.admin+"/metrics", "")
			return gone.MatchString(metrics)
		})
		p.audit("GET", p.url+"/one/late", "", 503)
		until(t, "the log says who held the lock", func() bool {
			return strings.Contains(p.log(), "answered 503") && strings.Contains(p.log(), "GET /stuck/x")
		})
	}
	close(s.free)
	stuck.Wait()
	until(t, "the lock is free again", settled)
	p.audit("GET", p.url+"/one/after", "", 200)
}

func brokenFile(t *testing.T, p *process, s *scene) {
	p.audit("PUT", p.admin+"/routes/kept", fmt.Sprintf(`{"upstream":%q}`, s.a), 201)
	_, before := p.audit("GET", p.admin+"/routes", "", 200)
	refresh := func() (st refreshStatus) {
		_, text := p.audit("GET", p.admin+"/status", "", 200)
		var all status
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Error(err)
		}
		if all.Refresh == nil {
			return refreshStatus{Error: "no status"}
		}
		return *all.Refresh
	}
	s.replace(t, "/one: {upstream: ftp://nowhere}\n")
	p.cmd.Process.Signal(syscall.SIGHUP)
	until(t, "the status says what is wrong with the file", func() bool {
		return strings.Contains(refresh().Error, "ftp://nowhere")
	})
	until(t, "the log says so too", func() bool { return strings.Contains(p.log(), "the last good table stays") })
	if _, after := p.audit("GET", p.admin+"/routes", "", 200); after != before {
		t.Errorf("a broken file changed the table from %s to %s", before, after)
	}
	p.audit("GET", p.url+"/two/x", "", 200)
	s.write(t)
	p.cmd.Process.Signal(syscall.SIGHUP)
	until(t, "a good file is taken again", func() bool { return refresh().Error == "" })
	p.audit("GET", p.url+"/kept/x", "", 200)
}

func openProxy(t *testing.T, p *process) {
	address := strings.TrimPrefix(p.url, "http://")
	for request, want := range map[string]string{
		"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n": "405",
		"GET http://example.com/one HTTP/1.1\r\nHost: example.com\r\n\r\n":  "400",
		"GET /one/../dead HTTP/1.1\r\nHost: x\r\n\r\n":                      "400",
		"GET /one/%2e%2e/dead HTTP/1.1\r\nHost: x\r\n\r\n":                  "400",
		"GET /one%2fx HTTP/1.1\r\nHost: x\r\n\r\n":                          "400",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n":                             "200", // the server's own answer
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(patience))
		io.WriteString(conn, request)
		line, err := bufio.NewReader(conn).ReadString('\n')
		conn.Close()
		if fields := strings.Fields(line); err != nil || len(fields) < 2 || fields[1] != want {
			t.Errorf("%q is answered with %q, %v; want %s", request, line, err, want)
		}
	}
}

func nobodyIsInside(t *testing.T, p *process) {
	until(t, "nobody is inside and nobody waits", func() bool {
		inside, waiting := p.lock()
		return inside == 0 && waiting == 0
	})
}

// terminated ends the gateway while requests are at their upstreams.
func terminated(t *testing.T, p *process, s *scene) {
	const inFlight = 8
	var all sync.WaitGroup
	for i := range inFlight {
		all.Go(func() {
			path := fmt.Sprintf("/one/%d/hold", i)
			if _, text := p.audit("GET", p.url+path, "", 200); !strings.HasSuffix(text, " "+path) {
				t.Errorf("%s is answered with %q", path, text)
			}
		})
	}
	until(t, "all requests are at their upstream", func() bool { return s.held.Load() == inFlight })
	p.cmd.Process.Signal(syscall.SIGTERM)
	address := strings.TrimPrefix(p.url, "http://")
	until(t, "no new connection is taken", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	close(s.letGo)
	all.Wait()
	select {
	case err := <-p.exited:
		if err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the gateway has not ended")
	}
	for _, bad := range []string{"panic", "DATA RACE", "fatal error", p.token} {
		if strings.Contains(p.log(), bad) {
			t.Errorf("the log has %q", bad)
		}
	}
}

func TestGatewayDoesNotStartOnBadInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "routes.yaml")
	if err := os.WriteFile(file, []byte("/a: {upstream: \"ftp://\x1b[2J\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	password := httptest.NewServer(http.NotFoundHandler())
	defer password.Close()
	for want, args := range map[string][]string{
		"control characters": {"--routes", file},
		"no such file":       {"--routes", file + ".none"},
		"404":                {"--routes", strings.Replace(password.URL, "://", "://u:hunter2@", 1) + "/?key=hunter2"},
		"--guard":            {"--guard", "none"},
		"--guard snapshot":   {"--engine", "etcd://u:hunter2@h:1", "--guard", "rwmutex"},
		"write etcd://":      {"--engine", "redis://u:hunter2@h:1"},
		"--refresh":          {"--refresh", "0s"},
		"--lock-timeout":     {"--lock-timeout", "-1s"},
		"--listen":           {"--listen", "nowhere:99999999"},
	} {
		var out, errs bytes.Buffer
		code := run(append([]string{"--admin", "127.0.0.1:0"}, args...), &out, &errs)
		text := errs.String()
		if code != exitUsage || !strings.Contains(text, want) || strings.Count(text, "\n") != 1 ||
			strings.Contains(text, "hunter2") || strings.Contains(text, "\x1b") {
			t.Errorf("%v: exit %d, %q; want %q in one line", args, code, text, want)
		}
	}
}
