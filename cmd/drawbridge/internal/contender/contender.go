// Package contender puts the locks that the experiments compare behind one
// interface.
package contender

import (
	"context"
	"fmt"
	"strings"
)

// Lock is a read-write lock in an experiment. Lock and RLock return the
// context's error, and hold nothing, when the context ends first.
type Lock interface {
	Lock(ctx context.Context) error
	Unlock()
	RLock(ctx context.Context) error
	RUnlock()

	// Settle returns when nothing is left of the calls that gave up. Call
	// it when nobody holds the lock any more: a lock whose waits cannot be
	// given up has goroutines to wait for.
	Settle()
}

// Contender is a lock that takes part, by the names a reader of the results
// knows it by.
type Contender struct {
	Name   string
	Policy string // who goes next, in the lock's own terms or in a few words
	New    func() Lock
}

// Key is the word that selects the contender on a command line: a policy of
// drawbridge by the policy's name, every other lock by its own.
func (c Contender) Key() string {
	if c.Name == drawbridgeName {
		return c.Policy
	}
	return c.Name
}

// All returns every contender, ours first.
func All() []Contender {
	return append(ours(), theirs()...)
}

// Select returns the contenders with the given keys in the order of [All], or
// all when there is no key. Keys match whatever their case and with or without
// hyphens, so that both PreferWriters and prefer-writers do.
func Select(keys []string) ([]Contender, error) {
	all := All()
	if len(keys) == 0 {
		return all, nil
	}
	wanted := map[string]bool{}
	for _, key := range keys {
		wanted[plain(key)] = true
	}
	var chosen []Contender
	var known []string
	for _, c := range all {
		known = append(known, c.Key())
		if wanted[plain(c.Key())] {
			chosen = append(chosen, c)
			delete(wanted, plain(c.Key()))
		}
	}
	for _, key := range keys {
		if wanted[plain(key)] {
			return nil, fmt.Errorf("unknown policy %q: use one or more of %s", key, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

func plain(key string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(key), "-", ""))
}
