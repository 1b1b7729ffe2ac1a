package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// timeline is the server's timeline in the high bits of a number. It goes up when a standby is promoted. 40 bits below
// it are enough for a million million writers of one name.
const timeline = `((('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint) << 40)`

// The tables. What is unlogged describes sessions and is worth nothing after a crash, which ends them too.
const schema = `BEGIN;
SELECT pg_advisory_xact_lock(7237117975); -- two that run this at once do it one after the other
CREATE SCHEMA IF NOT EXISTS drawbridge;

-- The token of the last writer of each name, in its high bits the timeline of the server.
CREATE TABLE IF NOT EXISTS drawbridge.lock (
	name  text COLLATE "C" PRIMARY KEY,
	token bigint NOT NULL
) WITH (fillfactor = 50);

-- A name without a row begins here: above every token that was pruned.
CREATE TABLE IF NOT EXISTS drawbridge.floor (
	one   boolean PRIMARY KEY DEFAULT true CHECK (one),
	token bigint NOT NULL
);
INSERT INTO drawbridge.floor (token) VALUES (0) ON CONFLICT DO NOTHING;

-- What each server process was last asked for. It holds or waits only if pg_locks says so.
CREATE UNLOGGED TABLE IF NOT EXISTS drawbridge.backend (
	pid     integer PRIMARY KEY,
	claim   bigint NOT NULL,               -- a number for each attempt
	key     bigint NOT NULL,               -- of the advisory lock
	name    text COLLATE "C" NOT NULL,
	token   bigint NOT NULL DEFAULT 0,     -- 0 before the grant
	host    text NOT NULL,
	process integer NOT NULL,
	label   text NOT NULL,
	since   timestamptz NOT NULL,          -- by the clock of the host
	ttl     interval NOT NULL,
	seen    timestamptz NOT NULL           -- a session that waits is ended when this is older than ttl
) WITH (fillfactor = 50);

-- The values of snapshots. To delete one, delete its row or set data to NULL.
CREATE SEQUENCE IF NOT EXISTS drawbridge.version START 2 INCREMENT 2; -- odd numbers are for deletions
CREATE TABLE IF NOT EXISTS drawbridge.value (
	name    text COLLATE "C" PRIMARY KEY,
	version bigint NOT NULL,
	data    bytea
);

-- A fence for data in this database: the highest tokens that wrote and that read.
CREATE TABLE IF NOT EXISTS drawbridge.fence (
	name  text COLLATE "C" PRIMARY KEY,
	write bigint NOT NULL DEFAULT 0,
	read  bigint NOT NULL DEFAULT 0
);

-- Every change of a value, also by hand, is a new version and is told to whoever follows it. The version is drawn while
-- the row is locked, so that the order of versions is the order of commits.
CREATE OR REPLACE FUNCTION drawbridge.changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		PERFORM pg_notify('drawbridge', OLD.name);
		RETURN OLD;
	END IF;
	NEW.version := TIMELINE + nextval('drawbridge.version');
	PERFORM pg_notify('drawbridge', NEW.name);
	RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER changed BEFORE INSERT OR UPDATE OR DELETE ON drawbridge.value
	FOR EACH ROW EXECUTE FUNCTION drawbridge.changed();
COMMIT;
`

// SQL is what Migrate runs, for those who make tables in their own way. It may be run again, and twice at once. It ends
// in COMMIT.
func SQL(o Options) string {
	if o.Schema == "" {
		o.Schema = "drawbridge"
	}
	s := strings.ReplaceAll(schema, "TIMELINE", timeline)
	quoted := pgx.Identifier{o.Schema}.Sanitize()
	s = strings.ReplaceAll(s, "drawbridge.", quoted+".")
	return strings.ReplaceAll(s, "EXISTS drawbridge;", "EXISTS "+quoted+";")
}

// Migrate makes the tables, or does nothing where they are. It may run twice at once. The role needs the right to
// create a schema; others that shall use the locks need, besides, what
//
//	GRANT USAGE ON SCHEMA drawbridge TO …;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA drawbridge TO …;
//	GRANT USAGE ON SEQUENCE drawbridge.version TO …;
//
// gives them. All processes should connect as the same role: one that may not end another's sessions cannot clean up
// behind it.
func Migrate(ctx context.Context, e *Engine) error {
	c, err := e.dial(ctx, nil)
	if err != nil {
		return fmt.Errorf("drawbridge: making the tables: %w", err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	// By the simple protocol, as psql would send it: several statements at once.
	if _, err := c.PgConn().Exec(ctx, SQL(e.options)).ReadAll(); err != nil {
		return fmt.Errorf("drawbridge: making the tables: %w", err)
	}
	return nil
}

// dial makes a connection outside the pool, with these settings from its start on.
func (e *Engine) dial(ctx context.Context, settings map[string]string) (*pgx.Conn, error) {
	config := e.config.ConnConfig.Copy()
	for name, value := range settings {
		config.RuntimeParams[name] = value
	}
	if err := e.config.BeforeConnect(ctx, config); err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, config)
}
