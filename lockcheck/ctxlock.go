package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"

	"github.com/drawbridge-go/drawbridge/lockcheck/internal/ctxedit"
)

// Ctxlock finds waits for a lock that could end with the request and do not.
var Ctxlock = newAnalyzer("ctxlock", `find a lock asked for without the context that is at hand

Where some section of a lock waits for something else, over a network perhaps, whoever wants the lock waits as
long. A function that serves a request has a context that ends with it, and drawbridge's locks can be asked
for with it. Only locks of drawbridge are looked at, and of them those with a section that waits.

Bad:

	func (s *Store) Get(ctx context.Context, k string) (string, error) {
		s.mu.RLock()
		defer s.mu.RUnlock()
		…

Good:

	func (s *Store) Get(ctx context.Context, k string) (string, error) {
		if err := s.mu.RLockContext(ctx); err != nil {
			return "", err
		}
		defer s.mu.RUnlock()
		…`, func(r *reporter, res *flowResult) {
	for _, a := range res.asks {
		if !a.acquire.Bridge || a.acquire.Ctx || a.acquire.Try || !res.waits[a.acquire.Class] || a.acquire.Class == "" {
			continue
		}
		pos := position(a.at)
		file := enclosingFile(r.pass, pos)
		if file == nil {
			continue
		}
		path, _ := astutil.PathEnclosingInterval(file, pos, pos)
		if ctxedit.Deferred(path) {
			continue
		}
		ctx := ctxedit.At(r.pass.Pkg, path, pos)
		if ctx == "" {
			continue
		}
		call, method := ctxedit.CallOf(path)
		if call == nil {
			continue
		}
		var fixes []analysis.SuggestedFix
		if edits := ctxedit.Fix(r.pass.Fset, r.pass.TypesInfo, path, call, method, ctx); edits != nil {
			fixes = append(fixes, analysis.SuggestedFix{Message: fmt.Sprintf("ask with %s and return the error", ctx), TextEdits: edits})
		}
		r.report(Warning, pos, fixes,
			"%s waits without end although %s is at hand, and a section of this lock waits for something else. Use %sContext(%s)",
			method, ctx, method, ctx)
	}
})
