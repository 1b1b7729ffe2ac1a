package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drawbridge-go/drawbridge/cluster"
)

// claim is one attempt: one key, which is known by its create revision, since later attempts use its name again.
type claim struct {
	session *session
	name    string
	mode    cluster.Mode

	lease  *lease
	meta   meta
	number number
	key    string
	token  int64 // the key's create revision; 0 before it is known
	// unsure: a request that may have made the key, or may still make it, was not answered.
	unsure bool
	// releasing: a request to delete the key was sent.
	releasing bool
	granted   bool
	revision  int64 // at which the last look was made
}

// blocker is the last entry before one's own that one has to wait for.
type blocker struct {
	key      string
	changed  int64 // its modification revision
	revision int64 // at which it was seen
}

func (c *claim) Acquire(ctx context.Context, try bool, trouble func(error)) (cluster.Grant, error) {
	b, err := c.enter(ctx, try, trouble)
	if err == nil && b != nil {
		err = c.wait(ctx, *b, trouble)
	}
	if err == nil {
		// The answer may be old: a process that was paused right here has nothing.
		err = c.lease.Held()
	}
	if err != nil {
		return cluster.Grant{}, err
	}
	c.granted = true
	return cluster.Grant{Token: cluster.Token(c.token), Lease: c.lease.Lease}, nil
}

// enter makes the key and returns what to wait for, nil for nothing. It tries until ctx ends.
func (c *claim) enter(ctx context.Context, try bool, trouble func(error)) (*blocker, error) {
	for wait := time.Duration(0); ctx.Err() == nil; {
		b, err := c.attempt(ctx, try)
		switch {
		case errors.Is(err, errAgain):
			trouble(nil)
			wait = 0
		case err != nil && !final(err):
			trouble(err)
			pause(ctx, &wait)
		default:
			trouble(nil)
			return b, err
		}
	}
	return nil, ctx.Err()
}

// errAgain: what a request was based on has changed meanwhile, and the next one will know.
var errAgain = errors.New("ask again")

func (c *claim) attempt(ctx context.Context, try bool) (*blocker, error) {
	if c.lease == nil {
		l, err := c.session.open(ctx)
		if err != nil {
			return nil, err
		}
		c.begin(l)
	}
	select {
	case c.session.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b, err := c.ask(try)
	<-c.session.asking
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		// etcd has ended the lease and nobody had noticed.
		c.lease.Lose(err)
		fallthrough
	case errors.Is(err, errLeaseOver):
		if c.unsure {
			return nil, c.lease.Held() // there may have been a place, and it is lost
		}
		c.lease = nil
		return nil, errAgain
	case err != nil && c.token == 0 && !errors.Is(err, errAgain) && !final(err):
		c.unsure = true
	}
	return b, err
}

// errLeaseOver: the lease was over before the request was sent.
var errLeaseOver = errors.New("the lease is over")

func (c *claim) begin(l *lease) {
	e := c.session.engine
	base := e.readers(c.name)
	if c.mode == cluster.Write {
		base = e.writers(c.name)
	}
	c.lease = l
	c.number = l.numbers.take(base)
	c.key = fmt.Sprintf("%s%s-%d", base, l.name, c.number.n)
	c.meta = meta{Owner: c.session.options.Owner, Since: time.Now().Round(0)}
}

// conflicting is the range in which a claim of this mode looks for what is in its way.
func (c *claim) conflicting() string {
	if c.mode == cluster.Write {
		return c.session.engine.lock(c.name)
	}
	return c.session.engine.writers(c.name)
}

// ask sends the one request that makes the key. It may be sent again: the key is only made once.
//
// It listens to the lease and not to the caller's context. A request that is given up may still be carried out, after
// the one that cleans up behind it; it is dearer to rule that out (see Release) than to await the answer here, where
// nobody waits any more. Nor is it given up to be sent again because etcd is slow, which would make etcd slower.
func (c *claim) ask(try bool) (*blocker, error) {
	ctx := clientv3.WithRequireLeader(c.lease.Context())
	if c.lease.Held() != nil {
		return nil, errLeaseOver
	}
	var (
		e     = c.session.engine
		epoch = c.lease.epoch.Load()
		mine  = clientv3.Compare(clientv3.CreateRevision(c.key), "=", 0)
		same  = clientv3.Compare(clientv3.ModRevision(e.epochKey(c.lease.name)), "=", epoch)
		last  = clientv3.OpGet(c.conflicting(), clientv3.WithLastCreate()...)
		put   = clientv3.OpPut(c.key, c.meta.encode(), clientv3.WithLease(c.lease.id))
		look  = []clientv3.Op{clientv3.OpGet(c.key), last, clientv3.OpGet(e.epochKey(c.lease.name))}
		txn   = e.client.Txn(ctx).If(mine, same).Then(last, put).Else(look...) // the look comes before the key
	)
	if try {
		none := clientv3.Compare(clientv3.CreateRevision(c.conflicting()), "=", 0).WithPrefix()
		txn = e.client.Txn(ctx).If(mine, same, none).Then(put).Else(look...)
	}
	resp, err := txn.Commit()
	if err != nil {
		if lost := c.lease.Held(); lost != nil {
			c.unsure = true
			return nil, lost
		}
		return nil, err
	}
	if resp.Succeeded {
		c.made(resp.Header.Revision)
		if try {
			return nil, nil
		}
		return c.blocker(resp), nil
	}
	if own := kvs(resp, 0); len(own) > 0 {
		// An earlier request was carried out and its answer lost.
		c.made(own[0].CreateRevision)
		if try {
			return nil, nil // it was made because nothing was in the way
		}
		return c.look(ctx)
	}
	switch moved := kvs(resp, 2); {
	case len(moved) == 0 && epoch != 0:
		return nil, rpctypes.ErrLeaseNotFound // the epoch's key has gone with it
	case len(moved) > 0 && moved[0].ModRevision != epoch:
		// Another claim of the lease has moved the epoch on.
		raise(&c.lease.epoch, moved[0].ModRevision)
		return nil, errAgain
	case !try:
		return nil, errAgain
	}
	return nil, c.tryBeside(ctx, kvs(resp, 1), mine, same, put)
}

// made notes that the key exists.
func (c *claim) made(revision int64) { c.token, c.revision = revision, revision }

// tryBeside lets a try for a read lock in beside a downgraded writer, which the comparison over all writers' keys has
// refused: the writer has become a reader, and no other writer has come.
func (c *claim) tryBeside(ctx context.Context, last []*mvccpb.KeyValue, mine, same clientv3.Cmp, put clientv3.Op) error {
	if c.mode == cluster.Write || len(last) == 0 || !decodeMeta(last[0].Value).Downgraded {
		return cluster.ErrBusy
	}
	still := clientv3.Compare(clientv3.ModRevision(string(last[0].Key)), "=", last[0].ModRevision)
	alone := clientv3.Compare(clientv3.CreateRevision(c.conflicting()), "<", last[0].CreateRevision+1).WithPrefix()
	resp, err := c.session.engine.client.Txn(ctx).If(mine, same, still, alone).Then(put).Else(clientv3.OpGet(c.key)).Commit()
	switch {
	case err != nil:
		return err
	case resp.Succeeded:
		c.made(resp.Header.Revision)
		return nil
	}
	if own := kvs(resp, 0); len(own) > 0 {
		c.made(own[0].CreateRevision)
		return nil
	}
	return errAgain
}

// look looks again for what is in the way. That it sees the own key proves, if there is nothing, the grant.
func (c *claim) look(ctx context.Context) (*blocker, error) {
	resp, err := c.session.engine.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(c.key), "=", c.token)).
		Then(clientv3.OpGet(c.conflicting(), append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(c.token-1))...)).
		Commit()
	if err != nil {
		return nil, err
	}
	if !resp.Succeeded {
		return nil, fmt.Errorf("%w: its key was deleted while it waited", cluster.ErrLost)
	}
	return c.blocker(resp), nil
}

// blocker reads the answer to a look. A downgraded writer is not in a reader's way; that it is the last one means that
// there is no other: it was granted, so all before it had left.
func (c *claim) blocker(resp *clientv3.TxnResponse) *blocker {
	c.revision = resp.Header.Revision
	last := kvs(resp, 0)
	if len(last) == 0 || c.mode == cluster.Read && decodeMeta(last[0].Value).Downgraded {
		return nil
	}
	return &blocker{key: string(last[0].Key), changed: last[0].ModRevision, revision: resp.Header.Revision}
}

func kvs(resp *clientv3.TxnResponse, i int) []*mvccpb.KeyValue {
	return resp.Responses[i].GetResponseRange().Kvs
}

// wait returns nil when nothing is in the way any more. It ends with ctx and with the lease.
func (c *claim) wait(ctx context.Context, b blocker, trouble func(error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(c.lease.Context(), func() { stop(c.lease.Held()) })()
	for failed := time.Duration(0); ; {
		next, err := c.await(ctx, b, trouble)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && final(err):
			return err
		case err != nil:
			// Whatever went wrong, a look or the next watch finds out what was missed. The look is asked because a
			// client that takes its members in turn may open each watch at the one that is alone.
			trouble(err)
			pause(ctx, &failed)
			asked, cancel := context.WithTimeout(ctx, c.session.options.TTL/5)
			next, err := c.look(asked)
			cancel()
			switch {
			case err != nil && final(err):
				return err
			case err != nil:
			case next == nil:
				trouble(nil)
				return nil
			default:
				b = *next
			}
		case next == nil:
			trouble(nil)
			return nil
		default:
			trouble(nil)
			failed, b = 0, *next
		}
	}
}

// await watches b until it is gone, or is no longer in the way, and returns what is in the way then.
//
// The watch begins now and not at the revision after the look: on a busy etcd that is in the past, and a watch that
// begins in the past is fed by a loop that runs ten times a second, so that most short waits would take longer than
// that. Instead the watch says at which revision it began. If it is that of the look nothing was missed; else a
// comparison tells, while the watch is running already.
func (c *claim) await(ctx context.Context, b blocker, trouble func(error)) (*blocker, error) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	opts := []clientv3.OpOption{clientv3.WithCreatedNotify()}
	if c.mode == cluster.Write {
		opts = append(opts, clientv3.WithFilterPut()) // a reader waits for a downgrade too
	}
	for resp := range c.session.engine.client.Watch(ctx, b.key, opts...) {
		if err := resp.Err(); err != nil {
			return nil, err
		}
		changed := len(resp.Events) > 0
		if !changed && (!resp.Created || resp.Header.Revision <= b.revision) {
			continue
		}
		next, err := c.see(ctx, b, changed, trouble)
		if err != nil || next == nil || next.key != b.key {
			return next, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, errClosed
}

// see finds out what is in the way now, b itself if it has not changed. It asks until it is answered, while the watch is
// kept: with a new watch for each question a client that takes its members in turn could ask the dead one each time. A
// member that is alone keeps a question for as long as it is let, so each has a fifth of the TTL.
func (c *claim) see(ctx context.Context, b blocker, changed bool, trouble func(error)) (*blocker, error) {
	for failed := time.Duration(0); ; pause(ctx, &failed) {
		var (
			next = &b
			same = false
			err  error
		)
		asked, cancel := context.WithTimeout(ctx, c.session.options.TTL/5)
		if !changed {
			same, err = c.unchanged(asked, b)
		}
		if err == nil && !same {
			next, err = c.look(asked)
		}
		cancel()
		if err == nil || final(err) || ctx.Err() != nil {
			return next, err
		}
		trouble(err)
	}
}

// unchanged reports whether b is as it was seen. The transaction reads something so that it is linearizable: etcd answers
// one that only compares from whatever the member knows, which may be older than the watch.
func (c *claim) unchanged(ctx context.Context, b blocker) (bool, error) {
	resp, err := c.session.engine.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(b.key), "=", b.changed)).
		Then(clientv3.OpGet(b.key, clientv3.WithKeysOnly())).
		Else(clientv3.OpGet(b.key, clientv3.WithKeysOnly())).
		Commit()
	if err != nil {
		return false, err
	}
	return resp.Succeeded, nil
}

var errClosed = errors.New("the watch was closed")

// deletion waits for the first deletion of key from a revision on.
func (e *Engine) deletion(ctx context.Context, key string, from int64) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for resp := range e.client.Watch(ctx, key, clientv3.WithRev(from), clientv3.WithFilterPut()) {
		if err := resp.Err(); err != nil {
			return err
		}
		if len(resp.Events) > 0 {
			return nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errClosed
}

// Watch sees the key being deleted by somebody else, or with a lease that etcd ended early. Most holds are shorter than
// the little while after which it begins, and cost no watch: their release says it too.
func (c *claim) Watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(c.session.options.TTL/20, 200*time.Millisecond)):
	}
	e := c.session.engine
	from := c.token + 1
	for failed := time.Duration(0); ; pause(ctx, &failed) {
		err := e.deletion(ctx, c.key, from)
		if err == nil {
			return fmt.Errorf("%w: its key in etcd was deleted", cluster.ErrLost)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// The deletion may be among what was compacted, or missed.
		asking, cancel := context.WithTimeout(ctx, request)
		resp, err := e.client.Get(asking, c.key)
		cancel()
		if err != nil {
			continue
		}
		if len(resp.Kvs) == 0 || resp.Kvs[0].CreateRevision != c.token {
			return fmt.Errorf("%w: its key in etcd was deleted", cluster.ErrLost)
		}
		from = resp.Header.Revision + 1
	}
}

// stands is the comparison that the granted claim is there in this mode.
func (c *claim) stands(mode cluster.Mode) clientv3.Cmp {
	if mode == cluster.Write {
		return clientv3.Compare(clientv3.ModRevision(c.key), "=", c.token) // a downgrade changes it
	}
	return clientv3.Compare(clientv3.CreateRevision(c.key), "=", c.token)
}

// Downgrade changes the value and nothing else: the place in the queue is the key's create revision, which stays.
func (c *claim) Downgrade(ctx context.Context) error {
	m := c.meta
	m.Downgraded = true
	resp, err := c.session.engine.client.Txn(clientv3.WithRequireLeader(ctx)).
		If(c.stands(cluster.Read)).
		Then(clientv3.OpPut(c.key, m.encode(), clientv3.WithLease(c.lease.id))). // without it the key would outlive the lease
		Commit()
	if err == nil && !resp.Succeeded {
		err = fmt.Errorf("%w: its key in etcd was deleted", cluster.ErrLost)
	}
	return err
}

// Release deletes the key. If a request to make it was never answered it may still be on its way, make the key after the
// deletion, and bar everybody until the session ends. So in that case the deletion also moves the lease's epoch on, with
// which every request that makes a key is compared: one from before fails then. Other claims of the lease that are
// entering at that moment fail too and ask again.
func (c *claim) Release(ctx context.Context) error {
	switch {
	case c.lease == nil:
		return nil // no key was asked for
	case c.token == 0 && !c.unsure:
		c.lease.numbers.give(c.number) // no key was made
		return nil
	}
	if err := c.lease.Held(); err != nil {
		return err
	}
	e := c.session.engine
	txn := e.client.Txn(clientv3.WithRequireLeader(ctx)).If(clientv3.Compare(clientv3.CreateRevision(c.key), "=", c.token))
	if c.unsure {
		ops := []clientv3.Op{clientv3.OpPut(e.epochKey(c.lease.name), "", clientv3.WithLease(c.lease.id)), clientv3.OpDelete(c.key)}
		txn = txn.Then(ops...).Else(ops...)
	} else {
		txn = txn.Then(clientv3.OpDelete(c.key))
	}
	again := c.releasing
	c.releasing = true
	resp, err := txn.Commit()
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return fmt.Errorf("%w: etcd has ended the lease", cluster.ErrLost)
	case err != nil:
		return err
	case c.unsure:
		raise(&c.lease.epoch, resp.Header.Revision)
	default:
		c.lease.numbers.give(c.number)
	}
	if !resp.Succeeded && c.granted && !again {
		return fmt.Errorf("%w: its key in etcd had been deleted", cluster.ErrLost)
	}
	// A key that is missing after an unanswered deletion was deleted by that one, for all anybody knows.
	return nil
}
