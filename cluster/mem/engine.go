package mem

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// Entries implements [cluster.Engine].
func (e *Engine) Entries(ctx context.Context, name string) (entries []cluster.Entry, err error) {
	err = e.call(ctx, false, func() {
		for _, x := range e.server.line(name).entries {
			entries = append(entries, x.Entry)
		}
	})
	return entries, err
}

// Names implements [cluster.Engine].
func (e *Engine) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var names []string
		err := e.call(ctx, false, func() {
			for name, q := range e.server.lines {
				if strings.HasPrefix(name, prefix) && len(q.entries) > 0 {
					names = append(names, name)
				}
			}
		})
		if err != nil {
			yield("", err)
			return
		}
		slices.Sort(names)
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	}
}

// Remove implements [cluster.Engine].
func (e *Engine) Remove(ctx context.Context, name string, token cluster.Token) error {
	removed := false
	err := e.call(ctx, false, func() {
		// Readers of one machine can have one token on an engine with shared claims; one hold is removed.
		for _, x := range slices.Clone(e.server.line(name).entries) {
			if x.Granted && x.Token == token && !removed {
				removed = e.server.remove(name, x)
			}
		}
	})
	if err == nil && !removed {
		err = fmt.Errorf("%w: no hold of %q has token %d", cluster.ErrLost, name, token)
	}
	return err
}

// Prune has nothing to do: nothing is left of a name that is not in use but the number of its writers.
func (e *Engine) Prune(context.Context) (int, error) { return 0, nil }

// Value implements [cluster.Engine].
func (e *Engine) Value(ctx context.Context, name string) (v cluster.Value, err error) {
	err = e.call(ctx, false, func() {
		if x := e.server.value(name).Value; !x.Deleted {
			v = x
		}
	})
	return v, err
}

// Store implements [cluster.Engine].
func (e *Engine) Store(ctx context.Context, name string, data []byte, cond cluster.Condition) (version uint64, err error) {
	conflict := false
	err = e.call(ctx, false, func() {
		at := e.server.value(name).Value
		if at.Deleted {
			at.Version = 0
		}
		if cond.At != nil && *cond.At != at.Version {
			conflict = true
			return
		}
		if c, _ := cond.Held.(*claim); cond.Held != nil {
			if c == nil || c.entry == nil || c.entry.gone || c.entry.Mode != cluster.Write || !c.entry.Granted {
				conflict = true
				return
			}
		}
		e.server.setValue(name, cluster.Value{Data: slices.Clone(data)})
		version = e.server.value(name).Version
	})
	if err == nil && conflict {
		err = cluster.ErrConflict
	}
	return version, err
}

// Watch implements [cluster.Engine].
func (e *Engine) Watch(ctx context.Context, name string, after uint64, seen func(*cluster.Value)) error {
	for {
		var v cluster.Value
		var changed chan struct{}
		err := e.call(ctx, false, func() {
			v = e.server.value(name).Value
			changed = e.server.value(name).changed
		})
		if err != nil {
			return err
		}
		if v.Version > after {
			after = v.Version
			seen(&v)
		} else {
			seen(nil)
		}
		if err := e.hear(ctx, changed); err != nil {
			return err
		}
	}
}
