// Package vet is drawbridge vet: it runs the lock analyzers over packages, by way of go vet, and shows what
// they find to people, programs and code hosts.
package vet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/drawbridge-go/drawbridge/lockcheck"
)

// Options say what to look at and how to show it. The tags are for a command-line library; this package does
// not need one.
type Options struct {
	Packages      []string `arg:"" optional:"" help:"Packages to look at (default ./...)."`
	JSON          bool     `name:"json" help:"Print the findings as JSON."`
	SARIF         bool     `name:"sarif" help:"Print the findings as SARIF 2.1.0, for code hosts."`
	Strict        bool     `help:"Exit with 1 for warnings too."`
	Info          bool     `help:"Show also what is only worth knowing."`
	Only          []string `help:"Run only these analyzers." placeholder:"NAME"`
	Depth         int      `default:"2" help:"How many functions away lockblock looks for a wait."`
	Baseline      string   `help:"A file of findings that are known; only others count." placeholder:"FILE"`
	WriteBaseline bool     `help:"Write the baseline file from what is found now."`
	Fix           bool     `help:"Apply the fixes of the analyzers named with --only."`
	Tags          string   `help:"Build tags, as for go build." placeholder:"TAGS"`
	Dir           string   `kong:"-"` // where to run; "" is the current directory
}

// A Finding is one thing that an analyzer has found.
type Finding struct {
	Analyzer string `json:"analyzer"`
	Level    string `json:"level"` // error, warning or info
	Package  string `json:"package"`
	Function string `json:"function,omitempty"` // the declared function that it is in
	File     string `json:"file"`               // relative to where vet runs, if it is below
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"` // what -fix would do
}

// Run looks at the packages and returns the exit status: 0 when there is nothing at error level, 1 when there
// is (with Strict, also for warnings), 2 when the packages could not be looked at. The program that calls it
// must give way to [Tool] when [IsTool] says so, because go vet runs it anew for each package.
func Run(ctx context.Context, o Options, stdout, stderr io.Writer) int {
	found, err := o.findings(ctx, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "drawbridge vet:", err)
		return 2
	}
	if o.WriteBaseline {
		if o.Baseline == "" {
			fmt.Fprintln(stderr, "drawbridge vet: say with --baseline where the baseline is to be written")
			return 2
		}
		if err := writeBaseline(o.Baseline, found); err != nil {
			fmt.Fprintln(stderr, "drawbridge vet:", err)
			return 2
		}
		fmt.Fprintf(stdout, "%s: %s\n", o.Baseline, count(len(found), "finding"))
		return 0
	}
	known := 0
	if o.Baseline != "" {
		all := len(found)
		if found, err = subtractBaseline(o.Baseline, found); err != nil {
			fmt.Fprintln(stderr, "drawbridge vet:", err)
			return 2
		}
		known = all - len(found)
	}
	switch {
	case o.JSON:
		err = writeJSON(stdout, found)
	case o.SARIF:
		err = writeSARIF(stdout, found)
	default:
		err = writeText(stdout, found, known)
	}
	if err != nil {
		fmt.Fprintln(stderr, "drawbridge vet:", err)
		return 2
	}
	for _, f := range found {
		if f.Level == lockcheck.Error || o.Strict && f.Level == lockcheck.Warning {
			return 1
		}
	}
	return 0
}

// findings runs go vet with this program as its tool.
func (o Options) findings(ctx context.Context, stderr io.Writer) ([]Finding, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"vet", "-vettool=" + self}
	if o.Fix {
		if len(o.Only) == 0 {
			return nil, errors.New("a fix changes what the program does, so name the analyzers whose fixes are wanted: --fix --only ctxlock")
		}
		args = append(args, "-fix")
	} else {
		args = append(args, "-json")
	}
	names, err := o.analyzers()
	if err != nil {
		return nil, err
	}
	level := lockcheck.Warning
	if o.Info {
		level = lockcheck.Info
	}
	for _, n := range names {
		args = append(args, "-"+n, "-"+n+".level="+level)
	}
	if o.Depth > 0 {
		args = append(args, "-lockblock.depth="+strconv.Itoa(o.Depth))
	}
	if o.Tags != "" {
		args = append(args, "-tags="+o.Tags)
	}
	if len(o.Packages) == 0 {
		o.Packages = []string{"./..."}
	}
	cmd := exec.CommandContext(ctx, "go", append(args, o.Packages...)...)
	cmd.Dir = o.Dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		for line := range strings.Lines(errs.String()) {
			fmt.Fprintln(stderr, printable(strings.TrimRight(line, "\r\n")))
		}
		return nil, fmt.Errorf("go vet could not look at the packages: %w", err)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	return parse(&out, dir)
}

func (o Options) analyzers() ([]string, error) {
	known := map[string]bool{}
	var all []string
	for _, a := range lockcheck.Analyzers {
		known[a.Name] = true
		all = append(all, a.Name)
	}
	if len(o.Only) == 0 {
		return all, nil
	}
	for _, n := range o.Only {
		if !known[n] {
			return nil, fmt.Errorf("there is no analyzer %q; there are %s", n, strings.Join(all, ", "))
		}
	}
	return o.Only, nil
}

// parse reads go vet's JSON: one object for each package, and the same findings again for its test variant.
func parse(r io.Reader, dir string) ([]Finding, error) {
	type diagnostic struct {
		Category string
		Posn     string
		Message  string
		Fixes    []struct{ Message string } `json:"suggested_fixes"`
	}
	var found []Finding
	seen := map[Finding]bool{}
	funcs := functions{}
	for dec := json.NewDecoder(r); ; {
		var packages map[string]map[string]json.RawMessage
		if err := dec.Decode(&packages); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go vet's output is not what it should be: %w", err)
		}
		for pkg, analyzers := range packages {
			pkg, _, _ = strings.Cut(pkg, " ") // "p [p.test]"
			for name, raw := range analyzers {
				var ds []diagnostic
				if err := json.Unmarshal(raw, &ds); err != nil {
					var failed struct{ Error string }
					if json.Unmarshal(raw, &failed) == nil && failed.Error != "" {
						return nil, fmt.Errorf("%s could not look at %s: %s", name, pkg, printable(failed.Error))
					}
					return nil, fmt.Errorf("go vet's output is not what it should be: %w", err)
				}
				for _, d := range ds {
					f := Finding{Analyzer: name, Level: d.Category, Package: pkg, Message: d.Message}
					var full string
					full, f.Line, f.Column = position(d.Posn)
					f.File = full
					if rel, err := filepath.Rel(dir, full); err == nil && filepath.IsLocal(rel) {
						f.File = filepath.ToSlash(rel)
					}
					f.Function = funcs.at(full, f.Line)
					if len(d.Fixes) > 0 {
						f.Fix = d.Fixes[0].Message
					}
					k := f
					k.Package = strings.TrimSuffix(k.Package, "_test")
					if !seen[k] {
						seen[k] = true
						found = append(found, f)
					}
				}
			}
		}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.File != b.File {
			return a.File < b.File
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		if a.Column != b.Column {
			return a.Column < b.Column
		}
		return a.Analyzer+a.Message < b.Analyzer+b.Message
	})
	return found, nil
}

// position takes "file:line:column" apart; the file's name may have colons itself.
func position(s string) (file string, line, column int) {
	if i := strings.LastIndexByte(s, ':'); i > 0 {
		column, _ = strconv.Atoi(s[i+1:])
		s = s[:i]
	}
	if i := strings.LastIndexByte(s, ':'); i > 0 {
		line, _ = strconv.Atoi(s[i+1:])
		s = s[:i]
	}
	return s, line, column
}
