package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// keys of a name's advisory locks.
type keys struct {
	lock int64 // the lock itself
	gate int64 // shared by those who are being granted the lock, alone by who stores a value under it
}

// keysOf hashes the name. Two names that had one key would keep each other out for nothing, and no more than that.
func (e *Engine) keysOf(name string) keys {
	h := sha256.Sum256([]byte(e.options.Schema + "\x00" + name))
	return keys{int64(binary.BigEndian.Uint64(h[:8])), int64(binary.BigEndian.Uint64(h[8:16]))}
}

// locksOf is the condition that a row of pg_locks is of this database's advisory lock with this key.
const locksOf = `l.locktype = 'advisory' AND l.objsubid = 1
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND (l.classid::bigint << 32 | l.objid::bigint) = `

// claim is one attempt, with a connection of its own.
type claim struct {
	session *session
	name    string
	mode    cluster.Mode
	keys    keys
	id      int64 // tells the rows of backend apart
	since   time.Time

	conn  *conn
	place place
	waits *cluster.Lease // keeps the place in the queue
	holds *cluster.Lease // keeps the hold, nil before the grant
	limit time.Time      // by when the server ends, by itself, what a release could not confirm

	asking  *exchange // for the lock, nil before it is asked for
	refused bool      // a try was; known with the answer

	mu          sync.Mutex
	downgrading *exchange
	unlocking   *exchange
	shared      bool // was downgraded; used on the connection's goroutine only
}

// Claim implements cluster.Session.
func (s *session) Claim(name string, mode cluster.Mode) cluster.Claim {
	return &claim{session: s, name: name, mode: mode, keys: s.engine.keysOf(name)}
}

func (c *claim) xact() bool { return c.session.engine.options.Xact }

func (c *claim) Acquire(ctx context.Context, try bool, trouble func(error)) (cluster.Grant, error) {
	c.since = time.Now()
	if err := persist(ctx, trouble, c.enter); err != nil {
		return cluster.Grant{}, err
	}
	if err := c.ask(ctx, try); err != nil {
		return cluster.Grant{}, err
	}
	return c.settle(ctx, trouble)
}

// persist calls try until there is no trouble, it cannot help any more, or ctx ends.
func persist(ctx context.Context, trouble func(error), try func(context.Context) error) error {
	for wait := time.Duration(0); ; pause(ctx, &wait) {
		short, cancel := context.WithTimeout(ctx, request)
		err := try(short)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil || final(err):
			trouble(nil)
			return err
		}
		trouble(err)
	}
}

// enter gets a connection, with Xact a transaction on it, and says in a row whose it is. After that it is known to be
// good, also if it was idle for a while, and there is no place in the queue yet.
func (c *claim) enter(ctx context.Context) error {
	conn, err := c.session.take(ctx)
	if err != nil {
		return err
	}
	sent := time.Now()
	if c.place, err = c.open(ctx, conn); err == nil {
		err = c.register(ctx, conn)
	}
	if err != nil {
		conn.kill() // with Xact, its transaction with it
		return err
	}
	c.conn = conn
	c.waits = cluster.NewLease(sent, c.session.options.TTL, c.renewWait)
	return nil
}

// open returns what the connection is to the server. With Xact it begins the transaction that will have the lock.
func (c *claim) open(ctx context.Context, conn *conn) (place, error) {
	var p place
	if !c.xact() {
		return conn.place, nil
	}
	begin := fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = %s;"+
		"SET LOCAL client_connection_check_interval = %s; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; SAVEPOINT downgrade",
		millis(c.session.options.TTL), millis(lookout(c.session.options.TTL)))
	err := conn.do(ctx, func(ctx context.Context, pg *pgx.Conn) error {
		if err := run(ctx, pg, begin); err != nil {
			return err
		}
		return pg.QueryRow(ctx, "SELECT pid, backend_start, xact_start FROM pg_stat_activity WHERE pid = pg_backend_pid()").
			Scan(&p.pid, &p.started, &p.xact)
	})
	if err != nil {
		return place{}, err // p may still be written
	}
	return p, nil
}

// run sends statements without parameters, several in one round trip.
func run(ctx context.Context, pg *pgx.Conn, statements string) error {
	_, err := pg.PgConn().Exec(ctx, statements).ReadAll()
	return err
}

// register says whose the place is, where everybody can read it: with Xact not in the transaction that will be open.
func (c *claim) register(ctx context.Context, conn *conn) error {
	c.id = rand.Int64()
	o, e := c.session.options, c.session.engine
	statement := `INSERT INTO ` + e.table("backend") + ` (pid, claim, key, name, host, process, label, since, ttl, seen)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9 * interval '1 millisecond', clock_timestamp())
		ON CONFLICT (pid) DO UPDATE SET claim = excluded.claim, key = excluded.key, name = excluded.name, token = 0,
			host = excluded.host, process = excluded.process, label = excluded.label,
			since = excluded.since, ttl = excluded.ttl, seen = excluded.seen`
	row := []any{c.place.pid, c.id, c.keys.lock, c.name, o.Owner.Host, int32(o.Owner.PID), o.Owner.Label, c.since, o.TTL.Milliseconds()}
	if c.xact() {
		_, err := e.pool.Exec(ctx, statement, row...)
		return err
	}
	return conn.do(ctx, func(ctx context.Context, pg *pgx.Conn) error {
		_, err := pg.Exec(ctx, statement, row...)
		return err
	})
}

// ask takes a place in the queue and returns when the server has granted the lock.
func (c *claim) ask(ctx context.Context, try bool) error {
	function := "advisory_"
	if c.xact() {
		function += "xact_"
	}
	function += "lock"
	if c.mode == cluster.Read {
		function += "_shared"
	}
	// The wait ends with the place, too. What the server made of the request is found out by Release.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(c.waits.Context(), func() { stop(context.Cause(c.waits.Context())) })()
	for {
		c.asking = c.conn.send(func(ctx context.Context, pg *pgx.Conn) error {
			if try {
				got := false
				err := pg.QueryRow(ctx, "SELECT pg_try_"+function+"($1)", c.keys.lock).Scan(&got)
				c.refused = err == nil && !got
				return err
			}
			_, err := pg.Exec(ctx, "SELECT pg_"+function+"($1)", c.keys.lock)
			return err
		})
		err := c.asking.wait(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (hasEnded(err) || code(err) == queryCanceled):
			return lost(err)
		case err != nil:
			return err
		case !c.refused:
			return nil
		}
		// Refused, perhaps by one that waits and whose process is gone.
		if ended, err := c.reap(ctx); err != nil || ended == 0 {
			return cluster.ErrBusy
		}
	}
}

// renewWait keeps the place of a session that waits: the server's own timeouts run for idle ones only.
func (c *claim) renewWait(ctx context.Context) (time.Duration, error) {
	e := c.session.engine
	tag, err := e.pool.Exec(ctx, `UPDATE `+e.table("backend")+` SET seen = clock_timestamp() WHERE pid = $1 AND claim = $2
		AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = $1 AND `+locksOf+`$3)`, c.place.pid, c.id, c.keys.lock)
	switch {
	case err != nil:
		return 0, err
	case tag.RowsAffected() == 0:
		return 0, fmt.Errorf("%w: the session that waited has ended", cluster.ErrLost)
	}
	if _, err := c.reap(ctx); err != nil {
		c.session.options.Logger.Info("drawbridge: sessions that wait for nobody could not be ended", "name", c.name, "err", err)
	}
	return c.session.options.TTL, nil
}

// reap ends sessions that wait for this lock although nothing was heard of their process for its TTL. They would keep
// the door shut, and then hold the lock until their timeout. It returns how many there were.
func (c *claim) reap(ctx context.Context) (int64, error) {
	e := c.session.engine
	tag, err := e.pool.Exec(ctx, `SELECT pg_terminate_backend(l.pid, 1000) FROM pg_locks l JOIN `+e.table("backend")+` b ON b.pid = l.pid AND b.key = $1
		WHERE NOT l.granted AND `+locksOf+`$1 AND b.seen + b.ttl < clock_timestamp()`, c.keys.lock)
	return tag.RowsAffected(), err
}

// settle makes a hold of the lock that the server granted.
func (c *claim) settle(ctx context.Context, trouble func(error)) (cluster.Grant, error) {
	c.waits.Stop()
	var token cluster.Token
	sent := time.Now()
	if c.xact() {
		// In the transaction of the lock the token would stay unseen until the release.
		err := persist(ctx, trouble, func(ctx context.Context) (err error) {
			if c.conn.dead() {
				return lost(c.conn.why)
			}
			token, err = c.draw(ctx, c.session.engine.pool)
			return err
		})
		if err != nil {
			return cluster.Grant{}, err
		}
		// The hold stood after the token was drawn, and the server counts anew.
		sent = time.Now()
		if _, err := c.ping(ctx); err != nil {
			return cluster.Grant{}, err
		}
	} else {
		err := c.conn.do(ctx, func(ctx context.Context, pg *pgx.Conn) (err error) {
			token, err = c.draw(ctx, pg)
			return err
		})
		if err != nil && (hasEnded(err) || code(err) == queryCanceled) {
			err = lost(err)
		}
		if err != nil {
			return cluster.Grant{}, err
		}
	}
	c.holds = cluster.NewLease(sent, c.session.options.TTL, c.ping)
	// The answer may be old: a process that was paused right here has nothing.
	return cluster.Grant{Token: token, Lease: c.holds}, c.holds.Held()
}

// draw raises the token of the lock, or reads it for a reader, after whoever stores a value under an earlier hold is
// through. It is one transaction, whose commit is durable.
func (c *claim) draw(ctx context.Context, on interface {
	SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
}) (token cluster.Token, err error) {
	e := c.session.engine
	lock, floor := e.table("lock"), e.table("floor")
	statement := `INSERT INTO ` + lock + ` AS l (name, token) SELECT $1, greatest(f.token, ` + timeline + `) + 1 FROM ` + floor + ` f
		ON CONFLICT (name) DO UPDATE SET token = greatest(l.token, ` + timeline + `) + 1 RETURNING token`
	if c.mode == cluster.Read {
		// It makes the row if there is none, so that the token of a name in use does not follow the floor.
		statement = `WITH made AS (INSERT INTO ` + lock + ` (name, token) SELECT $1, greatest(f.token, ` + timeline + `) FROM ` + floor + ` f
				WHERE NOT EXISTS (SELECT FROM ` + lock + ` WHERE name = $1) ON CONFLICT DO NOTHING RETURNING token)
			SELECT token FROM made UNION ALL SELECT greatest(token, ` + timeline + `) FROM ` + lock + ` WHERE name = $1`
	}
	for {
		b := new(pgx.Batch)
		b.Queue("SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'")
		b.Queue("SELECT pg_advisory_xact_lock_shared($1)", c.keys.gate)
		b.Queue(statement, c.name).QueryRow(func(row pgx.Row) error { return row.Scan(&token) })
		b.Queue(`UPDATE `+e.table("backend")+` SET token = (SELECT greatest(token, `+timeline+`) FROM `+lock+` WHERE name = $3)
			WHERE pid = $1 AND claim = $2`, c.place.pid, c.id, c.name)
		err = on.SendBatch(ctx, b).Close()
		// No row: another reader made it at the same moment, unseen by this statement.
		if !errors.Is(err, pgx.ErrNoRows) {
			return token, err
		}
	}
}

// ping keeps the hold: the session was idle for less than its timeout.
func (c *claim) ping(ctx context.Context) (time.Duration, error) {
	err := c.conn.do(ctx, func(ctx context.Context, pg *pgx.Conn) error {
		_, err := pg.Exec(ctx, "SELECT 1")
		return err
	})
	if err != nil && (hasEnded(err) || c.xact() && code(err) != "") {
		// An error within a transaction ends it, and the lock with it.
		return 0, lost(err)
	}
	return c.session.options.TTL, err
}

func (c *claim) Watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.conn.ended:
		return lost(c.conn.why)
	}
}
