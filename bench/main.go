// Command bench measures drawbridge side by side with the locks that people use today.
//
//	go run ./bench                          # every row, as text
//	go run ./bench --rows 'mixed|readers'   # some
//	go run ./bench --list                   # which there are and what they must reach
//
// docs/performance.md says what each row measures and how.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	terminal "golang.org/x/term"
)

type options struct {
	Rows     string        `help:"Measure only the rows whose name matches this regular expression." placeholder:"REGEXP"`
	Rounds   int           `help:"Rounds per row that must count." default:"10"`
	Time     time.Duration `help:"How long one contender is measured in one round." default:"50ms"`
	Procs    int           `help:"GOMAXPROCS to measure with; 0 means one per core." default:"0"`
	Retries  int           `help:"Rounds per row that may be discarded because the machine was busy." default:"100"`
	Gain     float64       `help:"How much more two spinning goroutines must get done than one for a multi-core round to count. Below 1.7 times mean little, but switches still do." default:"1.7"`
	List     bool          `help:"List the rows and what they must reach, and measure nothing."`
	Markdown bool          `help:"Print the report as Markdown." xor:"format"`
	JSON     bool          `name:"json" help:"Print the report as JSON, with every sample." xor:"format"`
	SVG      string        `name:"svg" help:"Also draw the report into this file." placeholder:"FILE"`
}

func main() {
	var o options
	parsed := kong.Parse(&o,
		kong.Name("bench"),
		kong.Description("Measures drawbridge side by side with the locks that people use today."),
	)
	// An interrupted run reports the rounds that it has. A second interrupt ends it at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	parsed.FatalIfErrorf(o.run(ctx))
}

func (o options) run(ctx context.Context) error {
	if o.Rounds < 1 || o.Retries < 0 || o.Time <= 0 || o.Procs < 0 {
		return fmt.Errorf("--rounds and --time must be above 0, --retries and --procs not below")
	}
	pattern, err := regexp.Compile(o.Rows)
	if err != nil {
		return fmt.Errorf("--rows: %w", err)
	}
	if o.Procs == 0 {
		o.Procs = runtime.NumCPU()
	}
	runtime.GOMAXPROCS(o.Procs) // pinned: the runtime would follow a changed CPU quota otherwise

	var rows []row
	for _, r := range allRows() {
		if pattern.MatchString(r.name) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return fmt.Errorf("--rows: no row matches %q; --list shows them", o.Rows)
	}
	if o.List {
		list(rows)
		return nil
	}

	rep := report{Machine: thisMachine(), Rounds: o.Rounds, Gain: o.Gain}
	progress := io.Writer(os.Stderr)
	if !terminal.IsTerminal(int(os.Stderr.Fd())) {
		progress = io.Discard // its lines replace one another
	}
	p := plan{rounds: o.Rounds, time: o.Time, retries: o.Retries, enough: o.Gain, gain: spinGain, progress: progress}
	var results []measured
	for _, r := range rows {
		if ctx.Err() != nil {
			break
		}
		results = append(results, p.run(ctx, r))
	}
	p.say("")
	rep.Rows = reports(results)

	if o.SVG != "" {
		if err := os.WriteFile(o.SVG, rep.svg(), 0o666); err != nil {
			return err
		}
	}
	switch {
	case o.JSON:
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		return out.Encode(rep)
	case o.Markdown:
		rep.writeMarkdown(os.Stdout)
	default:
		rep.writeText(os.Stdout)
	}
	return nil
}

func list(rows []row) {
	for _, r := range rows {
		fmt.Printf("%s\n    %s\n", r.name, r.what)
		for _, b := range r.bars {
			fmt.Printf("    must reach: %v\n", b)
		}
	}
}
