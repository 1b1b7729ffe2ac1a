package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

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

// Prune implements cluster.Engine: it removes the tokens of names that nobody holds or waits for, and raises the floor at
// which such a name begins again above them. It takes each name's own lock for that, if it is free, so that no holder
// draws a token meanwhile; a Try at that moment is refused.
func (e *Engine) Prune(ctx context.Context) (int, error) {
	total, after := 0, ""
	if err := e.check(ctx); err != nil {
		return 0, fmt.Errorf("drawbridge: pruning: %w", err)
	}
	for {
		names, err := e.pruneBatch(ctx, after, &total)
		if err != nil {
			return total, fmt.Errorf("drawbridge: pruning: %w", err)
		}
		if len(names) == 0 {
			return total, nil
		}
		after = names[len(names)-1]
	}
}

func (e *Engine) pruneBatch(ctx context.Context, after string, total *int) (names []string, err error) {
	return names, pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT name FROM `+e.table("lock")+` WHERE name > $1 ORDER BY name LIMIT 100`, after)
		if err != nil {
			return err
		}
		if names, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return err
		}
		b := new(pgx.Batch)
		for _, name := range names {
			b.Queue(`WITH gone AS (DELETE FROM `+e.table("lock")+` WHERE name = $1 AND pg_try_advisory_xact_lock($2) RETURNING token)
				UPDATE `+e.table("floor")+` f SET token = greatest(f.token, gone.token) FROM gone`,
				name, e.keysOf(name).lock).Exec(func(tag pgconn.CommandTag) error {
				*total += int(tag.RowsAffected())
				return nil
			})
		}
		// Rows of sessions that are no more.
		b.Queue(`DELETE FROM ` + e.table("backend") + ` b WHERE seen + ttl < clock_timestamp() AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = b.pid)`)
		return tx.SendBatch(ctx, b).Close()
	})
}

// Guard is what a cluster.Fence is for data in tables of this database. It belongs into the transaction that changes or
// reads what the lock protects, before it does: the row of the fence stays locked until the transaction ends, so nothing
// comes between the check and the change. It returns an error that matches cluster.ErrStale for a token that came too
// late; the transaction must then be rolled back.
//
//	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
//		if err := engine.Guard(ctx, tx, "routes", cluster.Write, hold.Token()); err != nil {
//			return err
//		}
//		_, err := tx.Exec(ctx, "UPDATE routes SET …")
//		return err
//	})
func (e *Engine) Guard(ctx context.Context, tx pgx.Tx, name string, mode cluster.Mode, token cluster.Token) error {
	if err := cluster.ValidName(name); err != nil {
		return err
	}
	fence := e.table("fence")
	statement := `INSERT INTO ` + fence + ` AS f (name, write) SELECT $1, $2::bigint WHERE $2::bigint > 0
		ON CONFLICT (name) DO UPDATE SET write = excluded.write WHERE excluded.write >= f.write AND excluded.write > f.read`
	if mode == cluster.Read {
		statement = `INSERT INTO ` + fence + ` AS f (name, read) SELECT $1, $2::bigint WHERE $2::bigint > 0
			ON CONFLICT (name) DO UPDATE SET read = greatest(f.read, excluded.read) WHERE excluded.read >= f.write`
	}
	tag, err := tx.Exec(ctx, statement, name, int64(token))
	switch {
	case err != nil:
		return fmt.Errorf("drawbridge: checking the token of %q: %w", name, err)
	case tag.RowsAffected() == 0:
		return fmt.Errorf("%w: %v of %q with token %d", cluster.ErrStale, mode, name, token)
	}
	return nil
}
