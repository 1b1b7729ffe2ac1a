// Package lockcheck finds misuse of locks before it runs: analyzers for sync.Mutex, sync.RWMutex, drawbridge's
// types and every type with their method set, to be run by go vet, by golangci-lint or by drawbridge vet.
//
// How it works, file by file: locks.go says what a lock and an operation on it are; path.go names locks by
// the way that leads to them (s.store.mu); held.go follows them along every path through a function, calls.go
// along calls; exits.go draws the conclusions at the returns, outcome.go from coming back at all; bare.go judges
// unlocks without a lock; summary.go is what callers learn of a function, in this package and, as facts, in
// others; engine.go runs it all once a package. Each analyzer then has a file of its own, lockorder with
// forkjoin.go.
//
// The level of a finding (error, warning, info) is its diagnostic's Category. A comment
//
//	//drawbridge:ignore NAME reason
//
// suppresses what the analyzer NAME finds on its own and the next line, or, in a function's doc comment, in
// the function. It needs the reason.
//
// What is not seen: aliases through maps, slices and reflection, dynamic calls into other packages, and locks
// whose way leads over more than ten fields. Silence is no proof.
package lockcheck

import "golang.org/x/tools/go/analysis"

// Errors are the analyzers whose findings are bugs once they are reached. They are on by default in a vet tool.
var Errors = []*analysis.Analyzer{Ctxlockerr, Lockdouble, Lockupgrade, Lockrecursive, Lockleak, Unlockunheld, Lockstringer}

// Warnings are the analyzers that find what is often, but not always, a mistake.
var Warnings = []*analysis.Analyzer{Ctxlock, Ctxlost, Lockblock, Lockorder}

// Analyzers are all of them.
var Analyzers = append(append([]*analysis.Analyzer(nil), Errors...), Warnings...)
