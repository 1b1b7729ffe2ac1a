// Command cluster measures the locks and snapshots of package cluster beside those that people use on the same etcd and
// PostgreSQL.
//
//	go run ./bench/cluster                                  # on an etcd and a PostgreSQL that it starts
//	go run ./bench/cluster --engine etcd --rows 'queue'     # some rows, on one of them
//	go run ./bench/cluster --engine etcd://HOST:PORT        # on one that is there
//
// docs/cluster.md has the result of a run and what it says.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/drawbridge-go/drawbridge/internal/throwaway"
)

type options struct {
	Measure measureCommand `cmd:"" default:"withargs" help:"Measure."`
	Hold    holdCommand    `cmd:"" hidden:""`
}

type measureCommand struct {
	Engine   []string      `default:"etcd,postgres" env:"DRAWBRIDGE_BENCH_ENGINE" placeholder:"URL" help:"What to measure on: etcd or postgres, which is started for it, or the URL of one that is there. A URL with a password is better kept in the variable. Default: both."`
	Rows     string        `placeholder:"REGEXP" help:"Measure only the rows whose name matches this regular expression."`
	Rounds   int           `default:"5" help:"How often each contender has its turn (default ${default})."`
	Time     time.Duration `default:"1s" help:"How long one turn takes (default ${default})."`
	Kills    int           `default:"3" help:"How many holders are killed for each TTL (default ${default})."`
	Markdown bool          `help:"Print the tables as Markdown."`
	List     bool          `help:"List the rows and measure nothing."`
}

func main() {
	parsed := kong.Parse(new(options), kong.Name("cluster"),
		kong.Description("Measures locks and snapshots across processes beside those that people use today."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	parsed.BindTo(ctx, (*context.Context)(nil))
	parsed.FatalIfErrorf(parsed.Run())
}

func (c measureCommand) Run(ctx context.Context) error {
	if c.Rounds < 1 || c.Kills < 1 || c.Time <= 0 {
		return errors.New("--rounds, --kills and --time must be above 0")
	}
	pattern, err := regexp.Compile(c.Rows)
	if err != nil {
		return fmt.Errorf("--rows: %w", err)
	}
	if c.List {
		for _, r := range rows {
			fmt.Printf("%-12s %s\n", r.name, r.title)
		}
		return nil
	}
	fmt.Printf("%s, %s/%s, %d cores\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, name := range c.Engine {
		if err := c.on(ctx, name, pattern, os.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// on measures on one engine.
func (c measureCommand) on(ctx context.Context, name string, pattern *regexp.Regexp, out io.Writer) error {
	url, end, err := throwaway.Start(ctx, name)
	if err != nil {
		return err
	}
	defer end()
	s, err := attach(ctx, url)
	if err != nil {
		return err
	}
	where := "on a server that was there"
	if url != name {
		where = "without syncing to disk, in a process of its own on this machine"
	}
	fmt.Fprintf(out, "\n%s, %s\n", s.name, where)
	for _, r := range rows {
		if !pattern.MatchString(r.name) {
			continue
		}
		t, err := r.measure(ctx, c, s)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		t.title = r.title
		if err := t.write(out, c.Markdown); err != nil {
			return err
		}
	}
	return nil
}

// attach is the system at a URL.
func attach(ctx context.Context, url string) (system, error) {
	switch scheme, _, _ := strings.Cut(url, "://"); scheme {
	case "etcd", "etcds":
		return onEtcd(ctx, url)
	case "postgres", "postgresql":
		return onPostgres(ctx, url)
	}
	return system{}, errors.New("name the engine as etcd, postgres, etcd://HOST:PORT or postgres://HOST/DATABASE")
}
