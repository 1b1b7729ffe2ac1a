package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// Downgrade takes the lock shared beside, which a session that has it alone is given before everybody who waits, and
// then gives up the other.
func (c *claim) Downgrade(ctx context.Context) error {
	c.mu.Lock()
	if c.downgrading == nil {
		c.downgrading = c.conn.send(func(ctx context.Context, pg *pgx.Conn) error {
			err := c.downgrade(ctx, pg)
			if err != nil {
				c.conn.kill() // nobody knows what it has, also if nobody waits for the answer any more
			}
			return err
		})
	}
	x := c.downgrading
	c.mu.Unlock()
	err := x.wait(ctx)
	if err != nil && !errors.Is(err, ctx.Err()) {
		return lost(err)
	}
	return err
}

func (c *claim) downgrade(ctx context.Context, pg *pgx.Conn) error {
	if c.xact() {
		// A lock of a transaction cannot be given up, except with what came after a savepoint. What stays is a
		// lock of the session; the pooler keeps the session with the transaction.
		if err := run(ctx, pg, fmt.Sprintf("SELECT pg_advisory_lock_shared(%d); ROLLBACK TO SAVEPOINT downgrade", c.keys.lock)); err != nil {
			return err
		}
	} else {
		b := new(pgx.Batch)
		b.Queue("SELECT pg_advisory_lock_shared($1)", c.keys.lock)
		b.Queue("SELECT pg_advisory_unlock($1)", c.keys.lock).QueryRow(had)
		if err := pg.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
	}
	c.shared = true
	return nil
}

// had reads the answer of an unlock: whether the session had the lock.
func had(row pgx.Row) error {
	ok := false
	if err := row.Scan(&ok); err != nil {
		return err
	}
	if !ok {
		return errors.New("the session did not have the lock")
	}
	return nil
}

func (c *claim) Release(ctx context.Context) error {
	switch {
	case c.conn == nil:
		return nil // never asked for
	case c.limit.IsZero():
		c.limit = time.Now().Add(c.session.options.TTL)
		c.waits.Stop()
	}
	if c.holds != nil {
		return c.unlock(ctx)
	}
	return c.withdraw(ctx)
}

// unlock gives up a hold.
func (c *claim) unlock(ctx context.Context) error {
	if err := c.holds.Held(); err != nil && c.unlocking == nil {
		return c.abandon(err)
	}
	c.mu.Lock()
	if c.unlocking == nil {
		c.unlocking = c.conn.send(c.giveUp)
	}
	c.mu.Unlock()
	err := c.unlocking.wait(ctx)
	switch {
	case err == nil:
		c.holds.Stop()
		c.session.put(c.conn)
		return nil
	case ctx.Err() != nil && !hasEnded(err) && c.holds.Held() == nil:
		return err // not answered yet
	}
	return c.abandon(err)
}

// abandon leaves a hold that was lost, for all anybody knows, to the server.
func (c *claim) abandon(why error) error {
	c.conn.kill()
	c.holds.Stop()
	c.session.evictLater(c.place)
	return lost(why)
}

// giveUp runs on the connection and leaves it without a lock and without a transaction.
func (c *claim) giveUp(ctx context.Context, pg *pgx.Conn) error {
	suffix := ""
	if c.mode == cluster.Read || c.shared {
		suffix = "_shared"
	}
	if !c.xact() || c.shared {
		if err := had(pg.QueryRow(ctx, "SELECT pg_advisory_unlock"+suffix+"($1)", c.keys.lock)); err != nil {
			return err
		}
	}
	if !c.xact() {
		return nil
	}
	tag, err := pg.Exec(ctx, "COMMIT")
	if err == nil && tag.String() != "COMMIT" {
		err = errors.New("the transaction had been aborted")
	}
	return err
}

// withdraw takes back what did not become a hold: a place in the queue, a grant that came too late, or nothing.
func (c *claim) withdraw(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	var asked error
	if c.asking != nil {
		if err := c.answer(ctx); err != nil {
			return c.leave(err)
		}
		asked = c.asking.wait(context.Background()) // there is an answer, or the connection has ended
	}
	if !hasEnded(asked) {
		err := error(nil)
		switch {
		case c.asking != nil && asked == nil && !c.refused:
			err = c.conn.do(ctx, c.giveUp)
		case c.xact():
			err = c.conn.do(ctx, func(ctx context.Context, pg *pgx.Conn) error { return run(ctx, pg, "ROLLBACK") })
		case asked != nil:
			// A statement that was cancelled may have got the lock right before, and the session kept it.
			err = c.conn.do(ctx, func(ctx context.Context, pg *pgx.Conn) error { return run(ctx, pg, "SELECT pg_advisory_unlock_all()") })
		}
		if err == nil {
			c.session.put(c.conn)
			return nil
		}
		c.conn.kill()
	}
	// The connection is gone. Its session may not have noticed, and have the lock or a place still.
	if err := c.session.engine.evict(ctx, c.place); err != nil {
		return c.leave(err)
	}
	return nil
}

// answer waits until the request for the lock is answered, and asks the server to cancel it. It asks again and again:
// the request may not have reached the server yet.
func (c *claim) answer(ctx context.Context) error {
	for wait := time.Duration(0); ; pause(ctx, &wait) {
		select {
		case <-c.asking.answered:
			return nil
		case <-c.conn.ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if err := c.session.engine.cancel(ctx, c.place); err != nil && ctx.Err() == nil && final(err) {
			return err
		}
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		c.asking.wait(short)
		cancel()
	}
}

// leave returns why a release has to be tried again; or, when the server will have ended everything by itself, that it
// has: the row of one that waits is out of date, and an idle session has reached its timeout.
func (c *claim) leave(err error) error {
	if time.Now().Before(c.limit) {
		return err
	}
	c.conn.kill()
	c.session.evictLater(c.place)
	return lost(err)
}
