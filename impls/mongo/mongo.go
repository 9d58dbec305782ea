// Package mongo implements the locks on MongoDB and FerretDB. Each key has a document; a client acquires the lock by an
// update or an insert. Each function returns an impls.Impl.
package mongo

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"lockbench/impls"
	"lockbench/impls/waiting"
)

// documents implements the common part of the locks on MongoDB and FerretDB. Each key has a document, and waiters poll.
type documents struct {
	*mongo.Collection
	waiting.Polling
	env impls.Env
}

// Names of the default database and of the collection in which the locks store their documents. The URL of the server
// may name another database.
const (
	lockDatabase   = "lockbench"
	lockCollection = "lockbench_locks"
)

// goodbyeWithin is the time that Close gives commands in flight before it closes their connections.
const goodbyeWithin = time.Second

// openDocuments returns a client for one server. The client connects at its first use.
func openDocuments(env impls.Env) (documents, error) {
	if err := env.WantOne(); err != nil {
		return documents{}, err
	}
	opts := options.Client().ApplyURI(env.Nodes[0])
	u, err := url.Parse(env.Nodes[0])
	if err != nil || opts.Validate() != nil { // return another error, because this one contains the URL with its password
		return documents{}, errors.New("parse the URL of a server: invalid")
	}
	// Disable retries. After a lost reply, a resent command would be refused, because the first command has already
	// acquired the lock.
	opts.SetRetryWrites(false).SetRetryReads(false).SetMaxAdaptiveRetries(0)
	// Connect directly. Otherwise the client would use the addresses that the server reports, which bypass a proxy.
	opts.SetDirect(true).SetServerMonitoringMode(options.ServerMonitoringModePoll)
	opts.SetTimeout(waiting.CommandTimeout).SetConnectTimeout(waiting.CommandTimeout).SetServerSelectionTimeout(waiting.CommandTimeout)
	opts.SetMaxPoolSize(0).SetMaxConnecting(64) // no limit; otherwise requests might wait for a connection instead of the lock
	opts.SetWriteConcern(writeconcern.Majority()).SetReadConcern(readconcern.Majority())
	if env.Dial != nil {
		opts.SetDialer(network(env.Dial))
	}
	client, err := mongo.Connect(opts)
	if err != nil {
		return documents{}, errors.New("the URL of a server requests an option that the client does not have")
	}
	database := strings.Trim(u.Path, "/")
	if database == "" {
		database = lockDatabase
	}
	return documents{client.Database(database).Collection(lockCollection), waiting.NewPolling(env), env}, nil
}

type network func(ctx context.Context, network, addr string) (net.Conn, error)

func (n network) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return n(ctx, network, addr)
}

func (d documents) named(key string) bson.D { return bson.D{{Key: "_id", Value: d.env.Prefix + key}} }

type owned struct {
	Owner string `bson:"owner"`
}

// attempt sends a findAndModify that updates the document, or inserts a missing document. It returns impls.ErrBusy if
// another client's token is in the document, or if another client inserted the document first.
func (d documents) attempt(ctx context.Context, token string, validity time.Duration, filter, update any) (impls.Grant, error) {
	var now owned
	opts := options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)
	err := d.FindOneAndUpdate(ctx, filter, update, opts).Decode(&now)
	if mongo.IsDuplicateKeyError(err) || err == nil && now.Owner != token {
		err = impls.ErrBusy
	}
	return impls.Grant{Token: token, Validity: validity}, err
}

func (d documents) deleteOne(ctx context.Context, filter bson.D) error {
	r, err := d.DeleteOne(ctx, filter)
	if err != nil {
		return err
	}
	return impls.Affected(r.DeletedCount, nil)
}

// Close closes the connections. It deletes no documents.
func (d documents) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbyeWithin)
	defer cancel()
	if err := d.Database().Client().Disconnect(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// clock builds the commands that check or set an expiry, by the server's clock or by the client's clock.
type clock interface {
	// enter returns the filter and the update of a findAndModify. The update sets the token if the document is free or
	// expired.
	enter(named bson.D, token string, ttl time.Duration) (filter, update any)
	// current returns the filter condition that matches an unexpired lease.
	current() bson.E
	// renewal returns an update that sets the expiry to ttl from now.
	renewal(ttl time.Duration) any
	// ownerAndLease returns the owner of a document, and the remaining time of the lease.
	ownerAndLease(find func(...options.Lister[options.FindOneOptions]) *mongo.SingleResult) (owner string, left time.Duration, err error)
}

type leaseLock struct {
	documents
	clock
}

var (
	_ impls.Renewer = (*leaseLock)(nil)
	_ impls.Prober  = (*leaseLock)(nil)
)

func openLease(env impls.Env, c clock) (impls.Lock, error) {
	d, err := openDocuments(env)
	return &leaseLock{d, c}, err
}

func (l *leaseLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	if err := impls.CheckTTL(req.TTL); err != nil {
		return impls.Hold{}, err
	}
	return l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) {
		mine := impls.Token(l.env.Rand)
		filter, update := l.enter(l.named(req.Key), mine, req.TTL)
		return l.attempt(ctx, mine, req.TTL, filter, update)
	})
}

func (l *leaseLock) mine(g impls.Grant) bson.D {
	return append(l.named(g.Key), bson.E{Key: "owner", Value: g.Token}, l.current())
}

func (l *leaseLock) Release(ctx context.Context, g impls.Grant) error {
	return l.deleteOne(ctx, l.mine(g))
}

// Renew sets the expiry to a full lease from now.
func (l *leaseLock) Renew(ctx context.Context, g impls.Grant) (impls.Grant, error) {
	r, err := l.UpdateOne(ctx, l.mine(g), l.renewal(g.Validity))
	if err != nil {
		return g, err
	}
	g.SentAfter = 0
	return g, impls.Affected(r.MatchedCount, nil)
}

// Probe returns the owner of a key's document and the remaining lease. If the document has expired, the key counts as free.
func (l *leaseLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	owner, left, err := l.ownerAndLease(func(opts ...options.Lister[options.FindOneOptions]) *mongo.SingleResult {
		return l.FindOne(ctx, l.named(key), opts...)
	})
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return "", 0, nil
	case err != nil || left <= 0:
		return "", 0, err
	}
	return owner, left, nil
}
