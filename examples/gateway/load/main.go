// Command load drives the gateway with each of its guards and tells what the
// clients saw.
//
//	go run ./examples/gateway/load
//
// Three hundred clients ask one after the other. Each of their requests waits
// for a health check of a millisecond; a refresh every half second waits for
// three of twenty. No wait for the table is bounded, so the guards answer the
// same requests and differ in when.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

type options struct {
	Clients      int           `default:"300" placeholder:"N" help:"Clients (default ${default})."`
	For          time.Duration `default:"10s" placeholder:"TIME" help:"How long each guard is measured, after two seconds that are not (default ${default})."`
	Health       time.Duration `default:"1ms" placeholder:"TIME" help:"Length of a request's health check (default ${default})."`
	Refresh      time.Duration `default:"500ms" placeholder:"TIME" help:"Time between refreshes (default ${default})."`
	RefreshCheck time.Duration `default:"20ms" placeholder:"TIME" help:"Length of each of the three waits of a refresh (default ${default})."`
	LockTimeout  time.Duration `default:"0s" placeholder:"TIME" help:"The gateway's --lock-timeout; 0 for none (default ${default})."`
	Guard        []string      `default:"snapshot,rwmutex,mutex" enum:"snapshot,rwmutex,mutex" placeholder:"NAME" help:"Which guards (default ${default})."`
	SVG          string        `name:"svg" placeholder:"FILE" help:"Also write the answers over time to FILE as a picture."`
}

const warmUp = 2 * time.Second

func main() {
	var o options
	kong.Parse(&o, kong.Name("load"), kong.Description("What the gateway's clients see, with each of its guards."))
	if err := o.run(); err != nil {
		fmt.Fprintf(os.Stderr, "load: %v\n", err)
		os.Exit(1)
	}
}

func (o options) run() error {
	if o.Clients < 1 || o.For < time.Second || o.Health < 0 || o.Refresh <= 0 || o.RefreshCheck < 0 {
		return errors.New("--clients and the times must be above 0, and --for at least 1s")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := os.MkdirTemp("", "gateway-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	gateway := filepath.Join(folder, "gateway")
	build := exec.CommandContext(ctx, "go", "build", "-o", gateway, "github.com/drawbridge-go/drawbridge/examples/gateway")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the gateway: %w", err)
	}

	fmt.Printf("%d clients for %v; a health check takes %v, a refresh every %v three waits of %v; --lock-timeout %v\n",
		o.Clients, o.For, o.Health, o.Refresh, o.RefreshCheck, o.LockTimeout)
	fmt.Printf("%s, %d processors, load before the run %s\n\n", runtime.Version(), runtime.GOMAXPROCS(0), machineLoad())
	fmt.Println("| guard | requests/s | p50 | p99 | longest | longest stall | 503 | other |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|---:|")
	var results []result
	for _, guard := range o.Guard {
		r, err := o.measure(ctx, gateway, folder, guard)
		if err != nil {
			return fmt.Errorf("%s: %w", guard, err)
		}
		fmt.Println(r)
		results = append(results, r)
	}
	if o.SVG == "" {
		return nil
	}
	return os.WriteFile(o.SVG, []byte(picture(o, results)), 0o666)
}

func machineLoad() string {
	data, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(data)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}

// A sample is one answer.
type sample struct {
	at   time.Duration // since the clock started
	took time.Duration
	code int // 0 if there was none
}

// A result is what the clients of one guard saw.
type result struct {
	guard     string
	over      time.Duration
	samples   []sample // by the time of the answer
	refreshes []span   // from the first question of a refresh to its last answer
}

type span struct{ from, to time.Duration }

// figures are what a row of the table says.
type figures struct {
	rate               float64 // good answers per second
	p50, p99, max      time.Duration
	stall              time.Duration // longest time without a good answer
	good, busy, others int
}

func (r result) figures() (f figures) {
	var took []time.Duration
	var last time.Duration
	for _, s := range r.samples {
		switch s.code {
		case http.StatusOK:
			took = append(took, s.took)
			f.stall = max(f.stall, s.at-last)
			last = s.at
		case http.StatusServiceUnavailable:
			f.busy++
		default:
			f.others++
		}
	}
	f.stall = max(f.stall, r.over-last)
	f.good = len(took)
	if f.good == 0 {
		return f
	}
	slices.Sort(took)
	at := func(q float64) time.Duration { return took[int(math.Ceil(q*float64(len(took))))-1] }
	f.rate = float64(len(took)) / r.over.Seconds()
	f.p50, f.p99, f.max = at(.5), at(.99), at(1)
	return f
}

func (r result) String() string {
	f := r.figures()
	p50, p99, longest := "–", "–", "–"
	if f.good > 0 {
		p50, p99, longest = short(f.p50), short(f.p99), short(f.max)
	}
	return fmt.Sprintf("| %s | %.0f | %s | %s | %s | %s | %d | %d |", r.guard, f.rate, p50, p99, longest, short(f.stall), f.busy, f.others)
}

func short(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

func (o options) measure(ctx context.Context, gateway, folder, guard string) (_ result, err error) {
	up, err := o.newUpstream()
	if err != nil {
		return result{}, err
	}
	defer up.server.Close()
	routes := filepath.Join(folder, "routes.yaml")
	var file strings.Builder
	for _, prefix := range []string{"/orders", "/users", "/search"} {
		fmt.Fprintf(&file, "%s: {upstream: %q, health: /healthz}\n", prefix, "http://"+up.address+prefix)
	}
	if err := os.WriteFile(routes, []byte(file.String()), 0o600); err != nil {
		return result{}, err
	}

	cmd := exec.CommandContext(ctx, gateway, "--guard", guard, "--routes", routes, "--refresh", o.Refresh.String(),
		"--lock-timeout", o.LockTimeout.String(), "--health-timeout", "30s", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	var log bytes.Buffer
	cmd.Stderr = &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return result{}, err
	}
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	defer func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if ended := cmd.Wait(); ended != nil || err != nil {
			err = fmt.Errorf("%w\nthe gateway's log:\n%s", cmp.Or(err, ended), log.String())
		}
	}()
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		return result{}, errors.New("the gateway did not start")
	}
	fields := strings.Fields(lines.Text())
	if len(fields) < 2 {
		return result{}, fmt.Errorf("the gateway printed %q instead of its address", lines.Text())
	}
	go io.Copy(io.Discard, stdout)

	samples, began := o.drive(ctx, fields[1])
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	slices.SortFunc(samples, func(a, b sample) int { return int(a.at - b.at) })
	return result{guard: guard, over: o.For, samples: samples, refreshes: up.since(began)}, nil
}

// drive lets the clients ask and returns the answers that came after the
// warm-up, and when that was over.
func (o options) drive(ctx context.Context, url string) (samples []sample, began time.Time) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.Clients}}
	defer client.CloseIdleConnections()
	began = time.Now().Add(warmUp)
	ends := began.Add(o.For)
	each := make([][]sample, o.Clients)
	var all sync.WaitGroup
	for i := range each {
		all.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				asked := time.Now()
				code := ask(client, url+[]string{"/orders/", "/users/", "/search/"}[n%3]+fmt.Sprint(n))
				now := time.Now()
				if now.After(ends) {
					return
				}
				if now.After(began) {
					each[i] = append(each[i], sample{now.Sub(began), now.Sub(asked), code})
				}
				if code != http.StatusOK {
					time.Sleep(10 * time.Millisecond) // a client that is refused does not ask at once
				}
			}
		})
	}
	all.Wait()
	return slices.Concat(each...), began
}

func ask(client *http.Client, url string) (code int) {
	answer, err := client.Get(url)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0
	}
	return answer.StatusCode
}

// upstream is where all routes go.
type upstream struct {
	address string
	server  *http.Server

	mu        sync.Mutex
	questions []time.Time // of refreshes: when each came and when it was answered
}

func (o options) newUpstream() (*upstream, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	up := &upstream{address: listener.Addr().String()}
	up.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasSuffix(r.URL.Path, "/healthz"):
		case strings.Contains(r.UserAgent(), "(refresh)"):
			came := time.Now()
			time.Sleep(o.RefreshCheck)
			up.mu.Lock()
			up.questions = append(up.questions, came, time.Now())
			up.mu.Unlock()
		default:
			time.Sleep(o.Health)
		}
		io.WriteString(w, "well\n")
	})}
	go up.server.Serve(listener)
	return up, nil
}

// since returns the refreshes after began, each of three questions.
func (u *upstream) since(began time.Time) (spans []span) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := 0; i+5 < len(u.questions); i += 6 {
		if s := (span{u.questions[i].Sub(began), u.questions[i+5].Sub(began)}); s.from > 0 {
			spans = append(spans, s)
		}
	}
	return spans
}
