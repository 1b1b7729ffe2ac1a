package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/contender"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lab"
	"github.com/drawbridge-go/drawbridge/cmd/drawbridge/internal/lanes"
)

type labCommand struct {
	Readers  int            `default:"10" placeholder:"N" help:"Readers, each in a loop (default ${default})."`
	Hold     *time.Duration `placeholder:"TIME" help:"Length of one read or write (default 5ms, with --engine 50ms)."`
	Writers  int            `default:"1" placeholder:"N" help:"Writers (default ${default})."`
	Every    time.Duration  `default:"0s" placeholder:"TIME" help:"Let each writer ask again after this time (default: it asks once)."`
	Deadline time.Duration  `default:"500ms" placeholder:"TIME" help:"A writer gives up after this wait (default ${default})."`
	Policy   []string       `placeholder:"NAME" help:"Only this policy, or other lock, of those the table shows; may be repeated."`
	Engine   string         `placeholder:"URL" env:"DRAWBRIDGE_LAB_ENGINE" help:"Do it across processes, with the lock on this engine: etcd://HOST:PORT,HOST:PORT or postgres://HOST/DATABASE, or etcd or postgres alone to start a server for it here."`
	JSON     bool           `help:"Print the results for programs, times in milliseconds."`
	SVG      string         `name:"svg" placeholder:"FILE" help:"Also write the lanes to FILE as a picture."`
}

func (labCommand) Help() string {
	return `Readers hold the lock in sections that overlap, so that somebody is always inside. After 22 ms a writer asks for it. What happens then is the lock's policy.

With --engine every reader and writer is a process, and the lock is one that machines share: the readers' sections are longer, and the table also has how long a grant took and how many messages to the engine it cost.

Examples:
  drawbridge lab
  drawbridge lab --policy Balanced --policy PreferReaders
  drawbridge lab --writers 4 --every 20ms
  drawbridge lab --svg lab.svg
  drawbridge lab --engine etcd://localhost:2379
  drawbridge lab --engine postgres
  drawbridge lab --json | jq '.locks[] | {lock, policy, reads}'`
}

func (c labCommand) Run(std streams) error {
	experiment := lab.Experiment{
		Readers: c.Readers, Hold: 5 * time.Millisecond, Writers: c.Writers, Every: c.Every, Deadline: c.Deadline,
	}
	if c.Engine != "" {
		experiment.Hold = 50 * time.Millisecond
	}
	if c.Hold != nil {
		experiment.Hold = *c.Hold
	}
	if err := experiment.Check(); err != nil {
		return err
	}
	if c.Engine != "" {
		return c.runAcross(experiment, std)
	}
	contenders, err := contender.Select(c.Policy)
	if err != nil {
		return err
	}
	run := func(contender contender.Contender) (lab.Result, error) { return experiment.Run(contender), nil }
	return c.compare(experiment, contenders, "", run, std)
}

// compare does the experiment with each contender and shows what came of it.
// on is where the lock is, if that is an engine.
func (c labCommand) compare(experiment lab.Experiment, contenders []contender.Contender, on string,
	run func(contender.Contender) (lab.Result, error), std streams) error {
	if c.SVG != "" {
		// A bad name costs no wait, and a picture that is there already
		// stays until there is a new one.
		svg, err := os.OpenFile(c.SVG, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		svg.Close()
	}
	out := colored(std.out)
	if c.JSON {
		out = io.Discard
	}
	fmt.Fprint(out, lipgloss.Wrap(explanation(experiment, len(contenders), on), width(std.out), ""))

	var results []lab.Result
	var pictures []lanes.Picture
	for _, contender := range contenders {
		result, err := run(contender)
		if err != nil {
			return err
		}
		picture := draw(experiment, result)
		results, pictures = append(results, result), append(pictures, picture)
		fmt.Fprintln(out)
		if err := picture.Text(out, width(std.out)); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%s\n", labTable(experiment, results, on))
	if c.JSON {
		if err := writeJSON(std.out, experiment, results, on); err != nil {
			return err
		}
	}
	if c.SVG == "" {
		return nil
	}
	var svg bytes.Buffer
	if err := lanes.SVG(&svg, heading(experiment), pictures); err != nil {
		return err
	}
	if err := os.WriteFile(c.SVG, svg.Bytes(), 0o666); err != nil {
		return err
	}
	fmt.Fprintf(out, "The lanes are in %s.\n", printable(c.SVG))
	return nil
}

func explanation(e lab.Experiment, locks int, on string) string {
	again, where, who := "", "", "goroutine"
	if on != "" {
		who = "process"
		where = fmt.Sprintf(" Each is a process, and the lock is on %s.", on)
	}
	if e.Every > 0 {
		again = fmt.Sprintf(" Each asks again every %s.", short(e.Every))
	}
	each := ""
	if locks > 1 {
		each = fmt.Sprintf(" (%d locks)", locks)
	}
	return fmt.Sprintf(`%s%s%s A writer gives up after %s.
Who is let in, who waits, and for how long? The answer takes %s%s.

A line below is one %s during the first %s:
%s
`, heading(e), again, where, short(e.Deadline), short(time.Duration(locks)*e.Length()), each, who, short(window(e)), lanes.Legend())
}

func heading(e lab.Experiment) string {
	readers, writers := fmt.Sprintf("%d readers hold", e.Readers), fmt.Sprintf("%d writers ask", e.Writers)
	if e.Readers == 1 {
		readers = "A reader holds"
	}
	if e.Writers == 1 {
		writers = "a writer asks"
	}
	return fmt.Sprintf("%s the lock for %s at a time, over and over. After %s %s to write.", readers, short(e.Hold), short(e.Ask()), writers)
}

// window is the part of the experiment that the pictures show: from the
// beginning until some sections after the writer asked, where a section is
// still wide enough to be seen.
func window(e lab.Experiment) time.Duration {
	return min(e.Ask()+12*e.Hold, e.Length())
}

// draw makes the picture of a result. Of many goroutines it shows the first of
// each kind.
func draw(e lab.Experiment, r lab.Result) lanes.Picture {
	const mostReaders, mostWriters = 12, 6
	readers, writers := min(e.Readers, mostReaders), min(e.Writers, mostWriters)
	p := lanes.Picture{
		Title:   r.Contender.Name + " · " + r.Contender.Policy,
		Outcome: outcome(e, r),
		Until:   window(e),
		Mark:    e.Ask(),
		Lanes:   append(r.Lanes[:readers:readers], r.Lanes[e.Readers:][:writers]...),
	}
	if e.Writers == 0 {
		p.Mark = 0
	}
	if len(r.Writes) == 1 {
		p.Outcome = "writer " + p.Outcome
	}
	if hidden := e.Readers + e.Writers - readers - writers; hidden > 0 {
		p.Hidden = fmt.Sprintf("and %d more", hidden)
	}
	return p
}

// outcome says in a few words what became of the writer, or of the writers.
func outcome(e lab.Experiment, r lab.Result) string {
	var longest time.Duration
	got, starved := 0, 0
	for _, w := range r.Writes {
		if w.GaveUp {
			starved++
			continue
		}
		got++
		longest = max(longest, w.Waited)
	}
	switch {
	case got+starved == 0:
		return "did not ask"
	case starved == 0 && got == 1:
		return "waited " + short(longest)
	case starved == 0:
		return fmt.Sprintf("%d waits up to %s", got, short(longest))
	case got == 0 && starved == 1:
		return fmt.Sprintf("starved for %s", short(e.Deadline))
	default:
		return fmt.Sprintf("%d of %d starved", starved, got+starved)
	}
}

func labTable(e lab.Experiment, results []lab.Result, on string) string {
	columns := []string{"lock", "policy", "peak readers", "writer", "reads done", "longest read wait"}
	if on != "" {
		columns = append(columns, "grant p50", "grant p99", "messages per grant")
	}
	t := aligned(2, columns...)
	for _, r := range results {
		row := []string{r.Contender.Name, r.Contender.Policy, fmt.Sprint(r.PeakReaders), outcome(e, r),
			fmt.Sprint(r.Reads), short(r.LongestReadWait)}
		if on != "" {
			row = append(row, short(quantile(r.Acquired, 0.5)), short(quantile(r.Acquired, 0.99)), fmt.Sprintf("%.1f", r.MessagesPerGrant))
		}
		t.Row(row...)
	}
	return t.String()
}

// quantile is the smallest of sorted that is not below the q-th part of them, 0
// if there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// The JSON form: what the table shows and every segment of every lane.
type (
	labJSON struct {
		Readers    int           `json:"readers"`
		HoldMS     float64       `json:"hold_ms"`
		Writers    int           `json:"writers"`
		AskMS      float64       `json:"ask_ms"`
		EveryMS    float64       `json:"every_ms"`
		DeadlineMS float64       `json:"deadline_ms"`
		LengthMS   float64       `json:"length_ms"`
		Engine     string        `json:"engine,omitempty"`
		Locks      []labLockJSON `json:"locks"`
	}
	labLockJSON struct {
		Lock              string         `json:"lock"`
		Policy            string         `json:"policy"`
		PeakReaders       int            `json:"peak_readers"`
		Reads             int            `json:"reads"`
		LongestReadWaitMS float64        `json:"longest_read_wait_ms"`
		GrantP50MS        float64        `json:"grant_p50_ms,omitempty"`
		GrantP99MS        float64        `json:"grant_p99_ms,omitempty"`
		MessagesPerGrant  float64        `json:"messages_per_grant,omitempty"`
		Writes            []labWriteJSON `json:"writes"`
		Lanes             []labLaneJSON  `json:"lanes"`
	}
	labWriteJSON struct {
		AskedMS  float64 `json:"asked_ms"`
		WaitedMS float64 `json:"waited_ms"`
		Starved  bool    `json:"starved"`
	}
	labLaneJSON struct {
		Name     string           `json:"name"`
		Segments []labSegmentJSON `json:"segments"`
	}
	labSegmentJSON struct {
		Activity string  `json:"activity"`
		FromMS   float64 `json:"from_ms"`
		ToMS     float64 `json:"to_ms"`
	}
)

func writeJSON(w io.Writer, e lab.Experiment, results []lab.Result, on string) error {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	all := labJSON{
		Readers: e.Readers, HoldMS: ms(e.Hold), Writers: e.Writers, AskMS: ms(e.Ask()),
		EveryMS: ms(e.Every), DeadlineMS: ms(e.Deadline), LengthMS: ms(e.Length()), Engine: on,
	}
	for _, r := range results {
		lock := labLockJSON{
			Lock: r.Contender.Name, Policy: r.Contender.Policy, PeakReaders: r.PeakReaders,
			Reads: r.Reads, LongestReadWaitMS: ms(r.LongestReadWait), Writes: []labWriteJSON{},
			GrantP50MS: ms(quantile(r.Acquired, 0.5)), GrantP99MS: ms(quantile(r.Acquired, 0.99)), MessagesPerGrant: r.MessagesPerGrant,
		}
		for _, w := range r.Writes {
			lock.Writes = append(lock.Writes, labWriteJSON{ms(w.Asked), ms(w.Waited), w.GaveUp})
		}
		for _, l := range r.Lanes {
			lane := labLaneJSON{Name: l.Name, Segments: []labSegmentJSON{}}
			for _, s := range l.Segments {
				lane.Segments = append(lane.Segments, labSegmentJSON{s.Activity.String(), ms(s.From), ms(s.To)})
			}
			lock.Lanes = append(lock.Lanes, lane)
		}
		all.Locks = append(all.Locks, lock)
	}
	return json.NewEncoder(w).Encode(all)
}
