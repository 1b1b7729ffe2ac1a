// Package postgres keeps the locks and snapshots of package cluster on PostgreSQL 14 or later.
//
//	engine, err := postgres.Open("postgres://app@db/app", postgres.Options{})
//	err = postgres.Migrate(ctx, engine) // once, by a role that may create tables
//	locks := cluster.New(engine, cluster.Options{})
//
// # How a lock works
//
// A lock is an advisory lock of PostgreSQL, which queues in order of arrival and lets a waiting writer close the door.
// Each claim has a connection of its own, so that no session that holds a lock ever waits for another: there is nothing
// for the server's deadlock detector to reorder, and idle_session_timeout ends the session, and with it the hold, when
// nothing was heard of the holder for its TTL. A hold is kept by a ping on its own connection. When the connection
// breaks the hold is lost: it cannot move to another one.
//
// A session that waits is busy, so no timeout of the server's runs for it. Its process renews a row instead, and
// whoever waits for the same lock ends sessions whose row is out of date.
//
// After the grant the writer raises the lock's token in a table, in a commit of its own, and a reader reads it. The high
// bits of a token are the timeline of the server, so that it rises also when a standby that had not heard of the last
// tokens is promoted. The hold counts only from then on.
//
// # Poolers
//
// A pooler that gives out sessions by the transaction, such as PgBouncer, would give the session with its locks to
// somebody else. It is found when the engine connects, and refused: connect directly, or set [Options.Xact].
//
// # Connections
//
// An engine has a connection for each lock that a process holds or waits for (at most Options.Connections, 16 by
// default; further calls wait in the process), up to four for short statements, and one that listens if there are
// snapshots. A lock on one name needs one while it is held and one while a call of this process waits for it, however
// many calls that are: they queue in the process, and readers share.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// Options of an Engine. The zero value is ready.
type Options struct {
	// Schema has the tables; "drawbridge" if empty. Lower-case letters, digits and "_", at most 48. Engines with
	// different schemas or databases have nothing to do with each other.
	Schema string

	// Xact keeps each lock in an open transaction. That is for poolers that give out sessions by the transaction:
	// a held lock then has one of the pooler's server connections. Snapshots are followed by asking every Poll,
	// since such a pooler passes no notifications on. All processes may choose for themselves.
	Xact bool

	// Connections is the greatest number of locks that one Locker holds or waits for at a time; 16 if zero. Calls
	// beyond it wait in the process. If holders may wait for other locks, it must be large enough for all that
	// they hold and wait for, or they can wait for one another.
	Connections int

	// Poll is how often a snapshot asks for a newer value beside being notified; 5 s if zero, 1 s with Xact.
	Poll time.Duration
}

// Engine implements cluster.Engine.
type Engine struct {
	options Options
	pool    *pgxpool.Pool   // for short statements
	config  *pgxpool.Config // of the pool, to make other connections from
	listens listener

	mu    sync.Mutex
	ready bool // the server was found fit
}

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,47}$`)

func checkSchema(name string) error {
	if !schemaName.MatchString(name) {
		return fmt.Errorf("drawbridge: schema %q: write lower-case letters, digits and _, at most 48", name)
	}
	return nil
}

// New returns an engine that connects as config says, which is copied: hosts, TLS, user and password, and BeforeConnect
// for passwords that change. Sizes of the pool in it are ignored. It does not connect yet.
func New(config *pgxpool.Config, o Options) (*Engine, error) {
	if o.Schema == "" {
		o.Schema = "drawbridge"
	}
	if err := checkSchema(o.Schema); err != nil {
		return nil, err
	}
	if o.Connections <= 0 {
		o.Connections = 16
	}
	if o.Poll <= 0 {
		o.Poll = 5 * time.Second
		if o.Xact {
			o.Poll = time.Second
		}
	}
	config = config.Copy()
	config.MaxConns, config.MinConns, config.MinIdleConns = 4, 0, 0
	// A connection that the server ended meanwhile is found before it is used, not by an error.
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool { return p.IdleDuration > 50*time.Millisecond }
	// One round trip a statement and nothing prepared, which also poolers can pass on.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = request
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "drawbridge"
	}
	if !o.Xact { // a pooler would refuse it
		config.ConnConfig.RuntimeParams["default_transaction_isolation"] = readCommitted
	}
	if config.ConnConfig.ValidateConnect == nil {
		config.ConnConfig.ValidateConnect = primary
	}
	before := config.BeforeConnect
	config.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) error {
		if o.Xact {
			withoutCancelRequests(c)
		}
		if before != nil {
			return before(ctx, c)
		}
		return nil
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("drawbridge: %w", err)
	}
	e := &Engine{options: o, pool: pool, config: config}
	e.listens.engine = e
	return e, nil
}

// primary refuses a standby, so that of several hosts the primary is found.
func primary(_ context.Context, c *pgconn.PgConn) error {
	if c.ParameterStatus("in_hot_standby") == "on" {
		return errors.New("it is a standby; locks need the primary")
	}
	return nil
}

// withoutCancelRequests keeps a connection from asking for the cancellation of its statement when it is given up. Behind a
// pooler such a request can come too late and hit somebody else's statement, and PgBouncer 1.18 ends itself over one whose
// sender has gone. It is asked for by a connection of its own, which is made here like the first; after that none is.
func withoutCancelRequests(c *pgx.ConnConfig) {
	var connected atomic.Bool
	dial, validate := c.DialFunc, c.ValidateConnect
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if connected.Load() {
			return nil, errors.New("no request for a cancellation is sent to a pooler")
		}
		return dial(ctx, network, addr)
	}
	c.ValidateConnect = func(ctx context.Context, pg *pgconn.PgConn) error {
		err := validate(ctx, pg)
		connected.Store(err == nil)
		return err
	}
}

// Open is New for a URL or a string of parameters as PostgreSQL's own clients take them:
//
//	postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?sslmode=verify-full
//
// In a URL, as commands take it, xact=true and schema=NAME set the options of these names. What is missing comes from
// the usual environment variables (PGPASSWORD and so on). Errors never show the password.
func Open(conn string, o Options) (*Engine, error) {
	config, o, err := Config(conn, o)
	if err != nil {
		return nil, err
	}
	return New(config, o)
}

// Config reads a URL as Open does, for programs that add something to the configuration before they call New.
func Config(conn string, o Options) (*pgxpool.Config, Options, error) {
	conn, o, err := split(conn, o)
	if err != nil {
		return nil, o, err
	}
	config, err := pgxpool.ParseConfig(conn)
	if err != nil {
		// What could not be read may be a password, so it is not repeated.
		return nil, o, errors.New("drawbridge: the PostgreSQL URL or one of the PG… environment variables cannot be read; write postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full")
	}
	return config, o, nil
}

// split takes the options of the engine out of a URL.
func split(conn string, o Options) (string, Options, error) {
	u, err := url.Parse(conn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return conn, o, nil // a list of hosts, perhaps, or parameters
	}
	query := u.Query()
	if query.Has("xact") {
		if o.Xact, err = strconv.ParseBool(query.Get("xact")); err != nil {
			return "", o, fmt.Errorf("drawbridge: xact=%q in the PostgreSQL URL; write true or false", query.Get("xact"))
		}
	}
	if query.Has("schema") {
		o.Schema = query.Get("schema")
		if err := checkSchema(o.Schema); err != nil {
			return "", o, err
		}
	}
	query.Del("xact")
	query.Del("schema")
	u.RawQuery = query.Encode()
	return u.String(), o, nil
}

// Close closes the engine's connections, after the Lockers and Snapshots.
func (e *Engine) Close() error {
	e.listens.close()
	e.pool.Close()
	return nil
}

// table is the quoted name of one of the schema's tables.
func (e *Engine) table(name string) string { return pgx.Identifier{e.options.Schema, name}.Sanitize() }

// readCommitted is the isolation in which each statement sees what was committed before it began, also before it waited.
const readCommitted = "read committed"

// check finds out, once, whether the server and its tables are fit.
func (e *Engine) check(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ready {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	var (
		version             int
		encoding, isolation string
		tables              bool
	)
	err := e.pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
		current_setting('default_transaction_isolation'), to_regclass($1) IS NOT NULL`,
		e.table("fence")).Scan(&version, &encoding, &isolation, &tables)
	switch {
	case err != nil:
		return refused(err)
	case version < 140000:
		return unfit{fmt.Sprintf("the server is PostgreSQL %d; 14 or later is needed", version/10000)}
	case encoding != "UTF8":
		return unfit{fmt.Sprintf("the database is encoded in %s; create one with UTF8 for the names of locks", encoding)}
	case isolation != readCommitted:
		return unfit{fmt.Sprintf("default_transaction_isolation is %q for this role; set it to %q", isolation, readCommitted)}
	case !tables:
		return unfit{fmt.Sprintf("schema %q has no tables of drawbridge; run once: drawbridge locks migrate (or postgres.Migrate, or the SQL of postgres.SQL)", e.options.Schema)}
	}
	e.ready = true
	return nil
}

// look runs a statement that only reads, once more if the connection turns out to have been dead.
func (e *Engine) look(ctx context.Context, statement func(context.Context) error) error {
	if err := e.check(ctx); err != nil {
		return err
	}
	err := statement(ctx)
	if err != nil && ctx.Err() == nil && (code(err) == adminShutdown || code(err) == "") && !errors.Is(err, pgx.ErrNoRows) {
		err = statement(ctx)
	}
	return err
}

// request is the longest that one short statement may take where the caller's context sets no closer end.
const request = 5 * time.Second

// Session implements cluster.Engine.
func (e *Engine) Session(o cluster.SessionOptions) cluster.Session {
	return &session{engine: e, options: o, conns: make(map[*conn]struct{})}
}
