//go:build explore

package explore

import (
	"github.com/drawbridge-go/drawbridge"
)

// Small returns all programs of so many actors, each of which acquires in one
// of the ways that there are, converts its hold at most once, and releases it.
// Programs that differ in the order of their actors alone are one program.
func Small(actors int) []Program {
	var all []Program
	for _, p := range policies {
		for _, scripts := range multisets(rwScripts(), actors) {
			all = append(all, Program{Policy: p, Scripts: scripts})
		}
	}
	for _, p := range []drawbridge.Policy{drawbridge.Balanced, drawbridge.FIFO} {
		for _, scripts := range multisets(mutexScripts(), actors) {
			all = append(all, Program{Mutex: true, Policy: p, Scripts: scripts})
		}
	}
	return all
}

func rwScripts() (scripts []Script) {
	add := func(cancelled bool, ops ...Op) {
		scripts = append(scripts, Script{Ops: append(ops, Release), Cancelled: cancelled})
	}
	add(false, RLock)
	add(false, RLockContext)
	add(true, RLockContext)
	add(false, TryRLock)
	for _, o := range []Op{Lock, LockContext, TryLock} {
		add(false, o)
		add(false, o, Downgrade)
		add(false, o, DowngradeToUpgradable)
	}
	add(true, LockContext)
	add(true, LockContext, Downgrade)
	add(true, LockContext, DowngradeToUpgradable)
	add(false, ULockContext)
	add(true, ULockContext)
	add(false, ULockContext, UpgradeContext)
	add(true, ULockContext, UpgradeContext)
	return scripts
}

// Plain returns the small programs of three actors without contexts: few enough
// to be searched further.
func Plain() []Program {
	var scripts []Script
	for _, ops := range [][]Op{
		{RLock}, {TryRLock}, {Lock}, {Lock, Downgrade}, {TryLock}, {ULock}, {ULock, Upgrade},
	} {
		scripts = append(scripts, Script{Ops: append(ops, Release)})
	}
	var all []Program
	for _, p := range policies {
		for _, s := range multisets(scripts, 3) {
			all = append(all, Program{Policy: p, Scripts: s})
		}
	}
	return all
}

func mutexScripts() []Script {
	return []Script{
		{Ops: []Op{Lock, Release}},
		{Ops: []Op{LockContext, Release}},
		{Ops: []Op{LockContext, Release}, Cancelled: true},
		{Ops: []Op{TryLock, Release}},
	}
}

// multisets returns all ways to choose n of the scripts, in any number each and
// in no order.
func multisets(scripts []Script, n int) (all [][]Script) {
	if n == 0 {
		return [][]Script{nil}
	}
	for i, s := range scripts {
		for _, rest := range multisets(scripts[i:], n-1) {
			all = append(all, append([]Script{s}, rest...))
		}
	}
	return all
}
