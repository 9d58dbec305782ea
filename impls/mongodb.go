package impls

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// mongoDB is a lease in one document: whoever finds it free or expired enters a token, in one findAndModify that
// decides by the server's clock. Its filter names the key alone, and the decision stands in the update: MongoDB allows
// no $expr, and so no $$NOW, in the filter of an upsert.
func mongoDB() Impl {
	return Impl{
		Name: "mongodb", Store: "mongodb", Deployment: "single", BackOff: longestPause,
		Doc: "findAndModify of a document that is free or expired by the server's clock, with a random token, deleted by its owner only",
		Expect: together(
			threeViews(Holds, "one findAndModify decides who enters the document, and only its owner deletes it"),
			expect(Holds, "every holder deletes its document, and what is forgotten expires", "no-orphan", "progress"),
			lateHolder("holder-stall process-pause"),
			recovers("holder-kill holder-abandon", "the lease ends by the server's clock, whatever became of its holder"),
			survives("slow-network partition partition-one-way server-pause", "what is not known to be granted expires, and what comes late frees nobody else's"),
			under("server-restart", threeViews(Holds, "every document is on disk before it is acknowledged")),
			comparedRelease(), promiseOutlived()),
		Open: func(env Env) (Lock, error) {
			d, err := openDocuments(env)
			return &mongoLock{d}, err
		},
	}
}

type mongoLock struct{ documents }

var (
	_ Lock    = (*mongoLock)(nil)
	_ Renewer = (*mongoLock)(nil)
	_ Prober  = (*mongoLock)(nil)
)

// end is when a lease that is written now ends: the server's clock has milliseconds.
func end(ttl time.Duration) bson.D {
	return bson.D{{Key: "$add", Value: bson.A{"$$NOW", ttl.Milliseconds()}}}
}

// enter is an update that enters a token where the document is free or expired, and else changes nothing. A document
// that was not there has no end, and that is before any time.
func enter(token string, ttl time.Duration) bson.A {
	expired := bson.D{{Key: "$lte", Value: bson.A{"$expires", "$$NOW"}}}
	entered := func(field string, value any) bson.D {
		return bson.D{{Key: "$cond", Value: bson.A{expired, value, "$" + field}}}
	}
	return bson.A{bson.D{{Key: "$set", Value: bson.D{
		{Key: "owner", Value: entered("owner", token)}, {Key: "expires", Value: entered("expires", end(ttl))},
	}}}}
}

func (l *mongoLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	if err := checkTTL(req.TTL); err != nil {
		return Hold{}, err
	}
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		mine := token(l.env.Rand)
		owner, err := l.take(ctx, bson.D{{Key: "_id", Value: l.key(req.Key)}}, enter(mine, req.TTL))
		return Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: req.TTL}, busyUnless(owner, mine, err)
	})
}

// mine is a filter that finds the document of a grant whose lease is not over.
func (l *mongoLock) mine(g Grant) bson.D {
	return bson.D{{Key: "_id", Value: l.key(g.Key)}, {Key: "owner", Value: g.Token},
		{Key: "$expr", Value: bson.D{{Key: "$gt", Value: bson.A{"$expires", "$$NOW"}}}}}
}

func (l *mongoLock) Release(ctx context.Context, g Grant) error { return l.deleteOne(ctx, l.mine(g)) }

// Renew writes the lease anew, from now on.
func (l *mongoLock) Renew(ctx context.Context, g Grant) (Grant, error) {
	r, err := l.UpdateOne(ctx, l.mine(g), bson.A{bson.D{{Key: "$set", Value: bson.D{{Key: "expires", Value: end(g.Validity)}}}}})
	if err != nil {
		return g, err
	}
	g.SentAfter = 0
	return g, notHeldIfNone(r.MatchedCount, nil)
}

// Probe has the server count what is left.
func (l *mongoLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	left := bson.D{{Key: "$subtract", Value: bson.A{"$expires", "$$NOW"}}}
	var found struct {
		Owner string `bson:"owner"`
		Left  int64  `bson:"left"`
	}
	err := l.FindOne(ctx, bson.D{{Key: "_id", Value: l.key(key)}},
		options.FindOne().SetProjection(bson.D{{Key: "owner", Value: 1}, {Key: "left", Value: left}})).Decode(&found)
	return probed(found.Owner, time.Duration(found.Left)*time.Millisecond, err)
}

// probed is what Probe answers of a document: one that has expired is free.
func probed(owner string, left time.Duration, err error) (string, time.Duration, error) {
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return "", 0, nil
	case err != nil || left <= 0:
		return "", 0, err
	}
	return owner, left, nil
}
