package lockcheck

// Ctxlock finds waits that could end with a request and do not.
var Ctxlock = newAnalyzer("ctxlock", `find a lock asked for without the context that is at hand`, func(r *reporter, res *result) {})

// Ctxlost finds contexts that are replaced by an empty one.
var Ctxlost = newAnalyzer("ctxlost", `find LockContext with an empty context`, func(r *reporter, res *result) {})
