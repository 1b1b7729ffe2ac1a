package cluster

import (
	"context"
	"iter"
)

// State is a lock as the engine sees it at one moment.
type State struct {
	Name    string
	Holders []Entry // several readers or one writer
	Waiters []Entry // in the order in which they will be granted
	Queued  int     // calls in this process that wait behind an entry of this process; only on engines with Limits
}

// NewState splits the entries of a lock into holders and waiters.
func NewState(name string, entries []Entry) State {
	s := State{Name: name}
	for _, e := range entries {
		if e.Granted {
			s.Holders = append(s.Holders, e)
		} else {
			s.Waiters = append(s.Waiters, e)
		}
	}
	return s
}

// Names yields the names that begin with prefix and are held or waited for now, each once, in any order.
func (l *Locker) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return l.engine.Names(ctx, prefix)
}
