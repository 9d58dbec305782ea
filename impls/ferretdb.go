package impls

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// ferretDB is mongodb's design as far as FerretDB 1.24.2 goes: it has neither $$NOW nor an update that looks at the
// document, so that the client's clock decides what has expired. And its findAndModify is no atomic step: it reads,
// decides, and writes by the name of the document alone.
func ferretDB() Impl {
	return Impl{
		Name: "ferretdb", Store: "ferretdb", Deployment: "single", BackOff: longestPause,
		Doc: "findAndModify of a document that is free or expired by the client's clock, with a random token, deleted by its owner only",
		Expect: together(
			threeViews(Holds, "where there is a document another cannot be inserted, and no lease of this workload ends before its release"),
			expect(Holds, "every holder deletes its document, and what is forgotten expires", "no-orphan", "progress"),
			in("long-hold", together(leaseRunsOut(),
				expect(Breaks, "two find the document expired, both write it, and both are told that it is theirs", "lease-exclusion"))),
			under("holder-stall process-pause", together(leaseRunsOut(), expiredTwice("lease-exclusion"),
				expect(Breaks, "the late one writes what it had read before the next one came", "resource-integrity"),
				expect(Holds, "a late release finds a document of another's", "owner-release"))),
			under("holder-kill holder-abandon", together(expiredTwice("lease-exclusion", "mutual-exclusion", "resource-integrity"),
				expect(Holds, "the lease ends by the clock, whatever became of its holder", "recovery", "no-orphan"))),
			under("slow-network partition partition-one-way server-pause", together(expiredTwice("lease-exclusion", "mutual-exclusion", "resource-integrity"),
				expect(Holds, "what is not known to be granted expires", "no-orphan", "progress"))),
			under("server-restart", threeViews(Holds, "every document is on disk before it is acknowledged, and no lease ends before its release")),
			comparedRelease()),
		Open: func(env Env) (Lock, error) {
			d, err := openDocuments(env)
			return &ferretLock{d}, err
		},
	}
}

// expiredTwice is what nobody can rely on where a lease ends under its holder.
func expiredTwice(properties ...string) []Expectation {
	return expect(Open, "two who find the document expired at once are both granted it, but here they come one by one", properties...)
}

type ferretLock struct{ documents }

var (
	_ Lock    = (*ferretLock)(nil)
	_ Renewer = (*ferretLock)(nil)
	_ Prober  = (*ferretLock)(nil)
)

func (l *ferretLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	if err := checkTTL(req.TTL); err != nil {
		return Hold{}, err
	}
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		mine, now := token(l.env.Rand), time.Now()
		// One that is held is not found, and its name is taken: the insertion fails.
		free := bson.D{{Key: "_id", Value: l.key(req.Key)}, {Key: "expires", Value: bson.D{{Key: "$lte", Value: now}}}}
		owner, err := l.take(ctx, free, bson.D{{Key: "$set", Value: bson.D{
			{Key: "owner", Value: mine}, {Key: "expires", Value: now.Add(req.TTL)}}}})
		return Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: req.TTL}, busyUnless(owner, mine, err)
	})
}

// mine is a filter that finds the document of a grant whose lease is not over.
func (l *ferretLock) mine(g Grant) bson.D {
	return bson.D{{Key: "_id", Value: l.key(g.Key)}, {Key: "owner", Value: g.Token},
		{Key: "expires", Value: bson.D{{Key: "$gt", Value: time.Now()}}}}
}

func (l *ferretLock) Release(ctx context.Context, g Grant) error { return l.deleteOne(ctx, l.mine(g)) }

// Renew writes the lease anew, from now on.
func (l *ferretLock) Renew(ctx context.Context, g Grant) (Grant, error) {
	r, err := l.UpdateOne(ctx, l.mine(g), bson.D{{Key: "$set", Value: bson.D{{Key: "expires", Value: time.Now().Add(g.Validity)}}}})
	if err != nil {
		return g, err
	}
	g.SentAfter = 0
	return g, notHeldIfNone(r.MatchedCount, nil)
}

// Probe counts what is left by this process's clock.
func (l *ferretLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	var found struct {
		Owner   string    `bson:"owner"`
		Expires time.Time `bson:"expires"`
	}
	err := l.FindOne(ctx, bson.D{{Key: "_id", Value: l.key(key)}}, options.FindOne()).Decode(&found)
	return probed(found.Owner, time.Until(found.Expires), err)
}
