package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// unfit is why the server, or the way to it, cannot be used. Trying again does not help.
type unfit struct{ why string }

func (u unfit) Error() string { return "drawbridge: " + u.why }

// errPooler names the way out.
var errPooler = unfit{"there is a pooler before PostgreSQL; connect to the server itself, or set Options.Xact (xact=true in the URL)"}

// refused explains an error of a new connection: its settings are not taken by a pooler, or by a server that is too old.
func refused(err error) error {
	switch c := code(err); {
	case c == undefinedParameter, c == invalidParameter, c == protocolViolation && strings.Contains(err.Error(), "startup parameter"):
		return unfit{fmt.Sprintf("a setting of the session was refused; PostgreSQL 14 or later is needed, and behind a pooler Options.Xact (xact=true in the URL): %v", err)}
	}
	return err
}

const (
	queryCanceled      = "57014"
	adminShutdown      = "57P01"
	undefinedParameter = "42704"
	invalidParameter   = "22023"
	protocolViolation  = "08P01"
)

// code is PostgreSQL's code of err, empty if the server did not say it.
func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// final reports whether trying again cannot help: the answer is known, or the server understood and refuses.
func final(err error) bool {
	for _, known := range []error{cluster.ErrBusy, cluster.ErrLost, cluster.ErrClosed} {
		if errors.Is(err, known) {
			return true
		}
	}
	if errors.As(err, new(unfit)) {
		return true
	}
	switch c := code(err); {
	case len(c) != 5:
		return false
	case c == "42501": // no privilege
		return true
	default:
		// Authorization, no such database, bad statement or no such table, bad value, not supported.
		switch c[:2] {
		case "28", "3D", "3F", "42", "22", "0A":
			return true
		}
	}
	return false
}

// lost says that a hold or a place in the queue has gone.
func lost(why error) error {
	if errors.Is(why, cluster.ErrLost) {
		return why
	}
	return fmt.Errorf("%w: %w", cluster.ErrLost, why)
}

// pause waits a little longer each time.
func pause(ctx context.Context, wait *time.Duration) {
	*wait = min(max(2**wait, 20*time.Millisecond), time.Second)
	select {
	case <-ctx.Done():
	case <-time.After(*wait):
	}
}
