package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

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
