package impls

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// mongoDBPlain is an article's: a findAndModify that inserts the document where there is none, and its deletion. It
// excludes; its defects are that nothing frees the document of a holder that died, and that the deletion asks nobody
// whose it is.
func mongoDBPlain() Impl {
	return Impl{
		Name: "mongodb-plain", Control: true, Store: "mongodb", Deployment: "single", BackOff: longestPause,
		Doc: "findAndModify that inserts a document, and its deletion: excludes, and stays locked for ever when its holder dies",
		Expect: together(
			threeViews(Holds, "findAndModify inserts one document of a name, which stays until it is deleted"),
			expect(Holds, "without a crash every holder deletes its document", "no-orphan", "progress"),
			under("holder-stall process-pause server-restart", threeViews(Holds, "the document is on disk, and has no lease that could run out")),
			under("holder-kill holder-abandon", expect(Breaks, "nobody deletes the document of a holder that is gone, and it never expires", "recovery", "no-orphan")),
			in("misuse", expect(Breaks, "the deletion asks nobody whose document it is", "owner-release")),
			in("long-hold", expect(Holds, "the document has no lease that could run out", "lease-exclusion", "mutual-exclusion"))),
		Open: func(env Env) (Lock, error) {
			d, err := openDocuments(env)
			return &mongoPlainLock{d}, err
		},
	}
}

type mongoPlainLock struct{ documents }

var (
	_ Lock   = (*mongoPlainLock)(nil)
	_ Prober = (*mongoPlainLock)(nil)
)

// Acquire has each attempt insert a token of its own, so that who reads the answer knows whose the document is.
func (l *mongoPlainLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		mine := token(l.env.Rand)
		owner, err := l.take(ctx, l.named(req.Key), bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "owner", Value: mine}}}})
		return Grant{Key: req.Key, Owner: req.Owner, Token: mine, Validity: Unbounded}, busyUnless(owner, mine, err)
	})
}

func (l *mongoPlainLock) named(key string) bson.D { return bson.D{{Key: "_id", Value: l.key(key)}} }

func (l *mongoPlainLock) Release(ctx context.Context, g Grant) error {
	return l.deleteOne(ctx, l.named(g.Key))
}

// Probe looks whether there is a document.
func (l *mongoPlainLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	var found owned
	err := l.FindOne(ctx, l.named(key)).Decode(&found)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return "", 0, nil
	}
	return found.Owner, Unbounded, err
}
