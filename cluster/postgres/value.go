package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// A value is one row. A trigger gives each change a version and notifies.

// Value implements cluster.Engine.
func (e *Engine) Value(ctx context.Context, name string) (cluster.Value, error) {
	v, err := e.value(ctx, name)
	if err != nil {
		return cluster.Value{}, fmt.Errorf("drawbridge: reading value %q: %w", name, err)
	}
	if v.Deleted {
		v = cluster.Value{}
	}
	return v, nil
}

// value reads the row. Without data it is deleted; without a row it has no version either.
func (e *Engine) value(ctx context.Context, name string) (v cluster.Value, err error) {
	err = e.look(ctx, func(ctx context.Context) error {
		return e.pool.QueryRow(ctx, `SELECT version, data, data IS NULL FROM `+e.table("value")+` WHERE name = $1`, name).
			Scan(&v.Version, &v.Data, &v.Deleted)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return cluster.Value{Deleted: true}, nil
	}
	return v, err
}

// Store implements cluster.Engine.
func (e *Engine) Store(ctx context.Context, name string, data []byte, cond cluster.Condition) (version uint64, err error) {
	if err := e.check(ctx); err != nil {
		return 0, fmt.Errorf("drawbridge: storing value %q: %w", name, err)
	}
	if data == nil {
		data = []byte{} // not NULL, which is no value
	}
	var (
		table = e.table("value")
		b     = new(pgx.Batch)
		args  = []any{name, data}
		where = "name = $1"
	)
	b.Queue("SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'")
	if cond.Held != nil {
		c, ok := cond.Held.(*claim)
		if !ok || c.holds == nil {
			return 0, errors.New("drawbridge: the hold is not of a PostgreSQL engine")
		}
		// With the gate shut nobody is granted the lock until this has committed, even if it becomes free
		// right after the look.
		b.Queue("SELECT pg_advisory_xact_lock($1)", c.keys.gate)
		where += ` AND EXISTS (SELECT FROM pg_locks l JOIN ` + e.table("backend") + ` b ON b.pid = l.pid AND b.claim = $3
			WHERE l.pid = $4 AND l.mode = 'ExclusiveLock' AND l.granted AND ` + locksOf + `$5)`
		args = append(args, c.id, c.place.pid, c.keys.lock)
	}
	if cond.At == nil || *cond.At == 0 {
		// The row is there before its version is drawn.
		b.Queue(`INSERT INTO `+table+` (name, version) VALUES ($1, 0) ON CONFLICT DO NOTHING`, name)
	}
	switch {
	case cond.At == nil:
	case *cond.At == 0:
		where += " AND data IS NULL"
	default:
		args = append(args, int64(*cond.At))
		where += fmt.Sprintf(" AND data IS NOT NULL AND version = $%d", len(args))
	}
	b.Queue(`UPDATE `+table+` SET data = $2 WHERE `+where+` RETURNING version`, args...).
		QueryRow(func(row pgx.Row) error { return row.Scan(&version) })
	err = e.pool.SendBatch(ctx, b).Close()
	switch {
	case errors.Is(err, pgx.ErrNoRows) && cond == (cluster.Condition{}):
		return e.Store(ctx, name, data, cond) // the row was deleted between two statements
	case errors.Is(err, pgx.ErrNoRows):
		return 0, cluster.ErrConflict
	case err != nil:
		return 0, fmt.Errorf("drawbridge: storing value %q: %w", name, err)
	}
	return version, nil
}

// Watch implements cluster.Engine.
func (e *Engine) Watch(ctx context.Context, name string, after uint64, seen func(*cluster.Value)) error {
	news, broken := (<-chan struct{})(nil), (<-chan struct{})(nil)
	if !e.options.Xact {
		l, err := e.listens.subscribe(ctx, name)
		if err != nil {
			return err
		}
		defer l.cancel()
		news, broken = l.news, l.broken
	}
	poll := time.NewTicker(e.options.Poll)
	defer poll.Stop()
	for {
		// After LISTEN has begun, so that no change comes between.
		asking, cancel := context.WithTimeout(ctx, request)
		v, err := e.value(asking, name)
		cancel()
		switch {
		case err != nil:
			return err
		case v.Version == 0 && after > 0 && after%2 == 0:
			// Versions are even, so there is one left for the deletion before the next.
			after++
			seen(&cluster.Value{Version: after, Deleted: true})
		case v.Version > after && (!v.Deleted || after > 0):
			after = v.Version
			seen(&v)
		default:
			seen(nil)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-broken:
			return errors.New("the connection that listens has ended")
		case <-news:
		case <-poll.C:
		}
	}
}
