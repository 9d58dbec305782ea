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

// FerretDB is mongodb's design as far as FerretDB 1.24.2 goes, which has neither $$NOW nor an update that looks at the document:
// the client's clock decides. And its findAndModify is not atomic: it reads, decides, and writes by the document's name.
func FerretDB() impls.Impl {
	return impls.Impl{
		Name: "ferretdb", Store: "ferretdb", Deployment: "single", BackOff: waiting.LongestPause,
		Doc: "findAndModify of a document that is free or expired by the client's clock, with a random token, deleted by its owner only",
		Expect: slices.Concat(
			expect.Excludes("where there is a document another cannot be inserted, and no lease of this workload ends before its release"),
			expect.Holds("every holder deletes its document, and what is forgotten expires", "no-orphan", "progress"),
			expect.In("long-hold", expect.LeaseRunsOut(),
				expect.Violated("two find the document expired, both write it, and both are told that it is theirs", "lease-exclusion")),
			expect.Under("holder-stall process-pause", expect.LeaseRunsOut(), expiredTwice("lease-exclusion"),
				expect.Violated("the late one writes what it had read before the next one came", "resource-integrity"),
				expect.Holds("a late release finds a document of another's", "owner-release")),
			expect.Under("holder-kill holder-abandon", expiredTwice("lease-exclusion", "mutual-exclusion", "resource-integrity"),
				expect.Holds("the lease ends by the clock, whatever became of its holder", "recovery", "no-orphan")),
			expect.Under("slow-network partition partition-one-way server-pause", expiredTwice("lease-exclusion", "mutual-exclusion", "resource-integrity"),
				expect.Holds("what is not known to be granted expires", "no-orphan", "progress")),
			expect.Under("server-restart", expect.Excludes("every document is on disk before it is acknowledged, and no lease ends before its release")),
			expect.ComparedRelease()),
		Open: func(env impls.Env) (impls.Lock, error) { return openLease(env, clientClock{}) },
	}
}

// expiredTwice is what nobody can rely on where a lease ends under its holder.
func expiredTwice(properties ...string) []impls.Expectation {
	return expect.Observed("two who find the document expired at once are both granted it, but here they come one by one", properties...)
}

// clientClock decides by the clock of the client.
type clientClock struct{}

// enter does not find a document that is held, and fails to insert another of its name.
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

func (clientClock) left(find func(...options.Lister[options.FindOneOptions]) *mongo.SingleResult) (string, time.Duration, error) {
	var found struct {
		Owner   string    `bson:"owner"`
		Expires time.Time `bson:"expires"`
	}
	err := find().Decode(&found)
	return found.Owner, time.Until(found.Expires), err
}
