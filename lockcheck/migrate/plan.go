package migrate

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"

	"github.com/drawbridge-go/drawbridge/lockcheck/internal/ctxedit"
)

// A site is one place where the source says sync.Mutex or sync.RWMutex.
type site struct {
	file       string
	start, end int // of "sync.Mutex" in the file
	name       string
	objs       []string // the variables, fields or functions that are declared with it, by position
	why        string   // why it is left as it is; "" if it is changed
	line       int
}

// A call is a Lock that could be asked for with a context.
type call struct {
	file  string
	line  int
	lock  string // the position of the variable that is locked
	edits []edit
	why   string
}

type edit struct {
	start, end int
	text       string
}

type migration struct {
	ctx     context.Context
	o       Options
	modfile string
	root    string

	text  map[string][]byte
	sites []*site
	calls []*call
	files map[string]*source
}

// A source is what is to be known of a file to change it.
type source struct {
	syncName  string // how it names package sync
	syncUses  int
	spec      edit   // the import of sync; the text is not used
	importEnd int    // where the import's line ends
	grouped   bool   // the import stands in parentheses
	bridge    string // how it will name drawbridge
	imported  bool   // it does so already
}

// plan finds the locks and takes back what does not compile, until all does.
func (m *migration) plan() error {
	m.text, m.files = map[string][]byte{}, map[string]*source{}
	pkgs, err := m.load(nil)
	if err != nil {
		return err
	}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			return fmt.Errorf("the module does not compile as it is: %q", oneLine(e.Error()))
		}
	}
	seen := map[string]bool{}
	for _, p := range pkgs {
		for _, f := range p.Syntax {
			name := p.Fset.Position(f.Package).Filename
			if seen[name] || !m.mine(name) {
				continue
			}
			seen[name] = true
			if err := m.read(p, f, name); err != nil {
				return err
			}
		}
	}
	for round := 0; ; round++ {
		if m.converted() == 0 {
			return nil
		}
		pkgs, err := m.load(m.result(true))
		if err != nil {
			return err
		}
		if !m.takeBack(pkgs) {
			return nil
		}
		if round > 200 {
			return fmt.Errorf("the module does not compile with the change, and it is not clear which lock is to blame")
		}
	}
}

func (m *migration) load(overlay map[string][]byte) ([]*packages.Package, error) {
	flags := []string{"-modfile=" + m.modfile, "-mod=mod"}
	if m.o.Tags != "" {
		flags = append(flags, "-tags="+m.o.Tags)
	}
	return packages.Load(&packages.Config{
		Context: m.ctx, Dir: m.o.Dir, Tests: true, Overlay: overlay, BuildFlags: flags, Env: append(os.Environ(), "GOWORK=off"),
		Mode: packages.LoadSyntax,
	}, m.o.Packages...)
}

// mine reports whether a file belongs to the module and was written by people.
func (m *migration) mine(name string) bool {
	rel, err := filepath.Rel(m.root, name)
	return err == nil && filepath.IsLocal(rel) && strings.HasSuffix(name, ".go") && !strings.HasPrefix(rel, "vendor"+string(filepath.Separator))
}

// read finds the locks of a file.
func (m *migration) read(p *packages.Package, f *ast.File, name string) error {
	if ast.IsGenerated(f) {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	src := &source{bridge: "drawbridge"}
	offset := func(pos token.Pos) int { return p.Fset.PositionFor(pos, false).Offset }
	for _, s := range f.Imports {
		path, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			return err
		}
		switch path {
		case "sync":
			src.syncName = "sync"
			if s.Name != nil {
				src.syncName = s.Name.Name
			}
			src.spec = edit{start: offset(s.Pos()), end: offset(s.End())}
			for _, d := range f.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Pos() <= s.Pos() && s.End() <= g.End() {
					src.grouped = g.Lparen.IsValid()
					src.importEnd = offset(g.End())
					if src.grouped {
						src.importEnd = offset(g.Rparen)
					} else {
						src.spec.start = offset(g.Pos())
					}
				}
			}
		case modulePath:
			src.imported = true
			if s.Name != nil {
				src.bridge = s.Name.Name
			}
		}
	}
	if src.syncName == "" || src.syncName == "." || src.syncName == "_" {
		return nil
	}
	if !src.imported && (p.Types.Scope().Lookup(src.bridge) != nil || usesName(f, src.bridge)) {
		src.bridge = "drawbridgelock"
	}
	m.text[name], m.files[name] = text, src
	var stack []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		pkg, ok := p.TypesInfo.Uses[id].(*types.PkgName)
		if !ok || pkg.Imported().Path() != "sync" {
			return true
		}
		src.syncUses++
		if sel.Sel.Name != "Mutex" && sel.Sel.Name != "RWMutex" {
			return true
		}
		s := &site{file: name, start: offset(sel.Pos()), end: offset(sel.End()), name: sel.Sel.Name, line: p.Fset.Position(sel.Pos()).Line}
		s.objs = declared(p, stack)
		m.sites = append(m.sites, s)
		return true
	})
	if m.o.Context {
		m.findCalls(p, f, name, offset)
	}
	return nil
}

func usesName(f *ast.File, name string) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			found = true
		}
		return !found
	})
	return found
}

// declared are the objects whose declaration the innermost node of the stack is a part of.
func declared(p *packages.Package, stack []ast.Node) []string {
	var names []*ast.Ident
	for i := len(stack) - 1; i >= 0 && len(names) == 0; i-- {
		switch n := stack[i].(type) {
		case *ast.Field:
			names = n.Names
			if len(names) == 0 { // embedded: the field is named as its type
				t := n.Type
				if s, ok := t.(*ast.StarExpr); ok {
					t = s.X
				}
				if s, ok := t.(*ast.SelectorExpr); ok {
					names = []*ast.Ident{s.Sel}
				}
			}
		case *ast.ValueSpec:
			names = n.Names
		case *ast.TypeSpec:
			names = []*ast.Ident{n.Name}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				switch l := l.(type) {
				case *ast.Ident:
					names = append(names, l)
				case *ast.SelectorExpr:
					names = append(names, l.Sel)
				}
			}
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				names = []*ast.Ident{id}
			}
		}
	}
	var out []string
	for _, n := range names {
		obj := p.TypesInfo.ObjectOf(n)
		if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() == "sync" {
			out = append(out, key(p.Fset, n.Pos(), n.Name)) // the type that an embedded field is named after
			continue
		}
		out = append(out, key(p.Fset, obj.Pos(), obj.Name()))
	}
	return out
}

// key names an object by where it is declared. It is the same before and after the change, because the text
// that is type-checked has the lines of the one that was.
func key(fset *token.FileSet, pos token.Pos, name string) string {
	p := fset.PositionFor(pos, false)
	return fmt.Sprintf("%s:%d:%s", p.Filename, p.Line, name)
}

// cleanUp are functions whose work is to be done whatever a context says.
var cleanUp = regexp.MustCompile(`(?i)^(close|stop|shutdown|cleanup|teardown|release|unlock|free|destroy|finish|rollback)`)

// findCalls lists the calls of Lock and RLock and how they could be asked for with a context.
func (m *migration) findCalls(p *packages.Package, f *ast.File, name string, offset func(token.Pos) int) {
	ast.Inspect(f, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok || len(c.Args) != 0 {
			return true
		}
		sel, ok := c.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Lock" && sel.Sel.Name != "RLock" {
			return true
		}
		fn, ok := p.TypesInfo.Uses[sel.Sel].(*types.Func)
		if !ok || fn.Pkg() == nil || fn.Pkg().Path() != "sync" {
			return true
		}
		s := &call{file: name, line: p.Fset.Position(c.Pos()).Line, lock: m.lockOf(p, sel)}
		m.calls = append(m.calls, s)
		path, _ := astutil.PathEnclosingInterval(f, c.Pos(), c.End())
		for _, n := range path {
			if d, ok := n.(*ast.FuncDecl); ok && cleanUp.MatchString(d.Name.Name) {
				s.why = d.Name.Name + " cleans up, which is to be done whatever a context says"
			}
		}
		if ctxedit.Deferred(path) {
			s.why = "it runs when the function returns"
		}
		ctx := ctxedit.At(p.Types, path, c.Pos())
		switch {
		case s.why != "":
		case ctx == "":
			s.why = "no context is at hand"
		default:
			for _, e := range ctxedit.Fix(p.Fset, p.TypesInfo, path, c, sel.Sel.Name, ctx) {
				s.edits = append(s.edits, edit{offset(e.Pos), offset(e.End), string(e.NewText)})
			}
			if len(s.edits) == 0 {
				s.why = "the function cannot return the error"
			}
		}
		return true
	})
}

// lockOf is where the lock of a call is declared: the variable, the field, or the embedded field that the
// method comes from.
func (m *migration) lockOf(p *packages.Package, sel *ast.SelectorExpr) string {
	if s := p.TypesInfo.Selections[sel]; s != nil && len(s.Index()) > 1 {
		t := s.Recv()
		var field *types.Var
		for _, i := range s.Index()[:len(s.Index())-1] {
			if ptr, ok := t.Underlying().(*types.Pointer); ok {
				t = ptr.Elem()
			}
			st, ok := t.Underlying().(*types.Struct)
			if !ok {
				return ""
			}
			field = st.Field(i)
			t = field.Type()
		}
		return key(p.Fset, field.Pos(), field.Name())
	}
	switch x := ast.Unparen(sel.X).(type) {
	case *ast.Ident:
		if obj := p.TypesInfo.ObjectOf(x); obj != nil {
			return key(p.Fset, obj.Pos(), obj.Name())
		}
	case *ast.SelectorExpr:
		if obj := p.TypesInfo.ObjectOf(x.Sel); obj != nil {
			return key(p.Fset, obj.Pos(), obj.Name())
		}
	}
	return ""
}

// converted is how many locks are changed, and asked how many calls.
func (m *migration) converted() (n int) {
	for _, s := range m.sites {
		if s.why == "" {
			n++
		}
	}
	return n
}

func (m *migration) asked() (n int) {
	for _, c := range m.calls {
		if c.why == "" && m.changes(c.lock) {
			n++
		}
	}
	return n
}

// changes reports whether the lock declared at a position is one of drawbridge's after the change.
func (m *migration) changes(lock string) bool {
	for _, s := range m.sites {
		for _, o := range s.objs {
			if o == lock && s.why == "" {
				return true
			}
		}
	}
	return false
}

// result is the text of the files that change: as it is to be written, or with every line where it was, for
// the type-checker to point at.
func (m *migration) result(sameLines bool) map[string][]byte {
	edits := map[string][]edit{}
	uses := map[string]int{}
	for _, s := range m.sites {
		if s.why == "" {
			edits[s.file] = append(edits[s.file], edit{s.start, s.end, m.files[s.file].bridge + "." + s.name})
			uses[s.file]++
		}
	}
	for name, n := range uses {
		edits[name] = append(edits[name], m.files[name].imports(m.text[name], n, sameLines)...)
	}
	for _, c := range m.calls {
		if c.why != "" || !m.changes(c.lock) {
			continue
		}
		for _, e := range c.edits {
			if sameLines {
				e.text = strings.NewReplacer("{\n", "{ ", "\n", "; ").Replace(e.text)
			}
			edits[c.file] = append(edits[c.file], e)
		}
	}
	out := map[string][]byte{}
	for name, es := range edits {
		sort.SliceStable(es, func(i, j int) bool { return es[i].start < es[j].start })
		var b bytes.Buffer
		at := 0
		for _, e := range es {
			b.Write(m.text[name][at:e.start])
			b.WriteString(e.text)
			at = e.end
		}
		b.Write(m.text[name][at:])
		out[name] = b.Bytes()
		if !sameLines {
			out[name] = tidy(out[name])
		}
	}
	return out
}

// imports are the edits that import drawbridge, and no longer sync if changed is all that the file uses of it.
func (src *source) imports(text []byte, changed int, sameLines bool) (edits []edit) {
	spec := strconv.Quote(modulePath)
	if src.bridge != "drawbridge" {
		spec = src.bridge + " " + spec
	}
	keyword := ""
	if !src.grouped {
		keyword = "import "
	}
	if sameLines {
		if !src.imported {
			edits = append(edits, edit{src.spec.end, src.spec.end, "; " + keyword + spec})
		}
		if changed == src.syncUses {
			edits = append(edits, edit{src.spec.start, src.spec.end, keyword + `_ "sync"`})
		}
		return edits
	}
	if !src.imported {
		add := edit{src.importEnd, src.importEnd, "\nimport " + spec}
		if src.grouped {
			add.text = "\n\t" + spec + "\n"
		}
		edits = append(edits, add)
	}
	if changed == src.syncUses {
		drop := src.spec
		if src.grouped {
			for drop.start > 0 && (text[drop.start-1] == '\t' || text[drop.start-1] == ' ') {
				drop.start--
			}
			if drop.end < len(text) && text[drop.end] == '\n' {
				drop.end++
			}
		}
		edits = append(edits, edit{drop.start, drop.end, ""})
	}
	return edits
}

// tidy repairs the empty lines that a removed import leaves.
func tidy(text []byte) []byte {
	text = bytes.Replace(text, []byte("import (\n\n\t"), []byte("import (\n\t"), 1)
	return bytes.Replace(text, []byte("\n\n\nimport "), []byte("\n\nimport "), 1)
}

// takeBack leaves the locks to which compile errors point as they were, and reports whether there were any.
func (m *migration) takeBack(pkgs []*packages.Package) bool {
	type fault struct {
		p   *packages.Package
		err packages.Error
	}
	var faults []fault
	for _, p := range pkgs {
		for _, e := range p.Errors {
			faults = append(faults, fault{p, e})
		}
	}
	if len(faults) == 0 {
		return false
	}
	taken := false
	for _, f := range faults {
		file, line, column := splitPosition(f.err.Pos)
		why := "the change does not compile: " + oneLine(f.err.Msg)
		taken = m.blame(f.p, file, line, column, why) || taken
	}
	if taken {
		return true
	}
	// No error points to a lock: take back those of the first file with an error, or else all that is left.
	for _, f := range faults {
		file, _, _ := splitPosition(f.err.Pos)
		for _, s := range m.sites {
			if s.why == "" && s.file == file {
				s.why, taken = "the change does not compile: "+oneLine(f.err.Msg), true
			}
		}
		if taken {
			return true
		}
	}
	for _, s := range m.sites {
		if s.why == "" {
			s.why = "the change does not compile: " + oneLine(faults[0].err.Msg)
		}
	}
	return true
}

// blame takes back the locks that the expression at an error is made of.
func (m *migration) blame(p *packages.Package, file string, line, column int, why string) bool {
	taken := false
	mark := func(k string) {
		for _, s := range m.sites {
			for _, o := range s.objs {
				if o == k && s.why == "" {
					s.why, taken = why, true
				}
			}
		}
	}
	// A call with a context on this line goes first; the lock may still change.
	for _, c := range m.calls {
		if c.file == file && c.line == line && c.why == "" && m.changes(c.lock) {
			c.why, taken = why, true
		}
	}
	if taken {
		return true
	}
	for _, f := range p.Syntax {
		tf := p.Fset.File(f.FileStart)
		if tf == nil || tf.Name() != file || line < 1 || line > tf.LineCount() {
			continue
		}
		pos := tf.LineStart(line) + token.Pos(max(column-1, 0))
		path, _ := astutil.PathEnclosingInterval(f, pos, pos)
		for _, n := range path { // from the inside, as far as the statement or declaration
			switch n.(type) {
			case *ast.BlockStmt, *ast.FuncDecl, *ast.File, *ast.GenDecl:
				return taken
			}
			ast.Inspect(n, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				if obj := p.TypesInfo.ObjectOf(id); obj != nil {
					mark(key(p.Fset, obj.Pos(), obj.Name()))
				}
				return true
			})
			if taken {
				return true
			}
		}
	}
	return taken
}

// skipped says, for each lock and call that stays as it is, where it is and why.
func (m *migration) skipped() []string {
	var out []string
	rel := func(file string) string {
		if r, err := filepath.Rel(m.root, file); err == nil {
			return filepath.ToSlash(r)
		}
		return file
	}
	for _, s := range m.sites {
		if s.why != "" {
			out = append(out, fmt.Sprintf("%s:%d: sync.%s stays: %s", rel(s.file), s.line, s.name, s.why))
		}
	}
	for _, c := range m.calls {
		if c.why != "" && m.changes(c.lock) {
			out = append(out, fmt.Sprintf("%s:%d: this call stays without a context: %s", rel(c.file), c.line, c.why))
		}
	}
	return out
}

func splitPosition(s string) (file string, line, column int) {
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

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
