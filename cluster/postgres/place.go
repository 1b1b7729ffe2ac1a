package postgres

import (
	"context"
	"time"
)

// place is what a claim's session is to the server: one backend, with Xact one transaction of it.
type place struct {
	pid     int32
	started time.Time  // of the backend
	xact    *time.Time // of the transaction, with Xact
}

const placeIs = `pid = $1 AND backend_start = $2 AND ($3::timestamptz IS NULL OR xact_start = $3)`

// cancel asks the server to end the statement that the place waits in.
func (e *Engine) cancel(ctx context.Context, p place) error {
	_, err := e.pool.Exec(ctx, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE "+placeIs, p.pid, p.started, p.xact)
	return err
}

// evict ends the place at the server and returns when it is gone.
func (e *Engine) evict(ctx context.Context, p place) error {
	for wait := time.Duration(0); ; pause(ctx, &wait) {
		tag, err := e.pool.Exec(ctx, "SELECT pg_terminate_backend(pid, 200) FROM pg_stat_activity WHERE "+placeIs, p.pid, p.started, p.xact)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// evictLater ends the place at the server in the background, if it can be reached. If not, its timeout does.
func (s *session) evictLater(p place) {
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.TTL)
		defer cancel()
		if err := s.engine.evict(ctx, p); err != nil {
			s.options.Logger.Info("drawbridge: a session of PostgreSQL was left to its timeout", "pid", p.pid, "err", err)
		}
	})
}
