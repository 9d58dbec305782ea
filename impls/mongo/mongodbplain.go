package mongo

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// Plain is an article's. Its defects are that nothing frees the document of a holder that died, and that the deletion does not
// look whose it is.
func Plain() impls.Impl {
	return impls.Impl{
		Name: "mongodb-plain", Control: true, Store: "mongodb", Deployment: "single", BackOff: waiting.LongestPause,
		Doc: "findAndModify that inserts a document, and its deletion: excludes, and stays locked for ever when its holder dies",
		Expect: slices.Concat(
			expect.Excludes("findAndModify inserts one document of a name, which stays until it is deleted"),
			expect.Holds("without a crash every holder deletes its document", "no-orphan", "progress"),
			expect.Under("holder-stall process-pause server-restart", expect.Excludes("the document is on disk, and has no lease that could run out")),
			expect.Under("holder-kill holder-abandon", expect.Violated("nobody deletes the document of a holder that is gone, and it never expires", "recovery", "no-orphan")),
			expect.In("misuse", expect.Violated("the deletion asks nobody whose document it is", "owner-release")),
			expect.In("long-hold", expect.Holds("the document has no lease that could run out", "lease-exclusion", "mutual-exclusion"))),
		Open: func(env impls.Env) (impls.Lock, error) {
			d, err := openDocuments(env)
			return &mongoPlainLock{d}, err
		},
	}
}

type mongoPlainLock struct{ documents }

var _ impls.Prober = (*mongoPlainLock)(nil)

// Acquire has each attempt insert a token of its own, so that the answer tells whose the document is.
func (l *mongoPlainLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	return l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) {
		mine := impls.Token(l.env.Rand)
		return l.attempt(ctx, mine, impls.Unbounded, l.named(req.Key), bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "owner", Value: mine}}}})
	})
}

func (l *mongoPlainLock) Release(ctx context.Context, g impls.Grant) error {
	return l.deleteOne(ctx, l.named(g.Key))
}

// Probe looks whether there is a document.
func (l *mongoPlainLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	var found owned
	err := l.FindOne(ctx, l.named(key)).Decode(&found)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return "", 0, nil
	}
	return found.Owner, impls.Unbounded, err
}
