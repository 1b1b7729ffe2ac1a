package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// entries is the query for holders and waiters, in the order of the queue. A session that is being downgraded has two
// locks for a moment; it counts as what it was. Parameter 1 is the key and 2 the name, which may share its key.
func (e *Engine) entries() string {
	return `SELECT DISTINCT ON (l.granted, l.waitstart, b.pid) b.pid, b.host, b.process, b.label, b.since, b.token,
		l.mode = 'ExclusiveLock' AS writes, l.granted
	FROM pg_locks l JOIN ` + e.table("backend") + ` b ON b.pid = l.pid AND b.key = $1 AND b.name = $2
	WHERE ` + locksOf + `$1 ORDER BY l.granted DESC, l.waitstart NULLS LAST, b.pid, l.mode`
}

// Entries implements cluster.Engine. Readers of one process share one entry.
func (e *Engine) Entries(ctx context.Context, name string) (entries []cluster.Entry, err error) {
	err = e.look(ctx, func(ctx context.Context) error {
		rows, err := e.pool.Query(ctx, e.entries(), e.keysOf(name).lock, name)
		if err != nil {
			return err
		}
		entries, err = pgx.CollectRows(rows, scanEntry)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("drawbridge: listing lock %q: %w", name, err)
	}
	return entries, nil
}

func scanEntry(row pgx.CollectableRow) (x cluster.Entry, err error) {
	var (
		pid    int32
		writes bool
	)
	err = row.Scan(&pid, &x.Host, &x.PID, &x.Label, &x.Since, &x.Token, &writes, &x.Granted)
	x.Mode = cluster.Read
	if writes {
		x.Mode = cluster.Write
	}
	return x, err
}

// Names implements cluster.Engine.
func (e *Engine) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var names []string
		err := e.look(ctx, func(ctx context.Context) error {
			rows, err := e.pool.Query(ctx, `SELECT DISTINCT b.name FROM `+e.table("backend")+` b JOIN pg_locks l ON l.pid = b.pid
				WHERE starts_with(b.name, $1) AND `+locksOf+`b.key`, prefix)
			if err != nil {
				return err
			}
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
		if err != nil {
			yield("", fmt.Errorf("drawbridge: listing locks: %w", err))
			return
		}
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	}
}

// Remove implements cluster.Engine. It ends the session that has the lock, and with it all readers of that process that
// share its claim. Of several sessions with the token, which readers can have, it ends one.
func (e *Engine) Remove(ctx context.Context, name string, token cluster.Token) error {
	if err := e.check(ctx); err != nil {
		return fmt.Errorf("drawbridge: releasing lock %q: %w", name, err)
	}
	tag, err := e.pool.Exec(ctx, `WITH entries AS (`+e.entries()+`)
		SELECT pg_terminate_backend(pid, 5000) FROM (SELECT pid FROM entries WHERE granted AND token = $3 LIMIT 1) one`,
		e.keysOf(name).lock, name, int64(token))
	switch {
	case err != nil:
		return fmt.Errorf("drawbridge: releasing lock %q: %w", name, err)
	case tag.RowsAffected() == 0:
		return fmt.Errorf("%w: no hold of %q has token %d", cluster.ErrLost, name, token)
	}
	return nil
}
