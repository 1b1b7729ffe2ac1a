package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/accesslog"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/replay"
)

type replayCommand struct {
	File     string        `arg:"" help:"The access log, or - for standard input."`
	Refresh  time.Duration `default:"0s" placeholder:"TIME" help:"Also rewrite everything once in this much of the log's time (default: never)."`
	Hold     time.Duration `default:"1ms" placeholder:"TIME" help:"Length of a section where the log has no duration (default ${default})."`
	Speed    float64       `default:"0" placeholder:"N" help:"Let the requests arrive N times as fast (default: so fast that the log takes some seconds)."`
	Deadline time.Duration `default:"500ms" placeholder:"TIME" help:"A request gives up after this wait (default ${default})."`
	Policy   []string      `placeholder:"NAME" help:"Only this policy, or other lock, of those the table shows; may be repeated."`
}

func (replayCommand) Help() string {
	return `Every request of the log takes the lock for as long as it lasted: GET, HEAD and OPTIONS to read, other methods to write. All locks get the same requests at the same time, and the waits are measured as they happen; those of requests that gave up count too.

The log may be in common or combined format or JSON lines as Caddy or Traefik write them, packed with gzip or not. Caddy's durations count as seconds, its default.

A faster --speed lets the requests arrive closer together, as more users would send them. It does not shorten the sections, nor the waits in the table.

Examples:
  drawbridge replay access.log.gz
  drawbridge replay --refresh 30m --hold 2ms access.log
  drawbridge replay --speed 1000 --policy Balanced --policy sync.RWMutex access.log
  zcat access.log.*.gz | drawbridge replay -`
}

func (c replayCommand) Run(std streams) error {
	options := replay.Options{Refresh: c.Refresh, Hold: c.Hold, Speed: c.Speed, Deadline: c.Deadline}
	if err := options.Check(); err != nil {
		return err
	}
	contenders, err := contender.Select(c.Policy)
	if err != nil {
		return err
	}
	log, err := c.read(std.in)
	if err != nil {
		return err
	}
	plan, err := replay.NewPlan(log, options)
	if err != nil {
		return err
	}
	out := colored(std.out)
	describeLog(out, log, width(std.out))
	fmt.Fprintln(out, lipgloss.Wrap(c.describe(plan, len(contenders)), width(std.out), ""))
	results, late := plan.Play(contenders, progress(std.err, len(plan.Arrivals)))
	fmt.Fprintf(out, "\n%s\n", replayTable(results))
	if late > 10*time.Millisecond {
		fmt.Fprintf(out, "\nThis machine was busy: a request came up to %s late.\n", short(late))
	}
	return nil
}

func (c replayCommand) read(stdin io.Reader) (accesslog.Log, error) {
	name, from := "standard input", stdin
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return accesslog.Log{}, err
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return accesslog.Log{}, fmt.Errorf("%q is a directory; name a file in it", c.File)
		}
		name, from = strconv.Quote(c.File), file
	}
	log, err := accesslog.Read(from)
	if err != nil {
		return accesslog.Log{}, fmt.Errorf("%s: %w", name, err)
	}
	return log, nil
}

// describeLog says what the log holds, and which of its lines are not played.
func describeLog(w io.Writer, log accesslog.Log, width int) {
	writes := 0
	for _, r := range log.Requests {
		if !r.Reads() {
			writes++
		}
	}
	first, last := log.Requests[0].At, log.Requests[len(log.Requests)-1].At
	text := fmt.Sprintf("%s requests in %s: %s read, %s write.", count(len(log.Requests)), last.Sub(first), count(len(log.Requests)-writes), count(writes))
	if log.Late > 0 {
		text += fmt.Sprintf(" %s stood out of order and were sorted.", count(log.Late))
	}
	fmt.Fprintln(w, lipgloss.Wrap(text, width, ""))
	if log.Malformed == 0 {
		return
	}
	fmt.Fprintf(w, "Lines that are no request and were left out: %s\n", count(log.Malformed))
	for _, m := range log.First {
		fmt.Fprintf(w, "  %v\n", m)
	}
	if log.Malformed > len(log.First) {
		fmt.Fprintln(w, "  …")
	}
}

// describe says how the log is played.
func (c replayCommand) describe(plan replay.Plan, locks int) string {
	var b strings.Builder
	against := "one lock"
	if locks > 1 {
		against = fmt.Sprintf("%d locks side by side", locks)
	}
	fmt.Fprintf(&b, "Played %s times as fast, in %s, against %s. A request waits for at most %s.",
		strconv.FormatFloat(plan.Speed, 'f', -1, 64), short(plan.Length), against, short(plan.Deadline))
	if plan.Rewrites > 0 {
		fmt.Fprintf(&b, " A rewrite every %s adds %s writers.", c.Refresh, count(plan.Rewrites))
	}
	switch untimed := len(plan.Arrivals) - plan.Rewrites - plan.Timed; {
	case plan.Timed == 0:
		fmt.Fprintf(&b, " The log has no durations: each holds the lock for %s (--hold).", short(c.Hold))
	case untimed > 0:
		fmt.Fprintf(&b, " Each holds the lock for as long as the log says; %s without a duration for %s (--hold).", count(untimed), short(c.Hold))
	default:
		b.WriteString(" Each holds the lock for as long as the log says.")
	}
	if plan.Exclusive > plan.Length {
		fmt.Fprintf(&b, "\nThe writers alone need %s, which is more than there is: at this speed somebody must give up.", short(plan.Exclusive))
	}
	return b.String()
}

// progress returns a function that moves a bar where f is a terminal, and one
// that does nothing elsewhere.
func progress(f *os.File, total int) func(sent int) {
	if !term.IsTerminal(int(f.Fd())) {
		return func(int) {}
	}
	bar := progressbar.NewOptions(total,
		progressbar.OptionSetWriter(f),
		progressbar.OptionSetDescription("playing"),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
	return func(sent int) { _ = bar.Set(sent) } // a bar that cannot be drawn is no reason to stop
}

func replayTable(results []replay.Result) string {
	t := aligned(2, "lock", "policy", "read p50", "p99", "max", "gave up", "write p50", "p99", "max", "gave up", "busy")
	for _, r := range results {
		row := []string{r.Contender.Name, r.Contender.Policy}
		for _, w := range []replay.Waits{r.Reads, r.Writes} {
			if w.Count == 0 {
				row = append(row, "none", "", "", "")
				continue
			}
			row = append(row, short(w.P50), short(w.P99), short(w.Max), count(w.GaveUp))
		}
		t.Row(append(row, fmt.Sprintf("%.0f %%", 100*r.Busy))...)
	}
	return t.String()
}

// count writes a number with a comma at every third digit.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
