// Package etcd keeps the locks and snapshots of package cluster on etcd 3.4 or later.
//
//	engine, err := etcd.Dial(clientv3.Config{Endpoints: []string{"https://etcd-1:2379"}}, etcd.Options{})
//	locks := cluster.New(engine, cluster.Options{})
//
// # How a lock works
//
// Each call makes one key, which names the lock, the mode and the process. It is written in the transaction that also
// looks for the last key before it that conflicts; if there is none the lock is granted, after one round trip. Otherwise
// the call watches that one key and looks again when it is gone. Since no key can appear with a create revision below
// one's own, the keys before a call only become fewer: the order of create revisions is the order of grants, and a create
// revision is a fencing token. All keys of a Locker hang on one lease. The name of a key is used again by a later call,
// when it is certain that the key is gone for good; what tells two of one name apart is the create revision.
//
// A hand-over costs two requests (the leaving holder's and the next one's) and one watch, however many calls wait; a
// call that waits on a busy etcd costs one request more, when its watch has begun. Each look makes the server go through
// the keys that the lock has had since the history was last compacted, which are as many as there were calls at a time
// in each process.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// Options of an Engine. The zero value is ready.
type Options struct {
	// Prefix is what all keys begin with; "drawbridge/" if empty. Two engines with different prefixes have
	// nothing to do with each other, unless one prefix begins with the other.
	Prefix string
}

// Engine implements cluster.Engine.
type Engine struct {
	client *clientv3.Client
	prefix string
	own    bool // client was made here
}

// New returns an engine on a client that the caller closes, after the Lockers and Snapshots. Give the client
// DialKeepAliveTime and DialKeepAliveTimeout: without them a connection that was cut silently is only noticed by the
// kernel, which can take many minutes.
func New(client *clientv3.Client, o Options) *Engine {
	if o.Prefix == "" {
		o.Prefix = "drawbridge/"
	}
	return &Engine{client: client, prefix: o.Prefix}
}

// Dial makes a client from etcd's own configuration (endpoints, TLS, user and password) and returns an engine on it. It
// does not wait for the connection, except that with a password etcd is asked first who the user is, within DialTimeout.
// Unless config says otherwise that is 5 s, the connection has keepalives every 3 s with a timeout of 2 s, and the client
// logs nothing: what matters is in the errors.
func Dial(config clientv3.Config, o Options) (*Engine, error) {
	if config.DialTimeout == 0 {
		config.DialTimeout = request // the client's own default is to wait for ever
	}
	if config.DialKeepAliveTime == 0 {
		config.DialKeepAliveTime = 3 * time.Second
	}
	if config.DialKeepAliveTimeout == 0 {
		config.DialKeepAliveTimeout = 2 * time.Second
	}
	if config.Logger == nil && config.LogConfig == nil {
		config.Logger = zap.NewNop()
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("drawbridge: connecting to etcd: %w", err)
	}
	e := New(client, o)
	e.own = true
	return e, nil
}

// Open is Dial for a URL, as commands take it:
//
//	etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/PREFIX?cacert=FILE&cert=FILE&key=FILE
//
// All but the hosts may be left out. etcds:// and any of the files mean TLS. Errors never show the password.
func Open(rawURL string) (*Engine, error) {
	config, o, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	return Dial(config, o)
}

func parse(rawURL string) (config clientv3.Config, o Options, err error) {
	usage := func(what string) error {
		return fmt.Errorf("drawbridge: %s in the etcd URL; write etcd://HOST:PORT,HOST:PORT/PREFIX, with USER:PASSWORD@ and ?cacert=FILE&cert=FILE&key=FILE if needed", what)
	}
	scheme, rest, _ := strings.Cut(rawURL, "://")
	if scheme != "etcd" && scheme != "etcds" {
		return config, o, usage("no etcd:// or etcds://")
	}
	// net/url knows no lists of hosts, and its errors show what they could not read: a password perhaps.
	rest, query, _ := strings.Cut(rest, "?")
	rest, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, password, _ := strings.Cut(rest[:at], ":")
		rest = rest[at+1:]
		if config.Username, err = url.PathUnescape(user); err != nil {
			return config, o, usage("a bad escape in the user name")
		}
		if config.Password, err = url.PathUnescape(password); err != nil {
			return config, o, usage("a bad escape in the password")
		}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return config, o, usage("a bad query")
	}
	for name := range values {
		if name != "cacert" && name != "cert" && name != "key" {
			return config, o, usage(fmt.Sprintf("an unknown option %q", name))
		}
	}
	web := "http://"
	if scheme == "etcds" || len(values) > 0 {
		web = "https://"
		files := transport.TLSInfo{TrustedCAFile: values.Get("cacert"), CertFile: values.Get("cert"), KeyFile: values.Get("key")}
		if config.TLS, err = files.ClientConfig(); err != nil {
			return config, o, fmt.Errorf("drawbridge: TLS for etcd: %w", err)
		}
	}
	for host := range strings.SplitSeq(rest, ",") {
		if host == "" {
			return config, o, usage("an empty host")
		}
		config.Endpoints = append(config.Endpoints, web+host)
	}
	o.Prefix = path
	return config, o, nil
}

// Close closes the client if Dial or Open made it.
func (e *Engine) Close() error {
	if !e.own {
		return nil
	}
	return e.client.Close()
}

// The keys. A "/" in a name is escaped, so that "a" is no beginning of "a/b":
//
//	PREFIX l/ NAME /r/ LEASE-NUMBER   a reader of a lock, value: its owner
//	PREFIX l/ NAME /w/ LEASE-NUMBER   a writer, or one that was downgraded
//	PREFIX s/ NAME                    a value of a snapshot
//	PREFIX e/ LEASE                   the lease's epoch, see claim.Release

var (
	escape   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescape = strings.NewReplacer("%25", "%", "%2F", "/")
)

func (e *Engine) locks() string                { return e.prefix + "l/" }
func (e *Engine) lock(name string) string      { return e.locks() + escape.Replace(name) + "/" }
func (e *Engine) writers(name string) string   { return e.lock(name) + "w/" }
func (e *Engine) readers(name string) string   { return e.lock(name) + "r/" }
func (e *Engine) valueKey(name string) string  { return e.prefix + "s/" + escape.Replace(name) }
func (e *Engine) epochKey(lease string) string { return e.prefix + "e/" + lease }

// nameOf is the name of the lock that key belongs to.
func (e *Engine) nameOf(key []byte) (string, bool) {
	name, _, ok := strings.Cut(strings.TrimPrefix(string(key), e.locks()), "/")
	return unescape.Replace(name), ok
}

// request is the longest that one request to etcd may take where the caller's context sets no closer end.
const request = 5 * time.Second

// Entries implements cluster.Engine.
func (e *Engine) Entries(ctx context.Context, name string) ([]cluster.Entry, error) {
	entries, _, err := e.entries(ctx, name)
	return entries, err
}

// entries lists the entries of name in order, and their keys.
func (e *Engine) entries(ctx context.Context, name string) (entries []cluster.Entry, keys []string, err error) {
	resp, err := e.client.Get(ctx, e.lock(name), clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		return nil, nil, fmt.Errorf("drawbridge: listing lock %q: %w", name, e.explain(ctx, err))
	}
	closed := false // a writer is among those before
	for i, kv := range resp.Kvs {
		m := decodeMeta(kv.Value)
		entry := cluster.Entry{Owner: m.Owner, Token: cluster.Token(kv.CreateRevision), Since: m.Since, Mode: cluster.Read}
		writer := strings.HasPrefix(string(kv.Key), e.writers(name))
		if writer && !m.Downgraded {
			entry.Mode = cluster.Write
			entry.Granted = i == 0
			closed = true
		} else {
			entry.Granted = !closed
		}
		entries = append(entries, entry)
		keys = append(keys, string(kv.Key))
	}
	return entries, keys, nil
}

// Names implements cluster.Engine. Names that come or go while it runs may be left out.
func (e *Engine) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		from := e.locks() + escape.Replace(prefix)
		end := clientv3.GetPrefixRangeEnd(from)
		for {
			resp, err := e.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithKeysOnly(), clientv3.WithLimit(500))
			if err != nil {
				yield("", fmt.Errorf("drawbridge: listing locks: %w", e.explain(ctx, err)))
				return
			}
			last := ""
			for _, kv := range resp.Kvs {
				name, ok := e.nameOf(kv.Key)
				if !ok || name == last {
					continue
				}
				last = name
				if !yield(name, nil) {
					return
				}
			}
			if !resp.More || last == "" {
				return
			}
			from = clientv3.GetPrefixRangeEnd(e.lock(last))
		}
	}
}

// Remove implements cluster.Engine. It deletes the one key and leaves the lease alone, on which the other holds of the
// process hang.
func (e *Engine) Remove(ctx context.Context, name string, token cluster.Token) error {
	none := fmt.Errorf("%w: no hold of %q has token %d", cluster.ErrLost, name, token)
	entries, keys, err := e.entries(ctx, name)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if entry.Token != token || !entry.Granted {
			continue
		}
		resp, err := e.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(keys[i]), "=", int64(token))).
			Then(clientv3.OpDelete(keys[i])).Commit()
		if err == nil && !resp.Succeeded {
			err = none
		}
		return err
	}
	return none
}

// Prune implements cluster.Engine. There is nothing to do: every key of a lock hangs on a lease and goes with it.
func (e *Engine) Prune(context.Context) (int, error) { return 0, nil }

// Held is the comparison that makes a transaction of etcd depend on a hold of a lock on the same etcd: it succeeds only
// while the hold stands, and for a write hold only while it was not downgraded. It is what a cluster.Fence is for data
// in etcd, and stricter: it refuses from the moment at which the hold ends.
//
//	held, err := etcd.Held(hold)
//	resp, err := client.Txn(ctx).If(held).Then(clientv3.OpPut(key, value)).Commit()
//	if err == nil && !resp.Succeeded { err = cluster.ErrStale }
func Held(h *cluster.Hold) (clientv3.Cmp, error) {
	c, ok := h.Claim().(*claim)
	if !ok {
		return clientv3.Cmp{}, errors.New("drawbridge: etcd.Held needs a hold of an etcd engine")
	}
	return c.stands(h.Mode()), nil
}

// Revision is the revision of etcd at which the grant of a hold was seen. A read of etcd at this revision or a later one
// sees everything that earlier holders wrote there under their holds.
func Revision(h *cluster.Hold) (int64, error) {
	c, ok := h.Claim().(*claim)
	if !ok {
		return 0, errors.New("drawbridge: etcd.Revision needs a hold of an etcd engine")
	}
	return c.revision, nil
}
