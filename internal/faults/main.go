// Command faults makes small mistakes in the locks, one at a time, and shows
// which of the project's checks finds each first: some programs of the explorer,
// the short tests, all tests, the tests under the race detector, all that CI
// explores, or the fuzz target. No file of the tree changes: the compiler reads
// the edited one through an overlay.
//
//	go run ./internal/faults
//	go run ./internal/faults -match stripes
//	gremlins unleash . --dry-run > gremlins.txt; go run ./internal/faults -mutants gremlins.txt
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-go/drawbridge/internal/record"
)

func main() {
	match := flag.String("match", "", "make only the faults whose kind and name match the `regexp`")
	record := flag.String("record", "", "write the table into this `file`, between its markers")
	list := flag.String("mutants", "", "make the mutants instead that gremlins has listed and not killed in its output, this `file`")
	applies := flag.Bool("apply", false, "only check that every fault applies and compiles")
	flag.Parse()
	if err := run(*match, *list, *record, *applies); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(match, list, file string, applies bool) error {
	if file != "" && (match != "" || list != "") {
		return errors.New("-record is for all faults: leave -match and -mutants out")
	}
	re, err := regexp.Compile(match)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	if _, err := os.Stat("settle.go"); err != nil {
		return errors.New("run it in the root of the repository: go run ./internal/faults")
	}
	dir, err := os.MkdirTemp("", "faults")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// Not by an argument: some tests build programs.
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -overlay="+overlay); err != nil {
		return err
	}

	faults := faults
	if list != "" {
		if faults, err = mutants(list); err != nil {
			return err
		}
	}

	var rows []row
	var wrong []error
	began := time.Now()
	for _, f := range faults {
		if !re.MatchString(f.kind + ": " + f.name) {
			continue
		}
		err := f.apply(root, overlay)
		if applies {
			if err == nil {
				var out string
				if out, err = command(time.Minute, "go", "build", "-tags", tags(f), "."); err != nil {
					err = fmt.Errorf("%s: does not compile: %s", f.name, out)
				}
			}
			wrong = append(wrong, err)
			continue
		}
		if err != nil {
			return err
		}
		r := row{fault: f}
		start := time.Now()
		if r.by, r.how, err = find(f, dir); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		r.took = time.Since(start)
		fmt.Println(r)
		rows = append(rows, r)
	}
	if applies {
		if err := errors.Join(wrong...); err != nil {
			return err
		}
		fmt.Printf("all %d faults apply and compile\n", len(wrong))
		return nil
	}
	table := format(rows, time.Since(began))
	fmt.Print("\n" + table)
	missed := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.by != "" })
	if list != "" {
		return nil // what lives is for people to look at
	}
	if len(missed) > 0 {
		return fmt.Errorf("%d of %d faults are found by nothing: %s", len(missed), len(rows), missed[0].name)
	}
	if file != "" {
		return record.Write(file, "faults", table)
	}
	return nil
}

// apply writes the edited file beside overlay, which puts it in place.
func (f fault) apply(root, overlay string) error {
	text, err := os.ReadFile(f.file)
	if err != nil {
		return err
	}
	if n := bytes.Count(text, []byte(f.old)); n != 1 {
		return fmt.Errorf("%s: its text is %d times in %s and must be there once: the code has changed, so change the fault", f.name, n, f.file)
	}
	edited := filepath.Join(filepath.Dir(overlay), f.file)
	if err := os.WriteFile(edited, bytes.Replace(text, []byte(f.old), []byte(f.new), 1), 0o666); err != nil {
		return err
	}
	content, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, f.file): edited}})
	if err != nil {
		return err
	}
	return os.WriteFile(overlay, content, 0o666)
}

// tags returns the build tags with which the faulty file is compiled at all.
func tags(f fault) string {
	if f.file == "park.go" {
		return ""
	}
	return "explore"
}

// check is one of the project's checks.
type check struct {
	name string
	args []string
}

// checks returns what may find f, what takes least time first: some thousand
// schedules of the explorer take a second, all that CI searches take minutes.
func checks(f fault, explorer string) []check {
	explore := func(match string) check {
		return check{"explorer", []string{explorer, "-first", "-limit", "1m", "-match", match}}
	}
	test := func(args ...string) []string {
		return slices.Concat([]string{"go", "test", "-count=1"}, args, []string{"."})
	}
	named, scenarios := explore("^named"), explore("^(costs|scenarios)")
	tests := check{"tests", test("-short", "-timeout", "60s")}
	race := check{"tests -race", test("-race", "-timeout", "240s")}
	if f.kind == "mutant" { // they are many
		three := explore("^three actors, no contexts")
		switch f.file {
		case "park.go", "sched.go": // the explorer has its own
			return []check{tests, race}
		case "caller.go", "deadlock.go", "errors.go", "fatal.go", "keyed.go", "misuse.go", "moment.go", "observe.go", "policy.go", "scope.go", "snapshot.go", "watch.go":
			return []check{tests, scenarios, named, three, race}
		}
		return []check{named, tests, scenarios, three, race}
	}
	last := []check{explore("^three actors, no contexts"), {"tests", test("-timeout", "120s")}, race, explore(""), {"fuzz", test("-run", "^$", "-fuzz", "^Fuzz", "-fuzztime", "20s")}}
	switch f.file {
	case "park.go": // the explorer has its own
		return []check{tests, last[1], race}
	case "edges.go": // nothing without the race detector
		return []check{race}
	case "scope.go", "deadlock.go", "snapshot.go", "keyed.go", "watch.go", "release.go":
		return append([]check{scenarios, named, tests}, last...)
	}
	return append([]check{named, scenarios, tests}, last...)
}

// find runs one check after the other until one fails. One that did not end in
// its time is believed when that happens again: a machine may stall.
func find(f fault, dir string) (by, how string, err error) {
	explorer := filepath.Join(dir, "explore")
	if out, err := command(3*time.Minute, "go", "build", "-tags", "explore", "-o", explorer, "./internal/explore/cmd/explore"); err != nil && f.kind == "mutant" {
		return "compiler", "it does not compile", nil
	} else if err != nil {
		return "", "", fmt.Errorf("does not compile: %s", out)
	}
	for _, c := range checks(f, explorer) {
		for again := range 2 {
			out, err := command(20*time.Minute, c.args...)
			if errors.Is(err, context.DeadlineExceeded) {
				return "", "", fmt.Errorf("%s did not end in 20 minutes", c.name)
			}
			if err == nil {
				break
			}
			if how := reason(out); again == 1 || !strings.Contains(how, "did not end") {
				return c.name, how, nil
			}
		}
	}
	return "", "", nil
}

// reason is the line of the output that says most.
func reason(out string) string {
	if _, running, ok := strings.Cut(out, "panic: test timed out after "); ok {
		_, running, _ = strings.Cut(running, "running tests:")
		name, _, _ := strings.Cut(strings.TrimSpace(running), " ")
		return name + " did not end"
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		for _, start := range []string{"--- FAIL: ", "found: ", "panic: ", "fatal error: ", "WARNING: DATA RACE"} {
			if strings.HasPrefix(line, start) {
				line = strings.TrimPrefix(strings.TrimPrefix(line, "found: "), "--- FAIL: ")
				if i := strings.LastIndex(line, " ("); i > 0 && strings.HasSuffix(line, "s)") {
					line = line[:i]
				}
				return line
			}
		}
	}
	return "it did not end"
}

func command(limit time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return string(out), err
}

// row is what became of a fault.
type row struct {
	fault
	by   string // the check that found it, or ""
	how  string
	took time.Duration
}

func (r row) String() string {
	by := r.by
	if by == "" {
		by = "NOTHING"
	}
	return fmt.Sprintf("%-11s %-12s %5.1f s  %s  (%s)", r.kind, by, r.took.Seconds(), r.name, r.how)
}

func format(rows []row, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| kind | fault | found by | as | s |\n|---|---|---|---|---:|\n")
	found := map[string]int{}
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.1f |\n", r.kind, r.name, r.by, strings.ReplaceAll(r.how, "|", "/"), r.took.Seconds())
		found[r.by]++
	}
	fmt.Fprintf(&b, "\n%d faults in %s, with building: ", len(rows), took.Round(time.Second))
	for _, by := range []string{"compiler", "explorer", "tests", "tests -race", "fuzz"} {
		if found[by] > 0 {
			fmt.Fprintf(&b, "%d by the %s, ", found[by], by)
		}
	}
	fmt.Fprintf(&b, "%d by nothing. %s.\n", found[""], runtime.Version())
	return b.String()
}
