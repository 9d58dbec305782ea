package mongo

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lockbench/impls"
)

// clock decides when the lease in a document is over.
type clock interface {
	// enter is a findAndModify that enters a token if the document is free or expired.
	enter(named bson.D, token string, ttl time.Duration) (filter, update any)
	// current is the part of a filter that finds a lease that is not over.
	current() bson.E
	// renewal is an update that has the lease last for so long from now.
	renewal(ttl time.Duration) any
	// left reads a document's owner, and how much of its lease is left.
	left(find func(...options.Lister[options.FindOneOptions]) *mongo.SingleResult) (owner string, left time.Duration, err error)
}

// leaseLock is a lease in one document.
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

// mine is a filter that finds the document of a grant whose lease is not over.
func (l *leaseLock) mine(g impls.Grant) bson.D {
	return append(l.named(g.Key), bson.E{Key: "owner", Value: g.Token}, l.current())
}

func (l *leaseLock) Release(ctx context.Context, g impls.Grant) error {
	return l.deleteOne(ctx, l.mine(g))
}

// Renew writes the lease anew, from now on.
func (l *leaseLock) Renew(ctx context.Context, g impls.Grant) (impls.Grant, error) {
	r, err := l.UpdateOne(ctx, l.mine(g), l.renewal(g.Validity))
	if err != nil {
		return g, err
	}
	g.SentAfter = 0
	return g, impls.Affected(r.MatchedCount, nil)
}

// Probe reads the document of a key. One whose lease is over is free.
func (l *leaseLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	owner, left, err := l.left(func(opts ...options.Lister[options.FindOneOptions]) *mongo.SingleResult {
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
