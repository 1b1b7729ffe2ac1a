package cluster

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/drawbridge-go/drawbridge"
)

// Mode says how a lock is asked for or held: Read or Write. There are no upgradable readers across machines.
type Mode = drawbridge.Mode

const (
	Read  = drawbridge.Read
	Write = drawbridge.Write
)

// An Engine keeps locks and values on a system that all machines reach. It does only what differs from system to
// system; deadlines, queueing in the process, scopes, loss and cleaning up are done once, by [Locker], for all of
// them. An implementation is a pointer, is safe for concurrent use, and passes the suite of package clustertest.
//
// Names are valid (see [ValidName]) when they reach an engine.
type Engine interface {
	// Session returns what one Locker works through. It does not talk to the system yet.
	Session(SessionOptions) Session

	// Entries lists the holds of name and the waiting entries behind them, in the order of the queue.
	Entries(ctx context.Context, name string) ([]Entry, error)

	// Names yields the names that begin with prefix and have an entry now, each once, in any order.
	Names(ctx context.Context, prefix string) iter.Seq2[string, error]

	// Remove ends the hold of name that has this token and nothing else: not another hold of the same process,
	// not a hold that took the lock since. Without such a hold it returns ErrLost.
	Remove(ctx context.Context, name string, token Token) error

	// Prune removes what names that are not in use have left behind and returns how many it removed. Tokens go
	// on rising afterwards.
	Prune(ctx context.Context) (int, error)

	// Value reads the value called name with the guarantee that every store that was acknowledged before the
	// call is seen. A name without a value gives a Value with Version 0 and Data nil.
	Value(ctx context.Context, name string) (Value, error)

	// Store writes data to the value called name and returns its version, which is greater than every version
	// of that name before it, also across a deletion. ErrConflict: the condition did not hold, nothing was
	// written. Any other error leaves open whether it was.
	Store(ctx context.Context, name string, data []byte, cond Condition) (version uint64, err error)

	// Watch calls seen for the value called name whenever it has a version above after (or was deleted), at
	// once if that is so already, until ctx ends or the connection breaks, and returns why. Versions only rise
	// from call to call; those in between may be left out, the last one never. seen(nil) means: nothing
	// newer at this moment, the connection is good.
	Watch(ctx context.Context, name string, after uint64, seen func(*Value)) error
}

// SessionOptions are a Locker's own facts, for its entries at the engine.
type SessionOptions struct {
	TTL    time.Duration // how long an entry outlives the last keepalive; an engine may round it up
	Owner  Owner
	Logger *slog.Logger // never nil
}

// Owner says whose entry it is.
type Owner struct {
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	Label string `json:"label,omitempty"`
}

// A Session is one Locker's way to the engine: on etcd a lease, on PostgreSQL a set of connections. It connects
// when the first claim needs it, and anew after it was lost.
type Session interface {
	Limits() Limits

	// Claim returns a new claim on name. It does not talk to the system yet.
	Claim(name string, mode Mode) Claim

	// Close ends the session at the engine, with everything it still has there, and returns when all of its
	// goroutines have ended. It is called once, when no claim is left to be released or their time is over.
	Close(ctx context.Context) error
}

// Limits are for engines on which an entry is dear. The zero value has no limits: every call gets a claim at once,
// so that the order of arrival holds among all calls of all processes.
type Limits struct {
	// Shared makes the calls of a process on one name queue in the process. One claim of the name waits at the
	// engine; when it is granted to a reader, the readers next in line enter on it too. A later reader asks by
	// a claim of its own, so that it stops at a closed door; when that is granted, the older readers are
	// counted on it and their claim is released.
	//
	// The engine gives readers the token of the last writer. That is how a reader whose claim vanished
	// unnoticed is found: the newer claim's token is higher.
	Shared bool

	// Claims is the greatest number of claims at a time over all names, 0 for no end. Calls beyond it wait in
	// the process.
	Claims int
}

// A Claim is one attempt at a lock: first nothing, then a place in the queue, then a hold, then nothing again. It is
// used once. The Locker calls its methods one at a time, except that Downgrade runs beside Watch and may still be under
// way when Release is called.
type Claim interface {
	// Acquire enters the queue and returns when the lock is granted. With try it returns ErrBusy instead of
	// waiting and leaves nothing behind, and keeps nobody out meanwhile.
	//
	// It returns soon after ctx ended; the caller has not waited for it. It returns ErrLost when the entry
	// vanished or the lease behind it ended while it waited, and never re-enters by itself: the place was
	// lost. (A lease that turns out to be over when the place is first asked for is replaced.) A system that cannot
	// be reached is no reason to return before ctx ends: it tells trouble what is the matter, for the error of a
	// caller who gives up, tries again, and tells trouble nil when all is well.
	//
	// A nil error means that the entry was seen in place, with nothing before it that conflicts, at a moment
	// after everybody before it had left.
	Acquire(ctx context.Context, try bool, trouble func(error)) (Grant, error)

	// Watch returns when the granted entry is seen to be gone, with a reason that matches ErrLost, or when ctx
	// ends, and then at once: the release waits for it. The end of the grant's Lease ends ctx.
	Watch(ctx context.Context) error

	// Downgrade turns the granted write entry into a read entry with the same place and token, without a gap.
	// It may be called again after an error. ErrLost: the entry is gone.
	Downgrade(ctx context.Context) error

	// Release removes the entry, be it granted, waiting, or of unknown fate after an Acquire that failed. It is
	// called again after any error but ErrLost. nil: the entry is gone and will not appear any more, or was
	// never there. ErrLost: a granted entry had vanished before, or its lease is over or its session closed, so
	// that it ends, or ended, without this call. It never touches the entry of another claim.
	Release(ctx context.Context) error
}

// Grant is a granted claim.
type Grant struct {
	Token Token
	Lease *Lease // keeps the entry; when it ends, so does the hold
}

// Entry is one hold or one waiting entry as the engine lists it.
type Entry struct {
	Owner
	Mode    Mode
	Granted bool
	Token   Token     // 0 if the engine gives a token only with the grant
	Since   time.Time // when the call came, by the clock of its machine
}

// MaxValue is the greatest size of an encoded value, in bytes, on every engine.
const MaxValue = 1 << 20

// Value is one version of a stored value.
type Value struct {
	Data    []byte
	Version uint64
	Deleted bool // only from Watch: Version is that of the deletion
}

// Condition is what a store asks for first. The zero value asks for nothing.
type Condition struct {
	// At, if not nil, is the version that the value must still have; 0 for no value.
	At *uint64
	// Held, if not nil, is a granted write claim of the same engine that must still stand.
	Held Claim
}
