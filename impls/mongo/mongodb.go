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

// Lease is a lock with a lease in one document per key. Its findAndModify filters only by the key, and the update
// decides whether to grant. The filter cannot compare with the server's time $$NOW. That needs $expr, which an upsert's
// filter must not contain.
func Lease() impls.Impl {
	return impls.Impl{
		Name: "mongodb", Store: "mongodb", Deployment: "single", Extends: true, BackOff: waiting.LongestPause,
		Doc: "findAndModify of a document that is free or expired by the server's clock, with a random token, deleted by its owner only",
		Expect: slices.Concat(expect.Answers(), expect.Prompt(), expect.Backed(),
			expect.Excludes("one findAndModify decides who enters the document, and only its owner deletes it"),
			expect.Holds("every holder deletes its document, and other documents expire", "no-orphan", "progress"),
			expect.LateHolder("holder-stall process-pause"),
			expect.Recovers("holder-kill holder-abandon", "the lease expires by the server's clock, without its holder"),
			expect.Survives("slow-network partition partition-one-way server-pause", "an unknown grant expires, and a late release frees no other client's document"),
			expect.Under("server-restart", expect.Excludes("every document is on disk before it is acknowledged")),
			expect.ComparedRelease(), expect.PromiseOutlived()),
		Open: func(env impls.Env) (impls.Lock, error) { return openLease(env, serverClock{}) },
	}
}

// serverClock decides expiry by the clock of the MongoDB server, in milliseconds.
type serverClock struct{}

func end(ttl time.Duration) bson.D {
	return bson.D{{Key: "$add", Value: bson.A{"$$NOW", ttl.Milliseconds()}}}
}

// enter returns a filter for the key's document, and an update. The update changes the document only if the lock is free or
// its lease has expired. A new document has no expiry, and MongoDB treats a missing expiry as earlier than any time.
func (serverClock) enter(named bson.D, token string, ttl time.Duration) (filter, update any) {
	expired := bson.D{{Key: "$lte", Value: bson.A{"$expires", "$$NOW"}}}
	entered := func(field string, value any) bson.D {
		return bson.D{{Key: "$cond", Value: bson.A{expired, value, "$" + field}}}
	}
	return named, bson.A{bson.D{{Key: "$set", Value: bson.D{
		{Key: "owner", Value: entered("owner", token)}, {Key: "expires", Value: entered("expires", end(ttl))},
	}}}}
}

func (serverClock) current() bson.E {
	return bson.E{Key: "$expr", Value: bson.D{{Key: "$gt", Value: bson.A{"$expires", "$$NOW"}}}}
}

func (serverClock) renewal(ttl time.Duration) any {
	return bson.A{bson.D{{Key: "$set", Value: bson.D{{Key: "expires", Value: end(ttl)}}}}}
}

func (serverClock) ownerAndLease(find func(...options.Lister[options.FindOneOptions]) *mongo.SingleResult) (string, time.Duration, error) {
	var found struct {
		Owner string `bson:"owner"`
		Left  int64  `bson:"left"`
	}
	left := bson.D{{Key: "$subtract", Value: bson.A{"$expires", "$$NOW"}}}
	err := find(options.FindOne().SetProjection(bson.D{{Key: "owner", Value: 1}, {Key: "left", Value: left}})).Decode(&found)
	return found.Owner, time.Duration(found.Left) * time.Millisecond, err
}
