package mongo

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// FerretDB is the lock mongodb adapted to FerretDB 1.24.2, which supports neither $$NOW nor pipeline updates. The client's
// clock therefore decides whether a lease has expired.
//
// FerretDB's findAndModify is not atomic. It finds a document that matches the filter. It later writes the document with the
// same _id without checking the filter again.
func FerretDB() impls.Impl {
	return impls.Impl{
		Name: "ferretdb", Store: "ferretdb", Deployment: "single", Extends: true, BackOff: waiting.LongestPause,
		Doc: "findAndModify of a document that is free or expired by the client's clock, with a random token, deleted by its owner only",
		Expect: slices.Concat(expect.Answers(), expect.Prompt(), expect.Backed(),
			expect.Excludes("a second document cannot be inserted, and no lease of this workload ends before its release"),
			expect.Holds("every holder deletes its document, and other documents expire", "no-orphan", "progress"),
			expect.In("long-hold", expect.LeaseRunsOut(),
				expect.Violated("two clients find the document expired, both write it, and both are granted", "lease-exclusion")),
			expect.Under("holder-stall process-pause", expect.LeaseRunsOut(), expiredTwice("lease-exclusion"),
				expect.Violated("the late holder writes a value based on a read before the next hold", "resource-integrity"),
				expect.Holds("a late release finds another token", "owner-release")),
			expect.Under("holder-kill holder-abandon", expiredTwice("lease-exclusion", "mutual-exclusion", "resource-integrity"),
				expect.Holds("the lease expires without its holder", "recovery", "no-orphan")),
			expect.Under("slow-network partition partition-one-way server-pause", expiredTwice("lease-exclusion", "mutual-exclusion", "resource-integrity"),
				expect.Holds("an unknown grant expires", "no-orphan", "progress")),
			expect.Under("server-restart", expiredTwice("lease-exclusion", "mutual-exclusion", "resource-integrity")),
			expect.ComparedRelease()),
		Open: func(env impls.Env) (impls.Lock, error) { return openLease(env, clientClock{}) },
	}
}

// expiredTwice returns expectations that predict no result for the given properties. A property is violated only if two
// clients find the document expired at the same time, which is rare.
func expiredTwice(properties ...string) []impls.Expectation {
	return expect.Observed("two clients that find the document expired at once are both granted, but here they rarely come at once", properties...)
}

type clientClock struct{}

// enter returns the filter and the update of an upsert. If the document is held, the filter does not match it. The
// upsert then tries to insert a second document with the same _id, which fails because _id is unique.
func (clientClock) enter(named bson.D, token string, ttl time.Duration) (filter, update any) {
	now := time.Now()
	return append(named, bson.E{Key: "expires", Value: bson.D{{Key: "$lte", Value: now}}}),
		bson.D{{Key: "$set", Value: bson.D{{Key: "owner", Value: token}, {Key: "expires", Value: now.Add(ttl)}}}}
}

func (clientClock) current() bson.E {
	return bson.E{Key: "expires", Value: bson.D{{Key: "$gt", Value: time.Now()}}}
}

func (clientClock) renewal(ttl time.Duration) any {
	return bson.D{{Key: "$set", Value: bson.D{{Key: "expires", Value: time.Now().Add(ttl)}}}}
}

func (clientClock) ownerAndLease(find func(...options.Lister[options.FindOneOptions]) *mongo.SingleResult) (string, time.Duration, error) {
	var found struct {
		Owner   string    `bson:"owner"`
		Expires time.Time `bson:"expires"`
	}
	err := find().Decode(&found)
	return found.Owner, time.Until(found.Expires), err
}
