package lockcheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// The level of a finding is the Category of its diagnostic.
const (
	Error   = "error"
	Warning = "warning"
	Info    = "info"
)

var levels = map[string]int{Error: 3, Warning: 2, Info: 1}

// levelFlag is the flag of every analyzer that leaves out what is below a level.
type levelFlag string

func (l *levelFlag) String() string { return string(*l) }

func (l *levelFlag) Set(s string) error {
	if levels[s] == 0 {
		return fmt.Errorf("the level %q is not one of error, warning, info", s)
	}
	*l = levelFlag(s)
	return nil
}

// known are the names of the analyzers.
var known = map[string]bool{}

// newAnalyzer makes an analyzer that looks at the events of lockflow.
func newAnalyzer(name, doc string, run func(*reporter, *flowResult)) *analysis.Analyzer {
	level := levelFlag(Info)
	known[name] = true
	a := &analysis.Analyzer{
		Name:     name,
		Doc:      doc,
		URL:      "https://pkg.go.dev/" + drawbridgePath + "/lockcheck#" + strings.ToUpper(name[:1]) + name[1:],
		Requires: []*analysis.Analyzer{lockflow},
	}
	a.Flags.Var(&level, "level", "report findings of this level and above: error, warning or info")
	a.Run = func(pass *analysis.Pass) (any, error) {
		r := &reporter{pass: pass, name: name, level: string(level), seen: map[string]bool{}}
		r.readIgnores()
		flow, err := pass.ResultOf[lockflow].(*result).get()
		if err != nil {
			return nil, err
		}
		run(r, flow)
		return nil, nil
	}
	return a
}

// A reporter reports the findings of one analyzer on one package, each once, and minds the comments that
// suppress them.
type reporter struct {
	pass    *analysis.Pass
	name    string
	level   string
	seen    map[string]bool
	ignores []ignore
}

// An ignore is a comment "//drawbridge:ignore NAME reason". It counts for its own line and the next, or for
// the whole function whose doc comment it is in.
type ignore struct {
	file       string
	start, end int
}

const ignorePrefix = "//drawbridge:ignore"

func (r *reporter) readIgnores() {
	for _, file := range r.pass.Files {
		for _, group := range file.Comments {
			for _, c := range group.List {
				rest, ok := strings.CutPrefix(c.Text, ignorePrefix)
				if !ok {
					continue
				}
				names, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
				mine := false
				for _, n := range strings.Split(names, ",") {
					mine = mine || n == r.name
					if !known[n] && r.name == "lockdouble" { // one of them has to say it
						r.pass.Report(analysis.Diagnostic{Pos: c.Pos(), End: c.End(), Category: Error,
							Message: fmt.Sprintf("there is no analyzer %q to be ignored; write %s NAME REASON", n, ignorePrefix)})
					}
				}
				if !mine {
					continue
				}
				if strings.TrimSpace(reason) == "" {
					r.pass.Report(analysis.Diagnostic{Pos: c.Pos(), End: c.End(), Category: Error,
						Message: fmt.Sprintf("say why %s is to be ignored here: %s %s REASON", r.name, ignorePrefix, r.name)})
					continue
				}
				p := r.pass.Fset.Position(c.Pos())
				ig := ignore{p.Filename, p.Line, p.Line + 1}
				for _, d := range file.Decls {
					if fd, ok := d.(*ast.FuncDecl); ok && fd.Doc == group {
						ig.end = r.pass.Fset.Position(fd.End()).Line
					}
				}
				r.ignores = append(r.ignores, ig)
			}
		}
	}
}

func (r *reporter) ignored(pos token.Pos) bool {
	p := r.pass.Fset.Position(pos)
	for _, ig := range r.ignores {
		if ig.file == p.Filename && ig.start <= p.Line && p.Line <= ig.end {
			return true
		}
	}
	return false
}

func (r *reporter) report(level string, pos token.Pos, fixes []analysis.SuggestedFix, format string, args ...any) {
	if levels[level] < levels[r.level] || !pos.IsValid() || r.ignored(pos) {
		return
	}
	msg := fmt.Sprintf(format, args...)
	p := r.pass.Fset.Position(pos)
	key := fmt.Sprintf("%s:%d:%s", p.Filename, p.Line, msg)
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	r.pass.Report(analysis.Diagnostic{Pos: pos, Category: level, Message: msg, SuggestedFixes: fixes})
}

// way tells how the code at the event comes to the last frame of a trace.
func way(trace []frame) string {
	if len(trace) <= 1 {
		return "here"
	}
	last := trace[len(trace)-1]
	s := fmt.Sprintf("in %s at %s", last.Func, last.At)
	if mid := trace[1 : len(trace)-1]; len(mid) > 0 {
		var via []string
		for _, f := range mid {
			via = append(via, fmt.Sprintf("%s (%s)", f.Func, f.At))
		}
		s += ", through " + strings.Join(via, ", ")
	}
	return s
}

// verb is what a call did to take a lock, for people.
func taken(h hold) string {
	switch h.mode {
	case readMode:
		return "read-locked at " + h.at
	case upgradableMode:
		return "held upgradable since " + h.at
	}
	return "locked at " + h.at
}
