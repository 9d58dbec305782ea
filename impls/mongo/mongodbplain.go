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

// Plain is a lock published in an article. It has two defects. Nothing deletes the document of a dead holder, and a release
// deletes the document without comparing the owner.
func Plain() impls.Impl {
	return impls.Impl{
		Name: "mongodb-plain", Control: true, Store: "mongodb", Deployment: "single", BackOff: waiting.LongestPause,
		Doc: "findAndModify that inserts a document, and its deletion: excludes, and stays locked forever if its holder dies",
		Expect: slices.Concat(
			expect.Excludes("findAndModify inserts one document per name, which stays until it is deleted"),
			expect.Holds("without a crash every holder deletes its document", "no-orphan", "progress"),
			expect.Under("holder-stall process-pause server-restart", expect.Excludes("the document is on disk, and has no lease that could expire")),
			expect.Under("holder-kill holder-abandon", expect.Violated("nothing deletes the document of a dead holder, and it never expires", "recovery", "no-orphan")),
			expect.In("misuse", expect.Violated("the deletion does not check the owner", "owner-release")),
			expect.In("long-hold", expect.Holds("the document has no lease that could expire", "lease-exclusion", "mutual-exclusion"))),
		Open: func(env impls.Env) (impls.Lock, error) {
			d, err := openDocuments(env)
			return &mongoPlainLock{d}, err
		},
	}
}

type mongoPlainLock struct{ documents }

var _ impls.Prober = (*mongoPlainLock)(nil)

// Acquire inserts a document. Each attempt has a unique token, so the document shows which attempt was granted.
func (l *mongoPlainLock) Acquire(ctx context.Context, req impls.Request) (impls.Hold, error) {
	return l.Poll(ctx, req, func(ctx context.Context) (impls.Grant, error) {
		mine := impls.Token(l.env.Rand)
		return l.attempt(ctx, mine, impls.Unbounded, l.named(req.Key), bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "owner", Value: mine}}}})
	})
}

func (l *mongoPlainLock) Release(ctx context.Context, g impls.Grant) error {
	return l.deleteOne(ctx, l.named(g.Key))
}

// Probe reports whether the key has a document.
func (l *mongoPlainLock) Probe(ctx context.Context, key string) (string, time.Duration, error) {
	var found owned
	err := l.FindOne(ctx, l.named(key)).Decode(&found)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return "", 0, nil
	}
	return found.Owner, impls.Unbounded, err
}
