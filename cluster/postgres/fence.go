package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/drawbridge-go/drawbridge/cluster"
)

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
