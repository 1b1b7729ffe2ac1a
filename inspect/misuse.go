package inspect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/drawbridge-go/drawbridge"
)

// MisuseKind says what was done to a lock that must not be done.
type MisuseKind uint8

const (
	// SelfDeadlock: a goroutine waits for a lock that it holds itself.
	SelfDeadlock MisuseKind = iota + 1

	// UpgradeByHand: a goroutine waits to write a lock that it holds to
	// read, which it therefore never gets.
	UpgradeByHand

	// RecursiveRead: a goroutine reads a lock that it reads already, and a
	// writer waits between the two: the second read waits for the writer,
	// who waits for the first.
	RecursiveRead

	// OrderInversion: goroutines that can run at the same time take the
	// same locks in different orders, so that each can come to wait for
	// what the next one holds.
	OrderInversion

	// HolderGone: a lock is waited for, and the goroutine that took it has
	// ended. It is right if another one is to unlock it, so it is a note.
	HolderGone

	// LeftWaiting: when the detector was stopped, a lock was waited for, the
	// goroutine that holds it waited for something else, and nothing in the
	// process moved. It is right if a timer or a signal is to end that, so it
	// is a note.
	LeftWaiting
)

// String names the kind.
func (k MisuseKind) String() string {
	switch k {
	case SelfDeadlock:
		return "self-deadlock"
	case UpgradeByHand:
		return "upgrade by hand"
	case RecursiveRead:
		return "recursive read"
	case OrderInversion:
		return "lock-order inversion"
	case HolderGone:
		return "holder gone"
	case LeftWaiting:
		return "left waiting"
	}
	return "unknown misuse"
}

// Misuse is what a [Detect] reports.
type Misuse struct {
	Kind  MisuseKind
	Note  bool   // it may be right
	Test  string // the test that it was found in, "" if none is on a stack
	Steps []Step // of which the misuse consists
}

// Step is a hold or a wait of a goroutine.
type Step struct {
	Goroutine uint64
	Waits     bool // else it holds
	Mode      drawbridge.Mode
	Lock      string // its type and address, and the key of a Keyed
	For       string // what else than a lock it waits for: "chan receive"
	Stack     []Frame
}

// String describes the misuse, with the site of each step.
func (m Misuse) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "drawbridge: %s", m.Kind)
	if m.Note {
		b.WriteString(" (a note)")
	}
	if m.Test != "" {
		fmt.Fprintf(&b, " in %s", m.Test)
	}
	switch m.Kind {
	case SelfDeadlock:
		b.WriteString(": a goroutine waits for a lock that it holds itself")
	case UpgradeByHand:
		b.WriteString(": a goroutine waits to write what it holds to read; take the write lock from the start, or use ULock and Upgrade")
	case RecursiveRead:
		b.WriteString(": a read inside a read waits for a writer who waits for the outer read; use WithRLock, which knows what its context holds")
	case OrderInversion:
		who := make(map[uint64]bool)
		for _, s := range m.Steps {
			who[s.Goroutine] = true
		}
		fmt.Fprintf(&b, ": %d goroutines take the same locks in different orders", len(who))
	case HolderGone:
		b.WriteString(": the goroutine that took the lock has ended, and others wait for it")
	case LeftWaiting:
		b.WriteString(": a lock is waited for, its holder waits for something else, and nothing moves any more; unlock before waiting, or bound the wait by a context")
	}
	for _, s := range m.Steps {
		verb := "holds to"
		if s.Waits {
			verb = "waits to"
			if m.Kind == OrderInversion {
				verb = "then takes to"
			}
		}
		if s.For != "" {
			fmt.Fprintf(&b, "\n  goroutine %d waits in %s", s.Goroutine, s.For)
		} else {
			fmt.Fprintf(&b, "\n  goroutine %d %s %s %s", s.Goroutine, verb, s.Mode, plain(s.Lock))
		}
		for _, f := range s.Stack[:min(len(s.Stack), 8)] {
			fmt.Fprintf(&b, "\n      %s\n          %s:%d", f.Function, f.File, f.Line)
		}
	}
	return b.String()
}

var testName = regexp.MustCompile(`\.((?:Test|Benchmark|Fuzz|Example)[^.]*)`)

// findTest looks for a test on the stacks. The goroutines that a test starts
// have its name in those of their functions.
func (m *Misuse) findTest() {
	for _, s := range m.Steps {
		for _, f := range s.Stack {
			if strings.HasSuffix(f.File, "_test.go") {
				if name := testName.FindStringSubmatch(f.Function); name != nil {
					m.Test = name[1]
					return
				}
			}
		}
	}
}

// same identifies a misuse by what it is and where, so that each is told once,
// wherever in its circle it begins.
func (m *Misuse) same() string {
	var sites []string
	for _, s := range m.Steps {
		if len(s.Stack) > 0 {
			sites = append(sites, fmt.Sprintf("%s:%d", s.Stack[0].File, s.Stack[0].Line))
		}
	}
	slices.Sort(sites)
	return fmt.Sprint(m.Kind, sites)
}
