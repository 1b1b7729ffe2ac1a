// Command gateway is a reverse proxy whose routing table is in memory, behind
// a choice of three guards: a snapshot, a read-write lock or a mutex.
//
//	go run ./examples/gateway
//
// Without flags it starts three upstreams of its own and prints what to open.
// Each guard is in a file of its own, guard_snapshot.go and its neighbours.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/drawbridge-go/drawbridge/telemetry/prom"
)

type options struct {
	Routes  string        `env:"GATEWAY_ROUTES" placeholder:"FILE|URL" help:"The routes, in YAML or JSON: /orders: {upstream: http://HOST:PORT, health: /healthz}. Without it, three upstreams of the gateway's own."`
	Refresh time.Duration `default:"30s" placeholder:"TIME" help:"Read the routes again after this time; SIGHUP does at once (default ${default})."`
	Engine  string        `env:"GATEWAY_ENGINE" placeholder:"URL" help:"Keep the table of many gateways in etcd://HOST:PORT or postgres://USER@HOST/DATABASE; --routes then only seeds an empty one. With --guard snapshot alone."`
	Guard   string        `default:"snapshot" enum:"snapshot,rwmutex,mutex" help:"What guards the table: ${enum} (default ${default})."`
	Listen  string        `default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"Where clients come (default ${default})."`
	Admin   string        `default:"127.0.0.1:9901" placeholder:"ADDRESS" help:"Where your own people come, and nobody else (default ${default})."`
	Hosts   []string      `name:"admin-host" env:"GATEWAY_ADMIN_HOST" placeholder:"NAME" help:"A name by which the admin address is asked, beside its IP address, localhost and the name in --admin."`
	Token   string        `kong:"-"` // from the environment alone: everybody can read a command line

	LockTimeout     time.Duration `default:"500ms" placeholder:"TIME" help:"Answer 503 to a request that waits longer for the table; 0 for no limit (default ${default})."`
	HealthTimeout   time.Duration `default:"1s" placeholder:"TIME" help:"How long a health check may take (default ${default})."`
	UpstreamTimeout time.Duration `default:"10s" placeholder:"TIME" help:"How long an upstream may take to begin its answer (default ${default})."`
	Grace           time.Duration `default:"30s" placeholder:"TIME" help:"At the end, how long requests in flight may take (default ${default})."`
}

func (o options) check() error {
	switch {
	case o.Engine != "" && o.Guard != "snapshot":
		return fmt.Errorf("--engine shares a snapshot among gateways: use it with --guard snapshot, not %s", o.Guard)
	case o.Refresh <= 0:
		return fmt.Errorf("--refresh %s: write a time above 0, such as 30s", o.Refresh)
	case o.LockTimeout < 0:
		return fmt.Errorf("--lock-timeout %s: write a time such as 500ms, or 0 for no limit", o.LockTimeout)
	case o.HealthTimeout <= 0 || o.UpstreamTimeout <= 0 || o.Grace <= 0:
		return errors.New("--health-timeout, --upstream-timeout, --grace: write times above 0")
	}
	return nil
}

const (
	exitFailed = 1 // it ran and ended badly
	exitUsage  = 2 // it cannot do what it was asked to
)

var dialer = net.Dialer{Timeout: 2 * time.Second}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	exited := -1
	parser, err := kong.New(&o,
		kong.Name("gateway"),
		kong.Description("A reverse proxy whose routing table is in memory, behind a lock of your choice.\n\nThe token for changes by the API comes from GATEWAY_TOKEN, or is made and printed."),
		kong.Writers(stdout, stderr),
		kong.WithHyphenPrefixedParameters(true),
		kong.Exit(func(code int) { exited = code }),
	)
	if err != nil {
		panic(err) // the struct above is wrong: no input can do that
	}
	_, err = parser.Parse(args)
	if exited >= 0 {
		return exited // after --help
	}
	o.Token = os.Getenv("GATEWAY_TOKEN")
	if err == nil {
		err = o.check()
	}
	if err == nil {
		err = serve(o, stdout, slog.New(slog.NewTextHandler(stderr, nil)))
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errCutOff):
		fmt.Fprintf(stderr, "gateway: %s\n", printable(err.Error()))
		return exitFailed
	}
	fmt.Fprintf(stderr, "gateway: %s\n", printable(err.Error()))
	return exitUsage
}

// errCutOff says that requests were still in flight when the grace was over.
var errCutOff = errors.New("requests were cut off")

// serve runs the gateway until SIGINT or SIGTERM.
func serve(o options, stdout io.Writer, log *slog.Logger) error {
	made := o.Token == ""
	if made {
		o.Token = rand.Text()
	}

	ending, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ending, stop) // a second signal ends it at once
	defer stop()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)

	transport := newTransport(o.UpstreamTimeout)
	defer transport.CloseIdleConnections()
	checks := newChecker(transport, o.HealthTimeout)
	open := openLocal
	if o.Engine != "" {
		open = openShared
	}
	k, err := open(ending, o, checks, log)
	if err != nil {
		return err
	}
	defer k.close()

	registry := prometheus.NewRegistry()
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gateway_answers_total", Help: "Answers to clients, by status; 499 if the client was gone.",
	}, []string{"code"})
	registry.MustRegister(prom.NewCollector(), answers)
	patient := impatient{k.guard, o.LockTimeout}
	blame := &blame{logger: log}
	front := promhttp.InstrumentHandlerCounter(answers, &proxy{guard: patient, checks: checks, transport: transport, blame: blame, log: log})
	back := &admin{guard: patient, token: o.Token, blame: blame, log: log,
		hosts: adminHosts(o), locks: k.locks,
		metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		status:  func() any { return k.status() },
	}

	clients, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	people, err := net.Listen("tcp", o.Admin)
	if err != nil {
		clients.Close()
		return fmt.Errorf("--admin: %w", err)
	}
	fmt.Fprintf(stdout, "gateway  http://%s   guard %s, routes from %q\n", clients.Addr(), o.Guard, k.from)
	fmt.Fprintf(stdout, "admin    http://%s   /status /routes /metrics /debug/locks/\n", people.Addr())
	if o.Routes == "" && o.Engine == "" {
		fmt.Fprintf(stdout, "try      http://%s/orders/1   /users/1 /search/1\n", clients.Addr())
	}
	if made {
		fmt.Fprintf(stdout, "token    %s   made for this run; GATEWAY_TOKEN sets another\n", o.Token)
	}

	background, stopBackground := context.WithCancel(ending)
	ended := make(chan struct{})
	go func() { defer close(ended); k.run(background, hangup) }()
	defer func() { stopBackground(); <-ended }()
	return serveUntil(ending, o.Grace, log,
		listening{newServer(front, log), clients},
		listening{newServer(back.handler(), log), people})
}

// adminHosts are the names by which the admin address may be asked.
func adminHosts(o options) (names []string) {
	for _, host := range append([]string{o.Admin}, o.Hosts...) {
		names = append(names, hostname(host))
	}
	return names
}

type listening struct {
	*http.Server
	at net.Listener
}

func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// serveUntil serves until ctx is done, then takes no new connections and
// returns when every request in flight has its answer, or the grace is over.
func serveUntil(ctx context.Context, grace time.Duration, log *slog.Logger, servers ...listening) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for _, s := range servers {
		go func() {
			if err := s.Serve(s.at); !errors.Is(err, http.ErrServerClosed) {
				fail(err)
			}
		}()
	}
	<-ctx.Done()
	failed := context.Cause(ctx)
	if errors.Is(failed, context.Canceled) {
		failed = nil
	}
	log.Info("ending: requests in flight get their answers", "grace", grace)
	limit, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	for _, s := range servers {
		if err := s.Shutdown(limit); err != nil {
			s.Close()
			failed = errors.Join(failed, fmt.Errorf("%w after %s: --grace gives them more time", errCutOff, grace))
		}
	}
	return failed
}

// printable keeps text that came from elsewhere to one line and from moving
// the cursor.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}
