//go:build explore

package explore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-go/drawbridge"
)

// Op is a call in a program.
type Op uint8

const (
	RLock Op = iota
	RLockContext
	Lock
	LockContext
	ULock
	ULockContext
	TryRLock
	TryLock
	TryULock
	Upgrade
	UpgradeContext
	Downgrade
	DowngradeToUpgradable
	Release // RUnlock, UUnlock or Unlock, whichever ends what is held

	ops
)

var opNames = [ops]string{
	"RLock", "RLockContext", "Lock", "LockContext", "ULock", "ULockContext", "TryRLock", "TryLock", "TryULock",
	"Upgrade", "UpgradeContext", "Downgrade", "DowngradeToUpgradable", "Release",
}

func (o Op) String() string { return opNames[o] }

// mode is what a call leaves its actor with.
func (o Op) mode() drawbridge.Mode {
	switch o {
	case RLock, RLockContext, TryRLock, Downgrade:
		return drawbridge.Read
	case ULock, ULockContext, TryULock, DowngradeToUpgradable:
		return drawbridge.Upgradable
	case Release:
		return 0
	}
	return drawbridge.Write
}

func (o Op) try() bool     { return o == TryRLock || o == TryLock || o == TryULock }
func (o Op) upgrade() bool { return o == Upgrade || o == UpgradeContext }
func (o Op) takesContext() bool {
	return o == RLockContext || o == LockContext || o == ULockContext || o == UpgradeContext
}

// Script is what one actor calls. The calls that take a context take the same
// one, which another actor ends at any time if Cancelled.
type Script struct {
	Ops       []Op
	Cancelled bool
}

func (s Script) String() string {
	var words []string
	for _, o := range s.Ops {
		word := o.String()
		if s.Cancelled && o.takesContext() {
			word += "!"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// Program is a lock and what its actors do with it.
type Program struct {
	Mutex   bool // a Mutex, else an RWMutex
	Policy  drawbridge.Policy
	Start   string // a state of sched.Core.Start
	Clock   int    // how often the clock moves on by more than a writer's patience
	Scripts []Script
}

// cancelled reports whether a context ends in p.
func (p Program) cancelled() bool {
	return slices.ContainsFunc(p.Scripts, func(s Script) bool { return s.Cancelled })
}

// String writes a program as [ParseProgram] reads it.
func (p Program) String() string {
	var b strings.Builder
	if p.Mutex {
		b.WriteString("Mutex ")
	}
	b.WriteString(p.Policy.String())
	if p.Start != "" {
		b.WriteString(" start=" + p.Start)
	}
	if p.Clock > 0 {
		fmt.Fprintf(&b, " clock=%d", p.Clock)
	}
	b.WriteString(": ")
	for i, s := range p.Scripts {
		if i > 0 {
			b.WriteString(" | ")
		}
		b.WriteString(s.String())
	}
	return b.String()
}

// ParseProgram reads a program: the lock, and after a colon the calls of each
// actor, with a bar between two actors.
//
//	Balanced clock=1: RLock Release | LockContext! Downgrade Release
//
// A call with an exclamation mark has a context that may end at any time.
func ParseProgram(text string) (Program, error) {
	var p Program
	head, body, ok := strings.Cut(text, ":")
	if !ok {
		return p, fmt.Errorf("the program %q has no colon after the lock", text)
	}
	for _, word := range strings.Fields(head) {
		key, value, _ := strings.Cut(word, "=")
		i := slices.IndexFunc(policies, func(p drawbridge.Policy) bool { return p.String() == word })
		var err error
		switch {
		case i >= 0:
			p.Policy = policies[i]
		case word == "Mutex":
			p.Mutex = true
		case key == "start":
			p.Start = value
		case key == "clock":
			p.Clock, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("%q is neither Mutex nor a policy", word)
		}
		if err != nil {
			return p, err
		}
	}
	for _, part := range strings.Split(body, "|") {
		var s Script
		for _, word := range strings.Fields(part) {
			name, cancelled := strings.CutSuffix(word, "!")
			i := slices.Index(opNames[:], name)
			if i < 0 {
				return p, fmt.Errorf("%q is not a call; there are %s", word, strings.Join(opNames[:], ", "))
			}
			s.Ops = append(s.Ops, Op(i))
			s.Cancelled = s.Cancelled || cancelled
		}
		p.Scripts = append(p.Scripts, s)
	}
	if len(p.Scripts) > 8 {
		return p, fmt.Errorf("the program has %d actors, and there can be 8", len(p.Scripts))
	}
	return p, nil
}

var policies = []drawbridge.Policy{drawbridge.Balanced, drawbridge.PreferWriters, drawbridge.PreferReaders, drawbridge.FIFO}

// rwLock and mutexLock give both types the same calls.

type lock interface {
	call(o Op, ctx context.Context) (granted bool, err error)
	release(m drawbridge.Mode)
	any() any
}

type rwLock struct{ drawbridge.RWMutex }

func (l *rwLock) any() any { return &l.RWMutex }

func (l *rwLock) call(o Op, ctx context.Context) (granted bool, err error) {
	switch o {
	case RLock:
		l.RLock()
	case RLockContext:
		err = l.RLockContext(ctx)
	case Lock:
		l.Lock()
	case LockContext:
		err = l.LockContext(ctx)
	case ULock:
		l.ULock()
	case ULockContext:
		err = l.ULockContext(ctx)
	case TryRLock:
		return l.TryRLock(), nil
	case TryLock:
		return l.TryLock(), nil
	case TryULock:
		return l.TryULock(), nil
	case Upgrade:
		l.Upgrade()
	case UpgradeContext:
		err = l.UpgradeContext(ctx)
	case Downgrade:
		l.Downgrade()
	case DowngradeToUpgradable:
		l.DowngradeToUpgradable()
	}
	return err == nil, err
}

func (l *rwLock) release(m drawbridge.Mode) {
	switch m {
	case drawbridge.Read:
		l.RUnlock()
	case drawbridge.Upgradable:
		l.UUnlock()
	case drawbridge.Write:
		l.Unlock()
	}
}

type mutexLock struct{ drawbridge.Mutex }

func (l *mutexLock) any() any { return &l.Mutex }

func (l *mutexLock) call(o Op, ctx context.Context) (granted bool, err error) {
	switch o {
	case Lock:
		l.Lock()
	case LockContext:
		err = l.LockContext(ctx)
	case TryLock:
		return l.TryLock(), nil
	default:
		panic("explore: a Mutex has no " + o.String())
	}
	return err == nil, err
}

func (l *mutexLock) release(drawbridge.Mode) { l.Unlock() }
